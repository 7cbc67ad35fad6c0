"""docs/tutorial.md works when it is pasted line by line."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_runs import Run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text("utf-8")
EXPECTED = {
    "appliance search KLP-512 -k 2": "connection pool",
    'appliance search "which food is dangerous for Ben" -k 3': "cashews",
    'appliance search "author:diego wifi"': "Diego",
    'appliance context "which day do I have to hand in my slides?" --budget 300': "13 March",
    'appliance search "when do I prune the plum tree" -k 1': "in July",
    'appliance forget --query "Calle Mayor" --yes': "none found",
}
NOTHING = ('appliance search "my blood type"', "appliance search dentist")
AGAIN = "appliance watch ~/demo-chats --once"


def test_the_tutorial_works_as_it_is_printed(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_HOME", str(tmp_path / "demo-memory"))
    ran = set()
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        text = block.replace("~/", f"{tmp_path}/")
        while heredoc := re.search(r"cat > (\S+) <<'END'\n(.*?)END\n", text, re.DOTALL):
            assert f"mkdir -p {Path(heredoc[1]).parent}\n" in text
            Path(heredoc[1]).parent.mkdir()
            Path(heredoc[1]).write_text(heredoc[2], encoding="utf-8")
            text = text.replace(heredoc[0], "")
        for line, shown in zip(text.splitlines(), re.sub(r"(?s)cat > .*?\nEND\n", "", block).splitlines(), strict=True):
            if line.startswith("appliance "):
                result = run(*shlex.split(line)[1:])
                assert result.exit_code == 0, f"{line}\n{result.stderr}"
                assert EXPECTED.get(shown, "") in result.stdout, f"{line}\n{result.stdout}"
                assert bool(result.stdout.strip()) == (
                    shown not in NOTHING and not (shown == AGAIN and AGAIN in ran)
                ), f"{line}\n{result.stdout}"
                ran.add(shown)
    assert ran >= EXPECTED.keys() | set(NOTHING)

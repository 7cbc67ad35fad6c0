"""The README's tour works when it is pasted."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import appliance.demo

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent


def block(after: str) -> str:
    """The first code block behind a piece of text."""
    found = re.search(r"```\w*\n(.*?)```", README[README.index(after) :], re.DOTALL)
    assert found
    return found[1]


EXPECTED = {
    "search cabaña": "La cabaña en verano",
    "on-this-day": "Lucía: ",
    "--author me": "dinner",
    "people me": "Mara Vogel (you)",
    "--source whatsapp": "the cabin money",
    "appliance secrets": "password",
    "attachments --kind image": "IMG-20260111-WA0004.jpg",
    "wifi password of the cabin": "•••••••••",
    "search dentist": "Dr. Lopez",
}
"""What lines of the tour show."""


def _told(commands: str) -> str:
    """The commands, each with its words printed before it."""
    lines = []
    for line in commands.splitlines():
        if line.startswith("appliance"):
            lines.append("printf '@@ %s\\n' " + shlex.quote(line.partition("#")[0].strip()))
        lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.mark.longest
@pytest.mark.skipif(not (BIN / "appliance").exists(), reason="the package is not installed in this environment")
def test_the_tour(tmp_path: Path) -> None:
    tour = _told(block("## A tour").replace('export PATH="$PWD/.venv/bin:$PATH" ', "export "))
    served = block("## For assistants")
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-euo", "pipefail", "-c", tour + served],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    told = dict(re.findall(r"^@@ (.*?)\n(.*?)(?=^@@ |\Z)", done.stdout, re.MULTILINE | re.DOTALL))
    for words, part in EXPECTED.items():
        (output,) = (output for line, output in told.items() if words in line)
        assert part in output, (words, output)
    shown = "".join(output for line, output in told.items() if "appliance export" not in line)
    assert "Burra1987" not in shown, "a secret is hidden from what an assistant is given"
    assert not re.search(r"^note: no (?:author|tag|source) ", done.stderr, re.MULTILINE)
    assert "cashews" in done.stdout
    assert "13 March" in done.stdout
    assert "Dr. Lopez" in done.stdout
    assert '"text":"The bicycle lock opens with 4471"' in done.stdout
    assert "appliance_search_recent_seconds" in done.stdout
    assert '"format":"claude","status":"ok"' in done.stdout
    assert "urn:appliance:error" not in done.stdout


def test_the_assistant_is_the_example_that_is_tested() -> None:
    example = (ROOT / "examples" / "assistant.py").read_text(encoding="utf-8")
    assert example.endswith(block("A whole assistant"))


def test_the_python_example(tmp_path: Path) -> None:
    folder = Path(appliance.demo.__file__).parent
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(folder / "chatgpt" / "conversations.json", "conversations.json")
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block("## From Python")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "My deadline for the grant is March 15th" in done.stdout
    assert (tmp_path / "memory" / "recall.db").is_file()

"""The examples of docs/people.md work when they are pasted, on the memory of the demo."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli_runs import Run

pytestmark = pytest.mark.slow

PAGE = (Path(__file__).parents[2] / "docs" / "people.md").read_text("utf-8")


def test_the_tour_of_people_works_in_its_order(run: Run, home: Path) -> None:
    assert run("demo", "--home", home).exit_code == 0
    blocks = re.findall(r"^```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in block.splitlines() if line.startswith("appliance ")]
    assert len(lines) > 12
    for line in lines:
        result = run(*shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{line}\n{result.stderr}"
        assert result.stdout.strip() or "me" in line, line

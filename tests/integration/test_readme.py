"""The README's tour works when it is pasted."""

from __future__ import annotations

import os
import re
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


@pytest.mark.skipif(not (BIN / "appliance").exists(), reason="the package is not installed in this environment")
def test_the_tour(tmp_path: Path) -> None:
    tour = block("## A tour").replace('export PATH="$PWD/.venv/bin:$PATH" ', "export ")
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

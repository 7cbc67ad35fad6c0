"""The README's tour works when it is pasted."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

import appliance.demo
from appliance.cli.app import app

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BIN = Path(sys.executable).parent

needs_command = pytest.mark.skipif(
    not (BIN / "appliance").exists(), reason="the package is not installed in this environment"
)


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


def check_what_is_told(told: dict[str, str], errors: str) -> None:
    """What the commands of the tour printed, by their words."""
    for words, part in EXPECTED.items():
        (output,) = (output for line, output in told.items() if words in line)
        assert part in output, (words, output)
    shown = "".join(output for line, output in told.items() if "appliance export" not in line)
    assert "Burra1987" not in shown, "a secret is hidden from what an assistant is given"
    assert not re.search(r"^note: no (?:author|tag|source) ", errors, re.MULTILINE)
    assert "cashews" in shown
    assert "13 March" in shown
    assert "Dr. Lopez" in shown


def check_what_is_served(printed: str) -> None:
    assert '"text":"The bicycle lock opens with 4471"' in printed
    assert "appliance_search_recent_seconds" in printed
    assert '"format":"claude","status":"ok"' in printed
    assert "urn:appliance:error" not in printed


def pasted(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What comes of lines of the README in a shell."""
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done


TOUR = block("## A tour").replace('export PATH="$PWD/.venv/bin:$PATH" ', "export ")
SERVED = block("## For assistants")


def test_the_tour(home: Path) -> None:
    """Every command of it, in this process."""
    samples = str(Path(appliance.demo.__file__).parent)
    told, errors = {}, ""
    for line in TOUR.splitlines():
        if not line.startswith("appliance"):
            continue
        words = shlex.split(line.partition(" | ")[0].replace("$samples", samples), comments=True)
        output = ""
        for is_end, command in itertools.groupby(words, lambda word: word == "&&"):
            if not is_end:
                _, *arguments = command
                done = CliRunner().invoke(app, arguments)
                assert done.exit_code == 0, (line, done.output)
                output, errors = output + done.stdout, errors + done.stderr
        told[line.partition("#")[0].strip()] = output
    assert len(told) > 20
    check_what_is_told(told, errors)


@needs_command
def test_what_is_served(tmp_path: Path) -> None:
    begin = [line for line in TOUR.splitlines() if not line.startswith("appliance")]
    check_what_is_served(pasted("\n".join([*begin, 'appliance ingest "$samples"', SERVED]), tmp_path).stdout)


@pytest.mark.campaign
@needs_command
def test_all_of_it_as_it_is_pasted(tmp_path: Path) -> None:
    done = pasted(_told(TOUR) + SERVED, tmp_path)
    check_what_is_told(
        dict(re.findall(r"^@@ (.*?)\n(.*?)(?=^@@ |\Z)", done.stdout, re.MULTILINE | re.DOTALL)), done.stderr
    )
    check_what_is_served(done.stdout)


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

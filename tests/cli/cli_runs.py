"""What the tests of the command line share: sample lines, processes, and reading what was printed."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.testing import Result

from tests.tested_program import STRICT_PROGRAM

Run = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[bytes]"]

ROOT = Path(__file__).parents[2]

# An escape sequence as a hostile chat would hold it: it clears the screen.
CLEAR_SCREEN = "\x1b[2J"


def line(session: str, number: int, content: str, **more: Any) -> dict[str, Any]:
    """A line of native JSONL."""
    when = f"2026-02-{number + 1:02}T10:00:00Z"
    base = {"session_id": session, "message_id": f"{session}-{number}", "role": "user", "timestamp": when}
    return {**base, "content": content, **more}


TRIP = [
    line("trip", 1, "We leave for Lisbon on Thursday", author="Ana", session_title="Lisbon"),
    line("trip", 2, "Did you book the hotel?", author="Ben"),
    line("trip", 3, "The blue one near the river, reservation QX-4471", author="Ana"),
    line("trip", 4, f"Look at this {CLEAR_SCREEN} picture", author="Ben",
         metadata={"attachments": [{"name": "river.jpg"}], "edited": True}),
]  # fmt: skip
HELP = [
    line("help", 1, "You are a helpful cook.", role="system", metadata={"hidden": True}, session_title="Soup"),
    line("help", 2, "How do I thicken a soup without flour?"),
    line("help", 3, "Blend some of the vegetables into it.", role="assistant"),
    line("help", 4, "Add a potato.", role="assistant", metadata={"branch": True}),
    line("help", 5, "search: thickeners", role="tool", author="web", metadata={"tools": [{"kind": "call"}]}),
]


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    """A native JSONL file."""
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    return path


def command(*arguments: str | Path) -> list[str]:
    """A command line for a process of its own, in which warnings are errors."""
    return [*STRICT_PROGRAM, *map(str, arguments)]


def environment(**more: str) -> dict[str, str]:
    """This process's environment, with the project importable."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'models'}", **more}


def document(result: Result) -> Any:
    """What a ``--json`` verb printed: exactly one document."""
    return json.loads(result.stdout)

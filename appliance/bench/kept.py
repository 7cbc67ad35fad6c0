"""What ``bench mine`` leaves in the home: the questions, and a line of figures a run. Ids, offsets and ranks only:
no text, so that nothing here outlives a message."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from appliance.bench.known_items import Item
from appliance.errors import StoreCorrupt
from appliance.paths import FILE_MODE, FOLDER_MODE, write_small_file

QUESTIONS, RUNS = "questions.json", "runs.jsonl"


def items(folder: Path) -> list[Item]:
    """The questions that were kept; none where none were.

    Raises:
        StoreCorrupt: the file can't be read.
    """
    path = folder / QUESTIONS
    if not path.is_file():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Item])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreCorrupt(
            f"the questions can't be read: {error}", where=str(path), hint="remove the file: others are made"
        ) from error


def keep(folder: Path, questions: Iterable[Item]) -> None:
    """Write the questions in place of those that were kept."""
    for place in (folder.parent, folder):
        place.mkdir(mode=FOLDER_MODE, exist_ok=True)
    lines = b",\n".join(msgspec.json.encode(item) for item in questions)
    write_small_file(folder / QUESTIONS, b"[" + lines + b"]\n")


def last_run(folder: Path) -> dict[str, Any] | None:
    """The figures of the run before; None where there is none. A line that was cut off by a crash is passed
    over."""
    path = folder / RUNS
    if not path.is_file():
        return None
    for line in reversed(path.read_bytes().splitlines()):
        try:
            run = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if isinstance(run, dict) and isinstance(run.get("ranks"), dict):
            return run
    return None


def add_run(folder: Path, run: dict[str, Any]) -> None:
    """Append the figures of a run as a line; it is on the disk when this returns."""
    path = folder / RUNS
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, FILE_MODE)
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        torn = b""
        if size:
            file.seek(size - 1)
            torn = b"" if file.read(1) == b"\n" else b"\n"
        file.write(torn + msgspec.json.encode(run) + b"\n")
        os.fsync(file.fileno())

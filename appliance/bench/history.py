"""The files of ``bench mine`` in the home: its questions, and a line of figures per run. They contain ids, offsets and
ranks but no text, so nothing in them outlives an erased message."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from appliance.bench.known_items import KnownItem
from appliance.errors import StoreCorrupt
from appliance.paths import FILE_MODE, FOLDER_MODE, write_file_atomically

QUESTIONS_FILE, RUNS_FILE = "questions.json", "runs.jsonl"


def load_items(folder: Path) -> list[KnownItem]:
    """The stored questions, if any.

    Raises:
        StoreCorrupt: The file can't be read.
    """
    path = folder / QUESTIONS_FILE
    if not path.is_file():
        return []
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[KnownItem])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreCorrupt(
            f"The questions can't be read: {error}.", where=str(path), hint="Remove the file; new questions are made."
        ) from error


def save_items(folder: Path, questions: Iterable[KnownItem]) -> None:
    """Replace the stored questions."""
    for directory in (folder.parent, folder):
        directory.mkdir(mode=FOLDER_MODE, exist_ok=True)
    lines = b",\n".join(msgspec.json.encode(item) for item in questions)
    write_file_atomically(folder / QUESTIONS_FILE, b"[" + lines + b"]\n")


def last_run(folder: Path) -> dict[str, Any] | None:
    """The figures of the latest run, if any. A line that a crash cut off is skipped."""
    path = folder / RUNS_FILE
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
    """Append the figures of a run as a line, and sync it to disk."""
    path = folder / RUNS_FILE
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, FILE_MODE)
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        line_end = b""
        if size:
            file.seek(size - 1)
            line_end = b"" if file.read(1) == b"\n" else b"\n"
        file.write(line_end + msgspec.json.encode(run) + b"\n")
        os.fsync(file.fileno())

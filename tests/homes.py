"""Homes that tests begin with: built once, and copied for a test that changes one; and what their files hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

PIECE = 1 << 20


def copied(built: Path, home: Path) -> Path:
    """A copy of a home as a test's own."""
    shutil.copytree(built, home, copy_function=_copy)
    return home


def holding(folder: Path, *forms: bytes) -> list[Path]:
    """The files below a folder that hold any of these bytes, in small or capital letters."""
    small = [form.lower() for form in forms]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if any(form in data for data in [file_data(path).lower()] for form in small)]


def file_data(path: Path) -> bytes:
    """What is written in a file, without its holes: of the 300 MB of an index, 17 are written."""
    with path.open("rb") as file:
        return b"".join(os.pread(file.fileno(), end - start, start) for start, end in _extents(file.fileno()))


def _extents(descriptor: int) -> Iterator[tuple[int, int]]:
    size = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        yield 0, size
        return
    end = 0
    while end < size:
        try:
            start = os.lseek(descriptor, end, os.SEEK_DATA)
        except OSError:  # only a hole is left
            return
        end = os.lseek(descriptor, start, os.SEEK_HOLE)
        yield start, end


def _copy(source: str, target: str) -> None:
    if not Path(source).is_file():
        return  # the socket of an owner
    with Path(source).open("rb") as old, Path(target).open("wb") as new:
        for start, end in _extents(old.fileno()):
            for at in range(start, end, PIECE):
                os.pwrite(new.fileno(), os.pread(old.fileno(), min(PIECE, end - at), at), at)
        os.truncate(new.fileno(), os.fstat(old.fileno()).st_size)
    shutil.copymode(source, target)

"""The files of a closed index, cut behind their content.

The engine makes its files much longer than their content: two of 32 MB for its log, six for vectors and payload, fifty
of a megabyte or more for flags. While it is open, the rest is a hole, which takes no room. But a program that copies or
packs the home reads and writes 330 MB of zeros for it. So the zeros at the end of each file are cut when the index is
closed, and restored before the engine opens it: it would map a shorter file all the same, and writing behind its end
would end the process (SIGBUS).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.paths import file_entries
from appliance.store.index.preallocation import holes

_MIN_TRIMMED_BYTES = 65_536
"""Files with fewer zeros at their end stay as they are."""

_BLOCK_BYTES = 65_536
_BLANK = bytes(_BLOCK_BYTES)

_PAGE_BYTES = 4096
"""Files are cut at a page: within one, its rest would be written."""


@dataclass(frozen=True, slots=True)
class Trim:
    """A file with zeros at its end: its path in the shard, its ``length``, and where its ``content`` ends."""

    name: str
    length: int
    content: int


def plan(shard: Path) -> list[Trim]:
    """What can be cut of the files of a shard, which is closed."""
    if not hasattr(os, "SEEK_HOLE"):
        return []
    trims = []
    prefix = os.path.join(shard, "")
    for entry in file_entries(shard):
        length = entry.stat(follow_symlinks=False).st_size
        if (
            length >= _MIN_TRIMMED_BYTES
            and length - (content := _content_end(entry.path, length)) >= _MIN_TRIMMED_BYTES
        ):
            trims.append(Trim(entry.path.removeprefix(prefix).replace(os.sep, "/"), length, content))
    return sorted(trims, key=lambda trim: trim.name)


def cut(shard: Path, trims: Iterable[Trim]) -> None:
    """Cut the files behind their content. Their lengths must be on the disk before."""
    for trim in trims:
        os.truncate(os.path.join(shard, trim.name), trim.content)


def restore(shard: Path, lengths: Mapping[str, int]) -> list[Trim]:
    """Give the files the lengths that they had, and return what was cut of them. Those that are longer have grown
    since, and those that are missing were replaced, by an engine that was not closed; damage is the engine's to see."""
    restored = []
    for name, length in lengths.items():
        path = os.path.join(shard, name)
        with suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
            content = os.stat(path).st_size
            if content < length:
                os.truncate(path, length)
                restored.append(Trim(name, length, content))
    return restored


def still_fit(shard: Path, trims: Iterable[Trim]) -> bool:
    """Whether files that were only read since ``restore`` can be cut again as they were: none has another length, or
    content behind the end of what it had. The engine appends, so one page tells."""
    try:
        for trim in trims:
            with (shard / trim.name).open("rb") as file:
                file.seek(trim.content)
                if not _is_blank(file.read(_PAGE_BYTES)) or file.seek(0, os.SEEK_END) != trim.length:
                    return False
    except OSError:
        return False
    return True


def _content_end(path: str, length: int) -> int:
    """Where the zeros at the end of a file begin, at a page."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        end = length
        for start, stop in holes(descriptor, length):
            if stop == length:
                end = start
        # A file system may call a hole what has not been written out yet. New content is next to what is there.
        while block := os.pread(descriptor, _BLOCK_BYTES, end):
            if _is_blank(block):
                break
            end += len(block)
        # Room that was allocated for what never came is no hole.
        while end:
            start = max(0, end - _BLOCK_BYTES)
            block = os.pread(descriptor, end - start, start)
            if not _is_blank(block):
                end = start + len(block.rstrip(b"\0"))
                break
            end = start
    finally:
        os.close(descriptor)
    return min(length, -(-end // _PAGE_BYTES) * _PAGE_BYTES)


def _is_blank(block: bytes) -> bool:
    return block == _BLANK[: len(block)]

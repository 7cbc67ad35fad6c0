"""Reads the files of an index once, in large pieces, before the engine loads them.

The engine drops these files from the page cache when it has loaded and maps them in steps of 4 KB: without this the
next open takes seconds on a good disk and minutes on a slow one. Asking the kernel to do it (WILLNEED) was no help: it
comes late.

A program that knows at its start that it is going to search lets another process begin at once (``begun``), while it
is still loading its own modules. In a thread this would wait for the interpreter's lock at every file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

READ_BYTES = 1 << 20

_begun: dict[str, subprocess.Popen[bytes]] = {}


@contextmanager
def begun(index: Path) -> Iterator[None]:
    """Within, other processes read the shards in a home's folder of indexes; whoever opens one waits for that. Where
    none can be started, it is read when it is opened."""
    with suppress(OSError):
        for shard in index.glob("*/shard"):
            _begun[os.fspath(shard)] = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, os.fspath(shard)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    try:
        yield
    finally:  # nobody opened these
        while _begun:
            other = _begun.popitem()[1]
            other.kill()
            other.wait()


def finish(shard: str | os.PathLike[str]) -> None:
    """Return when a shard has been read: by the process that began with it, else now, by this one."""
    other = _begun.pop(os.fspath(shard), None)
    if other is None or other.wait():
        read(os.fspath(shard))


def read(shard: str) -> None:
    """Read what the engine reads when it loads. Files that go meanwhile are passed over."""
    piece = bytearray(READ_BYTES)
    for folder, _, names in os.walk(shard):
        for name in names:
            if not _is_read_later(folder, name):
                with suppress(OSError), open(os.path.join(folder, name), "rb", buffering=0) as file:
                    while file.readinto(piece):
                        pass


def _is_read_later(folder: str, name: str) -> bool:
    """Original vectors are read when rescoring; of a settled segment, stored values hardly ever."""
    if name in ("matrix.dat", "inverted_index.dat") or os.path.basename(folder) == "vectors":
        return True
    if not name.startswith("page_"):
        return False
    owner = os.path.dirname(folder) if os.path.basename(folder) == "store" else folder
    return os.path.exists(os.path.join(os.path.dirname(owner), "vector_index-own", "inverted_index.dat"))


if __name__ == "__main__":
    read(sys.argv[1])

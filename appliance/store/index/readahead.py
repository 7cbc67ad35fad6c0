"""Reads the files of an index once, in large blocks, before the engine loads them.

The engine drops these files from the page cache after loading, and maps them in steps of 4 KB: without reading ahead
the next open takes seconds on a good disk and minutes on a slow one. Asking the kernel for it (WILLNEED) takes effect
too late.

A program that is going to search starts another process for this at once (``reading_ahead``), while it is still loading
its own modules. A thread would wait for the interpreter lock at every file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

READ_BYTES = 1 << 20

_reader_processes: dict[str, subprocess.Popen[bytes]] = {}


@contextmanager
def reading_ahead(index: Path) -> Iterator[None]:
    """Let other processes read the shards in a home's index folder; opening one waits for its process. If a process
    can't be started, the shard is read when it is opened."""
    with suppress(OSError):
        for shard in index.glob("*/shard"):
            _reader_processes[os.fspath(shard)] = subprocess.Popen(
                [*_command(), os.fspath(shard)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    try:
        yield
    finally:  # ends the processes whose shards were not opened
        while _reader_processes:
            process = _reader_processes.popitem()[1]
            process.kill()
            process.wait()


def _command() -> list[str]:
    """Runs this module, with as little of Python as it needs: not even with what it would import from here."""
    from appliance.runtime import child_process

    if child_process.is_frozen():
        return child_process.command_for(__name__)
    return [sys.executable, "-I", "-S", __file__]


def wait_until_read(shard: str | os.PathLike[str]) -> None:
    """Return when a shard has been read: by the process that has begun, else by this one."""
    process = _reader_processes.pop(os.fspath(shard), None)
    if process is None or process.wait():
        read_shard(os.fspath(shard))


def read_shard(shard: str) -> None:
    """Read the files that the engine reads when it loads; skips files that disappear meanwhile."""
    buffer = bytearray(READ_BYTES)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        for folder, _, names in os.walk(shard):
            for name in names:
                if not _is_read_on_demand(folder, name):
                    with suppress(OSError), open(os.path.join(folder, name), "rb", buffering=0) as file:
                        if not _send(file.fileno(), null):
                            while file.readinto(buffer):
                                pass
    finally:
        os.close(null)


def _send(file: int, null: int) -> bool:
    """Let the system read a file without copying it to this process, which takes a quarter of the processor time;
    False where it can't."""
    if not sys.platform.startswith("linux"):
        return False
    at = 0
    try:
        while sent := os.sendfile(null, file, at, READ_BYTES):
            at += sent
    except OSError:
        return False
    return True


def _is_read_on_demand(folder: str, name: str) -> bool:
    """Whether the engine reads a file later: original vectors when it rescores; of an optimized segment, stored values
    hardly ever."""
    if name in ("matrix.dat", "inverted_index.dat") or os.path.basename(folder) == "vectors":
        return True
    if not name.startswith("page_"):
        return False
    owner = os.path.dirname(folder) if os.path.basename(folder) == "store" else folder
    return os.path.exists(os.path.join(os.path.dirname(owner), "vector_index-own", "inverted_index.dat"))


if __name__ == "__main__":
    read_shard(sys.argv[1])

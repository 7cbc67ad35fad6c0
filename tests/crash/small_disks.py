"""File systems of a few megabytes, to be filled: only root can mount one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

Kind = Literal["tmpfs", "ext4"]
"""On tmpfs even reading a hole of a mapped file takes a block; on ext4 only writing does, as on other disks."""

MEGABYTE = 1 << 20


@contextmanager
def mounted(folder: Path, kind: Kind, megabytes: int) -> Iterator[Path | None]:
    """A file system of this size at ``folder`` within the context; None where mounting is not possible."""
    folder.mkdir()
    if kind == "tmpfs":
        source, options = "tmpfs", ["-t", "tmpfs", "-o", f"size={megabytes}m"]
    else:
        image = folder.with_suffix(".img")
        with image.open("wb") as file:
            file.truncate(megabytes * MEGABYTE)
        source, options = str(image), ["-o", "loop"]
        # No journal and no blocks kept for root: all of a small disk is there to be filled.
        if not _succeeds("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", source):
            yield None
            return
    if not _succeeds("mount", *options, source, str(folder)):
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _succeeds(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def free_bytes(disk: Path) -> int:
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize


def fill(disk: Path, *, leave: int) -> Path:
    """Fill a disk but for so many bytes; returns the file that takes the room."""
    ballast = disk / "ballast"
    with ballast.open("ab") as file:
        while (room := free_bytes(disk) - leave) > 0:
            try:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, room)
            except OSError:  # the file system needs some of it for itself
                with suppress(OSError):
                    while free_bytes(disk) > leave:
                        file.write(bytes(4096))
                        file.flush()
                break
    return ballast

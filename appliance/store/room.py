"""Room on the disk: how much there is, and the error that says how much is missing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appliance.errors import DiskFull, HomeError

ROOM_HINT = "Make room on the disk, then try again. Everything that was acknowledged is kept."


def free_bytes(folder: Path) -> int:
    """The room that this process may use on the disk of an existing folder."""
    return shutil.disk_usage(folder).free


def require_room(folder: Path, needed: int, purpose: str) -> None:
    """
    Args:
        folder: An existing folder on the disk.
        needed: The bytes needed.
        purpose: Completes "The disk has no room to …".

    Raises:
        DiskFull: There are fewer bytes; the error gives both numbers.
    """
    free = free_bytes(folder)
    if free < needed:
        raise no_room(folder, needed, purpose, free)


def no_room(folder: Path, needed: int, purpose: str, free: int | None = None) -> DiskFull:
    """The error that a disk has fewer than ``needed`` bytes of room; ``free`` is measured unless it is given."""
    left = free_bytes(folder) if free is None else free
    message = f"The disk has no room to {purpose}: {megabytes(needed)} are needed, {megabytes(left)} are free."
    return DiskFull(message, where=str(folder), hint=ROOM_HINT)


def is_disk_full(error: OSError) -> bool:
    """Whether an error of the system says that the disk, or this user's share of it, is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def file_errors(where: Path, what: str) -> Iterator[None]:
    """Raise errors of the system about a file or folder of the home as those of this program.

    Args:
        where: The file or folder that is worked on; the error of the system may name another one.
        what: Completes "It can't be …".

    Raises:
        DiskFull: The disk has no room.
        HomeError: The system gives any other reason.
    """
    try:
        yield
    except OSError as error:
        named = str(error.filename or where)
        if is_disk_full(error):
            raise DiskFull(f"It can't be {what}: the disk is full.", where=named, hint=ROOM_HINT) from error
        hint = "Check what is there and its permissions. A file or folder of another kind under this name must go."
        raise HomeError(f"It can't be {what}: {error.strerror or error}.", where=named, hint=hint) from error


def allocated_bytes(stat: os.stat_result) -> int:
    """The bytes that a file takes on the disk, without its holes."""
    blocks: int | None = getattr(stat, "st_blocks", None)
    return stat.st_size if blocks is None else blocks * 512


def megabytes(size: int) -> str:
    """ "1.2 MB", "24.6 KB"."""
    if size < 1e6:
        return f"{size / 1e3:,.1f} KB"
    return f"{size / 1e6:,.1f} MB"

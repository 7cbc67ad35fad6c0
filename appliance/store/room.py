"""Room on the disk: how much there is, and the error that says how much is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from appliance.errors import DiskFull

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
    message = f"The disk has no room to {purpose}: {_megabytes(needed)} are needed, {_megabytes(left)} are free."
    return DiskFull(message, where=str(folder), hint=ROOM_HINT)


def allocated_bytes(stat: os.stat_result) -> int:
    """The bytes that a file takes on the disk, without its holes."""
    blocks: int | None = getattr(stat, "st_blocks", None)
    return stat.st_size if blocks is None else blocks * 512


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"

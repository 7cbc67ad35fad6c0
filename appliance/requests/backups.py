"""Requests that make backups."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from appliance.requests.base import Request
from appliance.types import BackupReport


@dataclass(frozen=True, slots=True)
class BackupRequest(Request[BackupReport]):
    """Back up the whole memory, while it is in use. Into a folder with earlier backups, only what is new is written.

    Args:
        target: A folder, which is created if necessary, or a file, named with a suffix: a file holds one backup, and
            replaces an earlier one.

    Raises:
        UsageError: The target lies within the memory.
        StoreError: The target can't be written, or holds other files.
    """

    name: ClassVar[str] = "backups.make"
    repeatable: ClassVar[bool] = False
    long_running: ClassVar[bool] = True

    target: str | os.PathLike[str]

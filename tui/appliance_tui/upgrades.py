"""Whether the program was upgraded while it runs: modules that are loaded later are of another version then."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import appliance
import appliance_tui

UPGRADED_NOTICE = "The program was upgraded; restart the screen."

FileStates = Mapping[Path, tuple[int, int, int]]
"""Time of change in nanoseconds, size and inode of files."""


def program_files() -> dict[Path, tuple[int, int, int]]:
    """The state of the program's modules on disk. It reads folders: not for the screen's thread at its start."""
    states = {}
    for package in (appliance, appliance_tui):
        for path in Path(package.__path__[0]).rglob("*.py"):
            with suppress(OSError):  # an upgrade is just taking it away
                known = path.stat()
                states[path] = (known.st_mtime_ns, known.st_size, known.st_ino)
    return states


def is_upgraded(at_start: FileStates) -> bool:
    """Whether modules have changed since; False where it is not known how they were."""
    return bool(at_start) and program_files() != at_start

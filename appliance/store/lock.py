"""One owner a home: an operating-system lock, released by the system when the process dies."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec
import portalocker

from appliance.errors import HomeLocked
from appliance.paths import FILE_MODE


class OwnerLock:
    """Held from ``acquire`` to ``release``. The file says who holds it, for the error message only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, purpose: str) -> None:
        """Become the owner.

        Raises:
            HomeLocked: another process is; the error names it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            portalocker.lock(descriptor, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except (portalocker.exceptions.LockException, OSError) as error:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise HomeLocked(
                f"in use by another process{owner}",
                where=str(self._path.parent),
                hint="wait for it to end, or stop it, then try again",
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, msgspec.json.encode({"pid": os.getpid(), "purpose": purpose}), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        if self._descriptor is None:
            return
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        with contextlib.suppress(OSError, portalocker.exceptions.LockException):
            portalocker.unlock(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = None


def _owner(descriptor: int) -> str:
    try:
        note = msgspec.json.decode(os.pread(descriptor, 4096, 0))
        return f": process {note['pid']}, {note['purpose']}"
    except (OSError, msgspec.DecodeError, TypeError, KeyError):
        return ""

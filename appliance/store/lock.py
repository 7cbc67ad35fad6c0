"""One owner per home: an operating-system lock, which the system releases when the process ends."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec
import portalocker

from appliance.errors import HomeLocked
from appliance.paths import FILE_MODE


class OwnerLock:
    """The lock of a home, held from ``acquire`` to ``release``. Its file names the owner, for error messages only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def acquire(self, purpose: str) -> None:
        """Become the owner of the home.

        Args:
            purpose: What the process does, such as "appliance watch"; other processes show it.

        Raises:
            HomeLocked: Another process is the owner; the error names it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            portalocker.lock(descriptor, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except (portalocker.exceptions.LockException, OSError) as error:
            owner = _owner(descriptor)
            os.close(descriptor)
            raise HomeLocked(
                f"The memory is in use by {owner}.",
                where=str(self._path.parent),
                hint="Stop it or wait, then try again. 'appliance serve' lets several programs use a memory at once.",
            ) from error
        with contextlib.suppress(OSError):  # a full disk: the lock holds without its note
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
        return f"'{note['purpose']}' (process {note['pid']})"
    except (OSError, msgspec.DecodeError, TypeError, KeyError):
        return "another process"

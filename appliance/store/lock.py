"""One owner per home: an operating-system lock, which the system releases when the process ends.

The lock's file names the owner and the socket at which it answers: for those who attach, and for errors. The lock
alone decides who owns the home.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from appliance.errors import HomeLocked
from appliance.paths import FILE_MODE
from appliance.runtime import file_locks
from appliance.runtime.decoding import decode
from appliance.types import Owner

MAX_NOTE_BYTES = 4096
"""Bytes of a lock's file that are read."""

RESERVATION_SECONDS = 15.0
"""Seconds for which a home that was handed over is kept for its next owner."""


class OwnerLock:
    """The lock of a home, held from ``acquire`` to ``release``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._purpose = ""
        self._successor: Owner | None = None
        self._stop_listening: Callable[[], None] = lambda: None

    def acquire(self, purpose: str) -> None:
        """Become the owner of the home.

        Args:
            purpose: What the process does, such as "appliance watch"; other processes show it.

        Raises:
            HomeLocked: Another process is the owner, or the home is kept for it; the error names it.
        """
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, FILE_MODE)
        try:
            file_locks.lock(descriptor, wait=False)
        except OSError as error:
            owner = _read_note(descriptor)
            os.close(descriptor)
            raise HomeLocked(
                f"The memory is in use by {describe_owner(owner)}.",
                where=str(self._path.parent),
                hint="Stop it or wait, then try again.",
            ) from error
        note = _read_note(descriptor)
        if note is not None and is_reserved(note) and note.pid != os.getpid():
            os.close(descriptor)
            raise HomeLocked(
                f"The memory is being handed over to {describe_owner(note)}.",
                where=str(self._path.parent),
                hint="Try again in a moment.",
            )
        self._descriptor, self._purpose = descriptor, purpose
        self._write_note(Owner(os.getpid(), purpose))

    def announce(self, socket: Path, stop_listening: Callable[[], None]) -> None:
        """Name the socket at which the owner answers others. ``release`` calls ``stop_listening`` first: what lies at
        that path afterwards is the next owner's."""
        self._stop_listening = stop_listening
        self._write_note(Owner(os.getpid(), self._purpose, str(socket)))

    def leave_to(self, successor: Owner) -> None:
        """Let ``release`` keep the home for another process for ``RESERVATION_SECONDS``."""
        self._successor = successor

    def _write_note(self, owner: Owner) -> None:
        if self._descriptor is not None:
            _replace_note(self._descriptor, msgspec.json.encode(owner))

    def release(self) -> None:
        if self._descriptor is None:
            return
        self._stop_listening()
        next_note = b""
        if self._successor is not None:
            until = time.time() + RESERVATION_SECONDS
            next_note = msgspec.json.encode(Owner(self._successor.pid, self._successor.purpose, reserved_until=until))
        _replace_note(self._descriptor, next_note)
        with contextlib.suppress(OSError):
            file_locks.unlock(self._descriptor)
        os.close(self._descriptor)
        self._descriptor = None


def read_owner(path: Path) -> Owner | None:
    """The owner that a lock's file names. It may have been killed since; None if the last one has left."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return _read_note(descriptor)
    finally:
        os.close(descriptor)


def is_reserved(owner: Owner) -> bool:
    """Whether a home is kept for this process, which has not taken it yet."""
    return time.time() < owner.reserved_until <= time.time() + RESERVATION_SECONDS and is_running(owner.pid)


def is_running(pid: int) -> bool:
    """Whether a process has not ended. True where the system does not tell."""
    if os.name != "posix":  # there, signal 0 is no question
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def describe_owner(owner: Owner | None) -> str:
    """An owner as an error names it."""
    return f"'{owner.purpose}' (process {owner.pid})" if owner else "another process"


def is_suspended(owner: Owner) -> bool:
    """Whether the owner's process is stopped, as by ctrl+z in its terminal: it answers when it goes on. False where the
    system does not tell."""
    try:
        if Path("/proc/self/stat").exists():
            stat = Path(f"/proc/{owner.pid}/stat").read_bytes()  # the name, in parentheses, may have any characters
            return stat.rpartition(b")")[2].split()[:1] == [b"T"]
        if os.name == "posix":
            shown = subprocess.run(["ps", "-o", "state=", "-p", str(owner.pid)], capture_output=True, check=False)
            return shown.stdout.strip().startswith(b"T")
    except OSError:  # it has ended
        pass
    return False


def _replace_note(descriptor: int, note: bytes) -> None:
    """Write a note over the one that is there, with blanks behind it: the file keeps its block, so that the next note
    has room on a full disk. If there is none, the lock holds without a note, and not with one of the last owner."""
    try:
        length = max(len(note), min(os.fstat(descriptor).st_size, MAX_NOTE_BYTES))
        os.pwrite(descriptor, note.ljust(length), 0)
        os.ftruncate(descriptor, length)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)


def _read_note(descriptor: int) -> Owner | None:
    try:
        return decode(os.pread(descriptor, MAX_NOTE_BYTES, 0), Owner)
    except (OSError, msgspec.DecodeError):
        return None

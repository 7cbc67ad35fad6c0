"""Locks of open files, which the system releases when their process ends.

On POSIX the system's own call is used: the library for all systems takes ten milliseconds to load, at every start.
"""

from __future__ import annotations

import sys


def lock(descriptor: int, *, wait: bool) -> None:
    """Lock an open file for this process alone.

    Raises:
        OSError: Another process has locked it, and ``wait`` is False; or its filesystem knows no locks.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    import portalocker

    flags = portalocker.LockFlags.EXCLUSIVE | (portalocker.LockFlags(0) if wait else portalocker.LockFlags.NON_BLOCKING)
    try:
        portalocker.lock(descriptor, flags)
    except portalocker.exceptions.LockException as error:
        raise BlockingIOError(str(error)) from error


def unlock(descriptor: int) -> None:
    """Release the lock of an open file.

    Raises:
        OSError: The system says so.
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return
    import portalocker

    try:
        portalocker.unlock(descriptor)
    except portalocker.exceptions.LockException as error:
        raise OSError(str(error)) from error

"""The Unix socket of a home: where its owner listens, and only the owner's user can connect."""

from __future__ import annotations

import os
import socket
import tempfile
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

from appliance.errors import HomeError
from appliance.paths import FILE_MODE, FOLDER_MODE, Home

MAX_SOCKET_PATH_BYTES = 100
"""Bytes of a Unix socket's path that every system allows (macOS: 103)."""

BACKLOG = 128


def socket_path(home: Home) -> Path:
    """The Unix socket's path: in the home, or if that is too long, in the user's runtime folder."""
    if len(os.fsencode(home.socket)) <= MAX_SOCKET_PATH_BYTES:
        return home.socket
    name = blake2b(os.fsencode(home.root), digest_size=8).hexdigest()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return (Path(runtime) if runtime else _temporary_folder()) / f"appliance-{name}.socket"


def _temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"appliance-{os.getuid()}"


def listen_unix(path: Path) -> socket.socket:
    """Listen at this path. Only the owner of the home may call it: a file that is there is left over from a crash.

    Raises:
        HomeError: The socket can't be created, or other users may write to its folder.
    """
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Not by umask, which counts for the files that other threads create meanwhile, too.
        with suppress(OSError):  # Linux creates the file with this mode; other systems refuse
            os.fchmod(unix.fileno(), FILE_MODE)
        try:
            _bind(unix, path)
        except FileNotFoundError:  # another owner has just removed its own socket, and the empty folder
            _bind(unix, path)
        path.chmod(FILE_MODE)
        unix.listen(BACKLOG)
    except OSError as error:
        unix.close()
        remove_socket(path)
        raise HomeError(f"The socket can't be created ({error.strerror or error}).", where=str(path)) from error
    except HomeError:
        unix.close()
        raise
    return unix


def _bind(unix: socket.socket, path: Path) -> None:
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    folder_stat = path.parent.stat()
    if folder_stat.st_uid != os.getuid() or folder_stat.st_mode & 0o022:
        raise HomeError("Other users may write to this folder.", where=str(path.parent), hint="Run chmod 700 on it.")
    path.unlink(missing_ok=True)
    unix.bind(str(path))


def remove_socket(path: Path) -> None:
    """Remove a socket that is not listened on any more, and the temporary folder of sockets if it was the last one."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
        if path.parent == _temporary_folder():
            path.parent.rmdir()

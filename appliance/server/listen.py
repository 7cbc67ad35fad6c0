"""The two sockets that a daemon listens on: a TCP one on a loopback address, and a Unix one for the owner alone.

Over a reload of the settings they stay open, so that nobody is refused meanwhile: the new program is handed their
descriptors in its environment.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from appliance.errors import HomeError, UsageError
from appliance.paths import FILE_MODE, FOLDER_MODE, Home

HANDED_ON = "MEMORY_APPLIANCE_LISTENS"
"""The variable by which descriptors are handed on: pid, TCP, Unix. Its name does not begin as those of settings do."""

LONGEST = 100
"""Bytes that a Unix socket's path may have everywhere (macOS allows 103)."""

BACKLOG = 128


@dataclass(frozen=True, slots=True)
class Listening:
    """The open sockets. ``path`` is where the Unix one's file lies."""

    tcp: socket.socket
    unix: socket.socket
    path: Path

    @property
    def url(self) -> str:
        host, port = self.tcp.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def port(self) -> int:
        return int(self.tcp.getsockname()[1])


@contextmanager
def listen(home: Home, host: str, port: int) -> Iterator[Listening]:
    """Open both sockets, or take over those that were handed on; they are closed at the end, unless they are handed on
    then.

    Raises:
        UsageError: the address can't be listened on.
        HomeError: the Unix socket can't be made.
    """
    path = socket_path(home)
    handed = os.environ.pop(HANDED_ON, "").split(":")
    with ExitStack() as stack:
        if len(handed) == 3 and handed[0] == str(os.getpid()):
            tcp, unix = socket.socket(fileno=int(handed[1])), socket.socket(fileno=int(handed[2]))
        else:
            tcp = stack.enter_context(_tcp(host, port))
            unix = _unix(path)
        with tcp, unix:
            yield Listening(tcp, unix, path)
        if HANDED_ON not in os.environ:
            path.unlink(missing_ok=True)


def hand_on(sockets: Listening) -> None:
    """Let the program that this process becomes take over the sockets; to be called just before."""
    kept = [sockets.tcp.dup(), sockets.unix.dup()]
    for each in kept:
        each.set_inheritable(True)
    os.environ[HANDED_ON] = f"{os.getpid()}:{kept[0].detach()}:{kept[1].detach()}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def socket_path(home: Home) -> Path:
    """Where the Unix socket lies: in the home, or where that is too long a path, in a folder of the user's own."""
    if len(os.fsencode(home.socket)) <= LONGEST:
        return home.socket
    name = blake2b(os.fsencode(home.root), digest_size=8).hexdigest()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(runtime) if runtime else Path(tempfile.gettempdir()) / f"appliance-{os.getuid()}"
    return folder / f"appliance-{name}.socket"


def _tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio sends small answers at once only where it is: they would wait 40 ms.
    tcp = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((host, port))
        tcp.listen(BACKLOG)
    except OSError as error:
        tcp.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"port {port} is in use by another program",
                where=f"{host}:{port}",
                hint="name another with --port or server.port; 0 takes a free one",
            ) from error
        raise UsageError(
            f"can't listen there ({error.strerror or error})",
            where=f"{host}:{port}",
            hint="name an address of this machine with --host, and a port above 1023",
        ) from error
    return tcp


def _unix(path: Path) -> socket.socket:
    unix = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        place = path.parent.stat()
        if place.st_uid != os.getuid() or place.st_mode & 0o022:
            raise HomeError("others may write there", where=str(path.parent), hint="close it: chmod 700")
        path.unlink(
            missing_ok=True
        )  # whoever owns the home is alone: what lies there is left over from a crash
        mask = os.umask(0o777 & ~FILE_MODE)
        try:
            unix.bind(str(path))
        finally:
            os.umask(mask)
        unix.listen(BACKLOG)
    except OSError as error:
        unix.close()
        raise HomeError(
            f"no socket can be made there ({error.strerror or error})", where=str(path)
        ) from error
    except HomeError:
        unix.close()
        raise
    return unix

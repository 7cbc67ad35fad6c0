"""The daemon's two listening sockets: TCP on a loopback address, which a service manager may have opened already, and a
Unix socket that only the owner can open.

They stay open across a reload of the settings, so that no connection is refused: the new program inherits their
descriptors, named in its environment.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import UsageError
from appliance.paths import Home
from appliance.transports.unix_socket import BACKLOG, listen_unix, remove_socket, socket_path

FIRST_PASSED_DESCRIPTOR = 3
"""Where a service manager's sockets begin (sd_listen_fds)."""

INHERITED_SOCKETS_VARIABLE = "MEMORY_APPLIANCE_LISTENS"
"""The environment variable for inherited descriptors (pid:TCP:Unix), without the prefix of settings."""


@dataclass(frozen=True, slots=True)
class ListeningSockets:
    """The open sockets. ``path`` is the file of the Unix socket."""

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
def listen(home: Home, host: str, port: int) -> Iterator[ListeningSockets]:
    """Open both sockets, or take over inherited ones; at the end they are closed, unless they are passed on.

    Raises:
        UsageError: The daemon can't listen on the address.
        HomeError: The Unix socket can't be created.
    """
    path = socket_path(home)
    inherited = os.environ.pop(INHERITED_SOCKETS_VARIABLE, "").split(":")
    with ExitStack() as stack:
        if len(inherited) == 3 and inherited[0] == str(os.getpid()):
            tcp, unix = socket.socket(fileno=int(inherited[1])), socket.socket(fileno=int(inherited[2]))
        else:
            tcp = stack.enter_context(_passed_by_manager() or _open_tcp(host, port))
            unix = listen_unix(path)
        with tcp, unix:
            yield ListeningSockets(tcp, unix, path)
        if INHERITED_SOCKETS_VARIABLE not in os.environ:
            remove_socket(path)


def _passed_by_manager() -> socket.socket | None:
    """The socket that the service manager listens with for this process (sd_listen_fds)."""
    process, count = os.environ.pop("LISTEN_PID", ""), os.environ.pop("LISTEN_FDS", "")
    os.environ.pop("LISTEN_FDNAMES", None)
    if process != str(os.getpid()) or count != "1":
        return None
    passed = socket.socket(fileno=FIRST_PASSED_DESCRIPTOR)
    passed.set_inheritable(False)
    return passed


def check_free(host: str, port: int) -> None:
    """Check that this process can listen on an address, unless a service manager listens there for it.

    Raises:
        UsageError: It can't.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()) and INHERITED_SOCKETS_VARIABLE not in os.environ:
        _open_tcp(host, port).close()


def pass_sockets_on_exec(sockets: ListeningSockets) -> None:
    """Let the program that this process executes next inherit the sockets. Call it just before."""
    duplicates = [sockets.tcp.dup(), sockets.unix.dup()]
    for duplicate in duplicates:
        duplicate.set_inheritable(True)
    os.environ[INHERITED_SOCKETS_VARIABLE] = f"{os.getpid()}:{duplicates[0].detach()}:{duplicates[1].detach()}"


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _open_tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio disables Nagle's algorithm only if the protocol is named; small answers would wait 40 ms.
    tcp = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        tcp.bind((host, port))
        tcp.listen(BACKLOG)
    except OSError as error:
        tcp.close()
        if error.errno == errno.EADDRINUSE:
            raise UsageError(
                f"Port {port} is in use by another program.",
                where=f"{host}:{port}",
                hint="Choose another with --port or server.port; 0 takes a free one.",
            ) from error
        raise UsageError(
            f"Can't listen at this address ({error.strerror or error}).",
            where=f"{host}:{port}",
            hint="Use an address of this machine with --host, and a port above 1023.",
        ) from error
    return tcp

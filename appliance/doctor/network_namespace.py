"""A network namespace without a way out: this process moves into it, and so does what it starts.

Only its loopback interface is up. The kernel counts each attempt of any code, native code included, to reach an address
beyond it, because no route leads there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import socket
import struct
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_GET_FLAGS, _SET_FLAGS = 0x8913, 0x8914  # SIOCGIFFLAGS, SIOCSIFFLAGS
_INTERFACE_UP = 1
_INTERFACE_REQUEST = "16sh22x"

_NO_ROUTES = ("Ip.OutNoRoutes", "Ip6OutNoRoutes")
"""Attempts to connect or send to an address to which no route leads."""

_DATAGRAMS = ("Udp.OutDatagrams", "Udp6OutDatagrams")
"""Datagrams sent, which can only have gone to loopback. The program sends none: one asks a name server there."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """What the kernel has counted: attempts to reach addresses beyond loopback, and datagrams to loopback."""

    unrouted: int
    datagrams: int

    def since(self, before: Attempts) -> Attempts:
        return Attempts(self.unrouted - before.unrouted, self.datagrams - before.datagrams)


def enter() -> None:
    """Move this process into an empty network namespace. It must have one thread.

    Raises:
        OSError: The system allows no namespace here. This process is where it was.
    """
    if sys.platform != "linux":
        raise OSError("only Linux has network namespaces")
    # Some systems allow a namespace, and then nothing in it: another process finds out.
    if (child := os.fork()) == 0:
        try:
            _enter()
        except OSError as error:
            os._exit(error.errno or errno.EPERM)
        os._exit(0)
    if refused := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        is_limit = refused == errno.ENOSPC  # no words about a disk
        raise OSError(refused, "the limit of namespaces is reached" if is_limit else os.strerror(refused))
    _enter()


def _enter() -> None:
    user, group = os.getuid(), os.getgid()
    library = ctypes.CDLL(None, use_errno=True)
    if library.unshare(_CLONE_NEWUSER | _CLONE_NEWNET) == 0:
        # The same user inside as outside: the program looks at who owns its files.
        lines = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
        for name, line in lines.items():
            Path("/proc/self", name).write_text(line)
    elif library.unshare(_CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    _raise_loopback()


def _raise_loopback() -> None:
    if sys.platform != "linux":
        return
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack(_INTERFACE_REQUEST, b"lo", 0)
        _, flags = struct.unpack(_INTERFACE_REQUEST, fcntl.ioctl(any_socket, _GET_FLAGS, request))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack(_INTERFACE_REQUEST, b"lo", flags | _INTERFACE_UP))


def attempts() -> Attempts:
    """What the kernel has counted in this process's namespace.

    Raises:
        OSError: It does not count.
    """
    counters = _parse_snmp(Path("/proc/net/snmp").read_text())
    with suppress(FileNotFoundError):  # the kernel is without IPv6
        counters |= _parse_snmp6(Path("/proc/net/snmp6").read_text())
    return Attempts(*(sum(counters.get(name, 0) for name in names) for names in (_NO_ROUTES, _DATAGRAMS)))


def _parse_snmp(text: str) -> dict[str, int]:
    """Two lines for each protocol: names, then numbers."""
    lines = text.splitlines()
    return {
        f"{protocol}.{name}": int(number)
        for names, numbers in zip(lines[::2], lines[1::2], strict=True)
        for protocol in [names.partition(":")[0]]
        for name, number in zip(names.split()[1:], numbers.split()[1:], strict=True)
    }


def _parse_snmp6(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (line.split() for line in text.splitlines() if line.strip())}

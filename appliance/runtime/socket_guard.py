"""A guard of sockets: notes and refuses what a process asks of other machines, through Python.

``appliance doctor --airgap`` names a folder in an environment variable, which all processes below it inherit; each of
ours installs the guard with the first line of ours that it runs (``appliance/__init__.py``). Without the variable this
module is not even loaded. The guard can only refuse, and note it in one file with a fixed name that is there already.

What native code asks of the system by itself is no event of Python, and passes. An empty network namespace is for that
(``doctor/network_namespace.py``).
"""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

VARIABLE = "MEMORY_APPLIANCE_SOCKET_GUARD"
"""The environment variable that names the folder, without the prefix of settings."""

REPORT = "socket-guard.jsonl"
"""The file in it."""

_BY_ADDRESS = frozenset({"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"})
"""Events with a socket and an address."""

_BY_NAME = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"})
"""Events with a name, or an address whose name is asked for. Both are looked up by servers elsewhere."""

_LOCAL_FAMILIES = ("AF_UNIX", "AF_NETLINK", "AF_ALG")
"""Families that end in this machine: other processes, and the system."""

_CARRIERS = frozenset(
    "socket ssl asyncio selectors http urllib anyio httpcore httpx h11 h2 threading concurrent _socket".split()
)
"""Packages that connect on behalf of others: who asked stands behind them."""


def install(folder: str) -> None:
    """Watch this process until it ends.

    Args:
        folder: It has the file ``REPORT``, which gets a line of JSON for the start of this process, and one for each
            refusal.

    Raises:
        OSError: The file is not there, or is something else. The process must not run unwatched then.
    """
    path = os.path.join(folder, REPORT)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0))
    note = _noter(descriptor)
    note({"event": "start", "process": " ".join(sys.orig_argv[1:])})
    sys.addaudithook(_hook(note))


def _noter(descriptor: int) -> Callable[[dict[str, Any]], None]:
    def note(line: dict[str, Any]) -> None:
        # One write: the lines of several processes do not mix.
        os.write(descriptor, json.dumps({**line, "pid": os.getpid()}).encode() + b"\n")

    return note


def _hook(note: Callable[[dict[str, Any]], None]) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _BY_ADDRESS:
            target = arguments[1]
            is_allowed = target is None or _is_of_local_family(arguments[0]) or is_local_address(target)
        elif event in _BY_NAME:
            target = arguments[0]
            is_allowed = target is None or is_local_address(target, is_lookup=event == "socket.getaddrinfo")
        else:
            return
        if not is_allowed:
            note({"event": event, "target": describe(target), "asked_by": who_asks(sys._getframe(1))})
            raise OSError(errno.ENETUNREACH, "The socket guard refuses what is not on this machine")

    return hook


def _is_of_local_family(asking: Any) -> bool:
    library = sys.modules["_socket"]  # where the event comes from
    return int(asking.family) in {getattr(library, name, None) for name in _LOCAL_FAMILIES}


def is_local_address(target: Any, *, is_lookup: bool = False) -> bool:
    """Whether an address, or the host of one, is this machine's.

    Args:
        target: A host, or a tuple that begins with one.
        is_lookup: It is looked up, and not connected to: an address in numbers is asked of no server then.
    """
    host = target[0] if isinstance(target, tuple) and target else target
    if isinstance(host, bytes):
        host = host.decode("ascii", "replace")
    if not isinstance(host, str):
        return False
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None)
    return is_lookup or (mapped or address).is_loopback


def describe(target: Any) -> str:
    """ "192.0.2.1:443", "[2001:db8::1]:443", or a host."""
    if isinstance(target, tuple) and len(target) > 1:
        return f"[{target[0]}]:{target[1]}" if ":" in str(target[0]) else f"{target[0]}:{target[1]}"
    return target.decode("ascii", "replace") if isinstance(target, bytes) else str(target)


def who_asks(frame: FrameType | None) -> str:
    """The module and line that want to reach out: the first behind the packages that connect on behalf of others."""
    first = frame
    while frame is not None:
        name = str(frame.f_globals.get("__name__", "?"))
        if name.partition(".")[0] not in _CARRIERS:
            return f"{name}:{frame.f_lineno}"
        frame = frame.f_back
    return "?" if first is None else f"{first.f_globals.get('__name__', '?')}:{first.f_lineno}"

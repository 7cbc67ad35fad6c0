"""Whether this machine is one that a kit is for."""

from __future__ import annotations

import platform
import shutil
import struct
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from .kit_file import KitError

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}

_SYSTEM_LIBRARIES = {"libstdc++.so.6": "libstdc++6", "libgcc_s.so.1": "libgcc-s1", "libz.so.1": "zlib1g"}
"""What the wheels for Linux need of the system beside glibc, and the packages of Debian with it: all but the smallest
systems have them."""


def this_platform() -> str:
    """The platform that this Python is for, as "linux-x86_64". Under emulation it is that of Python, not of the
    machine."""
    machine = sysconfig.get_platform().removeprefix("win-") if sys.platform == "win32" else platform.machine()
    return f"{_SYSTEMS.get(sys.platform, sys.platform)}-{machine.lower().replace('amd64', 'x86_64')}"


def check_machine(target: Mapping[str, str]) -> None:
    """Raise KitError unless the kit is for this system, processor and version of Python."""
    here = this_platform()
    if here != target["platform"]:
        raise KitError(f"This kit is for {target['platform']}, and this machine is {here}. Take the kit for {here}.")
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != target["python"]:
        other = shutil.which(f"python{target['python']}")
        way = f"Run it with {other}." if other else f"Take the kit for Python {version}."
        raise KitError(f"This kit is for Python {target['python']}, and this is Python {version}. {way}")
    is_usual = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
    if not is_usual or struct.calcsize("P") != 8:
        raise KitError(f"This kit is for the usual 64-bit CPython, and {sys.executable} is another Python.")
    if glibc := target.get("glibc"):
        name, found = platform.libc_ver()
        if name != "glibc":
            raise KitError("This kit needs a system with glibc; Alpine and others with musl are not supported.")
        if numbers(found) < numbers(glibc):
            raise KitError(f"This kit needs glibc {glibc} or later, and this system has {found}.")
        check_libraries()
    if macos := target.get("macos"):
        found = platform.mac_ver()[0]
        if numbers(found) < numbers(macos):
            raise KitError(f"This kit needs macOS {macos} or later, and this is macOS {found}.")


def check_libraries() -> None:
    """Raise KitError if the system lacks a library that the kit's need."""
    try:
        import ctypes
    except ImportError:  # a Python built without it can't tell
        return
    missing = []
    for library in _SYSTEM_LIBRARIES:
        try:
            ctypes.CDLL(library)
        except OSError:
            missing.append(library)
    if missing:
        packages = " ".join(_SYSTEM_LIBRARIES[library] for library in missing)
        raise KitError(
            f"This system lacks {', '.join(missing)}. Install it first, from the system's own packages (Debian and"
            f" Ubuntu: {packages})."
        )


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def check_room(folder: Path, needed: int) -> None:
    """Raise KitError if the disk of a folder has not so many bytes left."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise KitError(
            f"{folder} has {free // 1_000_000} MB left, and {needed // 1_000_000 + 1} MB are needed. Make room, or"
            " name another folder with --prefix."
        )

"""Machine profiles: settings that fit a small machine, a laptop or a workstation.

``PROFILES`` is the one place that says what a profile sets. What a person sets wins over it. "laptop" sets nothing: the
defaults are meant for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

ProfileName = Literal["tiny", "laptop", "workstation"]
NAMES: tuple[ProfileName, ...] = get_args(ProfileName)

PROFILE_VARIABLE = "APPLIANCE_PROFILE"
"""The variable by which a command line chooses the profile, also for the processes that it starts."""

PROFILES: Mapping[ProfileName, Mapping[str, Mapping[str, Any]]] = {
    "tiny": {
        "model": {"threads": 1, "batch": 8, "idle": 120.0},
        "index": {"ledger": "int8", "search_threads": 1},
        "database": {"cache": 8, "reader_cache": 1},
        "ingest": {"batch": 500, "reader": False},
        "server": {"readers": 0},
        "service": {"memory": 512},
    },
    "laptop": {},
    "workstation": {
        "model": {"batch": 256},
        "database": {"cache": 256, "reader_cache": 16},
        "ingest": {"batch": 16_000},
        "service": {"memory": 8192},
    },
}
"""The settings of each profile, by section."""

TINY_BELOW_BYTES = 1_500_000_000
"""With less memory, "auto" is tiny: a desktop takes most of it, and a board or a small server has no more."""

WORKSTATION_PROCESSORS, WORKSTATION_BYTES = 8, 24_000_000_000
"""From both on, "auto" is workstation."""

WORKSTATION_LIMIT_BYTES = 6_000_000_000
"""What a process may take at least there: the service's own limit is above it, that of a small container below."""

_CGROUP_ROOT = Path("/sys/fs/cgroup")
_PROCESS_CGROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True, slots=True)
class Machine:
    """What "auto" looks at.

    Attributes:
        processors: How many processors the machine has.
        memory: Its memory in bytes; 0 if the system does not tell.
        limit: The bytes that this process may take of it, as its control groups say; ``memory`` where none is set.
    """

    processors: int
    memory: int
    limit: int


def profile_for(machine: Machine) -> ProfileName:
    """The profile of a machine."""
    if 0 < machine.limit < TINY_BELOW_BYTES:
        return "tiny"
    is_large = machine.processors >= WORKSTATION_PROCESSORS and machine.memory >= WORKSTATION_BYTES
    return "workstation" if is_large and machine.limit >= WORKSTATION_LIMIT_BYTES else "laptop"


def resolve(name: ProfileName | Literal["auto"], machine: Machine | None = None) -> ProfileName:
    """The profile that a setting means: a name, or "auto" for that of the machine, by default of this one."""
    return profile_for(machine or this_machine()) if name == "auto" else name


def this_machine() -> Machine:
    """This machine, and what this process may take of it."""
    memory = _physical_memory()
    limits = [limit for limit in control_group_limits() if limit < memory]
    return Machine(os.cpu_count() or 1, memory, min(limits, default=memory))


def _physical_memory() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def _windows_memory() -> int:
    import ctypes

    found = ctypes.c_ulonglong(0)
    kernel: Any = getattr(ctypes, "windll").kernel32  # noqa: B009 - elsewhere, ctypes has none
    return found.value * 1024 if kernel.GetPhysicallyInstalledSystemMemory(ctypes.byref(found)) else 0


def control_group_limits(root: Path = _CGROUP_ROOT, process: Path = _PROCESS_CGROUPS) -> Iterator[int]:
    """The limits of the control groups that this process is in, and of those around them; of both versions."""
    try:
        lines = process.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # not Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = folder / path.lstrip("/")
        # In a container, the path may be one of the system outside; the limit is then in the folder itself.
        for place in (inner, *inner.parents):
            with suppress(OSError, ValueError):  # "max", or no such file
                yield int((place / name).read_text())
            if place == folder:
                break

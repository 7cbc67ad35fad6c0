"""The machine: processor, memory, clock."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from appliance.doctor.checks import Check, Fault, judged, passed, size
from appliance.machine_profiles import control_group_limits
from appliance.runtime.address_space import available_bytes
from appliance.runtime.processors import processors

FAST_INTEGERS = {"avx512_vnni": "VNNI", "avx_vnni": "VNNI", "avx2": "AVX2", "i8mm": "I8MM", "asimddp": "dot product"}
"""Features of processors by which the 8-bit models run fast, the best first, as /proc/cpuinfo names them."""

_SLOW_FEATURES = {"asimd": "NEON", "sse4_1": "SSE4.1"}

MIN_MEMORY_BYTES = 400_000_000
"""An import with the model that comes with the program, or a search, takes up to 300 MB."""

FIRST_YEAR = 2026
"""The program is not older."""

_CLOCK_SLACK = timedelta(minutes=10)

CGROUPS = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class ProcessorFacts:
    """The features that /proc/cpuinfo names, all cores of the machine, those that this process may run on, and how many
    of them its control group grants (None for no limit)."""

    features: frozenset[str]
    cores: int
    usable: int
    quota: float | None


def processor_facts() -> ProcessorFacts:
    features: frozenset[str] = frozenset()
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            if line.lower().startswith(("flags", "features")):
                features = frozenset(line.partition(":")[2].split())
                break
    return ProcessorFacts(features, os.cpu_count() or 1, processors(), cpu_quota(_group_files("cpu.max")))


def cpu_quota(limits: list[str]) -> float | None:
    """The fewest cores that any of these control groups grants, from their ``cpu.max``."""
    granted = math.inf
    for limit in limits:
        share, _, period = limit.strip().partition(" ")
        if share.isdigit() and period.isdigit() and int(period):
            granted = min(granted, int(share) / int(period))
    return None if math.isinf(granted) else granted


def check_processor(facts: ProcessorFacts) -> Check:
    """What the processor does fast, and how much of it may be used. It never fails: slow is not wrong."""
    fast = list(dict.fromkeys(name for flag, name in FAST_INTEGERS.items() if flag in facts.features))
    slow = [name for flag, name in _SLOW_FEATURES.items() if flag in facts.features]
    speed = (
        f"{', '.join(fast)} for the models"
        if fast
        else f"no fast 8-bit arithmetic ({', '.join(slow) or 'none known'}): imports take longer"
        if facts.features
        else ""
    )
    used = f"{facts.usable} of {facts.cores} cores" if facts.usable < facts.cores else f"{facts.cores} cores"
    quota = f"{facts.quota:.1f} of them granted (control group)" if facts.quota and facts.quota < facts.usable else ""
    return passed("processor", used, quota, speed)


def _group_files(name: str) -> list[str]:
    """What this file says in the control group of this process and in those above it."""
    found = []
    with suppress(OSError):
        path = Path("/proc/self/cgroup").read_text().strip().splitlines()[-1].rpartition(":")[2].strip("/")
        folder = CGROUPS / path
        while folder == CGROUPS or CGROUPS in folder.parents:
            with suppress(OSError):
                found.append((folder / name).read_text())
            folder = folder.parent
    return found


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Bytes: of the machine, of them available, what its control group grants, what is left of this process's address
    space. None where that is not known, or not limited."""

    total: int | None
    available: int | None
    granted: int | None
    address_space: int | None


def memory_facts() -> MemoryFacts:
    values: dict[str, int] = {}
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            values[name] = int(rest.split()[0]) * 1024
    limits = control_group_limits()
    total = values.get("MemTotal")
    if total is None and hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return MemoryFacts(total, values.get("MemAvailable"), min(limits, default=None), available_bytes())


def check_memory(facts: MemoryFacts) -> Check:
    """Whether there is enough memory for an import."""
    faults = [
        Fault(f"{size(number)} {what}, and the program needs {size(MIN_MEMORY_BYTES)}", fix)
        for number, what, fix in (
            (facts.available, "are available", "Close other programs."),
            (facts.granted, "are granted by the control group", "Raise MemoryMax of its service or container."),
            (facts.address_space, "of address space are left", "Raise the limit: 'ulimit -v unlimited'."),
        )
        if number is not None and number < MIN_MEMORY_BYTES
    ]
    details = (
        f"{size(facts.total)}" if facts.total is not None else "not known on this system",
        f"{size(facts.available)} available" if facts.available is not None else "",
        f"{size(facts.granted)} granted by the control group"
        if facts.granted is not None and (facts.total is None or facts.granted < facts.total)
        else "",
    )
    return judged("memory", details, faults)


# --- clock ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClockFacts:
    """The time now, when this memory was last changed by its own records, and the zone.

    Attributes:
        zone: What TZ or /etc/localtime says; empty if nothing does.
        is_zone_known: Whether the system knows it.
    """

    now: datetime
    changed: datetime | None
    zone: str
    is_zone_known: bool


def clock_facts(changed: datetime | None, environment: Mapping[str, str] | None = None) -> ClockFacts:
    environment = os.environ if environment is None else environment
    zone = environment.get("TZ", "").removeprefix(":")
    is_known = not zone or sys.platform == "win32" or _knows_zone(zone)
    if not zone:
        local = Path("/etc/localtime")
        zone = os.path.realpath(local).partition("zoneinfo/")[2] or (time.tzname[0] if local.exists() else "")
    return ClockFacts(datetime.now(UTC), changed, zone, is_known)


def _knows_zone(zone: str) -> bool:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if any(character.isdigit() for character in zone) or zone in ("UTC", "GMT"):  # the rules themselves: "CET-1CEST"
        return True
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return Path(zone).is_file()
    return True


def check_clock(facts: ClockFacts) -> Check:
    """Whether the clock can be right, and the zone is one."""
    set_clock = "Set the clock: 'timedatectl set-ntp true', or 'date -s' where there is no network."
    faults = []
    if facts.now.year < FIRST_YEAR:
        faults.append(Fault(f"the clock says {facts.now:%Y-%m-%d}, when this program did not exist", set_clock))
    elif facts.changed is not None and facts.changed > facts.now + _CLOCK_SLACK:
        faults.append(
            Fault(
                f"the clock says {facts.now:%Y-%m-%d %H:%M} UTC, and the memory was last changed at"
                f" {facts.changed:%Y-%m-%d %H:%M}: it has gone back",
                set_clock,
            )
        )
    if not facts.is_zone_known:
        faults.append(
            Fault(f"the zone {facts.zone!r} is unknown, so that times are taken as UTC", "Correct or unset TZ.")
        )
    zone = f"zone {facts.zone}" if facts.zone else "no zone is set: times are those of UTC"
    return judged("clock", (f"{facts.now:%Y-%m-%d %H:%M} UTC", zone), faults)

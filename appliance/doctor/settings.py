"""The settings, and what they make necessary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from appliance.doctor.checks import Check, Fault, failed, judged, passed
from appliance.errors import ConfigError
from appliance.paths import Home
from appliance.runtime.network import NetworkUse
from appliance.settings import Settings

_INOTIFY = Path("/proc/sys/fs/inotify")


def check_settings(
    error: ConfigError | None, changed: Iterable[str], beyond: Iterable[NetworkUse], here: Iterable[NetworkUse]
) -> Check:
    """Whether they can be read, which are set, and what they make the program ask over the network.

    Args:
        error: Why they can't be read.
        changed: The ones that are set.
        beyond, here: The parts that use another machine, and a server on this one.
    """
    if error is not None:
        return failed("settings", str(error), error.hint or "Correct it: 'appliance config' lists the settings.")
    names = ", ".join(changed)
    return passed(
        "settings",
        f"set: {names}" if names else "all by default",
        *(f"{use.part} at {use.address} is asked over the network" for use in beyond),
        *(f"{use.part} at {use.address}, on this machine" for use in here),
    )


# --- watched folders -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WatchFacts:
    """What the system reports changes of (inotify), and what is watched.

    Attributes:
        watches, instances: The most that this user may have.
        used: Watches that other programs of this user have now.
        used_instances: The same of instances.
        needed: Folders to watch: the inbox, the configured ones, and what is in them.
        missing: Configured paths that are not there.
        rescan: Seconds after which the watcher looks by itself.
    """

    watches: int
    instances: int
    used: int
    used_instances: int
    needed: int
    missing: tuple[str, ...]
    rescan: float


def watch_facts(home: Home, settings: Settings, owner: int | None) -> WatchFacts | None:
    """None where the system has no inotify.

    Args:
        owner: The process that owns the home: what it watches is needed, and not in use by others.
    """
    try:
        watches, instances = (int((_INOTIFY / f"max_user_{name}").read_text()) for name in ("watches", "instances"))
    except (OSError, ValueError):
        return None
    paths = [Path(path).expanduser() for path in settings.watch.folders]
    needed = sum(1 if path.is_file() else _folders_in(path, watches) for path in (home.inbox, *paths))
    used, used_instances = _used(owner)
    return WatchFacts(
        watches, instances, used, used_instances, needed,
        tuple(str(path) for path in paths if not path.exists()), settings.watch.rescan,
    )  # fmt: skip


def _folders_in(folder: Path, most: int) -> int:
    """A folder and the folders in it, up to more than ``most``; those that can't be read count as none."""
    return sum(1 for _ in islice(os.walk(folder), most + 1))


def _used(owner: int | None) -> tuple[int, int]:
    """Watches and instances of this user's processes, without those of the owner."""
    watches = instances = 0
    for process in _own_processes():
        if process.name == str(owner):
            continue
        with suppress(OSError):
            for name in os.listdir(process / "fd"):
                with suppress(OSError):
                    if os.readlink(process / "fd" / name) == "anon_inode:inotify":
                        instances += 1
                        watches += (process / "fdinfo" / name).read_text().count("\ninotify ")
    return watches, instances


def _own_processes() -> Iterator[Path]:
    user = os.geteuid()
    with suppress(OSError), os.scandir("/proc") as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == user:
                    yield Path(entry.path)


def check_watches(facts: WatchFacts) -> Check:
    """Whether the system reports the changes of all watched folders."""
    faults = []
    if facts.needed > facts.watches - facts.used:
        wanted = 1 << (facts.used + facts.needed).bit_length()
        faults.append(
            Fault(
                f"{facts.needed:,} folders are to be watched, and {max(0, facts.watches - facts.used):,} of"
                f" {facts.watches:,} watches are left: changes are found every {facts.rescan:.0f} s only",
                f"Allow more: 'echo fs.inotify.max_user_watches={wanted} | sudo tee /etc/sysctl.d/60-inotify.conf &&"
                " sudo sysctl --system'; or watch fewer folders.",
            )
        )
    if facts.used_instances >= facts.instances:
        faults.append(
            Fault(
                f"all {facts.instances:,} watchers (inotify instances) of this user are in use",
                f"Allow more: 'sudo sysctl fs.inotify.max_user_instances={facts.instances * 2}'.",
            )
        )
    if facts.missing:
        faults.append(
            Fault(
                f"{', '.join(facts.missing)} of watch.folders is not there",
                "Mount or make it, or remove it: 'appliance watch remove PATH'.",
            )
        )
    folders = f"{facts.needed:,} folder" + ("" if facts.needed == 1 else "s")
    return judged("watched folders", (folders, f"{facts.used:,} of {facts.watches:,} watches in use"), faults)

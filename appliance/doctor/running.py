"""What runs on a home: its owner, the service, and what processes that were killed have left behind."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance import __version__
from appliance.build_commit import PACKAGE
from appliance.doctor.checks import Check, Fault, failed, judged, passed
from appliance.paths import Home, file_entries
from appliance.store.lock import is_running, is_suspended, read_owner
from appliance.transports.daemon import find_address, read_address
from appliance.types import Owner

if TYPE_CHECKING:
    from appliance.server.service.plan import ServiceState

_LOCKS = Path("/proc/locks")
_ANSWER_SECONDS = 2.0

HIDDEN = -1
"""The process that holds the lock is in another container."""


@dataclass(frozen=True, slots=True)
class OwnerFacts:
    """The process that owns a home, or the last one that did.

    Attributes:
        owner: The process that the lock names; None if the last one has left.
        holder: The process that holds the lock, as ``lock_holder`` says.
        is_running: Whether the process that the lock names runs.
        is_suspended: Whether it is stopped, as by ctrl+z.
        command: What was started, where the system tells.
        since: When, in seconds since 1970; None where the system does not tell.
        version: Of a daemon, as it wrote it.
        installed_at: When this program was installed, in seconds since 1970.
        answers: Whether it answers at its socket; None if it names none.
    """

    owner: Owner | None
    holder: int | None = None
    is_running: bool = False
    is_suspended: bool = False
    command: str = ""
    since: float | None = None
    version: str = ""
    installed_at: float | None = None
    answers: bool | None = None

    @property
    def has_home(self) -> bool:
        """Whether a process owns the home now."""
        return self.is_running if self.holder is None else self.holder != 0

    @property
    def pid(self) -> int | None:
        """The process that owns the home now, if it can be seen from here."""
        if not self.has_home or self.holder == HIDDEN:
            return None
        return self.holder or (self.owner.pid if self.owner else None)


def owner_facts(home: Home) -> OwnerFacts:
    """Look who owns a home. The lock is not taken, not even for a moment."""
    owner = read_owner(home.lock)
    noted = owner.pid if owner is not None and is_running(owner.pid) else None
    holder = lock_holder(home.lock, noted)
    if holder == 0 and noted is not None and _answers(home):  # its file system has other numbers than the list
        holder = noted
    if holder == 0 or (holder is None and noted is None):
        return OwnerFacts(owner, holder)
    if holder == HIDDEN:
        return OwnerFacts(owner or Owner(0, "another process"), holder, is_running=True)
    pid = holder or noted or 0
    address = read_address(home)
    return OwnerFacts(
        owner or Owner(pid, "another process"),
        holder,
        is_running=True,
        is_suspended=is_suspended(Owner(pid, "")),
        command=_command_of(pid),
        since=_started_at(pid),
        version=address.version if address is not None and address.pid == pid else "",
        installed_at=_installed_at(),
        answers=_answers(home),
    )


def lock_holder(lock: Path, noted: int | None) -> int | None:
    """The process that holds a lock (flock), by the kernel's list.

    Args:
        noted: The process that the lock's file names, if it runs.

    Returns:
        The process; 0 if none holds it, ``HIDDEN`` if it can't be seen from here, None where there is no list.
    """
    try:
        found, lines = lock.stat(), _LOCKS.read_text().splitlines()
    except FileNotFoundError:
        return 0 if _LOCKS.exists() else None
    except OSError:
        return None
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    return find_holder(lines, device, str(found.st_ino), noted)


def find_holder(lines: Iterable[str], device: str, number: str, noted: int | None = None) -> int:
    """The process that holds the lock of a file, by the lines of /proc/locks. Some file systems (btrfs) have another
    device there than files say: then the one that the lock names must hold it."""
    for line in lines:
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK":
            continue
        pid, (place, _, inode) = int(fields[4]), fields[5].rpartition(":")
        if inode == number and (place == device or pid == noted):
            return pid if pid > 0 else HIDDEN
    return 0


def _command_of(pid: int) -> str:
    with suppress(OSError):
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
        return shlex.join(part.decode("utf-8", "replace") for part in parts)
    return ""


def _started_at(pid: int) -> float | None:
    """When a process was started, in seconds since 1970."""
    try:
        ticks = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def _installed_at() -> float | None:
    """When the files of this program were written here. Archives give them other times of change, but not this one."""
    with suppress(OSError):
        return (PACKAGE / "__init__.py").stat().st_ctime
    return None


def _answers(home: Home) -> bool | None:
    """Whether the owner accepts a connection at its socket; it is closed at once."""
    import socket

    if sys.platform == "win32":
        return None
    address = find_address(home)
    if address is None:
        return None
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as unix:
        unix.settimeout(_ANSWER_SECONDS)
        try:
            unix.connect(address.path)
        except OSError:
            return False
    return True


def check_owner(facts: OwnerFacts, version: str = __version__) -> Check:
    """Who owns the home, and whether it works for this program.

    Args:
        version: Of this program.
    """
    owner = facts.owner
    if not facts.has_home or owner is None:
        return passed("owner", "none: no program has the memory open")
    since = f"since {time.strftime('%Y-%m-%d %H:%M', time.localtime(facts.since))}" if facts.since else ""
    pid = facts.pid
    if pid is None:
        return passed("owner", f"'{owner.purpose}', in another container; what it does can't be seen from here")
    named = f"'{owner.purpose}', process {pid}"
    restart = (
        "Restart it: 'systemctl --user restart memory-appliance' if it is the service; else stop it"
        f" ('kill {pid}') and start it again."
    )
    faults = []
    if facts.is_suspended:
        faults.append(Fault(f"{named} is stopped, so that no other program gets an answer", f"'kill -CONT {pid}'."))
    elif facts.answers is False:
        faults.append(Fault(f"{named} does not answer at its socket", restart))
    if facts.version and facts.version != version:
        faults.append(Fault(f"{named} is version {facts.version}, and this is {version}", restart))
    elif facts.since is not None and facts.installed_at is not None and facts.since < facts.installed_at:
        faults.append(Fault(f"{named} runs {since}, and the program was installed anew later", restart))
    return judged("owner", (named, since, facts.command), faults)


# --- the service -----------------------------------------------------------------------------------------------


def service_state(home: Home) -> ServiceState | None:
    """The service of a home; None if none is installed. The service manager is asked only if one is.

    Raises:
        ApplianceError: The service manager is not there, or the settings can't be read.
    """
    from appliance.server.service.plan import plan_for, service_manager

    manager, plan = service_manager(), plan_for(home)
    if not any(path.exists() for path in manager.files(plan)):
        return None
    return manager.state(plan)


def check_service(state: ServiceState | None) -> Check:
    """Whether the service, if one is installed, is the present one and runs."""
    if state is None:
        return passed("service", "not installed: no daemon starts at login ('appliance service install')")
    faults = []
    renew = "Install it again: 'appliance service install'."
    if not state.installed:
        faults.append(Fault(f"its files are there, and {state.manager} does not start it at login", renew))
    if not state.current:
        faults.append(Fault("its files differ from what would be written now, as after an upgrade", renew))
    if state.installed and not state.running:
        faults.append(
            Fault(
                f"it does not run: {state.detail or 'the manager gives no reason'}",
                f"{renew} 'journalctl --user -u memory-appliance' says why it ended."
                if state.manager == "systemd"
                else renew,
            )
        )
    return judged("service", (state.manager, "runs", state.detail), faults)


# --- what is left ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeftoverFacts:
    """What lies in a home that a running program would remove.

    Attributes:
        has_owner: Whether a program has the home open: then all of it may be in use.
        stale: Files that a killed process left behind. The next one that opens the home replaces them.
        erasures: Erasures that are not finished.
        imports: Imports that are not finished.
        uploads: Bytes of uploads that were never read.
    """

    has_owner: bool
    stale: tuple[str, ...] = ()
    erasures: int = 0
    imports: tuple[str, ...] = ()
    uploads: int = 0


def leftover_facts(home: Home, owner: OwnerFacts, imports: tuple[str, ...]) -> LeftoverFacts:
    stale = []
    if not owner.has_home:
        stale += [path.name for path in (home.daemon, home.socket) if os.path.lexists(path)]
        if owner.owner is not None:
            stale.append(f"{home.lock.name} (of process {owner.owner.pid})")
        log = home.database.with_name(f"{home.database.name}-wal")
        if log.is_file() and log.stat().st_size:
            stale.append(log.name)
    with suppress(OSError):
        stale += sorted(path.name for path in home.root.glob("*.new"))
    return LeftoverFacts(
        owner.has_home,
        tuple(stale),
        len(list(file_entries(home.erasing))) if home.erasing.is_dir() else 0,
        imports,
        sum(entry.stat().st_size for entry in file_entries(home.uploads)) if home.uploads.is_dir() else 0,
    )


def check_leftovers(facts: LeftoverFacts) -> Check:
    """Whether something was broken off that a person must go on with."""
    if facts.has_owner:
        return passed("leftovers", "a program has the memory open; what it works on is not looked at")
    faults = []
    if facts.imports:
        more = f" and {len(facts.imports) - 1} more" if len(facts.imports) > 1 else ""
        faults.append(
            Fault(
                f"the import of {facts.imports[0]}{more} was broken off", "'appliance ingest --resume' reads the rest."
            )
        )
    if facts.erasures:
        faults.append(
            Fault(
                "an erasure was interrupted before it had been searched for", "'appliance reindex --pending' ends it."
            )
        )
    stale = f"{', '.join(facts.stale)} of a program that was killed; the next one replaces them" if facts.stale else ""
    uploads = f"{facts.uploads / 1e6:,.1f} MB of uploads, which the daemon removes" if facts.uploads else ""
    return judged("leftovers", (stale or uploads or "none", uploads if stale else ""), faults)


def failed_service(error: Exception) -> Check:
    """The check of a service whose manager can't be asked."""
    return failed("service", f"its manager can't be asked: {error}", "Log in as the user itself, not by su or sudo.")

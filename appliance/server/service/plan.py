"""What a service manager is told, and what it answers."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from appliance import config, machine_profiles
from appliance.errors import ApplianceError
from appliance.paths import Home, write_file_atomically
from appliance.runtime import child_process
from appliance.runtime.network import network_uses
from appliance.settings import ServiceSettings

START_TIMEOUT_SECONDS = 90


class ServiceError(ApplianceError):
    """The service manager refuses, is not there, or can't start the daemon."""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    """The service of a home.

    Attributes:
        command: What starts the daemon.
        home: The folder of the memory.
        host: The address that it listens on.
        port: The port; 0 if any free one is taken.
        only_loopback: Whether nothing beyond this machine is configured: then the service may reach nothing else.
        memory: The megabytes that it may take, as far as the manager can limit them.
    """

    command: tuple[str, ...]
    home: Path
    host: str
    port: int
    only_loopback: bool
    memory: int = ServiceSettings().memory


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What is known of the service.

    Attributes:
        manager: Who runs it: "systemd", "launchd" or "Task Scheduler".
        installed: Whether it starts at login.
        running: Whether the daemon runs by it.
        current: Whether its files are those that ``install`` would write now.
        files: Where they are.
        detail: The manager's own words.
    """

    manager: str
    installed: bool
    running: bool
    current: bool
    files: tuple[Path, ...]
    detail: str = ""


Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


class ServiceManager(Protocol):
    """Starts a program at login, and keeps it running."""

    name: str

    def files(self, plan: ServicePlan) -> Mapping[Path, str]:
        """The files that tell it about the service, with their contents."""

    def install(self, plan: ServicePlan) -> None:
        """Write the files, and start the service now and at each login. Raises ServiceError."""

    def state(self, plan: ServicePlan) -> ServiceState: ...

    def remove(self, plan: ServicePlan) -> bool:
        """Stop the service and remove its files; returns whether there was one. Raises ServiceError."""


def plan_for(home: Home) -> ServicePlan:
    """The service of a home, by its settings."""
    settings, origins = config.load_with_origins(home)
    command = (*child_process.own_command(), "serve", "--home", str(home.root))
    if origins["profile"] == machine_profiles.PROFILE_VARIABLE:  # the file says it to the daemon itself
        command += ("--profile", settings.profile)
    is_closed = not network_uses(settings, settings.model.full_name())
    return ServicePlan(
        command, home.root, settings.server.host, settings.server.port, is_closed, settings.service.memory
    )


def run_program(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a program of the system.

    Raises:
        ServiceError: It is not installed, or does not end.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False, stdin=subprocess.DEVNULL,
            timeout=START_TIMEOUT_SECONDS,
        )  # fmt: skip
    except FileNotFoundError:
        raise ServiceError(
            f"{command[0]} is not on this system.", hint="'appliance serve' starts the daemon without it."
        ) from None
    except subprocess.TimeoutExpired:
        raise ServiceError(f"'{' '.join(command)}' did not end in {START_TIMEOUT_SECONDS} s.") from None


def service_manager(run: Run = run_program) -> ServiceManager:
    """The service manager of this system."""
    if sys.platform == "darwin":
        from appliance.server.service.launchd import Launchd

        return Launchd(run)
    if sys.platform == "win32":
        from appliance.server.service.task_scheduler import TaskScheduler

        return TaskScheduler(run)
    from appliance.server.service.systemd import Systemd

    return Systemd(run)


def other_ways(plan: ServicePlan) -> str:
    """How the daemon can start at login, or with the machine, where systemd does not run: each way, and its lines."""
    command = shlex.join(plan.command)
    started = f"{command} >/dev/null 2>&1"
    quoted = " ".join(f'"{part}"' if " " in part else part for part in plan.command).replace("%", "%%")
    ways = [
        ("with the machine, by cron: 'crontab -e', and add", ["@reboot " + started.replace("%", r"\%")]),
        ("at login, in ~/.profile", [f"({started} &)"]),
        (
            "at login to a desktop, in a file ~/.config/autostart/memory-appliance.desktop",
            ["[Desktop Entry]", "Type=Application", "Name=Memory appliance", f"Exec={quoted}"],
        ),
    ]
    lines = [line for way, lines in ways for line in (f"  {way}:", *(f"    {line}" for line in lines))]
    return "\n".join(["Where systemd does not run, the daemon can start otherwise:", *lines])


def write_files(files: Mapping[Path, str]) -> None:
    """Write the files of a service.

    Raises:
        ServiceError: One of them can't be written.
    """
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file_atomically(path, content.encode())
    except OSError as error:
        raise ServiceError(f"{error.filename}: {error.strerror}.") from error


def remove_files(files: Mapping[Path, str]) -> bool:
    """Remove the files of a service; returns whether there was one."""
    existing = [path for path in files if path.exists()]
    for path in existing:
        path.unlink()
    return bool(existing)


def are_current(files: Mapping[Path, str]) -> bool:
    """Whether the files of a service have the given contents."""
    return all(path.exists() and path.read_text(encoding="utf-8") == content for path, content in files.items())

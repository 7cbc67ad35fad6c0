"""The service as units of systemd's user manager: a socket, and the daemon behind it.

The hardening is what a memory can live with: it reads exports anywhere, and ``backup`` writes wherever the person says,
so that the person's own files stay writable.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from appliance.server.service.plan import (
    Run,
    ServiceError,
    ServicePlan,
    ServiceState,
    are_current,
    other_ways,
    remove_files,
    write_files,
)

UNIT = "memory-appliance"
SERVICE, SOCKET = f"{UNIT}.service", f"{UNIT}.socket"
_JOURNAL_LINES = "15"

_SERVICE = """\
# {origin} 'systemctl --user edit {unit}' adds to it.
[Unit]
Description=Memory appliance{home}

[Service]
Type=notify
ExecStart={command}
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
WatchdogSec=60
TimeoutStopSec=60
UMask=0077
LimitNOFILE=8192
MemoryMax={memory_max}
NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=full
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictSUIDSGID=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
{network}
[Install]
WantedBy=default.target
"""

_NO_NETWORK = """\
# Nothing beyond this machine is configured, so nothing else can be reached.
IPAddressDeny=any
IPAddressAllow=localhost
"""

_SOCKET = """\
# {origin} A connection starts the daemon if it does not run.
[Unit]
Description=Memory appliance, HTTP

[Socket]
ListenStream={address}

[Install]
WantedBy=sockets.target
"""

_OWN = "Written by 'appliance service install', which writes it anew."


def unit_files(plan: ServicePlan, origin: str = _OWN, home: str | None = None) -> Mapping[str, str]:
    """The units of a service: their names and contents.

    Args:
        origin: A sentence on where they come from.
        home: How the description names the home; by default its folder.
    """
    units = {
        SERVICE: _SERVICE.format(
            origin=origin,
            unit=UNIT,
            home=f" ({_escaped(str(plan.home))})" if home is None else home,
            command=" ".join(map(_quoted, plan.command)),
            memory_max=f"{plan.memory}M",
            network=_NO_NETWORK if plan.only_loopback else "",
        )
    }
    if plan.port:
        host = f"[{plan.host}]" if ":" in plan.host else plan.host.replace("localhost", "127.0.0.1")
        units[SOCKET] = _SOCKET.format(origin=origin, address=f"{host}:{plan.port}")
    return units


class Systemd:
    """systemd's manager of the person's own services."""

    name = "systemd"

    def __init__(self, run: Run) -> None:
        self._run = run

    def files(self, plan: ServicePlan) -> Mapping[Path, str]:
        folder = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "systemd/user"
        return {folder / name: content for name, content in unit_files(plan).items()}

    def install(self, plan: ServicePlan) -> None:
        self._require_manager(plan)
        files = self.files(plan)
        write_files(files)
        self._systemctl("daemon-reload")
        # A daemon that runs by older files is replaced; one that was started by hand is not this service's to stop.
        self._systemctl("stop", SERVICE)
        for unit in reversed([path.name for path in files]):
            ended = self._systemctl("enable", "--now", unit)
            if ended.returncode != 0:
                journal = self._run(
                    ["journalctl", "--user", "-u", unit, "-n", _JOURNAL_LINES, "--no-pager", "-o", "cat"]
                )
                raise ServiceError(
                    f"The unit {unit} can't be started: {ended.stderr.strip() or 'it ended at once'}",
                    hint=journal.stdout.strip() or f"Look at 'systemctl --user status {unit}'.",
                )

    def state(self, plan: ServicePlan) -> ServiceState:
        files = self.files(plan)
        values, trouble = self._show()
        own = tuple(path for path in files if path.exists())
        unit = values.get("FragmentPath", "")
        return ServiceState(
            self.name,
            installed=values.get("UnitFileState") == "enabled",
            running=values.get("ActiveState") == "active",
            # A package of the system may bring the units; these are as they are.
            current=are_current(files) if own or not unit else True,
            files=own or ((Path(unit),) if unit else ()),
            detail=f"{values.get('ActiveState', 'unknown')} ({values.get('SubState', '')})" if values else trouble,
        )

    def remove(self, plan: ServicePlan) -> bool:
        files = self.files(plan)
        values, _ = self._show()
        is_used = values.get("UnitFileState") == "enabled" or values.get("ActiveState") == "active"
        if not is_used and not any(path.exists() for path in files):
            return False
        self._systemctl("disable", "--now", SOCKET, SERVICE)
        remove_files(files)
        self._systemctl("daemon-reload")
        return True

    def _show(self) -> tuple[Mapping[str, str], str]:
        """What systemd reports of the service, with a unit of the user's or of a package, or why it reports nothing."""
        shown = self._systemctl("show", SERVICE, "-p", "UnitFileState,ActiveState,SubState,FragmentPath")
        return dict(line.partition("=")[::2] for line in shown.stdout.splitlines()), shown.stderr.strip()

    def _require_manager(self, plan: ServicePlan) -> None:
        try:
            asked = self._systemctl("show-environment")
        except ServiceError as error:
            raise ServiceError(f"This system has no systemd: {error}", hint=other_ways(plan)) from error
        if asked.returncode != 0:
            raise ServiceError(
                f"No systemd runs for this user here ({asked.stderr.strip()}).",
                hint="If it runs on this machine, log in as the user, not by su or sudo; 'appliance service install"
                f" --print' shows the units.\n  {other_ways(plan)}",
            )

    def _systemctl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(["systemctl", "--user", *arguments])


def _escaped(text: str) -> str:
    """A text in a unit: % begins a specifier."""
    return text.replace("%", "%%")


def _quoted(argument: str) -> str:
    """An argument of ExecStart."""
    escaped = _escaped(argument).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if set(escaped) & set(" \t;'\\\"") else escaped

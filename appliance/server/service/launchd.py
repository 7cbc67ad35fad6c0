"""The service as an agent of launchd, on macOS."""

from __future__ import annotations

import os
import plistlib
from collections.abc import Mapping
from pathlib import Path

from appliance.server.service.plan import (
    Run,
    ServiceError,
    ServicePlan,
    ServiceState,
    are_current,
    remove_files,
    write_files,
)

LABEL = "local.memory-appliance"
_OWNER_ONLY = 0o077
_STOP_SECONDS = 60


class Launchd:
    """launchd's agents of the person."""

    name = "launchd"

    def __init__(self, run: Run) -> None:
        self._run = run
        self._domain = f"gui/{os.getuid()}"

    def files(self, plan: ServicePlan) -> Mapping[Path, str]:
        agent = {
            "Label": LABEL,
            "ProgramArguments": list(plan.command),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ProcessType": "Background",
            "Umask": _OWNER_ONLY,
            "ExitTimeOut": _STOP_SECONDS,
        }
        return {Path.home() / f"Library/LaunchAgents/{LABEL}.plist": plistlib.dumps(agent).decode()}

    def install(self, plan: ServicePlan) -> None:
        files = self.files(plan)
        self._run(["launchctl", "bootout", f"{self._domain}/{LABEL}"])  # one that runs by older files
        write_files(files)
        (path,) = files
        ended = self._run(["launchctl", "bootstrap", self._domain, str(path)])
        if ended.returncode != 0:
            raise ServiceError(
                f"The agent can't be started by launchd: {ended.stderr.strip()}", hint="Run it in a graphical session."
            )

    def state(self, plan: ServicePlan) -> ServiceState:
        files = self.files(plan)
        shown = self._run(["launchctl", "print", f"{self._domain}/{LABEL}"])
        lines = [line.strip() for line in shown.stdout.splitlines()]
        detail = next((line for line in lines if line.startswith("state = ")), shown.stderr.strip())
        return ServiceState(
            self.name,
            installed=shown.returncode == 0,
            running=detail == "state = running",
            current=are_current(files),
            files=tuple(path for path in files if path.exists()),
            detail=detail.removeprefix("state = "),
        )

    def remove(self, plan: ServicePlan) -> bool:
        self._run(["launchctl", "bootout", f"{self._domain}/{LABEL}"])
        return remove_files(self.files(plan))

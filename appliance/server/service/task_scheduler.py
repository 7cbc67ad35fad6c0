"""The service as a task of the Task Scheduler, on Windows."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from appliance.server.service.plan import (
    Run,
    ServiceError,
    ServicePlan,
    ServiceState,
    are_current,
    remove_files,
    write_files,
)

TASK = "Memory appliance"

_TASK = """\
<?xml version="1.0" encoding="UTF-8"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <Triggers>
    <LogonTrigger><Enabled>true</Enabled><UserId>{user}</UserId></LogonTrigger>
  </Triggers>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <RestartOnFailure><Interval>PT1M</Interval><Count>5</Count></RestartOnFailure>
  </Settings>
  <Actions>
    <Exec><Command>{program}</Command><Arguments>{arguments}</Arguments></Exec>
  </Actions>
</Task>
"""


class TaskScheduler:
    """The tasks of the person."""

    name = "Task Scheduler"

    def __init__(self, run: Run) -> None:
        self._run = run

    def files(self, plan: ServicePlan) -> Mapping[Path, str]:
        program, *arguments = plan.command
        user = f"{os.environ.get('USERDOMAIN', '')}\\{os.environ.get('USERNAME', '')}".lstrip("\\")
        task = _TASK.format(
            user=escape(user), program=escape(program), arguments=escape(subprocess.list2cmdline(arguments))
        )
        return {plan.home / "service.xml": task}

    def install(self, plan: ServicePlan) -> None:
        files = self.files(plan)
        write_files(files)
        (path,) = files
        for command in (["/Create", "/F", "/TN", TASK, "/XML", str(path)], ["/Run", "/TN", TASK]):
            ended = self._run(["schtasks", *command])
            if ended.returncode != 0:
                raise ServiceError(f"The Task Scheduler refuses: {ended.stderr.strip() or ended.stdout.strip()}")

    def state(self, plan: ServicePlan) -> ServiceState:
        files = self.files(plan)
        shown = self._run(["schtasks", "/Query", "/TN", TASK, "/FO", "CSV", "/NH"])
        detail = shown.stdout.strip().rpartition(",")[2].strip('"')
        return ServiceState(
            self.name,
            installed=shown.returncode == 0,
            running=detail == "Running",
            current=are_current(files),
            files=tuple(path for path in files if path.exists()),
            detail=detail,
        )

    def remove(self, plan: ServicePlan) -> bool:
        self._run(["schtasks", "/End", "/TN", TASK])
        was_there = self._run(["schtasks", "/Delete", "/F", "/TN", TASK]).returncode == 0
        return remove_files(self.files(plan)) or was_there

"""``appliance doctor --airgap``: the program itself runs, in a memory that is thrown away, and is watched.

The runs are in a process of their own (``airgap_process``), because it moves into an empty network namespace where the
system allows that. This module starts it and makes checks of what it reports.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from appliance.config import ENVIRONMENT_PREFIX
from appliance.doctor.checks import Check, Fault, failed, judged, passed
from appliance.errors import StoreError
from appliance.runtime import child_process, socket_guard
from appliance.runtime.network import NetworkUse

RUNS = ("ingest", "search", "context", "screen", "mcp", "http", "files")
"""What is run, in this order."""

_REMOVED = frozenset({"JINA_API_KEY", "ORT_DISABLE_TELEMETRY"})
"""Variables without our prefix that let the program use an API; and one that the program itself must set."""

_PYTHON_FIX = (
    "The module named asks for other machines. Find what installed it ('pip list') and remove it, or install the"
    " program anew in an environment of its own."
)
_NATIVE_FIX = (
    "Native code, or a program without our guard, tried it. 'strace -f -e trace=network appliance VERB' shows which;"
    " then install the program anew in an environment of its own."
)


def airgap(runs: Sequence[str] = RUNS) -> Iterator[Check]:
    """Run the program, and yield a check for each run as it ends: first for what watches the runs, at last for those
    that did not take place because the process that runs them ended.

    Args:
        runs: Which of ``RUNS``; "ingest" must be the first.

    Raises:
        StoreError: There is no room for it.
    """
    left = ["isolation", *runs]
    try:
        tempfile.gettempdir()
    except FileNotFoundError as error:
        raise StoreError("There is no folder for temporary files.", hint="Make room, or set TMPDIR.") from error
    with tempfile.TemporaryDirectory(prefix="appliance-airgap-") as folder, _running(Path(folder), runs) as process:
        for line in cast(IO[str], process.stdout):
            reported = json.loads(line)
            left.remove(reported["name"])
            yield check_of(reported)
        process.wait()
    for name in left:
        yield failed(
            name, f"the process that runs it ended with {process.returncode}", "Run it again; is there enough memory?"
        )


@contextmanager
def _running(folder: Path, runs: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """The process that runs all. What it has started ends with the context."""
    (folder / socket_guard.REPORT).touch(mode=0o600)
    process = subprocess.Popen(
        child_process.command_for("appliance.doctor.airgap_process", str(folder), *runs),
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(OSError):  # it has ended, as it should
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        cast(IO[str], process.stdout).close()


def environment(folder: Path) -> dict[str, str]:
    """This environment with a home and a user's folder that are thrown away, no settings, and the guard."""
    kept = {
        name: value
        for name, value in child_process.environment().items()
        if not name.startswith((ENVIRONMENT_PREFIX, "XDG_")) and name not in _REMOVED
    }
    return kept | {
        "HOME": str(folder),
        "APPLIANCE_HOME": str(folder / "home"),
        socket_guard.VARIABLE: str(folder),
        "PYTHONIOENCODING": "utf-8",
    }


def check_of(reported: dict[str, Any]) -> Check:
    """The check of one run, from what the process says of it: its name and detail, why it failed ("trouble"), what
    Python code asked for ("asked"), and what the kernel has counted beyond that ("unrouted", "datagrams"; None without
    a namespace)."""
    return judged(reported["name"], (reported["detail"],), _faults(reported))


def _faults(reported: dict[str, Any]) -> Iterator[Fault]:
    for asked in dict.fromkeys(
        f"{line['asked_by']} tried {line['event'].removeprefix('socket.')} {line['target']}"
        for line in reported["asked"]
    ):
        yield Fault(asked, _PYTHON_FIX)
    if unrouted := reported["unrouted"]:
        yield Fault(f"the kernel counted {_number(unrouted, 'attempt')} to reach an address elsewhere", _NATIVE_FIX)
    if datagrams := reported["datagrams"]:
        yield Fault(
            f"the kernel counted {_number(datagrams, 'datagram')}, as to a name server on this machine", _NATIVE_FIX
        )
    if reported["trouble"]:
        yield Fault(reported["trouble"], reported["fix"])


def _number(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def check_settings(uses: Sequence[NetworkUse]) -> Check:
    """Whether a person's own settings make their memory use the network, which the runs do not."""
    if not uses:
        return passed("settings", "yours name no other machine")
    named = "; ".join(f"{use.part} at {use.address} ({use.setting})" for use in uses)
    settings = ", ".join(dict.fromkeys(use.setting for use in uses))
    return failed(
        "settings",
        f"yours make the program reach out: {named}",
        f"Remove {settings} from your settings, or name a server on this machine. 'appliance config' shows where each"
        " is set.",
    )

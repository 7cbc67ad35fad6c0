"""The process that runs the program for ``appliance doctor --airgap``:
``python -m appliance.doctor.airgap_process FOLDER RUN…``.

It moves into an empty network namespace, if the system allows that, shows that what watches works, and then runs the
program. Each run is of processes of their own, all under the guard of sockets. It writes a line of JSON for each.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.doctor import network_namespace
from appliance.doctor.airgap_runs import RUN, Failure
from appliance.runtime import child_process, socket_guard

NOWHERE = "192.0.2.1"
"""An address for documentation (RFC 5737), which is no machine's."""

PORT = 9


@dataclass(frozen=True, slots=True)
class Watch:
    """What is known of attempts to reach out: the guard's file, and whether the kernel counts them for this process."""

    report: Path
    has_namespace: bool

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.report.read_text(encoding="utf-8").splitlines()]


_PLANT = "--plant"
"""In place of a folder: make the connection that the guard must see."""


def main() -> int:
    if sys.argv[1] == _PLANT:
        return _connect_to_nowhere()
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    trouble = ""
    try:
        network_namespace.enter()
    except OSError as error:
        trouble = error.strerror or str(error)
    watch = Watch(folder / socket_guard.REPORT, not trouble)
    _say({"name": "isolation", **isolation(watch, trouble)})
    for name in names:
        _say({"name": name, **watched(watch, lambda name=name: RUN[name](folder))})  # type: ignore[misc]
    return 0


def _say(line: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def watched(watch: Watch, run: Callable[[], str]) -> dict[str, Any]:
    """Do something, and report what reached out meanwhile."""
    began, lines_before = time.monotonic(), len(watch.lines())
    before = network_namespace.attempts() if watch.has_namespace else None
    detail = trouble = fix = ""
    try:
        detail = run()
    except Failure as failure:
        trouble, fix = str(failure), failure.fix
    except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
        trouble = f"it failed: {type(error).__name__}: {error}"
        fix = "Run it again; if it fails again, report it with this line."
    lines = watch.lines()[lines_before:]
    counted = network_namespace.attempts().since(before) if before is not None else None
    if starts := sum(line["event"] == "start" for line in lines):
        watched_processes = f"{starts} process{'' if starts == 1 else 'es'}, {time.monotonic() - began:.1f} s"
        detail = f"{detail}; nothing reached out ({watched_processes})"
    return {
        "detail": detail,
        "asked": [line for line in lines if line["event"] != "start"],
        "unrouted": counted.unrouted if counted else None,
        "datagrams": counted.datagrams if counted else None,
        "trouble": trouble,
        "fix": fix,
    }


def isolation(watch: Watch, refused: str) -> dict[str, Any]:
    """Show that what watches works: a connection from Python, and one of native code, must be seen."""
    found = watched(watch, _plant_in_python)
    seen: list[str] = []
    missed: list[str] = []
    (seen if found.pop("asked") else missed).append("a planted connection of Python code")
    if watch.has_namespace:
        before = network_namespace.attempts()
        plant_native()
        is_seen = network_namespace.attempts().since(before).unrouted == 1
        (seen if is_seen else missed).append("one of native code")
    if missed:
        trouble = f"not seen: {', '.join(missed)}. So the runs below prove nothing."
        return found | {"asked": [], "trouble": trouble, "fix": "Report this with the output of 'appliance version'."}
    where = (
        "in a network namespace without a way out"
        if watch.has_namespace
        else f"on the network as it is, because the system allows no network namespace here ({refused}): Python code"
        " is watched, native code is not"
    )
    return found | {"asked": [], "detail": f"{where}; seen and stopped: {' and '.join(seen)}"}


def _plant_in_python() -> str:
    subprocess.run(child_process.command_for("appliance.doctor.airgap_process", _PLANT), check=True, timeout=60)
    return ""


def _connect_to_nowhere() -> int:
    """Returns 1 if it was not refused, or nothing would see it."""
    if socket_guard.VARIABLE not in os.environ:
        return 1
    try:
        socket.create_connection((NOWHERE, PORT), timeout=1.0).close()
    except OSError:
        return 0
    return 1


def plant_native() -> None:
    """Connect to nowhere without Python's knowledge. Call it in a namespace without a way out only."""
    library = ctypes.CDLL(None)
    descriptor = library.socket(int(socket.AF_INET), int(socket.SOCK_STREAM), 0)
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", PORT) + socket.inet_aton(NOWHERE) + bytes(8)
    library.connect(descriptor, address, len(address))
    with suppress(OSError):
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main())

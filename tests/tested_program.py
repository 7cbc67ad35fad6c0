"""The program that tests start in processes of its own: this Python's, or an installed one.

``MEMORY_APPLIANCE_TESTED`` names the command of the latter, as of the frozen build.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

_INSTALLED = shlex.split(os.environ.get("MEMORY_APPLIANCE_TESTED", ""))

PROGRAM = (*_INSTALLED,) or (sys.executable, "-m", "appliance")

STRICT_PROGRAM = (*_INSTALLED,) or (sys.executable, "-W", "error", "-m", "appliance")
"""Warnings are errors."""


def _take_its_version() -> None:
    """Let the clients in this process be of the installed program's build: it refuses others."""
    from appliance.transports import answer_lines, daemon, rpc_connection

    said = subprocess.run([*PROGRAM, "version", "--json"], capture_output=True, check=True).stdout
    versions = json.loads(said)
    for module in (answer_lines, daemon, rpc_connection):
        module.VERSION = f"{versions['appliance']}+{versions['commit'][:10]}"  # type: ignore[attr-defined]


if _INSTALLED:
    _take_its_version()

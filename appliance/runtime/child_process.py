"""How this program starts processes of its own, with the packages that this process has, and how others start it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

COMMAND_VARIABLE = "MEMORY_APPLIANCE_COMMAND"
"""The environment variable that names the command which started this program and outlives its upgrades. The command of
the offline kit sets it. It has not the prefix of settings."""


def command_for(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. The folder that one stands in is left out: with ``-m`` alone, Python would take a
    ``random.py`` there for its own."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This environment, with the folders that this process imports from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def own_command() -> tuple[str, ...]:
    """What starts this very program, by absolute paths: another program has another PATH than a shell."""
    if (command := os.environ.get(COMMAND_VARIABLE)) and os.path.isabs(command):
        return (command,)
    if getattr(sys, "frozen", False):
        return (sys.executable,)
    script = Path(sys.executable).with_name("appliance.exe" if sys.platform == "win32" else "appliance")
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", "appliance")

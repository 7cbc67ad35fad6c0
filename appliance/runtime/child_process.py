"""How this program starts processes of its own, with the packages that this process has, and how others start it.

A frozen program has no Python beside it: it is the program of its own processes as well. Like Python, it then takes
``-m MODULE``, but of ``MODULES`` alone.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

COMMAND_VARIABLE = "MEMORY_APPLIANCE_COMMAND"
"""The environment variable that names the command which started this program and outlives its upgrades. The command of
the offline kit sets it. It has not the prefix of settings."""

MODULES = frozenset({
    "appliance.doctor.airgap_process",
    "appliance.engine.page_worker",
    "appliance.engine.reader_process",
    "appliance.formats.document_worker",
    "appliance.ingest.index_vacuum",
    "appliance.ingest.segment_worker",
    "appliance.store.index.readahead",
    "appliance.transports.owner_process",
})  # fmt: skip
"""What runs as a process of its own, besides the program itself."""


def is_frozen() -> bool:
    """Whether this program is one file with its Python in it, made by PyInstaller or alike."""
    return bool(getattr(sys, "frozen", False))


def command_for(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. The folder that one stands in is left out: with ``-m`` alone, Python would take a
    ``random.py`` there for its own."""
    python = [sys.executable] if is_frozen() else [sys.executable, "-P"]
    return [*python, "-m", module, *arguments]


def program_command(*arguments: str) -> list[str]:
    """The command that runs this very program with other arguments."""
    return [sys.executable, *arguments] if is_frozen() else command_for("appliance", *arguments)


def run_module_if_asked(arguments: Sequence[str]) -> bool:
    """In a frozen program: run the module that ``command_for`` named. Returns whether it named one.

    Args:
        arguments: Of this process, without its name.
    """
    if len(arguments) < 2 or arguments[0] != "-m" or arguments[1] not in MODULES:
        return False
    sys.argv = list(arguments[1:])
    runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    return True


def environment() -> dict[str, str]:
    """This environment, with the folders that this process imports from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def own_command() -> tuple[str, ...]:
    """What starts this very program, by absolute paths: another program has another PATH than a shell."""
    if (command := os.environ.get(COMMAND_VARIABLE)) and os.path.isabs(command):
        return (command,)
    if is_frozen():
        return (sys.executable,)
    script = Path(sys.executable).with_name("appliance.exe" if sys.platform == "win32" else "appliance")
    return (str(script),) if script.is_file() else (sys.executable, "-P", "-m", "appliance")

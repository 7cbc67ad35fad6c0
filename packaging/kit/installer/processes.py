"""Starts processes: of a version, and of what installs it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .kit_file import KitError
from .place import IS_WINDOWS

_NOT_STARTED = 127
"""What shells return then."""

PROGRAM = ("-I", "-m", "appliance")
"""How Python runs the program: whatever is set for other Pythons, and wherever one stands."""


def python_of(folder: Path) -> str:
    """The Python of a version."""
    return str(folder / ("Scripts/python.exe" if IS_WINDOWS else "bin/python"))


def run(command: Sequence[str], purpose: str, more: Mapping[str, str] | None = None) -> None:
    """Run a program; its output is shown only if it fails.

    Raises:
        KitError: It fails, or can't be started.
    """
    ended = ask(command, more)
    if ended.returncode != 0:
        raise KitError(f"Could not {purpose}:\n{(ended.stdout + ended.stderr).strip()}")


def ask(
    command: Sequence[str], more: Mapping[str, str] | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program, and return what it says. One that can't be started has failed."""
    try:
        return subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace",
            env=clean_environment() | dict(more or {}), timeout=timeout,
        )  # fmt: skip
    except OSError as error:
        return subprocess.CompletedProcess(command, _NOT_STARTED, "", f"{command[0]}: {error.strerror}")


def clean_environment() -> dict[str, str]:
    """This environment without what would lead another Python or pip elsewhere."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))}


def say(line: str) -> None:
    print(line, flush=True)

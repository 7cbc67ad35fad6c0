"""How this program starts processes of its own: modules of it, with the packages that this process has."""

from __future__ import annotations

import os
import sys


def command_for(module: str, *arguments: str) -> list[str]:
    """The command that runs a module. The folder that one stands in is left out: with ``-m`` alone, Python would take a
    ``random.py`` there for its own."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This environment, with the folders that this process imports from."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

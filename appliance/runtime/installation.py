"""What installed the program."""

from __future__ import annotations

import sys
from pathlib import Path


def how_to_repair() -> str:
    """What to do about damaged files, by what installed the program."""
    if getattr(sys, "frozen", False):
        return "Copy the program's folder again."
    if Path(sys.prefix).parent.name == "versions" and (Path(sys.prefix) / "installed").exists():
        return "Install the kit again: it puts these files right, and leaves memories as they are."
    if __file__.startswith("/opt/memory-appliance/"):
        return "Install the Debian package again: 'sudo apt install --reinstall ./memory-appliance_….deb'."
    return "Install the program again, as with 'pip install --force-reinstall'."

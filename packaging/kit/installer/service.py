"""The program as a service of the person, while a version takes the place of another."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .place import COMMAND_VARIABLE, Place
from .processes import PROGRAM, ask, python_of

_LONGEST_SECONDS = 180


@dataclass(frozen=True)
class Service:
    """What the version in use says of its service.

    Attributes:
        is_own: Whether it is as ``appliance service install`` makes it: for the usual home, not changed since.
    """

    is_own: bool


def service_of(place: Place, folder: Path) -> Service | None:
    """The service that a version has at login; None if it has none, or the version knows none."""
    asked = _ask(place, folder, "status", "--json")
    if asked.returncode != 0:
        return None
    try:
        state = json.loads(asked.stdout)
    except ValueError:
        return None
    return Service(bool(state.get("current"))) if state.get("installed") else None


def renew(place: Place, folder: Path) -> str:
    """Restart the service with a version. Returns what went wrong, nothing if it runs."""
    asked = _ask(place, folder, "install")
    return (asked.stderr.strip() or f"it ended with {asked.returncode}") if asked.returncode else ""


def remove(place: Place, folder: Path) -> str:
    """Stop the service, and remove it. Returns what went wrong, if anything."""
    asked = _ask(place, folder, "remove")
    return (asked.stderr.strip() or f"it ended with {asked.returncode}") if asked.returncode else ""


def _ask(place: Place, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    more = {COMMAND_VARIABLE: str(place.command), "NO_COLOR": "1"}
    return ask([python_of(folder), *PROGRAM, "service", *arguments], more, _LONGEST_SECONDS)

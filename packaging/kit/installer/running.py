"""What runs of an installation while it is changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from .place import Place

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process that runs a version.

    Attributes:
        version: The folder of its version.
        words: The arguments that the program was given.
    """

    number: int
    version: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"process {self.number}: appliance {' '.join(self.words)}".rstrip()


def processes(place: Place) -> list[Process]:
    """The processes of this person that run a version of this installation, in the order of their numbers. Only Linux
    shows them; elsewhere there is none."""
    found = []
    for folder in _PROC.glob("[0-9]*"):
        try:
            if folder.stat().st_uid != os.getuid():
                continue
            arguments = (folder / "cmdline").read_bytes().decode(errors="replace").rstrip("\0").split("\0")
        except OSError:  # it has ended
            continue
        program = Path(arguments[0])
        if program.is_relative_to(place.versions) and "appliance" in arguments:
            version = place.versions / program.relative_to(place.versions).parts[0]
            words = arguments[arguments.index("appliance") + 1 :]
            found.append(Process(int(folder.name), version, tuple(words)))
    return sorted(found, key=lambda one: one.number)

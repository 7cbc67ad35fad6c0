"""The file that a kit is: a zip archive, and before it, in a kit with a Python of its own, that Python."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

DESCRIPTION = "kit.json"
CHECKSUMS = "SHA256SUMS"
_COPY_BYTES = 1 << 20


class KitError(Exception):
    """The kit can't do what it was asked for; the message says why, and what to do."""


class Kit:
    """A kit's file.

    Raises:
        KitError: It is none, or its end is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
            self.description: Mapping[str, Any] = json.loads(self.read(DESCRIPTION))
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise KitError(f"{path} is damaged, or no kit. Copy the kit again.") from error

    @property
    def label(self) -> str:
        """The name of the folder of this version: the version, and the first digits of the kit's checksum list."""
        return f"{self.description['version']}-{hashlib.sha256(self.read(CHECKSUMS)).hexdigest()[:8]}"

    def read(self, name: str) -> bytes:
        """The content of an entry."""
        return self._archive.read(name)

    def names(self, prefix: str) -> list[str]:
        """The entries whose names begin with ``prefix``."""
        return [name for name in self._archive.namelist() if name.startswith(prefix)]

    def check(self) -> int:
        """Compare every entry with its checksum. Returns their number.

        Raises:
            KitError: One of them is damaged, missing, or not listed.
        """
        sums = dict(line.split("  ", 1)[::-1] for line in self.read(CHECKSUMS).decode().splitlines())
        names = {*self.names("")} - {CHECKSUMS}
        if odd := sorted(names ^ set(sums)):
            problem = "not listed in" if odd[0] in names else "missing from"
            raise KitError(f"{odd[0]} is {problem} this kit. Copy the kit again.")
        for name, expected in sums.items():
            if _digest(self._archive, name) != expected:
                raise KitError(f"{name} is damaged in {self.path}. Copy the kit again.")
        python = self.python_archive()
        if python is not None and hashlib.sha256(python).hexdigest() != self.description["python"]["sha256"]:
            raise KitError(f"The Python in {self.path} is damaged. Copy the kit again.")
        return len(sums)

    def extract(self, folder: Path) -> list[Path]:
        """Write every entry into a folder."""
        return [Path(self._archive.extract(name, folder)) for name in self.names("")]

    def python_archive(self) -> bytes | None:
        """The kit's own Python (tar, gzip), None if it has none. The description says where in the file it is
        (``offset`` and ``size``), its ``sha256``, and its ``executable`` in the folder that it is unpacked into."""
        place = self.description.get("python")
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place["offset"])
            return file.read(place["size"])


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    try:
        with archive.open(name) as entry:
            for block in _blocks(entry):
                digest.update(block)
    except (zipfile.BadZipFile, EOFError, OSError):  # its own checksum is wrong, or the file ends in it
        return ""
    return digest.hexdigest()


def _blocks(file: Any) -> Iterator[bytes]:
    while block := file.read(_COPY_BYTES):
        yield block

"""The file that a kit is: a zip archive, and before it, in a kit with a Python of its own, that Python."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
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
            with zipfile.ZipFile(path) as archive:
                self.description: Mapping[str, Any] = json.loads(archive.read(DESCRIPTION))
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise KitError(f"{path} is damaged, or no kit. Copy the kit again.") from error

    @property
    def label(self) -> str:
        """The name of the folder of this version: the version, and the first digits of the kit's checksum list."""
        with zipfile.ZipFile(self.path) as archive:
            return f"{self.description['version']}-{hashlib.sha256(archive.read(CHECKSUMS)).hexdigest()[:8]}"

    def check(self) -> int:
        """Compare every entry with its checksum. Returns their number.

        Raises:
            KitError: One of them is damaged, missing, or not listed.
        """
        with zipfile.ZipFile(self.path) as archive:
            sums = dict(line.split("  ", 1)[::-1] for line in archive.read(CHECKSUMS).decode().splitlines())
            names = set(archive.namelist()) - {CHECKSUMS}
            if odd := sorted(names ^ set(sums)):
                problem = "not listed in" if odd[0] in names else "missing from"
                raise KitError(f"{odd[0]} is {problem} this kit. Copy the kit again.")
            for name, expected in sums.items():
                if _digest(archive, name) != expected:
                    raise KitError(f"{name} is damaged in {self.path}. Copy the kit again.")
        if self.python is not None and hashlib.sha256(self._python_archive()).hexdigest() != self.python["sha256"]:
            raise KitError(f"The Python in {self.path} is damaged. Copy the kit again.")
        return len(sums)

    def extract(self, folder: Path, prefix: str = "") -> list[Path]:
        """Write the entries whose names begin with ``prefix`` into a folder."""
        with zipfile.ZipFile(self.path) as archive:
            return [Path(archive.extract(name, folder)) for name in archive.namelist() if name.startswith(prefix)]

    @property
    def python(self) -> Mapping[str, Any] | None:
        """The kit's own Python, None if it has none: where in the file it is (``offset`` and ``size``), its ``sha256``,
        and its ``executable`` in the folder that it is unpacked into."""
        found: Mapping[str, Any] | None = self.description.get("python")
        return found

    def unpack_python(self, folder: Path) -> Path:
        """Unpack the kit's own Python into a folder. Returns its executable."""
        assert self.python is not None
        with tarfile.open(fileobj=io.BytesIO(self._python_archive())) as archive:
            archive.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else archive.extractall(folder)
        return folder / str(self.python["executable"])

    def _python_archive(self) -> bytes:
        assert self.python is not None
        with self.path.open("rb") as file:
            file.seek(self.python["offset"])
            return file.read(self.python["size"])


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

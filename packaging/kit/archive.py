"""Writes a kit: a zip file that Python runs, whose bytes depend on its entries alone."""

from __future__ import annotations

import hashlib
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path

FIRST_LINES = b"#!/usr/bin/env python3\n# coding: this-file-is-incomplete-copy-it-again\n"
"""What stands before a kit. A file whose end is missing is no zip archive: Python then takes it for a script, and its
only word on it is the coding that it does not know."""

SIZE = b"size=0000000000\n"
"""A line of what stands before a kit into which the size of the whole file is written."""

CHECKSUMS = "SHA256SUMS"
_FILE_MODE = 0o100644 << 16
_UNIX = 3


def write(path: Path, entries: Mapping[str, bytes | Path], epoch: int, before: bytes = FIRST_LINES) -> str:
    """Write a kit. Returns its SHA-256.

    Args:
        entries: By name; ``__main__.py`` is what Python runs.
        epoch: The time of each entry, in seconds since 1970.
        before: What stands before the zip archive.
    """
    sums = "".join(f"{hashlib.sha256(_content(entries[name])).hexdigest()}  {name}\n" for name in sorted(entries))
    moment = time.gmtime(epoch)[:6]
    with path.open("wb") as file:
        file.write(before)
        with zipfile.ZipFile(file, "w") as archive:
            for name, content in sorted({**entries, CHECKSUMS: sums.encode()}.items()):
                entry = zipfile.ZipInfo(name, moment)
                entry.external_attr, entry.create_system = _FILE_MODE, _UNIX
                # Wheels are compressed already.
                entry.compress_type = zipfile.ZIP_STORED if name.endswith(".whl") else zipfile.ZIP_DEFLATED
                archive.writestr(entry, _content(content))
    if (place := before.find(SIZE)) >= 0:
        with path.open("r+b") as file:
            file.seek(place)
            file.write(b"size=%010d\n" % path.stat().st_size)
    path.chmod(0o755)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _content(value: bytes | Path) -> bytes:
    return value.read_bytes() if isinstance(value, Path) else value

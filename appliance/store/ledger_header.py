"""The header of a ledger, its first 4,096 bytes: a JSON line that says what the file holds, and the line's CRC-32."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import Any

import msgspec

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.paths import sync_folder

HEADER_BYTES = 4096


def write_header(file: int, path: Path, header: dict[str, Any]) -> None:
    """Write the header of the open ledger at ``path``, and make it survive a power cut."""
    body = msgspec.json.encode(header)
    line = body + b"\n" + b"%08x\n" % zlib.crc32(body)
    os.pwrite(file, line.ljust(HEADER_BYTES, b"\0"), 0)
    os.fsync(file)
    sync_folder(path.parent)


def check_header(file: int, path: Path, expected: dict[str, Any], hint: str) -> None:
    """Check that an open ledger is of this format and has what is ``expected`` in it, made by the same model.

    Raises:
        StoreCorrupt: The header is damaged or names another model. ``hint`` says what to do.
        StoreVersion: A newer version of this program wrote it.
    """
    body, _, rest = os.pread(file, HEADER_BYTES, 0).partition(b"\n")
    if rest[:8] != b"%08x" % zlib.crc32(body):
        raise StoreCorrupt("The header of the vector ledger is damaged.", where=str(path), hint=hint)
    header = msgspec.json.decode(body)
    if header["format"] > expected["format"]:
        message = "A newer version of this program wrote the vector ledger."
        raise StoreVersion(message, where=str(path), hint="Update the program.")
    if header != expected:
        message = f"The ledger has vectors of {header['model']}, not of {expected['model']}."
        raise StoreCorrupt(message, where=str(path), hint=hint)

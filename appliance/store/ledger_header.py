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


def read_header(file: int) -> dict[str, Any] | None:
    """Return the header of an open ledger; None if it is damaged."""
    body, _, rest = os.pread(file, HEADER_BYTES, 0).partition(b"\n")
    if rest[:8] != b"%08x" % zlib.crc32(body):
        return None
    header: dict[str, Any] = msgspec.json.decode(body)
    return header


def check_header(file: int, path: Path, expected: dict[str, Any], hint: str) -> dict[str, Any]:
    """Check that an open ledger is of this format, or of an earlier one, and has what is ``expected`` in it, made by
    the same model. Returns the header, which may say more.

    Raises:
        StoreCorrupt: The header is damaged or names another model. ``hint`` says what to do.
        StoreVersion: A newer version of this program wrote it.
    """
    if (header := read_header(file)) is None:
        raise StoreCorrupt("The header of the vector ledger is damaged.", where=str(path), hint=hint)
    if header["format"] > expected["format"]:
        message = "A newer version of this program wrote the vector ledger."
        raise StoreVersion(message, where=str(path), hint="Update the program.")
    if any(header.get(name) != value for name, value in expected.items() if name != "format"):
        message = f"The ledger has vectors of {header['model']}, not of {expected['model']}."
        raise StoreCorrupt(message, where=str(path), hint=hint)
    return header

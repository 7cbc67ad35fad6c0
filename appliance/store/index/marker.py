"""The marker of an embedded index: what made it, how long its files are, and what it holds (``engine.json``).

    engine, version, dimension, schema   what made the index
    lengths, checksum                    the full lengths of the files that are cut while it is closed (``trimming``)
    contents                             what it held when it was closed

Counting what is in an index takes a quarter of a second for a million points. So what was counted at closing is kept,
and taken away before the first update: an index that was not closed after an update is counted when it is opened.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import version as distribution_version
from pathlib import Path

import msgspec

from appliance.errors import StoreCorrupt, StoreVersion
from appliance.paths import write_file_atomically
from appliance.store.index.protocol import SCHEMA_VERSION

REINDEX_HINT = "Run 'appliance reindex' to rebuild the index from the stored messages and vectors."

_NAME = "engine.json"

ENGINE_VERSION = distribution_version("qdrant-edge-py")
"""Looked up when the program starts: an upgrade may take its files away while a daemon still has to close an index."""


@dataclass(frozen=True, slots=True)
class IndexContents:
    """What an index holds.

    Attributes:
        points: The number of points.
        engine_points: The same by the sums of the engine, which counts a point twice that two segments have.
        scopes: The scopes that have points, at most two of them.
        has_summaries: Whether any point is a summary's.
        is_all_conversational: Whether the points of messages are conversational, all of them.
    """

    points: int
    engine_points: int
    scopes: frozenset[str]
    has_summaries: bool
    is_all_conversational: bool


@dataclass(frozen=True, slots=True)
class Marker:
    """The lengths of the files, and the contents; None if they have to be counted."""

    lengths: Mapping[str, int] = field(default_factory=dict)
    contents: IndexContents | None = None


def write(folder: Path, dimension: int, marker: Marker) -> None:
    """Write the marker of the index in ``folder``, unless it is the same."""
    contents = None if marker.contents is None else asdict(marker.contents)
    if contents is not None:
        contents["scopes"] = sorted(contents["scopes"])
    document = {
        **_identity(dimension),
        "lengths": dict(marker.lengths),
        "contents": contents,
        "checksum": _checksum(marker.lengths, contents),
    }
    data = json.dumps(document).encode() + b"\n"
    path = folder / _NAME
    if not path.exists() or path.read_bytes() != data:
        write_file_atomically(path, data)


def read(folder: Path, dimension: int) -> Marker:
    """Read the marker of the index in ``folder``.

    Raises:
        StoreVersion: Another version, schema or dimension made the index.
        StoreCorrupt: The marker is missing or damaged.
    """
    path = folder / _NAME
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = "is missing" if isinstance(error, FileNotFoundError) else f"can't be read: {error}"
        raise StoreCorrupt(f"The marker of the index {reason}.", where=str(path), hint=REINDEX_HINT) from error
    expected = _identity(dimension)
    # Earlier versions cut nothing, or did not keep the contents.
    known = [expected.keys() | later for later in (set(), {"lengths", "checksum"}, {"lengths", "contents", "checksum"})]
    if not isinstance(document, dict) or document.keys() not in known:
        raise StoreCorrupt("The marker of the index is invalid.", where=str(path), hint=REINDEX_HINT)
    for name, value in expected.items():
        if _comparable(name, document[name]) != _comparable(name, value):
            message = f"The index was made with {name} {document[name]}, but this program uses {name} {value}."
            raise StoreVersion(message, where=str(path), hint=REINDEX_HINT)
    lengths, contents = document.get("lengths", {}), document.get("contents")
    if (lengths or contents) and document["checksum"] != _checksum(lengths, contents):
        raise StoreCorrupt("The marker of the index is damaged.", where=str(path), hint=REINDEX_HINT)
    try:
        return msgspec.convert({"lengths": lengths, "contents": contents}, Marker)
    except msgspec.ValidationError as error:
        message = f"The marker of the index is invalid: {error}."
        raise StoreCorrupt(message, where=str(path), hint=REINDEX_HINT) from error


def forget_contents(folder: Path, dimension: int) -> None:
    """Take the contents out of the marker, before the first update; that survives a power cut."""
    write(folder, dimension, Marker(read(folder, dimension).lengths))


def _identity(dimension: int) -> dict[str, str | int]:
    return {"engine": "qdrant-edge", "version": ENGINE_VERSION, "dimension": dimension, "schema": SCHEMA_VERSION}


def _checksum(lengths: object, contents: object) -> int:
    """Of the lengths alone where there are no contents. The engine would not notice a wrong length before it writes."""
    checked = lengths if contents is None else [lengths, contents]
    return zlib.crc32(json.dumps(checked, sort_keys=True).encode())


def _comparable(name: str, value: object) -> object:
    """Patch releases of the engine read each other's files."""
    return str(value).split(".")[:2] if name == "version" else value

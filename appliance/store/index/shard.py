"""The embedded index on disk: making its folder, opening it, throwing it away.

    <folder>/engine.json    what made it: engine version, dimension, schema number
    <folder>/shard/         the engine's own files

The folder can always be thrown away: truth and vector ledger hold everything that is in it.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version as distribution_version
from pathlib import Path

import qdrant_edge as q

from appliance.errors import ApplianceError, HomeError, HomeLocked, StoreCorrupt, StoreError, StoreVersion
from appliance.paths import FOLDER_MODE, write_small_file
from appliance.store.index import ahead, sparse
from appliance.store.index.base import SCHEMA

REINDEX = "run `appliance reindex`: it rebuilds the index from the stored messages and vectors"

_MARKER = "engine.json"
_SHARD = "shard"

# Past this many points of 2-byte floats a segment is settled. Opening 10,000 unsettled points takes 0.1 s and
# 20 MB; settling that few takes about 2 s.
_SETTLED_FROM = 10_000
# Settling merges the smallest segments beyond this number; with two, every call would rewrite everything.
_SEGMENTS = 8
_NEVER_KB = 10**9


def open_shard(folder: Path, dimension: int, *, prewarm: bool) -> tuple[q.EdgeShard, bool]:
    """The engine's shard in ``folder``, made there if there is none, and whether it is new.

    Raises:
        HomeLocked: another process has it.
        StoreVersion: another version, schema or dimension made it.
        StoreCorrupt: it can't be read.
    """
    shard = folder / _SHARD
    if not shard.exists():
        return _create(folder, dimension), True
    _check_marker(folder / _MARKER, dimension)
    if prewarm:
        ahead.finish(shard)
    return _load(shard), False


def discard(folder: Path) -> None:
    """Remove an index that isn't open, so that ``open_edge`` makes a new one. No folder is no error."""
    try:
        if folder.exists():
            # Renamed first: a removal cut short leaves no half index behind under the old name.
            doomed = folder.with_name(f"{folder.name}.discarded")
            shutil.rmtree(doomed, ignore_errors=True)
            folder.rename(doomed)
            shutil.rmtree(doomed)
    except OSError as error:
        raise HomeError(f"the index can't be removed: {error}", where=str(folder)) from error


def _config(dimension: int) -> q.EdgeConfig:
    return q.EdgeConfig(
        vectors={
            "dense": q.EdgeVectorParams(
                size=dimension,
                distance=q.Distance.Cosine,
                datatype=q.VectorStorageDatatype.Float16,
                memory=q.Memory.Cold,
                quantization_config=q.TurboQuantQuantizationConfig(
                    bits=q.TurboQuantBitSize.Bits4, memory=q.Memory.Cached
                ),
            )
        },
        sparse_vectors={
            leg: q.EdgeSparseVectorParams(modifier=q.Modifier.Idf, memory=q.Memory.Cold)
            for leg in sparse.LEGS
        },
        payload_memory=q.Memory.Cold,
        # m=0: a segment is settled without a graph.
        hnsw_config=q.HnswIndexConfig(m=0, ef_construct=16, full_scan_threshold=_NEVER_KB),
        optimizers=q.EdgeOptimizersConfig(
            indexing_threshold=max(1, _SETTLED_FROM * dimension * 2 // 1024), default_segment_number=_SEGMENTS
        ),
    )


def _field_indexes() -> list[q.UpdateOperation]:
    create = q.UpdateOperation.create_field_index
    cold = q.Memory.Cold
    return [
        create("scope", q.KeywordIndexParams(is_tenant=True, memory=cold)),
        *(
            create(name, q.KeywordIndexParams(memory=cold))
            for name in ("talk", "agent_id", "role", "level", "source")
        ),
        create("session", q.IntegerIndexParams(lookup=True, range=False, memory=cold)),
        create("at", q.IntegerIndexParams(lookup=False, range=True, memory=cold)),
    ]


def _create(folder: Path, dimension: int) -> q.EdgeShard:
    """Make the shard in its place and write the marker last: a shard without one was never finished."""
    shard_folder = folder / _SHARD
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(FOLDER_MODE)
        shard_folder.mkdir(mode=FOLDER_MODE)
        with translated("be created"):
            shard = q.EdgeShard.create(str(shard_folder), _config(dimension))
            for operation in _field_indexes():
                shard.update(operation)
            shard.flush()
        write_small_file(folder / _MARKER, json.dumps(_identity(dimension)).encode() + b"\n")
    except OSError as error:
        raise HomeError(f"the index can't be created: {error}", where=str(folder)) from error
    return shard


def _load(shard: Path) -> q.EdgeShard:
    where = str(shard.parent)
    try:
        with translated("be opened"):
            return q.EdgeShard.load(str(shard))
    except StoreError as error:
        if "WouldBlock" in str(error):
            hint = "close the other one, or let it answer: `appliance serve` is made to be shared"
            raise HomeLocked("another process has the index open", where=where, hint=hint) from error
        raise StoreCorrupt(str(error), where=where, hint=REINDEX) from error


def _identity(dimension: int) -> dict[str, str | int]:
    return {
        "engine": "qdrant-edge",
        "version": distribution_version("qdrant-edge-py"),
        "dimension": dimension,
        "schema": SCHEMA,
    }


def _check_marker(path: Path, dimension: int) -> None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreCorrupt(
            "the index has lost the note of what made it", where=str(path), hint=REINDEX
        ) from None
    except (OSError, ValueError) as error:
        raise StoreCorrupt(f"can't be read: {error}", where=str(path), hint=REINDEX) from error
    expected = _identity(dimension)
    if not isinstance(found, dict) or found.keys() != expected.keys():
        raise StoreCorrupt("does not say what made the index", where=str(path), hint=REINDEX)
    for name, value in expected.items():
        if _comparable(name, found[name]) != _comparable(name, value):
            raise StoreVersion(
                f"the index was made with {name} {found[name]}, this is {value}",
                where=str(path),
                hint=REINDEX,
            )


def _comparable(name: str, value: object) -> object:
    """Releases that differ in the last place only read each other's files."""
    return str(value).split(".")[:2] if name == "version" else value


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Whatever the engine raises, its panics too (which are no Exception), comes out as StoreError."""
    try:
        yield
    except (ApplianceError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        raise StoreError(f"the index can't {what}: {error}") from error

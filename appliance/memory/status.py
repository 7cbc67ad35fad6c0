"""What a home holds and how it is, from counts alone: no model and no index is loaded for it."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any, get_args

import msgspec

from appliance.measures import Measures, Spread, resident
from appliance.paths import Home, sizes
from appliance.store import catalogue, chunks, derived, facts, summaries, variants, vectors
from appliance.store.chunks import Generation

TROUBLES = 100
"""How many of the files that could not be read are named, the latest first."""


def status(
    home: Home, db: sqlite3.Connection, configured_model: str, trouble: Exception | None, measures: Measures
) -> dict[str, Any]:
    """Counts, model, disk use in bytes, and health: "ok", or what a person should know; what the process that asks
    has measured of itself: latency in milliseconds, resident memory in bytes."""
    generation = chunks.generation(db)
    pending = chunks.pending(db, generation.id) if generation else 0
    count = {table: _count(db, table) for table in ("source", "session", "message")}
    found = catalogue.counts(db)
    made = chunks.count(db, generation.id) if generation else 0
    return {
        "counts": {
            "sources": count["source"],
            "sessions": count["session"],
            "messages": count["message"],
            "chunks": made,
            "embedded": made - pending,
            "pending": pending,
            "variants": variants.count(db),
            "summaries": summaries.count(db),
            "facts": facts.count(db),
        },
        "model": {
            "name": generation.model if generation else configured_model,
            "dimension": generation.dimension if generation else None,
            "generation": generation.id if generation else None,
        },
        "files": {
            **{state: found.get(state, 0) for state in get_args(catalogue.State)},
            "troubles": [{"path": path, "reason": reason} for path, reason in catalogue.failed(db, TROUBLES)],
        },
        "disk_bytes": {
            "database": sum(_size(p) for p in home.root.glob("recall.db*")),
            "vectors": _size(home.vectors),
            "index": _size(home.index),
        },
        "daemon": _daemon(home),
        "latency": latency(measures),
        "queues": {
            "chunks": pending,
            "points_to_drop": _count(db, "outbox WHERE work = 'drop'"),
            "files": found.get("queued", 0),
        },
        "memory": resident(),
        "health": _health(home, db, generation, configured_model, pending, trouble),
    }


def latency(measures: Measures) -> dict[str, Any]:
    """Milliseconds of the latest searches, contexts and steps of embedding; what was not done yet is not there."""
    spreads = {
        "search": measures.search["whole"].spread(),
        "context": measures.context.spread(),
        "embedding": measures.embedding.spread(),
    }
    return {name: _milliseconds(spread) for name, spread in spreads.items() if spread.count}


def _milliseconds(spread: Spread) -> dict[str, float | int]:
    each = {"p50": spread.p50, "p95": spread.p95, "p99": spread.p99}
    told = {name: round(1000 * value, 1) for name, value in each.items() if value is not None}
    return {"calls": spread.count, **told}


def _count(db: sqlite3.Connection, rows: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])


def _health(
    home: Home,
    db: sqlite3.Connection,
    generation: Generation | None,
    configured: str,
    pending: int,
    trouble: Exception | None,
) -> str:
    if trouble is not None:
        return f"embedding stopped: {trouble}"
    if generation is not None and _is_cut(home, db, generation):
        return "vectors are missing: 'appliance reindex --vectors' computes them again, no message is lost"
    if generation is not None and generation.model != configured:
        return (
            f"the settings name the model {configured}, the memory uses {generation.model}:"
            " see 'appliance reindex'"
        )
    if pending:
        return f"{pending} chunks wait for their vectors: 'appliance reindex --pending' goes on with them"
    return "ok"


def _daemon(home: Home) -> dict[str, Any] | None:
    """Where this process listens, if it is the daemon of the home."""
    try:
        said: dict[str, Any] = msgspec.json.decode(home.daemon.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return said if said.get("pid") == os.getpid() else None


def _is_cut(home: Home, db: sqlite3.Connection, generation: Generation) -> bool:
    """Whether the ledger's file is shorter than what the truth counts on."""
    rows, path = chunks.rows(db, generation.id), derived.ledger_path(home, generation.id)
    there = path.stat().st_size if path.exists() else 0
    return rows > 0 and there < vectors.shortest(generation.dimension, rows)


def _size(path: Path) -> int:
    """What a file, or all files of a folder, take on the disk; the index reserves more than it uses."""
    if path.is_dir():
        return sum(_taken(one) for one in sizes(path))
    try:
        return _taken(path.stat())
    except FileNotFoundError:  # the database's log goes when it is empty
        return 0


def _taken(measures: os.stat_result) -> int:
    blocks: int | None = getattr(measures, "st_blocks", None)
    return measures.st_size if blocks is None else blocks * 512

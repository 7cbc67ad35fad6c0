"""The status of a home, from counts alone: it loads no model and no index."""

from __future__ import annotations

import os
import shlex
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

import msgspec

from appliance.errors import EmbeddingApiError, IndexUnavailable
from appliance.memory.erasure import unfinished
from appliance.paths import Home, display_path, file_stats, is_there
from appliance.runtime.decoding import decode
from appliance.runtime.metrics import Metrics, resident_memory
from appliance.settings import DEFAULT_MODEL, FORMER_DEFAULT_MODELS
from appliance.store import (
    archive,
    chunks,
    documents,
    facts,
    feedback,
    file_problems,
    generation_states,
    generations,
    lock,
    summaries,
    variants,
    vectors,
    watched_files,
)
from appliance.store.backup import catalogue
from appliance.store.damage import DamagedRow
from appliance.store.generation_states import ACTIVE_SQL, Generation
from appliance.store.room import allocated_bytes, free_bytes, megabytes
from appliance.store.session_listing import NOT_HIDDEN_SQL
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import Histogram, IndexStatus, UnfinishedImport

MAX_NAMED_DAMAGES = 5  # of the damaged messages, in the line about health
MIN_FREE_BYTES = 25_000_000
"""With less room on the disk, an index can't be made and its log can't grow."""

MAX_LISTED_FAILURES = 100  # of the files that could not be read, the latest first


def status(
    home: Home,
    db: sqlite3.Connection,
    configured_model: str,
    indexing_error: Exception | None,
    metrics: Metrics,
    damaged: Sequence[DamagedRow] = (),
    index: IndexStatus | None = None,
    api_trouble: str = "",
    is_building: bool = False,
    unfinished_imports: Sequence[UnfinishedImport] = (),
    *,
    missing_folders: Sequence[Path] = (),
    embeds_unasked: bool = False,
    model_trouble: str = "",
) -> dict[str, Any]:
    """Return the counts, the model, the disk use in bytes, all ``troubles`` that a person should know of, first which
    messages are ``damaged``, and the health: "ok", or the first of them. The apparent size counts the holes of files,
    which take no room on the disk but in a copy without holes; the index has them while it is open. ``index`` says
    where that is, ``api_trouble`` why an embedding API failed, ``is_building`` that a generation is being built now,
    ``unfinished_imports`` which imports were broken off, ``missing_folders`` which folders of the settings are not
    there to be watched, and ``embeds_unasked`` that chunks which wait are being embedded: they are counted, and no
    trouble. ``model_trouble`` is why the model can't be used.

    ``recall`` says how many memories were recalled, and what they were worth; see ``feedback.overview``.
    ``latency`` (milliseconds) and ``memory`` (bytes) are what this process has measured of itself."""
    generation = generation_states.active(db)
    pending = chunks.count_pending(db, generation.id) if generation else 0
    file_counts = watched_files.counts(db)
    chunk_counts = chunks.counts(db)
    chunk_count = chunk_counts.get(generation.id, 0) if generation else 0
    if generation and not pending and index and index.place == "embedded":
        # A restored home has no index. Opening it, which queues every chunk, would be too slow for a status.
        pending = 0 if generations.index_path(home, generation.id).is_dir() else chunk_count
    problems = [(one, is_there(one.path)) for one in file_problems.stored(db)]
    troubles = [
        *_damage_troubles(damaged),
        *([index.trouble] if index and index.trouble else []),
        *_troubles(
            home, db, generation, configured_model, pending, indexing_error, api_trouble, is_building,
            is_index_away=bool(index and index.trouble), embeds_unasked=embeds_unasked, model_trouble=model_trouble,
        ),
    ]  # fmt: skip
    for folder in missing_folders:
        name = display_path(folder)
        troubles.append(
            f"the watched folder {name} is not there: mount or make it, or 'appliance watch remove {shlex.quote(name)}'"
        )
    if catalogue.is_lost(backups := catalogue.latest(home)):
        troubles.append(
            f"the backup {backups[0].path} was deleted, and no other is known: 'appliance backup FOLDER' makes one"
        )
    if unread := sum(there for _, there in problems):  # of one that is gone, nothing can be read any more
        files = "1 file was" if unread == 1 else f"{unread:,} files were"
        troubles.append(f"{files} not read completely: 'appliance sources problems' says why, and what to do")
    if unfinished_imports:
        files = "1 import was" if len(unfinished_imports) == 1 else f"{len(unfinished_imports):,} imports were"
        troubles.append(f"{files} broken off: 'appliance ingest --resume' reads the rest")
    file_sizes = {
        "database": [*_stats(*home.root.glob("recall.db*"))],
        "vectors": [*file_stats(home.vectors)],
        "index": [*file_stats(home.index)],
        "attachments": [*file_stats(home.attachments)],
    }
    return {
        "counts": {
            "sources": _count(db, "source"),
            "sessions": _count(db, "session"),
            "messages": _count(db, "message"),
            "chunks": chunk_count,
            "embedded": chunk_count - pending,
            "pending": pending,
            "variants": variants.count(db),
            "summaries": summaries.count(db),
            "archived": archive.count(db),
            "facts": facts.count_held(db),
            "attachments": _count(db, "attachment"),
            "hidden_sessions": _count(db, f"session s WHERE NOT {NOT_HIDDEN_SQL}"),
            **documents.counts(db),
        },
        "model": {
            "name": generation.model if generation else configured_model,
            "dimension": generation.dimension if generation else None,
            "generation": generation.id if generation else None,
        },
        "generations": _generations(home, db, chunk_counts),
        "files": {
            **{state: file_counts.get(state, 0) for state in (*get_args(watched_files.State), watched_files.GONE)},
            "troubles": [
                {"path": one.shown_path, "reason": one.reason, "state": one.state, "is_there": there}
                for one, there in sorted(problems, key=lambda pair: not pair[1])[:MAX_LISTED_FAILURES]
            ],
            "unfinished": [
                {"path": one.path, "user_id": one.user_id, "namespace": one.namespace, "begun_at": one.begun_at}
                for one in unfinished_imports
            ],
        },
        "disk_bytes": {name: sum(map(allocated_bytes, stats)) for name, stats in file_sizes.items()},
        "apparent_bytes": {name: sum(stat.st_size for stat in stats) for name, stats in file_sizes.items()},
        "owner": _owner(home),
        "daemon": _daemon(home),
        "latency": latency(metrics),
        "queues": {
            "chunks": pending,
            "points_to_drop": _count(db, f"outbox WHERE work = 'drop' AND generation = {ACTIVE_SQL}"),
            "files": file_counts.get("queued", 0),
        },
        "recall": feedback.overview(db, now()),
        "memory": resident_memory(),
        "backup": _backup(backups),
        "index": None if index is None else asdict(index),
        "health": troubles[0] if troubles else "ok",
        "troubles": troubles,
    }


def _generations(home: Home, db: sqlite3.Connection, chunk_counts: Mapping[int, int]) -> list[dict[str, Any]]:
    """All generations with their states, messages, chunks and bytes on the disk; ``complete_at`` is until when a kept
    one has everything."""
    stored = generation_states.stored(db)
    messages = chunks.message_counts(db) if stored else {}
    return [
        {
            "id": generation.id,
            "model": generation.model,
            "dimension": generation.dimension,
            "state": generation.state,
            "messages": messages.get(generation.id, 0),
            "chunks": chunk_counts.get(generation.id, 0),
            "pending": chunks.count_pending(db, generation.id),
            "disk_bytes": generations.disk_bytes(home, generation.id),
            "complete_at": None if generation.complete_at is None else iso_from_microseconds(generation.complete_at),
        }
        for generation in stored
    ]


def latency(metrics: Metrics) -> dict[str, Any]:
    """Return the milliseconds of the latest searches, contexts and embedding steps, without those that did not
    happen yet."""
    histograms = {
        "search": metrics.search["whole"].histogram(),
        "context": metrics.context.histogram(),
        "embedding": metrics.embedding.histogram(),
    }
    return {name: _milliseconds(histogram) for name, histogram in histograms.items() if histogram.count}


def _milliseconds(histogram: Histogram) -> dict[str, float | int]:
    percentiles = {"p50": histogram.p50, "p95": histogram.p95, "p99": histogram.p99}
    rounded = {name: round(1000 * value, 1) for name, value in percentiles.items() if value is not None}
    return {"calls": histogram.count, **rounded}


def _backup(found: Sequence[catalogue.LatestBackup]) -> dict[str, Any] | None:
    """The latest backup, whether it is there, and if not, the latest that is."""
    if not found:
        return None
    other = {"path": found[1].path, "at": found[1].at} if len(found) > 1 else None
    return {**asdict(found[0]), "other": other}


def _count(db: sqlite3.Connection, rows: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {rows}").fetchone()[0])


def _damage_troubles(damaged: Sequence[DamagedRow]) -> Iterator[str]:
    """What a person should know of damaged messages."""
    if not damaged:
        return
    ids = ", ".join(row.where for row in damaged[:MAX_NAMED_DAMAGES])
    more = f" and {len(damaged) - MAX_NAMED_DAMAGES} more" if len(damaged) > MAX_NAMED_DAMAGES else ""
    yield f"the database is damaged ({ids}{more}): 'appliance verify' says what is wrong and what to do"


def _troubles(
    home: Home,
    db: sqlite3.Connection,
    generation: Generation | None,
    configured: str,
    pending: int,
    indexing_error: Exception | None,
    trouble: str,
    is_building: bool,
    *,
    is_index_away: bool,
    embeds_unasked: bool,
    model_trouble: str,
) -> Iterator[str]:
    """What else a person should know, the most urgent first. An index that is away is named by its own trouble."""
    is_waiting = isinstance(indexing_error, EmbeddingApiError) or (
        is_index_away and isinstance(indexing_error, IndexUnavailable)
    )
    if (free := free_bytes(home.root)) < MIN_FREE_BYTES:
        yield f"the disk of {home.root} is full: {megabytes(free)} are free; make room there"
    is_stopped = indexing_error is not None and not is_waiting
    if model_trouble:
        waits = f", and {pending:,} wait for their vectors" if pending else ""
        yield f"messages are stored and found by words only{waits}: {model_trouble}"
    elif is_stopped:
        yield f"embedding stopped: {indexing_error}"
    if trouble_of_erasures := unfinished(db, home.erasing):
        yield trouble_of_erasures
    if generation is not None and _is_ledger_truncated(home, db, generation):
        yield "vectors are missing: 'appliance reindex --vectors' computes them again; no message is lost"
    if generation is not None and generation.model != configured and not _is_former_default(generation, configured):
        yield (
            f"the settings name the model {configured}, but the memory uses {generation.model}:"
            f" 'appliance reindex --model {configured}' moves it, 'appliance models use {generation.model}' keeps it"
        )
    if not is_building and (building := generation_states.building(db)) is not None:
        yield (
            f"the change to the model {building.model} is not finished: 'appliance reindex --model {building.model}'"
            " continues, 'appliance reindex --drop-old' gives it up"
        )
    if pending and not is_stopped and not model_trouble:
        waiting = "1 chunk waits for its vector" if pending == 1 else f"{pending:,} chunks wait for their vectors"
        if is_index_away:
            yield f"{waiting} until the index can be used"
        elif indexing_error is not None or trouble:
            yield f"{waiting}: {indexing_error or trouble}"
        elif not embeds_unasked:
            yield f"{waiting}: 'appliance reindex --pending' continues"


def _owner(home: Home) -> dict[str, Any] | None:
    """The process that owns the home: this one."""
    owner = lock.read_owner(home.lock)
    return {"pid": owner.pid, "purpose": owner.purpose} if owner is not None else None


def _daemon(home: Home) -> dict[str, Any] | None:
    """Where this process listens, if it is the home's daemon."""
    try:
        info = decode(home.daemon.read_bytes(), dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return None
    return info if info.get("pid") == os.getpid() else None


def _is_former_default(generation: Generation, configured: str) -> bool:
    """Whether a memory has the model of an earlier version, and the settings name none of their own."""
    return configured == DEFAULT_MODEL and generation.model in FORMER_DEFAULT_MODELS


def _is_ledger_truncated(home: Home, db: sqlite3.Connection, generation: Generation) -> bool:
    """Whether the ledger's file is shorter than the database expects."""
    rows, path = chunks.count_ledger_rows(db, generation.id), generations.ledger_path(home, generation.id)
    return vectors.missing_rows(path, generation.dimension, rows) > 0


def _stats(*paths: Path) -> Iterator[os.stat_result]:
    for path in paths:
        with suppress(FileNotFoundError):  # SQLite removes its log when that is empty
            yield path.stat()

"""``verify`` checks that all stores agree with the database, for every character and every row."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from appliance.errors import IndexUnavailable, StoreError
from appliance.lazy_dataclasses import dataclass
from appliance.store import (
    archive,
    chunks,
    damage,
    digests,
    documents,
    kept_files,
    lexical,
    summaries,
    token_places,
    variants,
    vectors,
)
from appliance.store.chunks import SUMMARY_POINTS
from appliance.store.database import Database
from appliance.store.generations import DerivedStores
from appliance.store.messages import message_id
from appliance.store.passages import ChunkSpan, chunk_digests, has_late_chunking, passage, text_digest
from appliance.store.sql import PAGE_ROWS, fetch_int, pages
from appliance.store.vectors import VectorLedger
from appliance.types import SourceCoverage, VerifyReport

MIN_SAME_COSINE = 0.999
"""The least cosine between a vector in the ledger and its copy in the index, which rounds differently."""

_POINTS_SQL = (
    "(SELECT id, digest FROM chunk WHERE generation = ?1"
    f" UNION ALL SELECT id + {SUMMARY_POINTS}, digest FROM summary_chunk WHERE generation = ?1)"
)
"""The chunks of messages and of summaries, by the ids of their points."""

MEND_HINT = "ingest its export again, or restore a backup"
"""What to do about a damaged row."""

REBUILD_HINT = "run 'appliance reindex'; if that does not mend it, 'appliance recover', or restore a backup"
"""What to do about damaged pages, which may be those of an index."""

MANUAL_SOURCE = "(by hand)"
"""The source of messages that do not come from a file."""


@dataclass(frozen=True, slots=True)
class ModelWindow:
    """The most tokens that a model reads of a text, and the function that counts them."""

    tokens: int
    count: Callable[[Sequence[str]], list[int]]


def verify(
    database: Database,
    derived: DerivedStores | None,
    window: ModelWindow | None = None,
    other_ledgers: Iterable[Callable[[], tuple[int, VectorLedger]]] = (),
    attachments: Path | None = None,
) -> VerifyReport:
    """Check the database, full text, chunks, ledger and index. Reads everything and writes nothing.

    Args:
        database: The database.
        derived: The ledger and the index; None to check only the database.
        window: The model's window, to check that it reads each chunk to its end; None to skip this check.
        other_ledgers: Open the ledgers of the generations that do not serve; each with its generation.
        attachments: The folder of the copies of attachments.
    """
    report = VerifyReport()
    db = database.read()
    damaged: set[str] = set()
    checks: list[tuple[str, Callable[[], None]]] = [
        ("the pages", lambda: check_database(db, report)),
        ("the rows", lambda: damaged.update(check_rows(db, report))),
        ("the digests", lambda: check_digests(db, damaged, report)),
        ("the full text", lambda: check_full_text(database, report)),
        ("the variants", lambda: check_variants(db, damaged, report)),
        ("the archive", lambda: check_archive(db, report)),
    ]
    if derived is not None:
        generation = derived.generation.id
        checks += [
            ("the chunks", lambda: check_coverage(db, generation, window, damaged, report)),
            ("the summaries", lambda: check_summaries(db, generation, report)),
            ("the vectors", lambda: check_ledger(db, generation, derived.ledger, report)),
            ("the vectors", lambda: check_lacking(db, derived, report)),
            ("the token vectors", lambda: check_tokens(db, derived, report)),
            ("the index", lambda: check_index(db, derived, report)),
            ("the archive index", lambda: check_archive_index(db, derived, report)),
        ]
    checks += [
        ("other vectors", partial(_check_other_ledger, db, open_ledger, report)) for open_ledger in other_ledgers
    ]
    if attachments is not None:
        checks.append(("the attachments", partial(check_attachments, db, attachments, report)))
    for what, check in checks:
        try:
            check()
        except IndexUnavailable as error:
            report.add("index", f"not checked: {str(error.args[0]).rstrip('.')}")
        except (sqlite3.DatabaseError, StoreError) as error:
            reason = str(error.args[0]).rstrip(".")
            report.add("recall.db", f"{what} can't be checked any further ({reason}): {REBUILD_HINT}")
        except damage.EFFECTS:
            if not report.problems:
                raise
            report.add("recall.db", f"{what} can't be checked any further because of this damage")
    return report


def check_database(db: sqlite3.Connection, report: VerifyReport) -> None:
    for (answer,) in db.execute("PRAGMA integrity_check(20)"):
        if answer != "ok":
            report.add("recall.db", f"{answer}: {REBUILD_HINT}")
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check"):
        which = f"row {row}" if row is not None else "a row"
        report.add("recall.db", f"{which} of {table} names a {parent} that does not exist")
    for what in ("session", "message", "revision"):
        report.count(f"{what}s", db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])


def check_digests(db: sqlite3.Connection, damaged: Collection[str], report: VerifyReport) -> None:
    """Check that every message and revision is as it was stored."""
    if pending := digests.count_pending(db):
        report.count("messages without a digest yet", pending)
    for key, why in digests.disagreements(db):
        if message_id(key) not in damaged:
            report.add(message_id(key), f"{why}: {MEND_HINT}")


def check_rows(db: sqlite3.Connection, report: VerifyReport) -> set[str]:
    """Check that every row can be read, and has text, numbers and JSON where they belong. Returns the damaged rows'
    names: of a damaged text nothing else can agree with it, which need not be reported again."""
    damaged = set()
    for row in damage.damaged_rows(db):
        report.add(row.where, f"{row.reason}: {MEND_HINT}")
        damaged.add(row.where)
    return damaged


def check_full_text(database: Database, report: VerifyReport) -> None:
    with database.dry_run() as tx:
        if not lexical.is_consistent(tx):
            report.add("recall.db", "the full text does not match the messages: run 'appliance reindex'")


def check_variants(db: sqlite3.Connection, damaged: Collection[str], report: VerifyReport) -> None:
    """Check that every fingerprint belongs to its message's text, and that every group of variants has at least two
    messages, of one scope and role, in the order of their times."""
    report.count("variants", variants.count(db))
    for key, why in variants.disagreements(db):
        if message_id(key) not in damaged:
            report.add(message_id(key), f"{why}: run 'appliance reindex'")


def check_archive(db: sqlite3.Connection, report: VerifyReport) -> None:
    """Check that every archived text can be read, byte by byte as it was, and that texts and tiers agree."""
    if archived := archive.count(db):
        report.count("archived", archived)
    for key, why in archive.damage(db):
        report.add(message_id(key), why)


def check_attachments(db: sqlite3.Connection, folder: Path, report: VerifyReport) -> None:
    """Check that the pages of documents are known as such, and that every attachment that is kept has its copy, byte by
    byte as it was."""
    for key in documents.disagreements(db):
        report.add(message_id(key), "whether it is a page of a document is not what its metadata says")
    if kept := documents.counts(db)["kept_attachments"]:
        report.count("kept_attachments", kept)
    for where, why in kept_files.disagreements(db, folder):
        report.add(where, f"{why}: ingest its export again with --keep-attachments, or restore a backup")


def check_coverage(
    db: sqlite3.Connection, generation: int, window: ModelWindow | None, damaged: Collection[str], report: VerifyReport
) -> None:
    """Check that chunks cover every character of every message, that the digest of each chunk is that of its text, and
    that the model reads it to its end."""
    paths: dict[int | None, str] = {None: MANUAL_SOURCE, **dict(db.execute("SELECT id, path FROM source"))}
    queued = {key for (key,) in db.execute("SELECT chunk_id FROM outbox WHERE generation = ?", (generation,))}
    is_late = has_late_chunking(db, generation)
    for message in _messages_with_chunks(db, generation):
        where = message_id(message.id)
        if where in damaged:
            continue
        length = len(message.text)
        passages: dict[str, int] = {}
        covered = 0
        spans = [ChunkSpan(start, stop) for _, start, stop, _ in message.spans]
        expected = chunk_digests(message.author, message.text, spans, is_late=is_late)
        for (chunk, start, stop, digest), own in zip(message.spans, expected, strict=True):
            if start > covered:
                report.add(where, f"characters {covered} to {start} are not in any chunk")
            if not 0 <= start < stop <= length:
                report.add(where, f"chunk {chunk} spans {start} to {stop} of {length} characters")
                continue
            # What waits for its vector as a whole is split first.
            if chunk not in queued or stop - start < length:
                passages[passage(message.author, message.text[start:stop])] = stop - start
            if own != digest:
                report.add(where, f"chunk {chunk} belongs to another text")
            covered = max(covered, stop)
        if covered < length:
            report.add(where, f"characters {covered} to {length} are not in any chunk")
        if window is not None:
            for read, tokens in zip(passages, window.count(list(passages)), strict=True):
                # A chunk of a single character can't be split any further.
                if tokens > window.tokens and passages[read] > 1:
                    report.add(where, f"a chunk has {tokens} tokens, but the model reads only {window.tokens}")
        report.count("chunks", len(message.spans))
        report.count("characters", length)
        coverage = report.sources.setdefault(paths.get(message.source, MANUAL_SOURCE), SourceCoverage())
        coverage.messages += 1
        coverage.characters += length
        coverage.covered += min(covered, length)
        coverage.chunks += len(message.spans)
        coverage.embedded += sum(chunk not in queued for chunk, *_ in message.spans)


@dataclass(frozen=True, slots=True)
class _CheckedMessage:
    id: int
    author: str | None
    text: str
    source: int | None
    spans: list[tuple[int, int, int, bytes]]


def _messages_with_chunks(db: sqlite3.Connection, generation: int) -> Iterator[_CheckedMessage]:
    after = 0
    while True:
        page = db.execute(
            "SELECT id, author, text, source_id FROM message WHERE id > ? ORDER BY id LIMIT ?", (after, PAGE_ROWS)
        ).fetchall()
        if not page:
            return
        spans: dict[int, list[tuple[int, int, int, bytes]]] = {}
        for message, *span in db.execute(
            "SELECT message_id, id, start, stop, digest FROM chunk"
            " WHERE generation = ? AND message_id BETWEEN ? AND ? ORDER BY message_id, start, stop",
            (generation, page[0][0], page[-1][0]),
        ):
            spans.setdefault(message, []).append((span[0], span[1], span[2], span[3]))
        for key, author, text, source in page:
            yield _CheckedMessage(key, author, text, source, spans.get(key, []))
        after = page[-1][0]


def check_summaries(db: sqlite3.Connection, generation: int, report: VerifyReport) -> None:
    """Check that every summary quotes messages of its session, within their texts, and that its chunks cover it and
    have the digests of their texts."""
    hint = "run 'appliance summaries make' for its session"
    after = 0
    while page := summaries.page_after(db, after):
        text_lengths = summaries.quoted_message_lengths(db, page)
        pieces = summaries.chunk_spans(db, generation, page)
        for summary in page:
            where = summaries.public_id(summary.id)
            for message, start, stop in summary.sentences:
                if not 0 <= start < stop <= text_lengths.get((summary.session_id, message), 0):
                    report.add(where, f"quotes text that {message_id(message)} does not have: {hint}")
            covered = 0
            report.count("summary_chunks", len(pieces.get(summary.id, ())))
            for piece, start, stop, digest in pieces.get(summary.id, ()):
                if start > covered or text_digest(summary.text[start:stop]) != digest:
                    report.add(where, f"chunk {piece} belongs to another text: run 'appliance reindex --vectors'")
                covered = max(covered, stop)
            if covered < len(summary.text):
                report.add(where, f"characters {covered} to {len(summary.text)} are not in any chunk")
            report.count("summaries")
        after = page[-1].id


def check_ledger(
    db: sqlite3.Connection,
    generation: int,
    ledger: VectorLedger,
    report: VerifyReport,
    counted: str = "vectors",
    hint: str = "run 'appliance reindex --vectors'",
) -> None:
    """Check that every row that counts is intact and holds the vector of its text."""
    expected = dict(db.execute("SELECT row, digest FROM embedding WHERE generation = ?", (generation,)))
    where = ledger.path.name
    for row, digest in ledger.check():
        report.count(counted, digest != vectors.ERASED)
        if digest is None:
            report.add(where, f"row {row} is damaged: {hint}")
        elif row not in expected:
            if digest != vectors.ERASED:
                report.add(where, f"row {row} does not belong to any text")
        elif expected[row] != digest:
            report.add(where, f"row {row} has the vector of another text: {hint}")


def _check_other_ledger(
    db: sqlite3.Connection, open_ledger: Callable[[], tuple[int, VectorLedger]], report: VerifyReport
) -> None:
    """Check the ledger of a generation that does not serve."""
    hint = "run 'appliance reindex --drop-old'"
    try:
        generation, ledger = open_ledger()
    except StoreError as error:
        report.add(error.where or "vectors", f"{error.args[0]} Nothing reads it now: {hint}")
        return
    try:
        check_ledger(db, generation, ledger, report, "kept_vectors", hint)
    finally:
        ledger.close()


def check_lacking(db: sqlite3.Connection, derived: DerivedStores, report: VerifyReport) -> None:
    """Check that every chunk has a vector or waits for one."""
    where = derived.ledger.path.name
    texts = f"SELECT count(DISTINCT digest) FROM {_POINTS_SQL}"
    report.count("texts", fetch_int(db, texts, (derived.generation.id,)))
    earlier = (
        f"SELECT count(*) FROM embedding WHERE generation = ?1 AND digest NOT IN (SELECT digest FROM {_POINTS_SQL})"
    )
    report.count("earlier_texts", fetch_int(db, earlier, (derived.generation.id,)))
    lost = fetch_int(
        db,
        f"SELECT count(*) FROM {_POINTS_SQL} c LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
        " WHERE e.row IS NULL AND c.id NOT IN (SELECT chunk_id FROM outbox)",
        (derived.generation.id,),
    )
    if lost:
        plural = "1 chunk has no vector and is" if lost == 1 else f"{lost} chunks have no vector and are"
        report.add(where, f"{plural} not queued for one: run 'appliance reindex --vectors'")


def check_tokens(db: sqlite3.Connection, derived: DerivedStores, report: VerifyReport) -> None:
    """Check that the token vectors of every text that has any are as they were written. Those that are missing wait to
    be computed."""
    if derived.tokens is None:
        return
    records = list(token_places.all_places(db, derived.generation.id))
    report.count("token_vectors", len(records))
    for digest in sorted(derived.tokens.damaged(records)):
        where = derived.tokens.path.name
        report.add(where, f"the record of text {digest.hex()} is damaged: run 'appliance reindex --tokens'")


def check_index(db: sqlite3.Connection, derived: DerivedStores, report: VerifyReport) -> None:
    """Check that every chunk outside of the outbox has a point with its vector, and that there are no other points."""
    generation = derived.generation.id
    present = set(derived.index.ids())
    report.count("points", len(present))
    queued = {key for (key,) in db.execute("SELECT chunk_id FROM outbox WHERE generation = ?", (generation,))}
    report.count("pending", len(queued))
    expected: list[tuple[int, int]] = []
    for key, row in db.execute(
        f"SELECT c.id, e.row FROM {_POINTS_SQL} c JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
        " WHERE c.id NOT IN (SELECT h.id FROM archived a JOIN chunk h ON h.message_id = a.message_id) ORDER BY c.id",
        (generation,),
    ):
        if key not in present and key not in queued:
            report.add("index", f"chunk {key} has no point: run 'appliance reindex'")
        elif key not in queued:
            expected.append((key, row))
        present.discard(key)
    for key in sorted(present - queued):
        report.add("index", f"point {key} does not belong to any chunk: run 'appliance reindex'")
    for page in pages(expected):
        stored = derived.index.vectors([key for key, _ in page])
        ledger = derived.ledger.read([row for _, row in page])
        for (key, _), vector in zip(page, ledger, strict=True):
            if key not in stored or float(np.dot(stored[key], vector)) < MIN_SAME_COSINE:
                report.add("index", f"point {key} has a different vector than the ledger: run 'appliance reindex'")


def check_archive_index(db: sqlite3.Connection, derived: DerivedStores, report: VerifyReport) -> None:
    """Check that the archive index is intact and has every archived chunk, with the row of its vector."""
    where, hint = derived.archive.path.name, "run 'appliance reindex'"
    archived = chunks.archived_chunks(db, derived.generation.id)
    if archived:
        report.count("archived_chunks", len(archived))
    if archived and not derived.archive.is_intact():
        report.add(where, f"the archive index is damaged: {hint}")
    present = derived.archive.rows()
    if archived and not present and not derived.archive.file_bytes:  # as after a restore: made again in the background
        report.count("pending", len(archived))
        return
    rows = chunks.archived_rows(db, derived.generation.id)
    for chunk, message in archived.items():
        if chunk not in present:
            report.add(where, f"chunk {chunk} of {message_id(message)} is missing: {hint}")
        elif present[chunk] != rows.get(chunk):
            report.add(where, f"chunk {chunk} of {message_id(message)} has the vector of another text: {hint}")

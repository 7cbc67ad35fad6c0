"""``verify``: does everything still agree with the truth, character by character, row by row?"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from appliance.errors import StoreCorrupt
from appliance.store import chunks, lexical, summaries, variants
from appliance.store.database import RESTORE, Database
from appliance.store.derived import Derived
from appliance.store.messages import message_id
from appliance.store.migrations import SUMMARY_POINTS
from appliance.store.sql import PAGE
from appliance.types import Problem

SAME_VECTOR = 0.999
"""The least cosine between a vector in the ledger and the same one in the index, which rounds differently."""

_POINTS = (
    "(SELECT id, digest FROM chunk WHERE generation = ?1"
    f" UNION ALL SELECT id + {SUMMARY_POINTS}, digest FROM summary_chunk WHERE generation = ?1)"
)
"""What has a point, by its id: the chunks of messages and the pieces of summaries."""

BY_HAND = "(by hand)"
"""Stands for the source of what no file brought."""


@dataclass(slots=True)
class Book:
    """What became of one source's text: its messages and their characters, those that lie in chunks, the
    chunks, and those that have their vector."""

    messages: int = 0
    characters: int = 0
    covered: int = 0
    chunks: int = 0
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """How many tokens a model reads of a passage, and how it counts them."""

    tokens: int
    count: Callable[[Sequence[str]], list[int]]


@dataclass(slots=True)
class Findings:
    """What was looked at, in counts, all of it and by source, and what does not agree."""

    checked: dict[str, int] = field(default_factory=dict)
    sources: dict[str, Book] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, where: str, message: str) -> None:
        self.problems.append(Problem(where, message))

    def count(self, what: str, number: int = 1) -> None:
        self.checked[what] = self.checked.get(what, 0) + number


def verify(database: Database, derived: Derived | None, window: Window | None = None) -> Findings:
    """Check the database, the coverage of every message by its chunks, the ledger, the index and the full
    text; with a ``window`` also that the model reads each chunk to its end. Reads everything; writes
    nothing."""
    findings = Findings()
    try:
        _check_all(database, derived, window, findings)
    except (sqlite3.DatabaseError, StoreCorrupt) as error:
        findings.add("recall.db", f"can't be read further ({error}): {RESTORE}")
    return findings


def _check_all(
    database: Database, derived: Derived | None, window: Window | None, findings: Findings
) -> None:
    db = database.read()
    check_database(db, findings)
    check_full_text(database, findings)
    check_variants(db, findings)
    if derived is not None:
        generation = derived.generation.id
        check_coverage(db, generation, window, findings)
        check_summaries(db, generation, findings)
        check_ledger(db, derived, findings)
        check_index(db, derived, findings)


def check_database(db: sqlite3.Connection, findings: Findings) -> None:
    for (answer,) in db.execute("PRAGMA integrity_check(20)"):
        if answer != "ok":
            findings.add("recall.db", str(answer))
    for table, row, parent, _ in db.execute("PRAGMA foreign_key_check"):
        findings.add("recall.db", f"row {row} of {table} names a {parent} that is not there")
    for what in ("session", "message", "revision"):
        findings.count(f"{what}s", db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])


def check_full_text(database: Database, findings: Findings) -> None:
    with database.trial() as tx:
        if not lexical.agrees(tx):
            findings.add(
                "recall.db", "the full text does not agree with the messages: run 'appliance reindex'"
            )


def check_variants(db: sqlite3.Connection, findings: Findings) -> None:
    """Every fingerprint is of its message's text, and the messages of a memory are of one scope and role, at
    least two, and in their order of time, so that the first is the earliest."""
    findings.count("variants", variants.count(db))
    for key, why in variants.disagreements(db):
        findings.add(message_id(key), f"{why}: run 'appliance reindex'")


def check_coverage(
    db: sqlite3.Connection, generation: int, window: Window | None, findings: Findings
) -> None:
    """Every character of every message lies in a chunk, every chunk's digest is that of its text, and the
    model reads it to its end."""
    paths: dict[int | None, str] = {None: BY_HAND, **dict(db.execute("SELECT id, path FROM source"))}
    queued = {key for (key,) in db.execute("SELECT chunk_id FROM outbox WHERE generation = ?", (generation,))}
    for message in _messages_with_chunks(db, generation):
        where, length = message_id(message.id), len(message.text)
        passages: dict[str, int] = {}
        covered = 0
        for chunk, start, stop, digest in message.spans:
            if start > covered:
                findings.add(where, f"characters {covered} to {start} are in no chunk")
            if not 0 <= start < stop <= length:
                findings.add(where, f"chunk {chunk} spans {start} to {stop} of {length} characters")
                continue
            passage = chunks.passage(message.author, message.text[start:stop])
            passages[passage] = stop - start
            if chunks.digest(passage) != digest:
                findings.add(where, f"chunk {chunk} was made from another text")
            covered = max(covered, stop)
        if covered < length:
            findings.add(where, f"characters {covered} to {length} are in no chunk")
        if window is not None:
            for passage, tokens in zip(passages, window.count(list(passages)), strict=True):
                # A single character that needs more can't be cut any further.
                if tokens > window.tokens and passages[passage] > 1:
                    findings.add(where, f"a chunk has {tokens} tokens, and the model reads {window.tokens}")
        findings.count("chunks", len(message.spans))
        findings.count("characters", length)
        book = findings.sources.setdefault(paths.get(message.source, BY_HAND), Book())
        book.messages += 1
        book.characters += length
        book.covered += min(covered, length)
        book.chunks += len(message.spans)
        book.embedded += sum(chunk not in queued for chunk, *_ in message.spans)


@dataclass(frozen=True, slots=True)
class _Message:
    id: int
    author: str | None
    text: str
    source: int | None
    spans: list[tuple[int, int, int, bytes]]


def _messages_with_chunks(db: sqlite3.Connection, generation: int) -> Iterator[_Message]:
    after = 0
    while True:
        page = db.execute(
            "SELECT id, author, text, source_id FROM message WHERE id > ? ORDER BY id LIMIT ?", (after, PAGE)
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
            yield _Message(key, author, text, source, spans.get(key, []))
        after = page[-1][0]


def check_summaries(db: sqlite3.Connection, generation: int, findings: Findings) -> None:
    """Every summary quotes messages of its own session, within their texts, and lies in pieces whose digests are
    those of their texts."""
    again = "run 'appliance summaries make' for its session"
    after = 0
    while page := summaries.page(db, after):
        said = summaries.lengths(db, page)
        pieces = summaries.pieces_of(db, generation, page)
        for one in page:
            where = summaries.public_id(one.id)
            for message, start, stop in one.sentences:
                if not 0 <= start < stop <= said.get((one.session_id, message), 0):
                    findings.add(where, f"quotes {message_id(message)} where it has no such words: {again}")
            covered = 0
            for piece, start, stop, digest in pieces.get(one.id, ()):
                if start > covered or chunks.digest(one.text[start:stop]) != digest:
                    findings.add(
                        where, f"piece {piece} does not go with its text: run 'appliance reindex --vectors'"
                    )
                covered = max(covered, stop)
            if covered < len(one.text):
                findings.add(where, f"characters {covered} to {len(one.text)} are in no piece")
            findings.count("summaries")
        after = page[-1].id


def check_ledger(db: sqlite3.Connection, derived: Derived, findings: Findings) -> None:
    """Every acknowledged row is whole and holds the text that the truth says."""
    expected = dict(
        db.execute("SELECT row, digest FROM embedding WHERE generation = ?", (derived.generation.id,))
    )
    where = derived.ledger.path.name
    for row, digest in derived.ledger.check():
        findings.count("vectors")
        if digest is None:
            findings.add(where, f"row {row} is damaged: run 'appliance reindex --vectors'")
        elif row not in expected:
            findings.add(where, f"row {row} is of no text that is known")
        elif expected[row] != digest:
            findings.add(where, f"row {row} holds another text's vector: run 'appliance reindex --vectors'")
    for (lost,) in db.execute(
        f"SELECT count(*) FROM {_POINTS} c LEFT JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
        " WHERE e.row IS NULL AND c.id NOT IN (SELECT chunk_id FROM outbox)",
        (derived.generation.id,),
    ):
        if lost:
            findings.add(where, f"{lost} chunks have no vector and are not queued for one")


def check_index(db: sqlite3.Connection, derived: Derived, findings: Findings) -> None:
    """Every chunk that is not queued has its point with its own vector, and there are no others."""
    generation = derived.generation.id
    there = set(derived.index.ids())
    findings.count("points", len(there))
    queued = {key for (key,) in db.execute("SELECT chunk_id FROM outbox WHERE generation = ?", (generation,))}
    findings.count("pending", len(queued))
    expected: list[tuple[int, int]] = []
    for key, row in db.execute(
        f"SELECT c.id, e.row FROM {_POINTS} c JOIN embedding e ON e.generation = ?1 AND e.digest = c.digest"
        " ORDER BY c.id",
        (generation,),
    ):
        if key in queued:
            there.discard(key)
        elif key in there:
            there.discard(key)
            expected.append((key, row))
        else:
            findings.add("index", f"chunk {key} has no point: run 'appliance reindex'")
    for key in sorted(there - queued):
        findings.add("index", f"point {key} is of no chunk: run 'appliance reindex'")
    for start in range(0, len(expected), PAGE):
        page = expected[start : start + PAGE]
        stored = derived.index.vectors([key for key, _ in page])
        ledger = derived.ledger.read([row for _, row in page])
        for (key, _), vector in zip(page, ledger, strict=True):
            if key not in stored or float(np.dot(stored[key], vector)) < SAME_VECTOR:
                findings.add(
                    "index", f"point {key} has another vector than the ledger: run 'appliance reindex'"
                )

"""Summaries in the database: their texts, their quotes, and which sessions are due for new ones.

A summary stores its sentences as places in messages, so that a quote is always the text of its message. Triggers delete
the summaries that cover a message when it changes or is deleted, and count the changes that no summary covers yet.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from appliance.errors import NotFound
from appliance.runtime.decoding import decode
from appliance.store import messages, sessions
from appliance.store.damage import as_kind
from appliance.store.sql import (
    JSON_KEYS_SQL,
    PAGE_ROWS,
    fetch_in_one_step,
    fetch_int,
    from_json,
    has_row,
    json_keys,
    to_json,
)
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import Filters, Level, Metadata, Quote, Scope, Summary

Sentence = tuple[int, int, int]
"""The key of a message, and the start and the end of the sentence in its text, in characters."""


@dataclass(frozen=True, slots=True)
class SummaryInsert:
    """A summary to be stored, of the ``messages`` messages from ``first`` to ``last``. ``source_digest`` is the digest
    of what it was made from."""

    level: Level
    first: messages.MessageRow
    last: messages.MessageRow
    messages: int
    text: str
    quotes: Sequence[Quote]
    made_by: str
    metadata: Metadata
    source_digest: bytes


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A stored summary; ``to_summaries`` gives the public form. ``sentences_json`` and ``metadata`` are JSON."""

    id: int
    session_id: int
    level: Level
    first_id: int
    last_id: int
    messages: int
    since: str | None
    until: str | None
    text: str
    sentences_json: str
    made_by: str
    metadata: str
    source_digest: bytes
    made_at: int
    first_order: int
    first_position: int
    last_order: int
    last_position: int

    @property
    def start_key(self) -> tuple[int, int, int]:
        """The place (time, position, key) of the first message that it covers, by which messages are sorted."""
        return self.first_order, self.first_position, self.first_id

    @property
    def end_key(self) -> tuple[int, int, int]:
        return self.last_order, self.last_position, self.last_id

    @property
    def sentences(self) -> list[Sentence]:
        try:
            return decode(self.sentences_json, list[Sentence])
        except msgspec.DecodeError:  # damaged, which ``verify`` names
            return []


@dataclass(frozen=True, slots=True)
class PendingSummaries:
    """The changes of a session that no summary covers yet; ``edits`` of them changed existing messages."""

    changes: int = 0
    edits: int = 0


_EMPTY, _NONE = "''", "'[]'"
_COLUMNS = (
    "u.id, u.session_id, u.level, u.first_id, u.last_id, u.messages,"
    f" {as_kind('u.since', 'TEXT')}, {as_kind('u.until', 'TEXT')}, {as_kind('u.text', 'TEXT', _EMPTY)},"
    f" {as_kind('u.sentences', 'TEXT', _NONE)}, u.made_by, {as_kind('u.metadata', 'TEXT', _EMPTY)}, u.covers,"
    f" {as_kind('u.made_at', 'INTEGER', '0')}, u.first_order, u.first_position, u.last_order, u.last_position"
)
_ORDER = (
    "u.session_id, CASE u.level WHEN 'session' THEN 0 WHEN 'topic' THEN 1 WHEN 'exchange' THEN 2 ELSE 3 END,"
    " u.first_order, u.first_position, u.first_id"
)


def public_id(key: int) -> str:
    return f"sum{key}"


def key_of(public: str) -> int | None:
    """Return the store's key of a public summary id, or None if the text is not one."""
    return int(public[3:]) if re.fullmatch(r"sum[1-9]\d{0,17}", public) else None


# --- what is due -------------------------------------------------------------------------------------


MAX_SAMPLED_SESSIONS = 200
"""How many due sessions are examined to tell how long they have been waiting: an import leaves thousands, all from one
hour."""

# A time in the future, from a clock that has been corrected since, counts as long ago: hence the absolute value.
_IS_DUE_SQL = "(d.torn OR d.changes >= :every OR abs(:now - d.at) >= :silent)"


def due_sessions(db: sqlite3.Connection, message_interval: int, idle_seconds: float, limit: int = -1) -> list[int]:
    """Return the sessions that are due for summaries, most recently active first: those that have been idle for
    ``idle_seconds``, have ``message_interval`` new messages, or lost a summary because a message changed."""
    rows = db.execute(
        f"SELECT d.session_id FROM summary_due d WHERE {_IS_DUE_SQL}"
        " ORDER BY d.at DESC, d.session_id DESC LIMIT :limit",
        {**_due_parameters(message_interval, idle_seconds), "limit": limit},
    )
    return [key for (key,) in rows.fetchall()]


def count_due(db: sqlite3.Connection, message_interval: int, idle_seconds: float) -> int:
    """Return the number of sessions that are due for summaries."""
    query = f"SELECT count(*) FROM summary_due d WHERE {_IS_DUE_SQL}"
    (number,) = db.execute(query, _due_parameters(message_interval, idle_seconds)).fetchone()
    return int(number)


def waiting_since(db: sqlite3.Connection, message_interval: int, idle_seconds: float) -> int | None:
    """Return when the longest-waiting session got its latest message, in microseconds since 1970, among the first
    ``MAX_SAMPLED_SESSIONS`` that are due; None if none is."""
    (at,) = db.execute(
        "SELECT min((SELECT max(added_at) FROM message m WHERE m.session_id = due.session_id)) FROM"
        f" (SELECT d.session_id FROM summary_due d WHERE {_IS_DUE_SQL} LIMIT {MAX_SAMPLED_SESSIONS}) due",
        _due_parameters(message_interval, idle_seconds),
    ).fetchone()
    return None if at is None else int(at)


def _due_parameters(message_interval: int, idle_seconds: float) -> dict[str, int]:
    return {"every": message_interval, "now": now(), "silent": int(idle_seconds * 1e6)}


def pending_changes(db: sqlite3.Connection, session: int) -> PendingSummaries:
    """Return the changes of a session that no summary covers yet."""
    row = db.execute("SELECT changes, edits FROM summary_due WHERE session_id = ?", (session,)).fetchone()
    return PendingSummaries(*row) if row else PendingSummaries()


def mark_covered(tx: sqlite3.Connection, session: int, covered_changes: PendingSummaries) -> None:
    """Note that summaries now cover these changes; later changes remain pending."""
    tx.execute(
        "UPDATE summary_due SET changes = changes - ?, edits = edits - ?, torn = 0 WHERE session_id = ?",
        (covered_changes.changes, covered_changes.edits, session),
    )
    tx.execute("DELETE FROM summary_due WHERE session_id = ? AND changes <= 0", (session,))


# --- writing -----------------------------------------------------------------------------------------


def insert(tx: sqlite3.Connection, session: int, new: Sequence[SummaryInsert]) -> list[int]:
    """Store summaries of a session and return their keys, in the same order. The caller stores their chunks."""
    made_at = now()
    keys = []
    for summary in new:
        sentences = [(messages.message_key(q.message_id), q.start, q.end) for q in summary.quotes]
        first, last = summary.first, summary.last
        since, until = (first, last) if (first.at or 0) <= (last.at or first.at or 0) else (last, first)
        cursor = tx.execute(
            "INSERT INTO summary (session_id, level, first_id, first_order, first_position, last_id, last_order,"
            " last_position, messages, since, until, at, text, sentences, made_by, metadata, covers, made_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (session, summary.level, first.id, first.order_at, first.position, last.id, last.order_at, last.position,
             summary.messages, since.sent_at, until.sent_at, last.at, summary.text, to_json(sentences), summary.made_by,
             to_json(summary.metadata), summary.source_digest, made_at),
        )  # fmt: skip
        keys.append(int(cursor.lastrowid or 0))
    return keys


def delete(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Remove summaries; the database queues the removal of their points."""
    tx.execute(f"DELETE FROM summary WHERE id IN {JSON_KEYS_SQL}", (json_keys(keys),))


# --- reading -----------------------------------------------------------------------------------------


def of_session(db: sqlite3.Connection, session: int) -> list[SummaryRow]:
    """Return the summaries of a session, wider levels first, each level in the order of the messages."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM summary u WHERE u.session_id = ? ORDER BY {_ORDER}", (session,))
    return [SummaryRow(*values) for values in rows]


def list_rows(
    db: sqlite3.Connection,
    scope: Scope | None = None,
    *,
    session: int | None = None,
    level: Level | None = None,
    among: Collection[int] | None = None,
    limit: int = -1,
) -> list[SummaryRow]:
    """Return summaries, those of the most recently active session first and wider levels first; filtered by scope,
    session, level and the sessions ``among`` which they are, where these are not None."""
    where: list[str] = [NOT_EXPIRED]
    values: list[object] = [now()]
    if scope is not None:
        where += ["s.user_id = ?", "s.namespace = ?"]
        values += [scope.user_id, scope.namespace]
        if scope.agent_id is not None:
            where.append(sessions.AGENT_PARTICIPATES_SQL)
            values.append(scope.agent_id)
    if session is not None:
        where.append("u.session_id = ?")
        values.append(session)
    if level is not None:
        where.append("u.level = ?")
        values.append(level)
    if among is not None:
        where.append(f"u.session_id IN {JSON_KEYS_SQL}")
        values.append(json_keys(among))
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM summary u JOIN session s ON s.id = u.session_id WHERE {' AND '.join(where)}"
        " ORDER BY (SELECT max(m.order_at) FROM message m WHERE m.session_id = u.session_id) DESC,"
        f" {_ORDER} LIMIT ?",
        (*values, limit),
    )
    return [SummaryRow(*columns) for columns in rows]


def get(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, SummaryRow]:
    """Return the summaries with the given keys, by key, as far as they exist."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM summary u WHERE u.id IN {JSON_KEYS_SQL}", (json_keys(keys),))
    return {values[0]: SummaryRow(*values) for values in rows}


def find(db: sqlite3.Connection, reference: str) -> SummaryRow:
    """Return the summary with a public id.

    Raises:
        NotFound: There is none.
    """
    key = key_of(reference)
    row = get(db, [key]).get(key) if key is not None else None
    if row is None:
        raise NotFound(f"There is no summary {reference!r}.", hint="'appliance summaries' lists the summaries.")
    return row


def to_summaries(db: sqlite3.Connection, rows: Sequence[SummaryRow]) -> list[Summary]:
    """Return the public form of summaries, with their quotes read from the messages."""
    texts = messages.texts(db, {message for row in rows for message, *_ in row.sentences})
    return [
        Summary(
            id=public_id(row.id),
            session_id=sessions.public_id(row.session_id),
            level=row.level,
            text=row.text,
            quotes=tuple(
                Quote(messages.message_id(message), start, stop, texts[message][start:stop])
                for message, start, stop in row.sentences
                if message in texts
            ),
            made_by=row.made_by,
            first_id=messages.message_id(row.first_id),
            last_id=messages.message_id(row.last_id),
            messages=row.messages,
            since=row.since,
            until=row.until,
            made_at=iso_from_microseconds(row.made_at),
            metadata=from_json(row.metadata),
        )
        for row in rows
    ]


def has_any(db: sqlite3.Connection, scope: Scope) -> bool:
    """Whether any session of a scope has a summary."""
    # Without any summary, all sessions of the scope would be looked at: 20,000 of them with a million messages.
    if not has_row(db, "SELECT 1 FROM summary LIMIT 1"):
        return False
    query = "SELECT 1 FROM session s JOIN summary u ON u.session_id = s.id WHERE s.user_id = ? AND s.namespace = ?"
    return has_row(db, f"{query} LIMIT 1", (scope.user_id, scope.namespace))


def filter_visible(db: sqlite3.Connection, keys: Collection[int], filters: Filters) -> set[int]:
    """Return those of the given summaries that a search may find: what sessions share, everything in the exempt parts,
    and nothing expired. The index follows a change with a delay; the database decides."""
    session_sql, session = (" AND s.id = ?", [filters.session]) if filters.session is not None else ("", [])
    rows = fetch_in_one_step(
        db,
        "SELECT u.id FROM summary u JOIN session s ON s.id = u.session_id"
        f" WHERE (s.storage_scope <> 'none' OR s.id IN {JSON_KEYS_SQL}) AND {NOT_EXPIRED} AND u.id IN {JSON_KEYS_SQL}"
        + session_sql,
        (json_keys(part.session for part in filters.exempt_parts), now(), json_keys(keys), *session),
        columns=1,
    )
    return {key for (key,) in rows}


def count(db: sqlite3.Connection) -> int:
    """Return the number of summaries of all users."""
    return fetch_int(db, "SELECT count(*) FROM summary")


def last_fallback(db: sqlite3.Connection) -> str | None:
    """Return why the model failed to write the latest summary that it should have written; None if it wrote it."""
    row = db.execute(
        "SELECT json_extract(metadata, '$.fallback') FROM summary"
        " WHERE made_by <> 'extractive' OR json_extract(metadata, '$.fallback') IS NOT NULL"
        " ORDER BY made_at DESC, id DESC LIMIT 1"
    ).fetchone()
    return row[0] if row else None


# --- for verify --------------------------------------------------------------------------------------


def page_after(db: sqlite3.Connection, after: int) -> list[SummaryRow]:
    """Return the next summaries with keys above ``after``."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM summary u WHERE u.id > ? ORDER BY u.id LIMIT ?", (after, PAGE_ROWS))
    return [SummaryRow(*values) for values in rows]


def quoted_message_lengths(db: sqlite3.Connection, rows: Sequence[SummaryRow]) -> dict[tuple[int, int], int]:
    """Return the lengths of the messages that summaries quote, by session and message."""
    quoted = messages.get(db, {message for row in rows for message, *_ in row.sentences})
    return {(message.session_id, key): len(message.text) for key, message in quoted.items()}


def chunk_spans(
    db: sqlite3.Connection, generation: int, rows: Sequence[SummaryRow]
) -> dict[int, list[tuple[int, int, int, bytes]]]:
    """Return the chunks of summaries in a generation, in order: key, start, stop and digest of each."""
    spans: dict[int, list[tuple[int, int, int, bytes]]] = {}
    for summary, *span in db.execute(
        "SELECT summary_id, id, start, stop, digest FROM summary_chunk"
        f" WHERE generation = ? AND summary_id IN {JSON_KEYS_SQL} ORDER BY summary_id, start, stop",
        (generation, json_keys(row.id for row in rows)),
    ):
        spans.setdefault(summary, []).append((span[0], span[1], span[2], span[3]))
    return spans

"""Summaries in the truth: what they say, where each of their sentences stands, and which sessions wait for new ones.

A summary keeps its sentences as places in messages, so that what it quotes is always the message's own. The database
itself drops the summaries that cover a message when that changes or goes, and counts what no summary has seen.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from appliance.errors import NotFound
from appliance.moments import iso_of, now
from appliance.store import messages, sessions
from appliance.store.sql import LISTED, PAGE, at_once, listed, to_json
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Filters, Level, Metadata, Quote, Scope, Summary

Sentence = tuple[int, int, int]
"""A message's key, and from where to where in its text, in characters."""


@dataclass(frozen=True, slots=True)
class New:
    """A summary as it is about to be stored, of the messages from ``first`` to ``last``, so many in all. ``covers`` is
    the digest of what it was made from."""

    level: Level
    first: messages.Row
    last: messages.Row
    messages: int
    text: str
    quotes: Sequence[Quote]
    made_by: str
    metadata: Metadata
    covers: bytes


@dataclass(frozen=True, slots=True)
class Row:
    """A stored summary; ``public`` makes it a Summary. ``sentences`` and ``metadata`` are JSON."""

    id: int
    session_id: int
    level: Level
    first_id: int
    last_id: int
    messages: int
    since: str | None
    until: str | None
    text: str
    quoted: str
    made_by: str
    metadata: str
    covers: bytes
    made_at: int
    first_order: int
    first_position: int
    last_order: int
    last_position: int

    @property
    def begins(self) -> tuple[int, int, int]:
        """The place of the first message that it covers, by which messages are in order."""
        return self.first_order, self.first_position, self.first_id

    @property
    def ends(self) -> tuple[int, int, int]:
        return self.last_order, self.last_position, self.last_id

    @property
    def sentences(self) -> list[Sentence]:
        return msgspec.json.decode(self.quoted, type=list[Sentence])


@dataclass(frozen=True, slots=True)
class Due:
    """What no summary of a session has seen: how many changes, and how many of these were of messages that had been
    there before."""

    changes: int = 0
    edits: int = 0


_COLUMNS = (
    "u.id, u.session_id, u.level, u.first_id, u.last_id, u.messages, u.since, u.until, u.text, u.sentences,"
    " u.made_by, u.metadata, u.covers, u.made_at, u.first_order, u.first_position, u.last_order, u.last_position"
)
_ORDER = (
    "u.session_id, CASE u.level WHEN 'session' THEN 0 WHEN 'topic' THEN 1 WHEN 'exchange' THEN 2 ELSE 3 END,"
    " u.first_order, u.first_position, u.first_id"
)


def public_id(key: int) -> str:
    return f"sum{key}"


def key_of(public: str) -> int | None:
    """The store's key of a public summary id, or None when it is not one."""
    return int(public[3:]) if re.fullmatch(r"sum[1-9]\d{0,17}", public) else None


# --- what is due -------------------------------------------------------------------------------------


# What was said in a future, by a clock that has been put right since, counts as said long ago.
LOOKED_AT = 200
"""Sessions that wait whose messages are looked at, to tell how long: an import leaves thousands, all from one hour."""

_IS_DUE = "(d.torn OR d.changes >= :every OR abs(:now - d.at) >= :silent)"


def due(db: sqlite3.Connection, every: int, silent: float, limit: int = -1) -> list[int]:
    """The sessions that wait for summaries, the last active first: of those that have been silent for so many
    seconds, that have so many messages more, or that lost a summary with a message that changed."""
    rows = db.execute(
        f"SELECT d.session_id FROM summary_due d WHERE {_IS_DUE} ORDER BY d.at DESC, d.session_id DESC LIMIT :limit",
        {**_limits(every, silent), "limit": limit},
    )
    return [key for (key,) in rows.fetchall()]


def due_count(db: sqlite3.Connection, every: int, silent: float) -> int:
    (number,) = db.execute(
        f"SELECT count(*) FROM summary_due d WHERE {_IS_DUE}",
        _limits(every, silent),
    ).fetchone()
    return int(number)


def waiting_since(db: sqlite3.Connection, every: int, silent: float) -> int | None:
    """When the latest message was stored of the session that has waited longest for summaries, among the first
    ``LOOKED_AT`` that do, in microseconds since 1970; None when none does."""
    (at,) = db.execute(
        "SELECT min((SELECT max(added_at) FROM message m WHERE m.session_id = due.session_id)) FROM"
        f" (SELECT d.session_id FROM summary_due d WHERE {_IS_DUE} LIMIT {LOOKED_AT}) due",
        _limits(every, silent),
    ).fetchone()
    return None if at is None else int(at)


def _limits(every: int, silent: float) -> dict[str, int]:
    return {"every": every, "now": now(), "silent": int(silent * 1e6)}


def unseen(db: sqlite3.Connection, session: int) -> Due:
    """What has happened in a session that no summary has seen."""
    row = db.execute("SELECT changes, edits FROM summary_due WHERE session_id = ?", (session,)).fetchone()
    return Due(*row) if row else Due()


def seen(tx: sqlite3.Connection, session: int, due: Due) -> None:
    """Note that summaries have now seen so much; what has come since goes on waiting."""
    tx.execute(
        "UPDATE summary_due SET changes = changes - ?, edits = edits - ?, torn = 0 WHERE session_id = ?",
        (due.changes, due.edits, session),
    )
    tx.execute("DELETE FROM summary_due WHERE session_id = ? AND changes <= 0", (session,))


# --- written -----------------------------------------------------------------------------------------


def put(tx: sqlite3.Connection, session: int, new: Sequence[New]) -> list[int]:
    """Store summaries of a session; their keys, in the same order. Their pieces are the caller's."""
    made = now()
    keys = []
    for one in new:
        sentences = [(messages.message_key(q.message_id), q.start, q.end) for q in one.quotes]
        first, last = one.first, one.last
        cursor = tx.execute(
            "INSERT INTO summary (session_id, level, first_id, first_order, first_position, last_id, last_order,"
            " last_position, messages, since, until, at, text, sentences, made_by, metadata, covers, made_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (session, one.level, first.id, first.order_at, first.position, last.id, last.order_at, last.position,
             one.messages, first.sent_at, last.sent_at, last.at, one.text, to_json(sentences), one.made_by,
             to_json(one.metadata), one.covers, made),
        )  # fmt: skip
        keys.append(int(cursor.lastrowid or 0))
    return keys


def drop(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Remove summaries; the database queues the removal of their points."""
    tx.execute(f"DELETE FROM summary WHERE id IN {LISTED}", (listed(keys),))


# --- read back ---------------------------------------------------------------------------------------


def of_session(db: sqlite3.Connection, session: int) -> list[Row]:
    """A session's summaries, the whole before its parts, each level in the order of the conversation."""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM summary u WHERE u.session_id = ? ORDER BY {_ORDER}", (session,)
    )
    return [Row(*values) for values in rows]


def found(
    db: sqlite3.Connection,
    scope: Scope | None = None,
    *,
    session: int | None = None,
    level: Level | None = None,
    limit: int = -1,
) -> list[Row]:
    """The summaries of a scope and of a session, if given, of all levels or one: those of the last active
    session first, and there the whole before its parts."""
    where: list[str] = [NOT_EXPIRED]
    values: list[object] = [now()]
    if scope is not None:
        where += ["s.user_id = ?", "s.namespace = ?"]
        values += [scope.user_id, scope.namespace]
        if scope.agent_id is not None:
            where.append(sessions.TAKES_PART)
            values.append(scope.agent_id)
    if session is not None:
        where.append("u.session_id = ?")
        values.append(session)
    if level is not None:
        where.append("u.level = ?")
        values.append(level)
    last = "(SELECT max(m.order_at) FROM message m WHERE m.session_id = u.session_id)"
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM summary u JOIN session s ON s.id = u.session_id WHERE {' AND '.join(where)}"
        f" ORDER BY {last} DESC, {_ORDER} LIMIT ?",
        (*values, limit),
    )
    return [Row(*each) for each in rows]


def get(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, Row]:
    """The summaries of the given keys; those that are not there are absent."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM summary u WHERE u.id IN {LISTED}", (listed(keys),))
    return {values[0]: Row(*values) for values in rows}


def summary(db: sqlite3.Connection, reference: str) -> Row:
    """The summary of a public id.

    Raises:
        NotFound: there is none.
    """
    key = key_of(reference)
    row = get(db, [key]).get(key) if key is not None else None
    if row is None:
        raise NotFound(f"there is no summary {reference!r}", hint="'appliance summaries' lists them")
    return row


def public(db: sqlite3.Connection, rows: Sequence[Row]) -> list[Summary]:
    """The summaries as they leave the program, with the words that they quote read from the messages."""
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
            made_at=iso_of(row.made_at),
            metadata=msgspec.json.decode(row.metadata),
        )
        for row in rows
    ]


def exist(db: sqlite3.Connection, scope: Scope) -> bool:
    """Whether any session of a scope has a summary."""
    row = db.execute(
        "SELECT EXISTS (SELECT 1 FROM session s JOIN summary u ON u.session_id = s.id"
        " WHERE s.user_id = ? AND s.namespace = ?)",
        (scope.user_id, scope.namespace),
    ).fetchone()
    return bool(row[0])


def seen_by(db: sqlite3.Connection, keys: Collection[int], filters: Filters) -> set[int]:
    """Those of the given summaries that a question may find: what sessions give to others and all of its own, and
    nothing that has expired. The index follows a change by and by; the truth decides."""
    rows = at_once(
        db,
        "SELECT u.id FROM summary u JOIN session s ON s.id = u.session_id"
        f" WHERE (s.storage_scope <> 'none' OR s.id IN {LISTED}) AND {NOT_EXPIRED} AND u.id IN {LISTED}"
        + (" AND s.id = ?" if filters.session is not None else ""),
        (
            listed(part.session for part in filters.own),
            now(),
            listed(keys),
            *(() if filters.session is None else (filters.session,)),
        ),
        columns=1,
    )
    return {key for (key,) in rows}


def count(db: sqlite3.Connection) -> int:
    (number,) = db.execute("SELECT count(*) FROM summary").fetchone()
    return int(number)


def last_fallback(db: sqlite3.Connection) -> str | None:
    """Why the model did not write the latest summary that it was to write; None where it did."""
    row = db.execute(
        "SELECT json_extract(metadata, '$.fallback') FROM summary"
        " WHERE made_by <> 'extractive' OR json_extract(metadata, '$.fallback') IS NOT NULL"
        " ORDER BY made_at DESC, id DESC LIMIT 1"
    ).fetchone()
    return row[0] if row else None


# --- for verify --------------------------------------------------------------------------------------


def page(db: sqlite3.Connection, after: int) -> list[Row]:
    """The next summaries behind the key ``after``."""
    rows = db.execute(f"SELECT {_COLUMNS} FROM summary u WHERE u.id > ? ORDER BY u.id LIMIT ?", (after, PAGE))
    return [Row(*values) for values in rows]


def lengths(db: sqlite3.Connection, rows: Sequence[Row]) -> dict[tuple[int, int], int]:
    """The lengths of the messages that summaries quote, by session and message."""
    texts = messages.get(db, {message for row in rows for message, *_ in row.sentences})
    return {(message.session_id, key): len(message.text) for key, message in texts.items()}


def pieces_of(
    db: sqlite3.Connection, generation: int, rows: Sequence[Row]
) -> dict[int, list[tuple[int, int, int, bytes]]]:
    """The pieces of summaries in a generation: key, start, stop and digest of each, in order."""
    found: dict[int, list[tuple[int, int, int, bytes]]] = {}
    for key, *piece in db.execute(
        "SELECT summary_id, id, start, stop, digest FROM summary_chunk"
        f" WHERE generation = ? AND summary_id IN {LISTED} ORDER BY summary_id, start, stop",
        (generation, listed(row.id for row in rows)),
    ):
        found.setdefault(key, []).append((piece[0], piece[1], piece[2], piece[3]))
    return found

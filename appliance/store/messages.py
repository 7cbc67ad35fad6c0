"""Messages in the truth: what an ingest writes, inside its transaction, and what is read back.

Keys are SQLite's integers; what leaves the program is ``s12`` for a session and ``m345`` for a message,
so that an id says what it names. An id is never used twice.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from appliance.errors import NotFound
from appliance.moments import now
from appliance.store import lineage, sessions
from appliance.store.sql import LISTED, PAGE, at_once, listed, marks, next_key, pages
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Message, Role, Scope, SessionInfo


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message as it is about to be stored. ``sent_at`` is ISO 8601, ``at`` and ``order_at`` are
    microseconds since 1970, ``metadata`` is JSON text with sorted keys, without the pin."""

    external_id: str
    position: int
    order_at: int
    sent_at: str | None
    at: int | None
    role: Role
    author: str | None
    text: str
    talk: bool
    reply_to: str | None
    metadata: str
    pinned: bool = False

    def at_place(self, order_at: int, position: int) -> NewMessage:
        """The same message elsewhere. Every new message comes through here, and ``dataclasses.replace`` takes three
        times as long."""
        return NewMessage(
            self.external_id,
            position,
            order_at,
            self.sent_at,
            self.at,
            self.role,
            self.author,
            self.text,
            self.talk,
            self.reply_to,
            self.metadata,
            self.pinned,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What the store already has of a message, and where it stands in its session."""

    id: int
    order_at: int
    position: int
    role: Role
    author: str | None
    text: str
    sent_at: str | None
    reply_to: str | None
    metadata: str


@dataclass(frozen=True, slots=True)
class Row:
    """A stored message with what ranking and rendering need to know of it; ``public`` makes it a Message."""

    id: int
    session_id: int
    external_id: str
    position: int
    order_at: int
    sent_at: str | None
    at: int | None
    role: Role
    author: str | None
    text: str
    talk: bool
    reply_to: str | None
    metadata: str
    revision: int
    source_id: int | None
    pinned: bool = False


COLUMNS = (
    "m.id, m.session_id, m.external_id, m.position, m.order_at, m.sent_at, m.at, m.role, m.author, m.text,"
    " m.talk, m.reply_to, m.metadata, m.revision, m.source_id, m.pinned"
)


def message_id(key: int) -> str:
    return f"m{key}"


def message_key(public: str) -> int | None:
    """The store's key of a public message id, or None when it is not one."""
    return int(public[1:]) if re.fullmatch(r"m[1-9]\d{0,17}", public) else None


def public(row: Row) -> Message:
    return Message(
        id=message_id(row.id),
        session_id=sessions.public_id(row.session_id),
        external_id=row.external_id,
        role=row.role,
        author=row.author,
        timestamp=row.sent_at,
        text=row.text,
        reply_to=row.reply_to,
        metadata=msgspec.json.decode(row.metadata),
        pinned=bool(row.pinned),
    )


# --- written within an ingest's transaction ----------------------------------------------------------


def count(db: sqlite3.Connection) -> int:
    """How many messages there are of everybody."""
    (number,) = db.execute("SELECT count(*) FROM message").fetchone()
    return int(number)


def enter_source(tx: sqlite3.Connection, path: str, format: str, size: int) -> int:
    """The key of the file at ``path``, noted as read now."""
    (key,) = tx.execute(
        "INSERT INTO source (path, format, bytes, first_at, last_at) VALUES (?1, ?2, ?3, ?4, ?4)"
        " ON CONFLICT (path) DO UPDATE SET format = ?2, bytes = ?3, last_at = ?4 RETURNING id",
        (path, format, size, now()),
    ).fetchone()
    return int(key)


def known(tx: sqlite3.Connection, session: int, external_ids: Sequence[str]) -> dict[str, Known]:
    """What the store has of the given messages of a session, by external id."""
    found: dict[str, Known] = {}
    for page in pages(external_ids):
        for external_id, *rest in tx.execute(
            "SELECT external_id, id, order_at, position, role, author, text, sent_at, reply_to, metadata"
            " FROM message"
            f" WHERE session_id = ? AND external_id IN ({marks(page)})",
            (session, *page),
        ):
            found[external_id] = Known(*rest)
    return found


def last_place(tx: sqlite3.Connection, session: int) -> tuple[int, int] | None:
    """Where a session's last message stands (time, position); None when there is none."""
    found: tuple[int, int] | None = tx.execute(
        "SELECT order_at, position FROM message WHERE session_id = ?"
        " ORDER BY order_at DESC, position DESC LIMIT 1",
        (session,),
    ).fetchone()
    return found


def end(tx: sqlite3.Connection, session: int) -> tuple[int, int] | None:
    """Where the last turn of a session stands, which of a branch may be one that it shares."""
    for part in reversed(lineage.parts(tx, session)):
        where, values = lineage.within([part])
        found: tuple[int, int] | None = tx.execute(
            f"SELECT m.order_at, m.position FROM message m WHERE {where}"
            " ORDER BY m.order_at DESC, m.position DESC LIMIT 1",
            values,
        ).fetchone()
        if found is not None:
            return found
    return None


def next_position(tx: sqlite3.Connection, session: int, order_at: int, position: int) -> int | None:
    """The position of the first message behind a place; None at the session's end."""
    row = tx.execute(
        "SELECT position FROM message WHERE session_id = ? AND (order_at, position) > (?, ?)"
        " ORDER BY order_at, position LIMIT 1",
        (session, order_at, position),
    ).fetchone()
    return None if row is None else int(row[0])


def was_revision(tx: sqlite3.Connection, key: int, form: NewMessage) -> bool:
    """Whether a message once was just so: then an older export is being read again."""
    row = tx.execute(
        "SELECT 1 FROM revision WHERE message_id = ? AND text = ? AND metadata = ? AND role IS ?"
        " AND author IS ? AND sent_at IS ? AND reply_to IS ?",
        (key, form.text, form.metadata, form.role, form.author, form.sent_at, form.reply_to),
    ).fetchone()
    return row is not None


def insert(
    tx: sqlite3.Connection,
    session: int,
    source: int | None,
    messages: Sequence[NewMessage],
    importance: Sequence[float | None] | None = None,
) -> list[int]:
    """Store new messages, with what their words are worth if that is known; their keys, in the same order."""
    first = next_key(tx, "message")
    added = now()
    tx.executemany(
        "INSERT INTO message (id, session_id, external_id, position, order_at, sent_at, at, role, author,"
        " text, talk, reply_to, metadata, source_id, added_at, importance, pinned)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (first + i, session, m.external_id, m.position, m.order_at, m.sent_at, m.at, m.role, m.author,
             m.text, m.talk, m.reply_to, m.metadata, source, added, worth, m.pinned)
            for i, (m, worth) in enumerate(zip(messages, importance or [None] * len(messages), strict=True))
        ),
    )  # fmt: skip
    return list(range(first, first + len(messages)))


def revise(
    tx: sqlite3.Connection, key: int, source: int | None, message: NewMessage, importance: float | None = None
) -> None:
    """Give a message its new form, the place that goes with it and what its words are worth now; the old form is
    kept as a revision. What is pinned stays so."""
    tx.execute(
        "INSERT INTO revision (message_id, number, text, metadata, role, author, sent_at, reply_to, source_id,"
        " replaced_at) SELECT id, revision, text, metadata, role, author, sent_at, reply_to, source_id, ?"
        " FROM message WHERE id = ?",
        (now(), key),
    )
    tx.execute(
        "UPDATE message SET text = ?, metadata = ?, role = ?, author = ?, talk = ?, reply_to = ?, sent_at = ?,"
        " at = ?, order_at = ?, position = ?, source_id = ?, importance = ?,"
        " pinned = max(pinned, ?), revision = revision + 1 WHERE id = ?",
        (message.text, message.metadata, message.role, message.author, message.talk, message.reply_to,
         message.sent_at, message.at, message.order_at, message.position, source, importance, message.pinned, key),
    )  # fmt: skip


# --- read back ---------------------------------------------------------------------------------------


def get(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, Row]:
    """The messages of the given keys; those that are not there are absent."""
    found: dict[int, Row] = {}
    for page in pages(list(keys)):
        for values in db.execute(
            f"SELECT {COLUMNS} FROM message m WHERE m.id IN ({marks(page)})", page
        ).fetchall():
            found[values[0]] = Row(*values)
    return found


def texts(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The texts of the messages of the given keys; those that are not there are absent."""
    return dict(db.execute(f"SELECT id, text FROM message WHERE id IN {LISTED}", (listed(keys),)).fetchall())


@dataclass(frozen=True, slots=True)
class Said:
    """Who said a message and how it begins, in which session."""

    session: int
    role: Role
    author: str | None
    beginning: str


def said(db: sqlite3.Connection, keys: Iterable[int], characters: int) -> dict[int, Said]:
    """The messages of the given keys by their first ``characters``; those that are not there are absent."""
    rows = at_once(
        db,
        f"SELECT id, session_id, role, author, substr(text, 1, ?) FROM message WHERE id IN {LISTED}",
        (characters, listed(keys)),
        columns=5,
    )
    return {key: Said(*rest) for key, *rest in rows}


def of_session(
    db: sqlite3.Connection, session: int, *, last: int | None = None, talk_only: bool = False
) -> list[Row]:
    """A session's messages in order, those first that it shares with others as their branch; ``last`` keeps
    that many of the newest."""
    found: list[Row] = []
    for part in reversed(lineage.parts(db, session)):
        if last is not None and len(found) >= last:
            break
        where, values = lineage.within([part])
        where += " AND m.talk = 1" if talk_only else ""
        rows = db.execute(
            f"SELECT {COLUMNS} FROM message m WHERE {where}"
            " ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT ?",
            (*values, -1 if last is None else last - len(found)),
        )
        found += (Row(*row) for row in rows)
    return found[::-1]


def talk_and_tools(db: sqlite3.Connection, session: int) -> tuple[list[Row], list[Row]]:
    """What was said in a session in the open, and the records of tools, these without their texts; each in order."""
    columns = COLUMNS.replace("m.text", "CASE WHEN m.talk THEN m.text ELSE '' END")
    rows = [
        Row(*values)
        for values in db.execute(
            f"SELECT {columns} FROM message m WHERE m.session_id = ? AND (m.talk OR m.role = 'tool')"
            " ORDER BY m.order_at, m.position, m.id",
            (session,),
        )
    ]
    return [row for row in rows if row.talk], [row for row in rows if not row.talk]


def every(db: sqlite3.Connection, user_id: str | None = None) -> Iterator[tuple[Row, SessionInfo]]:
    """Every message with its session, session by session, each in order, in bounded memory; of one user,
    in all namespaces, if named. What a branch shares comes once, with the session that it is of."""
    for info in sessions.every(db):
        if user_id is not None and info.user_id != user_id:
            continue
        key = sessions.key(info)
        after = (-(1 << 62), -1, 0)
        while True:
            rows = [
                Row(*values)
                for values in db.execute(
                    f"SELECT {COLUMNS} FROM message m WHERE m.session_id = ?"
                    " AND (m.order_at, m.position, m.id) > (?, ?, ?)"
                    " ORDER BY m.order_at, m.position, m.id LIMIT ?",
                    (key, *after, PAGE),
                )
            ]
            for row in rows:
                yield row, info
            if len(rows) < PAGE:
                break
            after = (rows[-1].order_at, rows[-1].position, rows[-1].id)


def message(db: sqlite3.Connection, reference: str, scope: Scope | None = None) -> Row:
    """The message of a public id or, failing that, of an external id; one of ``scope``, if given.

    Raises:
        NotFound: there is none, or several sessions use this external id.
    """
    key = message_key(reference)
    where = f" AND {NOT_EXPIRED}"
    owner: list[object] = [now()]
    if scope is not None:
        where, owner = (
            f"{where} AND s.user_id = ? AND s.namespace = ?",
            [*owner, scope.user_id, scope.namespace],
        )
    select = f"SELECT {COLUMNS} FROM message m JOIN session s ON s.id = m.session_id WHERE "
    rows: list[Any] = []
    if key:
        rows = db.execute(f"{select} m.id = ?{where}", (key, *owner)).fetchall()
    if not rows:
        rows = db.execute(f"{select} m.external_id = ?{where} LIMIT 3", (reference, *owner)).fetchall()
    if len(rows) > 1:
        ids = ", ".join(message_id(r[0]) for r in rows)
        raise NotFound(f"several messages are called {reference!r}", hint=f"name one by its id: {ids}")
    if not rows:
        raise NotFound(f"no message {reference!r}", hint="'appliance search' prints message ids")
    return Row(*rows[0])


def source_paths(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The paths of the given sources."""
    found: dict[int, str] = {}
    for page in pages(sorted(set(keys))):
        found.update(db.execute(f"SELECT id, path FROM source WHERE id IN ({marks(page)})", page).fetchall())
    return found

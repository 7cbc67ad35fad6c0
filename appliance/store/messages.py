"""Messages in the database: what an ingest writes within its transaction, and what is read back.

Keys are SQLite's integers. Public ids are ``s12`` for a session and ``m345`` for a message, so that an id shows what it
names. An id is never used twice.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from appliance.errors import NotFound, StoreCorrupt
from appliance.lazy_dataclasses import dataclass
from appliance.secrets.personal import SecretSpan
from appliance.store import branches, conversation_time, digests, message_parts, new_messages, sessions
from appliance.store.damage import AT_SQL, AUTHOR_SQL, ROLE_SQL, as_kind
from appliance.store.sql import (
    JSON_KEYS_SQL,
    PAGE_ROWS,
    fetch_int,
    fetch_readable,
    from_json,
    json_keys,
    next_key,
    pages,
    placeholders,
    read_by_halves,
)
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Message, Role, Scope, SessionInfo, SessionPart


@dataclass(frozen=True, slots=True)
class MessageInsert:
    """A message to be stored. ``sent_at`` is ISO 8601, ``at`` and ``order_at`` are microseconds since 1970,
    ``metadata`` is JSON text with sorted keys, without the pin. ``importance`` is the score of its words, 0 to 1,
    ``secrets`` are the places of those in its text, and ``digest`` is the key of its vector as one chunk, where they
    have been computed already."""

    external_id: str
    position: int
    order_at: int
    sent_at: str | None
    at: int | None
    role: Role
    author: str | None
    text: str
    conversational: bool
    reply_to: str | None
    metadata: str
    pinned: bool = False
    importance: float | None = None
    secrets: tuple[SecretSpan, ...] | None = None
    digest: bytes | None = None

    def with_findings(self, importance: float, secrets: tuple[SecretSpan, ...], digest: bytes) -> MessageInsert:
        """Return the same message with its score, its secrets and its digest."""
        return MessageInsert(
            self.external_id, self.position, self.order_at, self.sent_at, self.at, self.role, self.author, self.text,
            self.conversational, self.reply_to, self.metadata, self.pinned, importance, secrets, digest,
        )  # fmt: skip

    @property
    def own_at(self) -> int | None:
        """The time that the message has of its own; None where it takes its conversation's."""
        return None if self.at is None or conversation_time.is_marked(self.metadata) else self.at

    def with_order(self, order_at: int, position: int) -> MessageInsert:
        """Return the same message at another place. Called for every new message; ``dataclasses.replace`` takes three
        times as long."""
        return MessageInsert(
            self.external_id, position, order_at, self.sent_at, self.at, self.role, self.author, self.text,
            self.conversational, self.reply_to, self.metadata, self.pinned, self.importance, self.secrets,
            self.digest,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StoredState:
    """The stored form of a message and its place in the session, to compare a new form with."""

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
class MessageRow:
    """A stored message with everything that ranking and rendering need; ``to_message`` gives its public form."""

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
    conversational: bool
    reply_to: str | None
    metadata: str
    revision: int
    source_id: int | None
    pinned: bool = False


FIRST_REVISION = 1
"""The revision of a message that has never been changed."""

_STORED_COLUMNS = ["body" if one == "text" else one for one in digests.MESSAGE_COLUMNS]
"""The columns that a message is stored in; ``text`` is read from its ``body``."""

TEXT_SQL = "coalesce(m.text, '')"
COLUMNS = ", ".join(
    [
        "m.id",
        "m.session_id",
        as_kind("m.external_id", "TEXT", "''"),
        as_kind("m.position", "INTEGER", "0"),
        as_kind("m.order_at", "INTEGER", "0"),
        as_kind("m.sent_at", "TEXT"),
        AT_SQL,
        ROLE_SQL,
        AUTHOR_SQL,
        TEXT_SQL,
        as_kind("m.talk", "INTEGER", "1"),
        as_kind("m.reply_to", "TEXT"),
        as_kind("m.metadata", "TEXT", "'{}'"),
        as_kind("m.revision", "INTEGER", str(FIRST_REVISION)),
        as_kind("m.source_id", "INTEGER"),
        as_kind("m.pinned", "INTEGER", "0"),
    ]
)
"""What a ``MessageRow`` is read from, in ``message m``."""


def message_id(key: int) -> str:
    return f"m{key}"


def message_key(public: str) -> int | None:
    """Return the store's key of a public message id, or None if the text is not one."""
    return int(public[1:]) if re.fullmatch(r"m[1-9]\d{0,17}", public) else None


def to_message(row: MessageRow) -> Message:
    return Message(
        id=message_id(row.id),
        session_id=sessions.public_id(row.session_id),
        external_id=row.external_id,
        role=row.role,
        author=row.author,
        timestamp=row.sent_at,
        text=row.text,
        reply_to=row.reply_to,
        metadata=from_json(row.metadata),
        pinned=bool(row.pinned),
    )


# --- writing within the transaction of an ingest -----------------------------------------------------


def count(db: sqlite3.Connection, scope: Scope | None = None) -> int:
    """Return the number of messages of all users, or of one scope."""
    if scope is None:
        return fetch_int(db, "SELECT count(*) FROM message")
    sessions = f"SELECT s.id FROM session s WHERE s.user_id = ? AND s.namespace = ? AND {NOT_EXPIRED}"
    return fetch_int(
        db, f"SELECT count(*) FROM message WHERE session_id IN ({sessions})", (scope.user_id, scope.namespace, now())
    )


def stored_states(tx: sqlite3.Connection, session: int, external_ids: Sequence[str]) -> dict[str, StoredState]:
    """Return the stored forms of those of the messages that a session has, by external id."""
    states: dict[str, StoredState] = {}
    for page in pages(external_ids):
        for external_id, *values in tx.execute(
            "SELECT external_id, id, order_at, position, role, author, text, sent_at, reply_to, metadata"
            f" FROM message WHERE session_id = ? AND external_id IN ({placeholders(page)})",
            (session, *page),
        ):
            states[external_id] = StoredState(*values)
    return states


def last_order_key(tx: sqlite3.Connection, session: int) -> tuple[int, int] | None:
    """Return the place (time, position) of the last message of a session, without those that it shares as a branch;
    None if there is none."""
    return _last_place(tx, SessionPart(session))


def end_order_key(tx: sqlite3.Connection, session: int) -> tuple[int, int] | None:
    """Return the place (time, position) of the last message of a session, which a branch may share; None if there is
    none."""
    places = (_last_place(tx, part) for part in reversed(branches.session_parts(tx, session)))
    return next(filter(None, places), None)


def _last_place(tx: sqlite3.Connection, part: SessionPart) -> tuple[int, int] | None:
    where, values = branches.parts_condition([part])
    place: tuple[int, int] | None = tx.execute(
        f"SELECT m.order_at, m.position FROM message m WHERE {where} ORDER BY m.order_at DESC, m.position DESC LIMIT 1",
        values,
    ).fetchone()
    return place


def next_position(tx: sqlite3.Connection, session: int, order_at: int, position: int) -> int | None:
    """Return the position of the first message after a place, or None at the end of the session."""
    row = tx.execute(
        "SELECT position FROM message WHERE session_id = ? AND (order_at, position) > (?, ?)"
        " ORDER BY order_at, position LIMIT 1",
        (session, order_at, position),
    ).fetchone()
    return None if row is None else int(row[0])


def was_revision(tx: sqlite3.Connection, key: int, message: MessageInsert) -> bool:
    """Whether a message once had exactly this form, as when an older export is read again."""
    rows = tx.execute(
        "SELECT sent_at, metadata FROM revision WHERE message_id = ? AND text = ? AND role IS ? AND author IS ?"
        " AND reply_to IS ?",
        (key, message.text, message.role, message.author, message.reply_to),
    )
    own = conversation_time.own_parts(message.sent_at, message.metadata)
    return any(conversation_time.own_parts(*row) == own for row in rows)


def insert(
    tx: sqlite3.Connection,
    session: int,
    source: int | None,
    messages: Sequence[MessageInsert],
    importance: Sequence[float | None] | None = None,
) -> list[int]:
    """Store new messages and return their keys, in the same order.

    Args:
        tx: The transaction.
        session: The key of their session.
        source: The key of the file that they come from, None for messages added by hand.
        messages: The messages.
        importance: The score of each message's words, 0 to 1, or None where it is not known yet.
    """
    first = next_key(tx, "message")
    added = now()
    rows = [
        (key, session, m.external_id, m.position, m.order_at, m.sent_at, m.at, m.role, m.author, int(m.conversational),
         int(m.pinned), m.reply_to, FIRST_REVISION, source, added, m.text, m.metadata)
        for key, m in enumerate(messages, first)
    ]  # fmt: skip
    scores = importance or [None] * len(messages)
    tx.executemany(
        f"INSERT INTO message ({', '.join(_STORED_COLUMNS)}, importance) VALUES ({placeholders(_STORED_COLUMNS)}, ?)",
        ((*row, score) for row, score in zip(rows, scores, strict=True)),
    )
    digests.add(tx, rows)
    message_parts.add(tx, enumerate(messages, first))
    new_messages.note(tx, session, source, added, [*enumerate(messages, first)])
    return list(range(first, first + len(messages)))


def revise(
    tx: sqlite3.Connection, key: int, source: int | None, message: MessageInsert, importance: float | None = None
) -> None:
    """Give a message its new form, id, place and importance; the old form is kept as a revision. A pinned message
    stays pinned."""
    intact = digests.intact(tx, [key])
    tx.execute(
        "INSERT INTO revision (message_id, number, text, metadata, role, author, sent_at, reply_to, source_id,"
        " replaced_at) SELECT id, revision, text, metadata, role, author, sent_at, reply_to, source_id, ?"
        " FROM message WHERE id = ?",
        (now(), key),
    )
    tx.execute(
        "UPDATE message SET external_id = ?, body = ?, metadata = ?, role = ?, author = ?, talk = ?, reply_to = ?,"
        " sent_at = ?, at = ?, order_at = ?, position = ?, source_id = ?, importance = ?,"
        " pinned = max(pinned, ?), revision = revision + 1 WHERE id = ?",
        (message.external_id, message.text, message.metadata, message.role, message.author, message.conversational,
         message.reply_to,
         message.sent_at, message.at, message.order_at, message.position, source, importance, message.pinned, key),
    )  # fmt: skip
    digests.refresh_revisions(tx, intact)
    digests.refresh(tx, [key])
    message_parts.refresh(tx, key, message)


# --- reading -----------------------------------------------------------------------------------------


def get(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, MessageRow]:
    """Return the messages with the given keys, by key, as far as they exist and can be read."""
    query = f"SELECT {COLUMNS} FROM message m WHERE m.id IN {JSON_KEYS_SQL}"
    rows = read_by_halves(lambda part: db.execute(query, (json_keys(part),)).fetchall(), list(keys))
    return {values[0]: MessageRow(*values) for values in rows}


def texts(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Return the texts of the messages with the given keys, by key, as far as they exist and can be read."""
    query = f"SELECT id, text FROM message WHERE id IN {JSON_KEYS_SQL}"
    return dict(read_by_halves(lambda part: db.execute(query, (json_keys(part),)).fetchall(), list(keys)))


def texts_with_revisions(db: sqlite3.Connection, keys: Iterable[int]) -> Iterator[str]:
    """Yield the texts of the messages with the given keys, and those of their earlier forms."""
    encoded_keys = json_keys(keys)
    rows = db.execute(
        f"SELECT text FROM message WHERE id IN {JSON_KEYS_SQL} UNION ALL"
        f" SELECT text FROM revision WHERE message_id IN {JSON_KEYS_SQL}",
        (encoded_keys, encoded_keys),
    )
    return (text for (text,) in rows)


@dataclass(frozen=True, slots=True)
class MessageExcerpt:
    """The author, the session and the first characters of a message."""

    session: int
    role: Role
    author: str | None
    excerpt: str


def excerpts(db: sqlite3.Connection, keys: Iterable[int], characters: int) -> dict[int, MessageExcerpt]:
    """Return the first ``characters`` of the messages with the given keys, by key, as far as they exist."""
    rows = fetch_readable(
        db,
        f"SELECT m.id, m.session_id, {ROLE_SQL}, {AUTHOR_SQL}, substr(m.text, 1, ?) FROM message m"
        f" WHERE m.id IN {JSON_KEYS_SQL}",
        keys,
        before=(characters,),
        columns=5,
    )
    return {key: MessageExcerpt(*rest) for key, *rest in rows}


def of_session(
    db: sqlite3.Connection, session: int, *, last: int | None = None, conversational_only: bool = False
) -> list[MessageRow]:
    """Return the messages of a session in order, with those that it shares as a branch.

    Args:
        db: The connection.
        session: The key of the session.
        last: Return only this number of the latest messages.
        conversational_only: Leave out tool, system and hidden messages.
    """
    latest_first: list[MessageRow] = []
    for part in reversed(branches.session_parts(db, session)):
        if last is not None and len(latest_first) >= last:
            break
        where, values = branches.parts_condition([part])
        where += " AND m.talk = 1" if conversational_only else ""
        rows = db.execute(
            f"SELECT {COLUMNS} FROM message m WHERE {where}"
            " ORDER BY m.order_at DESC, m.position DESC, m.id DESC LIMIT ?",
            (*values, -1 if last is None else last - len(latest_first)),
        )
        latest_first += (MessageRow(*row) for row in rows)
    return latest_first[::-1]


def conversation_and_tools(db: sqlite3.Connection, session: int) -> tuple[list[MessageRow], list[MessageRow]]:
    """Return the conversational messages of a session, and its tool records without their texts; each in order."""
    columns = COLUMNS.replace(TEXT_SQL, "CASE WHEN m.talk THEN m.text ELSE '' END")
    selected = db.execute(
        f"SELECT {columns} FROM message m WHERE m.session_id = ? AND (m.talk OR m.role = 'tool')"
        " ORDER BY m.order_at, m.position, m.id",
        (session,),
    )
    rows = [MessageRow(*values) for values in selected]
    return [row for row in rows if row.conversational], [row for row in rows if not row.conversational]


def iterate(
    db: sqlite3.Connection, user_id: str | None = None, on_unreadable: Callable[[str], None] | None = None
) -> Iterator[tuple[MessageRow, SessionInfo]]:
    """Yield every message with its session, session by session and in order, in bounded memory; only those of
    ``user_id`` (in all namespaces) if it is not None. Messages that a branch shares come once, with their own
    session. ``on_unreadable`` gets the id of each message or session on a damaged page; without it, the first one
    raises StoreCorrupt."""
    for info in sessions.iterate(db, on_unreadable):
        if user_id is not None and info.user_id != user_id:
            continue
        yield from ((row, info) for row in own_rows(db, sessions.key(info), on_unreadable))


def own_rows(
    db: sqlite3.Connection, session: int, on_unreadable: Callable[[str], None] | None = None
) -> Iterator[MessageRow]:
    """Yield the messages of a session, without those that it shares as a branch; as ``iterate``."""
    after = (-(1 << 62), -1, 0)
    while True:
        try:
            rows = db.execute(_page_sql(f"m.order_at, m.position, m.id, {COLUMNS}"), (session, *after)).fetchall()
            places = [values[:3] for values in rows]
            page = [MessageRow(*values[3:]) for values in rows]
        except StoreCorrupt:
            if on_unreadable is None:
                raise
            places = _places(db, session, after)
            readable = get(db, [place[2] for place in places])
            page = [readable[place[2]] for place in places if place[2] in readable]
            for place in places:
                if place[2] not in readable:
                    on_unreadable(message_id(place[2]))
        yield from page
        if len(places) < PAGE_ROWS:
            return
        after = places[-1]


def _page_sql(columns: str, hint: str = "") -> str:
    return (
        f"SELECT {columns} FROM message m {hint} WHERE m.session_id = ? AND (m.order_at, m.position, m.id) > (?, ?, ?)"
        f" ORDER BY m.order_at, m.position, m.id LIMIT {PAGE_ROWS}"
    )


def _places(db: sqlite3.Connection, session: int, after: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """The places (time, position, key) of the next messages of a session, whichever of table and index is damaged."""
    try:
        query = _page_sql("m.order_at, m.position, m.id", "INDEXED BY message_order")
        return db.execute(query, (session, *after)).fetchall()
    except StoreCorrupt:
        query = _page_sql("m.order_at, m.position, m.id", "NOT INDEXED")
        return db.execute(query, (session, *after)).fetchall()


def find(db: sqlite3.Connection, reference: str, scope: Scope | None = None) -> MessageRow:
    """Return the message with a public id or, failing that, an external id, within ``scope`` if it is not None.

    Raises:
        NotFound: There is none, or several sessions use this external id.
    """
    key = message_key(reference)
    where = f" AND {NOT_EXPIRED}"
    owner: list[object] = [now()]
    if scope is not None:
        where, owner = (f"{where} AND s.user_id = ? AND s.namespace = ?", [*owner, scope.user_id, scope.namespace])
    select = f"SELECT {COLUMNS} FROM message m JOIN session s ON s.id = m.session_id WHERE "
    rows: list[Any] = []
    if key:
        rows = db.execute(f"{select} m.id = ?{where}", (key, *owner)).fetchall()
    if not rows:
        rows = db.execute(f"{select} m.external_id = ?{where} LIMIT 3", (reference, *owner)).fetchall()
    if len(rows) > 1:
        ids = ", ".join(message_id(r[0]) for r in rows)
        raise NotFound(f"Several messages have the id {reference!r}.", hint=f"Name one by its own id: {ids}.")
    if not rows:
        raise NotFound(f"There is no message {reference!r}.", hint="'appliance search' prints message ids.")
    return MessageRow(*rows[0])


def source_paths(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """Return the paths of the sources with the given keys."""
    return dict(db.execute(f"SELECT id, path FROM source WHERE id IN {JSON_KEYS_SQL}", (json_keys(keys),)).fetchall())


def from_sources(db: sqlite3.Connection, sources: Iterable[int]) -> set[int]:
    """Return the messages that came from these files."""
    query = f"SELECT id FROM message WHERE source_id IN {JSON_KEYS_SQL}"
    return {key for (key,) in db.execute(query, (json_keys(sources),))}

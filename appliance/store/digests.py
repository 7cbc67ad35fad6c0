"""Digests of messages and of their revisions, by which ``verify`` recognises a row that the program did not change.

A digest covers every column of a row except the importance, which is derived. It lies in a table of its own, so that a
page of messages that was lost or is an old one does not bring digests along that fit it. Code that changes a message
calls ``refresh`` in the same transaction; what an earlier version stored gets its digests by ``fill``.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from appliance.store.damage import message_keys
from appliance.store.database import Database
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, fetch_int, has_row, json_keys, read_by_halves

DIGEST_BYTES = 16

CURRENT = 0
"""The number under which the digest of a message's present form is kept; those of earlier forms have the numbers of
their revisions, which begin at 1."""

MESSAGE_COLUMNS = (
    "id", "session_id", "external_id", "position", "order_at", "sent_at", "at", "role", "author", "talk", "pinned",
    "reply_to", "revision", "source_id", "added_at", "text", "metadata",
)  # fmt: skip
_REVISION_COLUMNS = (
    "message_id", "number", "role", "author", "sent_at", "reply_to", "source_id", "replaced_at", "text", "metadata",
)  # fmt: skip
"""The columns that a digest covers, in its order. They never change: digests of earlier versions would not fit."""

_TEXT_COLUMNS = {"external_id", "sent_at", "role", "author", "reply_to", "text", "metadata"}


def _as_bytes(table: str, columns: Sequence[str]) -> str:
    """Return the columns with texts as bytes: a text that is not UTF-8 any more must be named, not end the check."""
    return ", ".join(f"CAST({table}.{one} AS BLOB)" if one in _TEXT_COLUMNS else f"{table}.{one}" for one in columns)


_GONE_SQL = (
    f"(CASE d.revision WHEN {CURRENT} THEN NOT EXISTS (SELECT 1 FROM message WHERE id = d.message_id)"
    " ELSE NOT EXISTS (SELECT 1 FROM revision WHERE message_id = d.message_id AND number = d.revision) END)"
)
"""Whether the row is lost whose digest is ``message_digest d``."""

_MESSAGE_SQL = _as_bytes("m", MESSAGE_COLUMNS)
_REVISION_SQL = _as_bytes("r", _REVISION_COLUMNS)


def row_digest(values: Sequence[int | str | bytes | None]) -> bytes:
    """Return the digest of the covered columns of a row."""
    data = msgspec.msgpack.encode([one.encode() if type(one) is str else one for one in values])
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


def add(tx: sqlite3.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Store the digests of new messages, by the values of their ``MESSAGE_COLUMNS``. Reading them back would take an
    ingest twice as long."""
    tx.executemany(f"INSERT INTO message_digest VALUES (?, {CURRENT}, ?)", [(row[0], row_digest(row)) for row in rows])


def refresh(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Store the digests of messages, by key, as they are now.

    Code that writes a message calls this in the same transaction. If it changes only a part of the message, it passes
    the keys that ``intact`` returned before the change: damage in the other parts must not get a digest that fits.
    """
    rows = tx.execute(f"SELECT {_MESSAGE_SQL} FROM message m WHERE m.id IN {JSON_KEYS_SQL}", (json_keys(keys),))
    tx.executemany(
        f"INSERT OR REPLACE INTO message_digest VALUES (?, {CURRENT}, ?)",
        [(values[0], row_digest(values)) for values in rows],
    )


def refresh_revisions(tx: sqlite3.Connection, keys: Collection[int]) -> None:
    """Store the digests of those earlier forms of messages, by the messages' keys, that have none yet."""
    rows = tx.execute(
        f"SELECT {_REVISION_SQL} FROM revision r LEFT JOIN message_digest d"
        " ON d.message_id = r.message_id AND d.revision = r.number"
        f" WHERE d.digest IS NULL AND r.message_id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    )
    tx.executemany(
        "INSERT OR REPLACE INTO message_digest VALUES (?, ?, ?)",
        [(values[0], values[1], row_digest(values)) for values in rows],
    )


def intact(tx: sqlite3.Connection, keys: Collection[int]) -> list[int]:
    """Return the keys of those messages that are as they were stored."""
    rows = tx.execute(
        f"SELECT d.digest, {_MESSAGE_SQL} FROM message m"
        f" JOIN message_digest d ON d.message_id = m.id AND d.revision = {CURRENT} WHERE m.id IN {JSON_KEYS_SQL}",
        (json_keys(keys),),
    )
    return [values[0] for digest, *values in rows if digest is None or digest == row_digest(values)]


def fill(database: Database, should_continue: Callable[[], bool]) -> int:
    """Compute digests for what an earlier version stored, a page of rows a transaction. Returns their number."""
    pending = f"SELECT message_id, revision FROM message_digest d WHERE digest IS NULL AND NOT {_GONE_SQL} LIMIT ?"
    done = 0
    while should_continue() and has_row(database.read(), pending, (1,)):
        with database.write() as tx:
            rows = tx.execute(pending, (PAGE_ROWS,)).fetchall()
            refresh(tx, {key for key, revision in rows if revision == CURRENT})
            refresh_revisions(tx, {key for key, revision in rows if revision != CURRENT})
        done += len(rows)
    return done


def count_pending(db: sqlite3.Connection) -> int:
    """Return the number of rows that wait for ``fill``."""
    return fetch_int(db, "SELECT count(*) FROM message_digest WHERE digest IS NULL")


def message_disagreements(db: sqlite3.Connection, keys: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield those of the messages, by key, that are not as they were stored, and why. Those that can't be read are left
    out."""
    query = (
        f"SELECT d.digest, d.message_id, {_MESSAGE_SQL} FROM message m"
        f" LEFT JOIN message_digest d ON d.message_id = m.id AND d.revision = {CURRENT} WHERE m.id IN {JSON_KEYS_SQL}"
    )
    for digest, known, *values in read_by_halves(lambda part: db.execute(query, (json_keys(part),)).fetchall(), keys):
        if known is None:
            yield values[0], "its digest is missing"
        elif digest is not None and digest != row_digest(values):
            yield values[0], "its text, author, time, metadata or place is not what was stored"


def disagreements(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the messages that are not as they were stored, and why."""
    after = 0
    while keys := message_keys(db, after, PAGE_ROWS):
        yield from message_disagreements(db, keys)
        after = keys[-1]
    for digest, known, *values in db.execute(
        f"SELECT d.digest, d.message_id, {_REVISION_SQL} FROM revision r"
        " LEFT JOIN message_digest d ON d.message_id = r.message_id AND d.revision = r.number"
    ):
        if known is None:
            yield values[0], f"the digest of its revision {values[1]} is missing"
        elif digest is not None and digest != row_digest(values):
            yield values[0], f"its revision {values[1]} is not what was stored"
    for key, revision in db.execute(f"SELECT d.message_id, d.revision FROM message_digest d WHERE {_GONE_SQL}"):
        yield key, f"its revision {revision} is gone" if revision else "the message is gone"

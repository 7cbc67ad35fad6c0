"""Marks of secrets: which parts of messages are keys, tokens, card numbers or passwords. The database deletes them with
their message; code that changes a text calls ``replace_marks`` or
``replace_found``."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from appliance.secrets.detector import find_in_texts
from appliance.secrets.personal import SecretSpan
from appliance.store.messages import message_id
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, json_keys
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Scope, SecretMark


def replace_marks(tx: sqlite3.Connection, texts: Mapping[int, str]) -> int:
    """Mark the secrets of messages anew, by their keys and texts. Returns how many there are."""
    keys = list(texts)
    found = find_in_texts(list(texts.values()))
    return replace_found(tx, {key: found.get(number, ()) for number, key in enumerate(keys)})


def replace_found(tx: sqlite3.Connection, found: Mapping[int, Sequence[SecretSpan]]) -> int:
    """The same, with the secrets that were found in each message, by key."""
    tx.execute(f"DELETE FROM secret_mark WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(found),))
    rows = [(key, start, end, kind) for key, spans in found.items() for kind, start, end in spans]
    tx.executemany("INSERT INTO secret_mark (message_id, start, stop, kind) VALUES (?, ?, ?, ?)", rows)
    return len(rows)


def pages_of_texts(db: sqlite3.Connection) -> Iterator[dict[int, str]]:
    """Yield the texts of all messages by key, a page at a time."""
    after = 0
    query = "SELECT id, text FROM message WHERE id > ? ORDER BY id LIMIT ?"
    while page := dict(db.execute(query, (after, PAGE_ROWS)).fetchall()):
        yield page
        after = max(page)


def marks(db: sqlite3.Connection, scope: Scope | None = None) -> list[SecretMark]:
    """Return the marks of a scope, or of all; in the order of the messages."""
    where, values = (
        ("", ()) if scope is None else ("s.user_id = ? AND s.namespace = ? AND", (scope.user_id, scope.namespace))
    )
    rows = db.execute(
        "SELECT k.message_id, k.kind, k.start, k.stop FROM secret_mark k JOIN message m ON m.id = k.message_id"
        f" JOIN session s ON s.id = m.session_id WHERE {where} {NOT_EXPIRED} ORDER BY k.message_id, k.start",
        (*values, now()),
    )
    return [SecretMark(message_id(key), kind, start, stop) for key, kind, start, stop in rows]

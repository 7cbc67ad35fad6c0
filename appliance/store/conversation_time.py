"""Messages without a time of their own, which take their conversation's: marked in their metadata, never an edit.

``sent_at`` and ``at`` hold the conversation's time, so that a search by time finds the message. Its place in the
session does not follow from it: the message stays behind the one before it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from appliance.store import chunks, digests
from appliance.store.database import Database
from appliance.store.sql import JSON_KEYS_SQL, PAGE_ROWS, from_json, json_keys, to_json
from appliance.timestamps import iso, to_microseconds

KEY, CONVERSATION = "time", "conversation"
"""The metadata of a message whose time is its conversation's."""

_MARK = f'"{KEY}":"{CONVERSATION}"'
_UNDATED_SQL = (
    "SELECT u.message_id, s.started_at, m.sent_at, m.metadata FROM undated_message u"
    " JOIN message m ON m.id = u.message_id JOIN session s ON s.id = m.session_id ORDER BY u.message_id LIMIT ?"
)


def mark(metadata: dict[str, Any], moment: datetime) -> None:
    """Mark the metadata of a message that takes its conversation's time."""
    metadata[KEY] = CONVERSATION
    if moment.tzinfo is None:
        metadata["timezone"] = "unknown"


def is_marked(metadata: str) -> bool:
    """Whether a message, by its metadata as JSON, has its conversation's time."""
    return _MARK in metadata and from_json(metadata).get(KEY) == CONVERSATION


def own_parts(sent_at: str | None, metadata: str) -> tuple[str | None, str]:
    """Return the time and the metadata that a message has of its own, by which its forms are compared."""
    if not is_marked(metadata):
        return sent_at, metadata
    values = from_json(metadata)
    del values[KEY]
    values.pop("timezone", None)
    return None, to_json(values)


def set_times(tx: sqlite3.Connection, rows: Iterable[tuple[int, str, int, str]]) -> None:
    """Give stored messages their conversation's time: key, ``sent_at``, ``at`` and metadata each. No revision."""
    times = {key: values for key, *values in rows}
    if not times:
        return
    intact = digests.intact(tx, list(times))
    tx.executemany(
        "UPDATE message SET sent_at = ?, at = ?, metadata = ? WHERE id = ?",
        [(*values, key) for key, values in times.items()],
    )
    digests.refresh(tx, intact)
    chunks.requeue(tx, times)


def fill(database: Database, should_continue: Callable[[], bool]) -> int:
    """Give the messages that an earlier version stored without a time that of their conversation, a page of rows a
    transaction. Returns their number."""
    done = 0
    while should_continue() and database.read().execute(_UNDATED_SQL, (1,)).fetchone():
        with database.write() as tx:
            found = tx.execute(_UNDATED_SQL, (PAGE_ROWS,)).fetchall()
            set_times(tx, filter(None, (_dated(*row) for row in found)))
            keys = [key for key, *_ in found]
            tx.execute(f"DELETE FROM undated_message WHERE message_id IN {JSON_KEYS_SQL}", (json_keys(keys),))
        done += len(found)
    return done


def _dated(key: int, started_at: str | None, sent_at: str | None, encoded: str) -> tuple[int, str, int, str] | None:
    """What ``set_times`` takes; None for a message that has a time by now, and for damage, which ``verify`` names."""
    metadata = from_json(encoded)
    if sent_at is not None or started_at is None or to_json(metadata) != encoded:
        return None
    try:
        moment = datetime.fromisoformat(started_at)
    except ValueError:
        return None
    mark(metadata, moment)
    return key, iso(moment), to_microseconds(moment), to_json(metadata)

"""The earlier forms of messages that were edited or corrected."""

from __future__ import annotations

import sqlite3

from appliance.store.sql import from_json
from appliance.timestamps import iso_from_microseconds
from appliance.types import MessageVersion


def versions(db: sqlite3.Connection, key: int) -> list[MessageVersion]:
    """Return the earlier forms of a message, the first one first."""
    rows = db.execute(
        "SELECT number, coalesce(role, 'user'), author, sent_at, text, metadata, replaced_at FROM revision"
        " WHERE message_id = ? ORDER BY number",
        (key,),
    )
    return [
        MessageVersion(number, role, author, sent_at, text, from_json(metadata), iso_from_microseconds(replaced_at))
        for number, role, author, sent_at, text, metadata, replaced_at in rows
    ]

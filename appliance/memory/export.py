"""Everything back out: native JSONL, and Markdown to read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import msgspec

from appliance.store import messages
from appliance.store.messages import Row
from appliance.types import SessionInfo


def lines(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """Every message of a user (of everybody without one) as a native JSONL object, in bounded memory.

    Keys that have nothing to say are left out. ``owner`` is the user whose name need not be said, but for
    a namespace other than the plain one.
    """
    for row, info in messages.every(db, user_id):
        yield _line(row, info, owner)


def _line(row: Row, info: SessionInfo, owner: str) -> dict[str, Any]:
    metadata = msgspec.json.decode(row.metadata)
    metadata.setdefault("source", info.format)
    if info.user_id != owner or info.namespace:
        metadata |= {"user_id": info.user_id} | ({"namespace": info.namespace} if info.namespace else {})
    line = {
        "session_id": info.external_id,
        "message_id": row.external_id,
        "role": row.role,
        "author": row.author,
        "timestamp": row.sent_at,
        "content": row.text,
        "reply_to": row.reply_to,
        # What was found in the words is found in them again.
        "session_title": None if info.title_found else info.title,
        "metadata": metadata,
    }
    return {name: value for name, value in line.items() if value is not None}


def markdown(db: sqlite3.Connection, user_id: str | None) -> Iterator[str]:
    """The same as Markdown: a heading a session, a paragraph a message, machine records as quotes."""
    present: str | None = None
    for row, info in messages.every(db, user_id):
        if info.id != present:
            present = info.id
            yield f"# {info.title or info.external_id}\n\n_{info.format}, {info.messages} messages_\n\n"
        who = row.author or row.role
        when = f" · {row.sent_at}" if row.sent_at else ""
        if row.talk:
            yield f"**{who}**{when}\n\n{row.text}\n\n"
        else:
            quoted = "\n".join("> " + line for line in row.text.split("\n"))
            yield f"> **{who}** ({row.role}){when}\n>\n{quoted}\n\n"

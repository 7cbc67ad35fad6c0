"""The export of a memory: native JSONL, and Markdown to read."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from appliance.store import messages
from appliance.store.database import Database
from appliance.store.messages import MessageRow
from appliance.types import SessionInfo


def stream_lines(database: Database, user_id: str | None, owner: str) -> Generator[dict[str, Any], None, None]:
    """Yield ``lines`` on a connection that stays open until the last one is read, in any thread."""
    with database.lease() as db:
        yield from lines(db, user_id, owner)


def stream_markdown(database: Database, user_id: str | None) -> Generator[str, None, None]:
    """Yield ``markdown`` on a connection that stays open until the last piece is read, in any thread."""
    with database.lease() as db:
        yield from markdown(db, user_id)


def lines(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """Yield every message of a user (of all users without one) as a native JSONL object, in bounded memory.

    Keys without a value are left out. ``owner`` is the user whose name is left out, except in a namespace."""
    return (_message_object(row, info, owner) for row, info in messages.iterate(db, user_id))


def _message_object(row: MessageRow, info: SessionInfo, owner: str) -> dict[str, Any]:
    metadata = msgspec.json.decode(row.metadata)
    metadata.setdefault("source", info.format)
    if row.pinned:
        metadata["pinned"] = True
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
        # A title that was made of the messages' words is made of them again at import.
        "session_title": None if info.title_found else info.title,
        "metadata": metadata,
    }
    return {name: value for name, value in line.items() if value is not None}


def markdown(db: sqlite3.Connection, user_id: str | None) -> Iterator[str]:
    """Yield the same messages as Markdown: a heading a session, a paragraph a message, tool and system messages as
    quotations."""
    current_session: str | None = None
    for row, info in messages.iterate(db, user_id):
        if info.id != current_session:
            current_session = info.id
            count = f"{info.messages} message{'' if info.messages == 1 else 's'}"
            yield f"# {info.title or info.external_id}\n\n_{info.format}, {count}_\n\n"
        who = row.author or row.role
        when = f" · {row.sent_at}" if row.sent_at else ""
        if row.conversational:
            yield f"**{who}**{when}\n\n{row.text}\n\n"
        else:
            quoted = "\n".join("> " + line for line in row.text.split("\n"))
            yield f"> **{who}** ({row.role}){when}\n>\n{quoted}\n\n"

"""The export of a memory, or of some of its messages: native JSONL, and Markdown to read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from appliance.errors import IncompleteExport
from appliance.formats import exported_markdown
from appliance.memory import export_selection
from appliance.store import archive, conversation_time, damage, messages, sessions, state
from appliance.store.database import Database
from appliance.store.messages import MessageRow, message_id
from appliance.store.sql import from_json
from appliance.types import SessionInfo

MAX_NAMED = 20
"""How many damaged messages the error at the end of an export names."""


TextExport = Callable[[sqlite3.Connection, str | None, Sequence[str]], Iterator[str]]
"""Yields the messages of a user, or those that are named, as a text to read, piece by piece."""


def stream_lines(
    database: Database,
    user_id: str | None,
    owner: str,
    ids: Sequence[str] = (),
    before_state: Callable[[], object] | None = None,
) -> Generator[dict[str, Any], None, None]:
    """Yield ``lines`` on a connection that stays open until the last one is read, in any thread. With ``before_state``,
    which brings the facts up to date, the records of ``state.records`` follow."""
    with database.lease() as db:
        incomplete: IncompleteExport | None = None
        try:
            yield from lines(db, user_id, owner, ids)
        except IncompleteExport as error:
            incomplete = error
        if before_state is not None:
            before_state()
            yield from state.records(db, user_id, owner)
        if incomplete is not None:
            raise incomplete


def stream_text(
    database: Database, render: TextExport, user_id: str | None, ids: Sequence[str]
) -> Generator[str, None, None]:
    """Yield what ``render`` yields on a connection that stays open until the last piece is read, in any thread."""
    with database.lease() as db:
        yield from render(db, user_id, ids)


def lines(db: sqlite3.Connection, user_id: str | None, owner: str, ids: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield every message of a user (of all users without one) as a native JSONL object, in bounded memory.

    Keys without a value are left out. ``owner`` is the user whose name is left out, except in a namespace. ``ids`` are
    the messages and sessions to yield, instead of all. A message that a branch shares is of its own session.

    Raises:
        NotFound: An id names nothing.
        IncompleteExport: At the end, if some messages are damaged.
    """
    info_by_key: dict[int, SessionInfo] = {}
    for row, info in readable_messages(db, user_id, ids):
        if row.session_id != sessions.key(info):
            if row.session_id not in info_by_key:
                info_by_key[row.session_id] = sessions.infos(db, [row.session_id])[0]
            info = info_by_key[row.session_id]
        yield _message_object(row, info, owner)


def readable_messages(
    db: sqlite3.Connection, user_id: str | None, ids: Sequence[str] = ()
) -> Iterator[tuple[MessageRow, SessionInfo]]:
    """Yield every message that can be read, in whole or in part, or those that ``ids`` name; at the end, raise the
    error that names the damaged ones."""
    damaged: dict[str, str] = {}
    suspects: list[int] = []
    suspect_sessions: set[int] = set()

    def note_unreadable(id: str) -> None:
        damaged[id] = "can't be read"

    source = (
        export_selection.selected_messages(db, user_id, ids, note_unreadable)
        if ids
        else messages.iterate(db, user_id, note_unreadable)
    )
    for row, info in source:
        yield row, info
        if _may_be_damaged(row):
            suspects.append(row.id)
        if damage.REPLACEMENT in f"{info.title}{info.external_id}":
            suspect_sessions.add(row.session_id)
    found = damage.damaged_messages(db, suspects) + damage.damaged_sessions(db, sorted(suspect_sessions))
    damaged |= {one.where: one.reason for _, one in found}
    damaged |= {message_id(key): "its archived text is damaged" for key in archive.damaged_frames(db, suspects)}
    if damaged:
        raise _incomplete(damaged)


def _may_be_damaged(row: MessageRow) -> bool:
    """Whether a message shows signs of damage. The source may have had them itself: the stored bytes decide."""
    texts = (row.text, row.author or "", row.external_id, row.metadata)
    return any(damage.REPLACEMENT in text for text in texts) or (row.metadata != "{}" and not from_json(row.metadata))


def _incomplete(damaged: dict[str, str]) -> IncompleteExport:
    named = [f"{id} ({reason})" for id, reason in damaged.items()][:MAX_NAMED]
    if len(damaged) > MAX_NAMED:
        named.append(f"{len(damaged) - MAX_NAMED} more")
    return IncompleteExport(
        f"Damaged in the database: {', '.join(named)}. Everything else was exported.",
        where="recall.db",
        hint="Ingest the exports of these messages again, or restore a backup. 'appliance verify' names all damage.",
    )


def _message_object(row: MessageRow, info: SessionInfo, owner: str) -> dict[str, Any]:
    metadata = from_json(row.metadata)
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


def markdown(
    db: sqlite3.Connection, user_id: str | None, ids: Sequence[str] = (), *, owner: str | None = None
) -> Iterator[str]:
    """Yield the same messages as Markdown that can be imported (``formats.exported_markdown``): a heading a session,
    then a piece a message. ``owner`` as for ``lines``; with None, every user is named.

    Raises:
        NotFound: An id names nothing.
        IncompleteExport: At the end, if some messages are damaged.
    """
    current_session: str | None = None
    own_ids: dict[int, str] = {}
    for row, info in readable_messages(db, user_id, ids):
        if info.id != current_session:
            marker = f"{exported_markdown.MARKER}\n\n" if current_session is None else ""
            current_session = info.id
            title = info.title or info.external_id
            yield marker + exported_markdown.heading(title, describe_session(info, ids), _conversation_id(info, owner))
        if row.session_id != sessions.key(info) and row.session_id not in own_ids:
            own_ids[row.session_id] = sessions.infos(db, [row.session_id])[0].external_id
        yield exported_markdown.message(
            row.role,
            row.author,
            time_text(row) if row.sent_at else "",
            row.text,
            is_aside=not row.conversational,
            id=row.external_id,
            session=own_ids.get(row.session_id) if row.session_id != sessions.key(info) else None,
        )


def _conversation_id(info: SessionInfo, owner: str | None) -> exported_markdown.ConversationId:
    is_owners = info.user_id == owner and not info.namespace
    return exported_markdown.ConversationId(
        info.format,
        info.external_id,
        None if info.title_found else info.title,
        None if is_owners else (info.user_id, info.namespace),
    )


def describe_session(info: SessionInfo, ids: Sequence[str]) -> str:
    """The format and the size of a session: "whatsapp, 12 messages", with a word if ``ids`` name only some of them."""
    count = info.messages + info.shared
    some = "some of " if ids and not {info.id, info.external_id} & {*ids} else ""
    return f"{info.format}, {some}{count} message{'' if count == 1 else 's'}"


def time_text(row: MessageRow) -> str:
    """The time of a message, with a word if it is its conversation's; "" without one."""
    is_conversations = conversation_time.is_marked(row.metadata)
    return (row.sent_at or "") + (exported_markdown.CONVERSATION_TIME if is_conversations else "")

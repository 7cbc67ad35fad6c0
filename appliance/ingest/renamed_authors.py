"""Recognises a chat in which somebody has another name than before: a contact was renamed between two exports.

Where a format gives messages no ids, they are made of time, author and text, so that a new name makes new ids, and
often a new name of the file. The chat is the same if its first messages have the times and texts of stored ones, and
each new name stands where one other name stood. The messages then take the ids of the stored ones; the new names are
edits. Messages that were forgotten under the name before stay forgotten.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from appliance.ingest.normalize import SessionProgress, generated_id
from appliance.lazy_dataclasses import dataclass
from appliance.store import messages, sessions, tombstones
from appliance.store.messages import MessageInsert
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.store.tombstones import MessageOrigin
from appliance.types import Scope

MIN_SAME_MESSAGES = 3
"""With fewer messages at the beginning that are the same but for a name, two chats may only begin alike."""

FIRST_MESSAGES = 5
"""How many of a file's first messages have to be known."""

COMPARED_MESSAGES = 200
"""How many of a file's messages look for their chat."""


@dataclass(frozen=True, slots=True)
class KnownChat:
    """The messages of a session with the ids of the stored ones that they are, without the ``forgotten`` ones, which
    are counted; and the new names, each with the one before it."""

    messages: Sequence[MessageInsert]
    names: Mapping[str, str] = field(default_factory=dict)
    forgotten: int = 0


def with_known_ids(
    tx: sqlite3.Connection,
    scope: Scope,
    format: str,
    progress: SessionProgress,
    incoming: Sequence[MessageInsert],
    others: set[str],
    *,
    include_forgotten: bool = False,
) -> KnownChat:
    """Give the messages of a session the ids of stored ones that are the same but for the name of their author.

    Args:
        tx: The transaction.
        scope: Whose session it is.
        format: The format of the session.
        progress: The progress of reading the session. The external id of its chat is noted there if it is recognised.
        incoming: The next messages of the session.
        others: The external ids of the other sessions of the file, none of which can be the same chat.
        include_forgotten: Keep messages that were forgotten.
    """
    is_begin = progress.stored_external_id is None
    if not progress.has_generated_ids or not (is_begin or progress.taken_ids):
        return KnownChat(incoming)
    chat = _likeliest_chat(tx, scope, format, incoming, others) if is_begin else progress.stored_external_id
    session = None if chat is None else sessions.stored_key(tx, scope, format, chat)
    if chat is None or session is None:
        return KnownChat(incoming)
    own_ids = {message.external_id for message in incoming}
    known = messages.stored_states(tx, session, list(own_ids)).keys()
    unknown = [message for message in incoming if message.external_id not in known]
    same = _same_words(tx, session, unknown, own_ids | progress.taken_ids)
    names = _new_names(incoming, same)
    if not same or names is None:
        progress.taken_ids |= own_ids if progress.taken_ids else set()
        return KnownChat(incoming)
    unmatched = [one for one in unknown if one.external_id not in same]
    forgotten = _forgotten_ids(tx, MessageOrigin(scope.user_id, scope.namespace, format, chat, ""), unmatched, names)
    first = [one.external_id for one in incoming[:FIRST_MESSAGES]]
    is_same = len(first) >= MIN_SAME_MESSAGES and all(id in known or id in same or id in forgotten for id in first)
    if is_begin and not is_same:
        return KnownChat(incoming)
    progress.stored_external_id = chat
    stored_ids = {external_id: stored for external_id, (stored, _) in same.items()}
    progress.taken_ids |= own_ids | set(stored_ids.values())
    kept = [
        replace(one, external_id=stored_ids[one.external_id]) if one.external_id in stored_ids else one
        for one in incoming
        if include_forgotten or one.external_id not in forgotten
    ]
    return KnownChat(kept, {new: old for new, old in names.items() if new != old}, len(incoming) - len(kept))


def _forgotten_ids(
    tx: sqlite3.Connection, chat: MessageOrigin, unmatched: Sequence[MessageInsert], names: Mapping[str, str]
) -> set[str]:
    """The ids of messages that were forgotten when their author had the name before. A name that is stored already had
    others before, which the earlier forms of its messages have."""
    if not unmatched or not tombstones.exist(tx):
        return set()
    before: dict[str, set[str]] = {new: {old} for new, old in names.items()}
    for new, old in tx.execute(
        "SELECT DISTINCT m.author, r.author FROM revision r JOIN message m ON m.id = r.message_id"
        " JOIN session s ON s.id = m.session_id WHERE (s.user_id, s.namespace, s.format, s.external_id) = (?, ?, ?, ?)"
        " AND r.author IS NOT NULL AND m.author IS NOT NULL",
        (chat.user_id, chat.namespace, chat.format, chat.session),
    ):
        before.setdefault(new, set()).add(old)
    earlier = {
        generated_id(one.sent_at or "", one.role, old, one.text): one.external_id
        for one in unmatched
        for old in before.get(one.author or "", ())
    }
    origins = [replace(chat, message=earlier_id) for earlier_id in earlier]
    return {earlier[erased] for erased in tombstones.erased_ids(tx, origins, in_chat=False)}


def _likeliest_chat(
    tx: sqlite3.Connection, scope: Scope, format: str, incoming: Sequence[MessageInsert], others: set[str]
) -> str | None:
    """The external id of the stored session that has most of the messages."""
    ids = [message.external_id for message in incoming[:COMPARED_MESSAGES]]
    found = sessions.session_holding_most(tx, scope, format, ids)
    return None if found is None or found[0] in others else found[0]


def _same_words(
    tx: sqlite3.Connection, session: int, unknown: Sequence[MessageInsert], taken: set[str]
) -> dict[str, tuple[str, str]]:
    """For the ids of unknown messages: the id and the author of the stored message of the same time, role and text,
    which no other incoming message is (``taken``)."""
    waiting = [one for one in unknown if one.author is not None and one.own_at is not None]
    stored: dict[tuple[str, str, str], list[tuple[str, str]]] = defaultdict(list)
    rows = tx.execute(
        "SELECT external_id, sent_at, role, author, text FROM message WHERE session_id = ?"
        f" AND order_at IN {JSON_KEYS_SQL} AND author IS NOT NULL AND sent_at IS NOT NULL"
        " ORDER BY order_at, position, id",
        (session, json_keys(sorted({one.order_at for one in waiting}))),
    )
    for external_id, sent_at, role, author, text in rows:
        if external_id not in taken:
            stored[sent_at, role, text].append((external_id, author))
    same: dict[str, tuple[str, str]] = {}
    for one in waiting:
        if one.sent_at is not None and (found := stored.get((one.sent_at, one.role, one.text))):
            same[one.external_id] = found.pop(0)
    return same


def _new_names(incoming: Sequence[MessageInsert], same: Mapping[str, tuple[str, str]]) -> dict[str, str] | None:
    """The new names, each with the one before; None if a name stands where several did, or beside the one before."""
    writing = {message.author for message in incoming}
    before: dict[str, set[str]] = defaultdict(set)
    for message in incoming:
        if message.author is not None and message.external_id in same:
            before[message.author].add(same[message.external_id][1])
    if any(len(names) > 1 for names in before.values()):
        return None
    names = {new: old for new, (old,) in before.items()}
    renamed = {old for new, old in names.items() if new != old}
    return None if writing & renamed or len(set(names.values())) < len(names) else names

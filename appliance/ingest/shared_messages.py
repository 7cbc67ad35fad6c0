"""Messages that a session shares with another one: a resumed session repeats the earlier records under their ids.

Such a message is stored once, with the session that had it first. The other session becomes a branch of that one.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.store import branches, sessions
from appliance.store.imports import link_source
from appliance.store.messages import MessageInsert
from appliance.store.sql import JSON_KEYS_SQL, json_keys

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _SharedMessage:
    """A message of another session."""

    message: int
    session: int
    role: str
    sent_at: str | None
    text: str

    def is_same(self, other: MessageInsert) -> bool:
        """Whether this is the other session's form of the message. Ids of some logs are numbers, which say less."""
        is_certain = other.sent_at is not None or _UUID.match(other.external_id) is not None
        return is_certain and (self.role, self.sent_at, self.text) == (other.role, other.sent_at, other.text)


def take_out_shared(
    tx: sqlite3.Connection, source: int, session: int, incoming: Sequence[MessageInsert]
) -> tuple[list[MessageInsert], int]:
    """Leave out the messages that another session of the same owner and format has under the same ids.

    The session becomes a branch of the one that has the last of them, or the message before its first one. The file,
    ``source``, is noted as one that has messages of those sessions.

    Returns:
        The other messages, and how many were left out.
    """
    known = _ids_of(tx, session, incoming)
    unknown = [message for message in incoming if message.external_id not in known]
    first = next((message.reply_to for message in unknown[:1] if not known), None)
    elsewhere = _elsewhere(tx, session, {m.external_id for m in unknown} | ({first} if first else set()))
    shared = {
        message.external_id: stored
        for message in unknown
        if (stored := elsewhere.get(message.external_id)) is not None and stored.is_same(message)
    }
    for other in {stored.session for stored in shared.values()}:
        link_source(tx, source, other)
    if shared:
        _branch(tx, session, [*shared.values()][-1])
    elif first is not None and (before := elsewhere.get(first)) is not None:
        _branch(tx, session, before)
    own = [message for message in incoming if message.external_id not in shared]
    return own, len(incoming) - len(own)


def _ids_of(tx: sqlite3.Connection, session: int, messages: Sequence[MessageInsert]) -> set[str]:
    rows = tx.execute(
        f"SELECT external_id FROM message WHERE session_id = ? AND external_id IN {JSON_KEYS_SQL}",
        (session, json_keys(message.external_id for message in messages)),
    )
    return {external_id for (external_id,) in rows}


def _elsewhere(tx: sqlite3.Connection, session: int, external_ids: set[str]) -> dict[str, _SharedMessage]:
    rows = tx.execute(
        "SELECT m.external_id, m.id, m.session_id, m.role, m.sent_at, m.text"
        " FROM message m CROSS JOIN session s ON s.id = m.session_id CROSS JOIN session own"
        " ON s.user_id = own.user_id AND s.namespace = own.namespace AND s.format = own.format AND s.id <> own.id"
        f" WHERE m.external_id IN {JSON_KEYS_SQL} AND own.id = ? ORDER BY m.id DESC",
        (json_keys(external_ids), session),
    )
    return {external_id: _SharedMessage(*values) for external_id, *values in rows}


def _branch(tx: sqlite3.Connection, session: int, last: _SharedMessage) -> None:
    """Make the session a branch of the one with the last shared message, unless that one is a branch of it."""
    if all(part.session != session for part in branches.session_parts(tx, last.session)):
        sessions.update(tx, session, parent_id=last.session, branch_at=last.message)

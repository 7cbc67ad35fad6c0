"""The messages that an export of some messages and conversations has."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence

from appliance.errors import NotFound
from appliance.store import messages, sessions
from appliance.store.messages import MessageRow, message_key
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.types import SessionInfo


def selected_messages(
    db: sqlite3.Connection, user_id: str | None, ids: Sequence[str], on_unreadable: Callable[[str], None]
) -> Iterator[tuple[MessageRow, SessionInfo]]:
    """Yield the messages that ``ids`` name, each with its session: sessions in the order in which they are first named,
    messages in that of their session. A session comes whole, with the messages that it shares as a branch.

    Args:
        db: The connection.
        user_id: Only those of this user.
        ids: Messages ("m345") and sessions ("s12"), also by their external ids.
        on_unreadable: As for ``messages.iterate``.

    Raises:
        NotFound: An id names nothing, or nothing of the user.
    """
    chosen: dict[int, set[int] | None] = {}
    for reference in ids:
        session, message = _resolve(db, user_id, reference)
        if message is None:
            chosen[session] = None
        elif (keys := chosen.setdefault(session, set())) is not None:
            keys.add(message)
    for info in sessions.infos(db, list(chosen)):
        session = sessions.key(info)
        keys = chosen[session]
        rows: Iterator[MessageRow]
        if keys is not None:
            rows = _in_order(db, keys)
        elif info.shared:
            rows = iter(messages.of_session(db, session))
        else:
            rows = messages.own_rows(db, session, on_unreadable)
        for row in rows:
            yield row, info


def _in_order(db: sqlite3.Connection, keys: Iterable[int]) -> Iterator[MessageRow]:
    """The messages of a session with these keys, in its order."""
    query = f"SELECT id FROM message WHERE id IN {JSON_KEYS_SQL} ORDER BY order_at, position, id"
    ordered = [key for (key,) in db.execute(query, (json_keys(keys),))]
    rows = messages.get(db, ordered)
    return (rows[key] for key in ordered if key in rows)


def _resolve(db: sqlite3.Connection, user_id: str | None, reference: str) -> tuple[int, int | None]:
    """The key of a session and, unless the reference names the session itself, of a message."""
    if not message_key(reference):
        try:
            return sessions.key(sessions.find(db, reference, user_id)), None
        except NotFound:
            if sessions.key_of(reference):
                raise
    try:
        row = messages.find(db, reference)
        sessions.find(db, sessions.public_id(row.session_id), user_id)
    except NotFound:
        raise NotFound(
            f"There is no session or message {reference!r}.",
            hint="'appliance search' prints message ids, 'appliance sessions' those of sessions.",
        ) from None
    return row.session_id, row.id

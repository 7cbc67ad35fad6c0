"""What example searches are made from: who writes in the latest conversations, and samples of what they write."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.store import sessions
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, has_row, json_keys
from appliance.types import Scope, SessionInfo

SAMPLE_MESSAGES = 60
SAMPLE_CHARACTERS = 300

FIRST_MESSAGES = 10
"""Messages within which an assistant answers, where one takes part."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A person other than the one whose memory it is, and under which names the person writes in which sessions."""

    name: str
    places: Sequence[tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a message and its time (ISO 8601)."""

    text: str
    sent_at: str | None


def people_of(db: sqlite3.Connection, scope: Scope, infos: Sequence[SessionInfo]) -> list[Writer]:
    """Return who writes in some sessions, those with the most messages first."""
    rows = db.execute(
        "SELECT p.name, a.session_id, a.author, (SELECT count(*) FROM message m WHERE m.author = a.author"
        " AND m.session_id = a.session_id AND m.role = 'user')"
        " FROM session_author a JOIN person p ON p.id = a.person_id"
        f" WHERE a.session_id IN {JSON_KEYS_SQL} AND p.user_id = ? AND p.namespace = ? AND p.me = 0",
        (json_keys(map(sessions.key, infos)), scope.user_id, scope.namespace),
    )
    places: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for name, session, author, messages in rows:
        if messages:
            places[name].append((messages, session, author))
    most = sorted(places, key=lambda name: (-sum(count for count, _, _ in places[name]), name))
    return [
        Writer(name, [(session, author) for _, session, author in sorted(places[name], reverse=True)]) for name in most
    ]


def samples(db: sqlite3.Connection, writer: Writer) -> list[Sample]:
    """Return what a person wrote last, up to ``SAMPLE_MESSAGES`` messages of the sessions with the most."""
    found: list[Sample] = []
    for session, author in writer.places:
        rows = db.execute(
            "SELECT substr(m.text, 1, ?), m.sent_at FROM message m WHERE m.author = ? AND m.session_id = ?"
            " AND m.role = 'user' ORDER BY m.at DESC LIMIT ?",
            (SAMPLE_CHARACTERS, author, session, SAMPLE_MESSAGES - len(found)),
        )
        found += [Sample(text, sent_at) for text, sent_at in rows]
        if len(found) >= SAMPLE_MESSAGES:
            break
    return found


def is_answered(db: sqlite3.Connection, info: SessionInfo) -> bool:
    """Whether an assistant takes part in a session."""
    first = "SELECT role FROM message WHERE session_id = ? AND talk = 1 ORDER BY order_at, position, id LIMIT ?"
    return has_row(
        db, f"SELECT 1 FROM ({first}) WHERE role = 'assistant' LIMIT 1", (sessions.key(info), FIRST_MESSAGES)
    )


def message_count(db: sqlite3.Connection) -> int:
    """Return about how many messages there are, at once."""
    return fetch_int(db, "SELECT coalesce(max(id), 0) FROM message")

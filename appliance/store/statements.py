"""What messages state, as it was read out of them, and what a person decided; which messages are still to be read.

Facts follow from these (``store.facts`` keeps them): a slot whose statements changed is stale until they do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.store.sql import LISTED, listed, marks, pages
from appliance.types import FactKind, Scope

PAGE_CHARACTERS = 2_000_000
"""Of messages that are read at once, beyond the first: it bounds memory and how long an end must wait."""

_DUE = (
    "m.id, m.session_id, s.user_id, s.namespace, s.format, s.storage_scope, m.role, m.author, m.talk, m.text,"
    " m.sent_at, m.metadata, m.revision"
)

TALKERS = 2
"""Authors of a session that are counted: one, or more than one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message states of a slot, or (with ``message`` 0) what a person decided of it. ``order_at``,
    ``position`` and ``session`` are where it was said, ``at`` when, in microseconds, if that is known."""

    message: int
    slot: str
    kind: FactKind
    subject: str
    attribute: str
    value: str
    mode: str
    confidence: float
    since: str | None
    until: str | None
    start: int
    stop: int
    made_by: str
    by_model: bool
    digest: bytes
    session: int = 0
    order_at: int = 0
    position: int = 0
    at: int | None = None
    said_at: str | None = None


@dataclass(frozen=True, slots=True)
class Due:
    """A message that waits to be read for facts, with what is known of its session."""

    id: int
    session: int
    user_id: str
    namespace: str
    format: str
    scope: str
    role: str
    author: str | None
    talk: bool
    text: str
    sent_at: str | None
    metadata: str
    revision: int


# --- what is due -------------------------------------------------------------------------------------


def due(db: sqlite3.Connection, count: int) -> list[Due]:
    """The next messages to read, the oldest keys first; fewer where they are long."""
    keys: list[int] = []
    characters = 0
    for key, length in db.execute(
        "SELECT d.message_id, length(m.text) FROM fact_due d JOIN message m ON m.id = d.message_id"
        " ORDER BY d.message_id LIMIT ?",
        (count,),
    ):
        characters += length
        if keys and characters > PAGE_CHARACTERS:
            break
        keys.append(key)
    rows = db.execute(
        f"SELECT {_DUE} FROM message m JOIN session s ON s.id = m.session_id WHERE m.id IN {LISTED} ORDER BY m.id",
        (listed(keys),),
    ).fetchall()
    return [Due(*row) for row in rows]


def has_due(db: sqlite3.Connection) -> bool:
    """Whether a message waits to be read for facts."""
    return db.execute("SELECT 1 FROM fact_due LIMIT 1").fetchone() is not None


def pending(db: sqlite3.Connection) -> int:
    """How many messages wait to be read for facts."""
    (count,) = db.execute("SELECT count(*) FROM fact_due").fetchone()
    return int(count)


def is_settled(db: sqlite3.Connection) -> bool:
    """Whether all facts follow from what is known."""
    return db.execute("SELECT 1 FROM fact_stale LIMIT 1").fetchone() is None


def talkers(db: sqlite3.Connection, session: int) -> tuple[bool, int]:
    """Whether an assistant talks in a session, and how many named authors its users have, up to ``TALKERS``."""
    seen = db.execute(
        "SELECT assistant, authors FROM fact_session WHERE session_id = ?", (session,)
    ).fetchone()
    if seen is not None and seen[0] and seen[1] >= TALKERS:
        return True, TALKERS
    assistant = bool(seen and seen[0]) or (
        db.execute(
            "SELECT 1 FROM message WHERE session_id = ? AND role = 'assistant' AND talk LIMIT 1", (session,)
        ).fetchone()
        is not None
    )
    if seen is not None and seen[1] >= TALKERS:
        return assistant, TALKERS
    (authors,) = db.execute(
        "SELECT count(*) FROM (SELECT DISTINCT author FROM message WHERE session_id = ? AND role = 'user' AND talk"
        " AND author IS NOT NULL LIMIT ?)",
        (session, TALKERS),
    ).fetchone()
    return assistant, int(authors)


def note_talkers(tx: sqlite3.Connection, session: int, assistant: bool, authors: int) -> None:
    """Keep who talks in a session; where that has changed, all that its users said is due again."""
    row = tx.execute(
        "SELECT assistant, authors FROM fact_session WHERE session_id = ?", (session,)
    ).fetchone()
    if row == (assistant, authors):
        return
    tx.execute("INSERT OR REPLACE INTO fact_session VALUES (?, ?, ?)", (session, assistant, authors))
    if row is not None:
        tx.execute(
            "INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE session_id = ? AND talk AND role = 'user'",
            (session,),
        )


def unchanged(tx: sqlite3.Connection, read: Sequence[Due]) -> list[Due]:
    """Those of the messages that still are as they were read."""
    found: dict[int, tuple[Any, ...]] = {}
    for page in pages([one.id for one in read]):
        for key, *rest in tx.execute(
            f"SELECT id, revision, role, author, talk FROM message WHERE id IN ({marks(page)})", page
        ):
            found[key] = tuple(rest)
    return [one for one in read if found.get(one.id) == (one.revision, one.role, one.author, one.talk)]


def state(tx: sqlite3.Connection, message: Due, statements: Iterable[Statement]) -> None:
    """What a message states, in place of what it stated before."""
    tx.execute("DELETE FROM fact_statement WHERE message_id = ?", (message.id,))
    tx.execute("DELETE FROM fact_asked WHERE message_id = ?", (message.id,))
    add_statements(tx, message.user_id, message.namespace, statements)
    tx.execute("DELETE FROM fact_due WHERE message_id = ?", (message.id,))


def add_statements(
    tx: sqlite3.Connection, user_id: str, namespace: str, statements: Iterable[Statement]
) -> None:
    """More of what messages state."""
    tx.executemany(
        "INSERT INTO fact_statement (message_id, user_id, namespace, slot, kind, subject, attribute,"
        " value, mode, confidence,"
        " since, until, start, stop, made_by, by_model, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?,"
        " ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                s.message,
                user_id,
                namespace,
                s.slot,
                s.kind,
                s.subject,
                s.attribute,
                s.value,
                s.mode,
                s.confidence,
                s.since,
                s.until,
                s.start,
                s.stop,
                s.made_by,
                s.by_model,
                s.digest,
            )
            for s in statements
        ),
    )


def unasked(db: sqlite3.Connection, count: int) -> list[Due]:
    """The next messages that were read by the rules and not by a model, the newest first."""
    rows = db.execute(
        f"SELECT {_DUE} FROM message m JOIN session s ON s.id = m.session_id"
        " WHERE m.role = 'user' AND m.talk AND NOT EXISTS (SELECT 1 FROM fact_asked a WHERE a.message_id = m.id)"
        " AND NOT EXISTS (SELECT 1 FROM fact_due d WHERE d.message_id = m.id) ORDER BY m.id DESC LIMIT ?",
        (count,),
    ).fetchall()
    return [Due(*row) for row in rows]


def note_asked(tx: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Keep that a model has read these messages."""
    tx.executemany("INSERT OR IGNORE INTO fact_asked VALUES (?)", ((key,) for key in keys))


# --- slots -------------------------------------------------------------------------------------------


def stale(tx: sqlite3.Connection, count: int) -> list[tuple[str, str, str]]:
    """Slots whose facts no longer follow: user, namespace, slot."""
    return tx.execute("SELECT user_id, namespace, slot FROM fact_stale LIMIT ?", (count,)).fetchall()


def make_stale(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> None:
    tx.execute("INSERT OR IGNORE INTO fact_stale VALUES (?, ?, ?)", (user_id, namespace, slot))


def statements(db: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Statement]:
    """What all messages state of a slot."""
    rows = db.execute(
        "SELECT f.message_id, f.slot, f.kind, f.subject, f.attribute, f.value, f.mode, f.confidence,"
        " f.since, f.until,"
        " f.start, f.stop, f.made_by, f.by_model, f.digest, m.session_id, m.order_at, m.position, m.at, m.sent_at"
        " FROM fact_statement f JOIN message m ON m.id = f.message_id"
        " WHERE f.user_id = ? AND f.namespace = ? AND f.slot = ?",
        (user_id, namespace, slot),
    ).fetchall()
    return [Statement(*row) for row in rows]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided of a slot, at a moment in microseconds; ``seen`` is the key of the last message by then."""

    kind: FactKind
    subject: str
    attribute: str
    value: str
    how: str
    since: str | None
    at: int
    seen: int = 0


def decisions(db: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Decision]:
    """What the person decided of a slot, in order."""
    rows = db.execute(
        "SELECT kind, subject, attribute, value, how, since, at, seen FROM fact_decision"
        " WHERE user_id = ? AND namespace = ? AND slot = ? ORDER BY id",
        (user_id, namespace, slot),
    ).fetchall()
    return [Decision(*row) for row in rows]


def decide(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, decision: Decision) -> None:
    """Keep what the person decided."""
    tx.execute(
        "INSERT INTO fact_decision (user_id, namespace, slot, kind, subject, attribute, value, how, since, at,"
        " seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM message))",
        (
            user_id,
            namespace,
            slot,
            decision.kind,
            decision.subject,
            decision.attribute,
            decision.value,
            decision.how,
            decision.since,
            decision.at,
        ),
    )
    make_stale(tx, user_id, namespace, slot)


def undecide(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str]) -> None:
    """Take back what the person decided of these values of a slot."""
    tx.executemany(
        "DELETE FROM fact_decision WHERE user_id = ? AND namespace = ? AND slot = ? AND value = ?",
        ((user_id, namespace, slot, value) for value in values),
    )
    make_stale(tx, user_id, namespace, slot)


def withdraw(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str]) -> None:
    """Take back what was decided of these values of a slot because of what messages said; not what was added."""
    tx.executemany(
        "DELETE FROM fact_decision WHERE user_id = ? AND namespace = ? AND slot = ? AND value = ? AND how <> 'added'",
        ((user_id, namespace, slot, value) for value in values),
    )
    make_stale(tx, user_id, namespace, slot)


def withdraw_all(tx: sqlite3.Connection, scope: Scope) -> None:
    """Take back all that was decided in a scope, and the facts with it."""
    for table in ("fact_decision", "fact_refused", "fact_stale", "fact"):
        tx.execute(
            f"DELETE FROM {table} WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace)
        )


def told(db: sqlite3.Connection, messages: Iterable[int]) -> list[tuple[str, str, str, str]]:
    """The values that messages state: user, namespace, slot, value."""
    return db.execute(
        f"SELECT DISTINCT user_id, namespace, slot, value FROM fact_statement WHERE message_id IN {LISTED}",
        (listed(messages),),
    ).fetchall()


def resting_on(db: sqlite3.Connection, messages: Iterable[int]) -> int:
    """How many facts rest on these messages alone."""
    (number,) = db.execute(
        "WITH gone AS MATERIALIZED (SELECT value AS id FROM json_each(?))"
        " SELECT count(*) FROM fact f WHERE f.id IN (SELECT fact_id FROM fact_evidence WHERE message_id IN gone)"
        " AND NOT EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact_id = f.id AND e.message_id NOT IN gone)"
        " AND NOT EXISTS (SELECT 1 FROM fact_decision d WHERE d.user_id = f.user_id AND d.namespace = f.namespace"
        " AND d.slot = f.slot AND d.value = f.value AND d.how = 'added')",
        (listed(messages),),
    ).fetchone()
    return int(number)


def count(db: sqlite3.Connection, scope: Scope) -> int:
    """How many facts of a scope there are, in whatever state."""
    (number,) = db.execute(
        "SELECT count(*) FROM fact WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace)
    ).fetchone()
    return int(number)


def refuse(tx: sqlite3.Connection, user_id: str, namespace: str, digests: Iterable[bytes]) -> None:
    """Keep what a person rejected, as digests."""
    tx.executemany(
        "INSERT OR IGNORE INTO fact_refused VALUES (?, ?, ?)", ((user_id, namespace, one) for one in digests)
    )


def allow(tx: sqlite3.Connection, user_id: str, namespace: str, digests: Iterable[bytes]) -> None:
    """Forget that something was rejected."""
    tx.executemany(
        "DELETE FROM fact_refused WHERE user_id = ? AND namespace = ? AND digest = ?",
        ((user_id, namespace, one) for one in digests),
    )


def refused(db: sqlite3.Connection, user_id: str, namespace: str, digests: Sequence[bytes]) -> set[bytes]:
    """Which of these were rejected."""
    found: set[bytes] = set()
    for page in pages(digests):
        found.update(
            row[0]
            for row in db.execute(
                f"SELECT digest FROM fact_refused WHERE user_id = ? AND namespace = ? AND digest IN ({marks(page)})",
                (user_id, namespace, *page),
            )
        )
    return found

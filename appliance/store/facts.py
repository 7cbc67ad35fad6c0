"""Facts in the truth: what messages state, what a person decided, and the facts that follow from both.

A fact's row is derived: ``put`` replaces those of a slot. What reads them back shows only one user's and one namespace's.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance.errors import NotFound
from appliance.store.messages import message_id
from appliance.store.sql import LISTED, listed, marks, next_key, pages
from appliance.types import Fact, FactKind, FactState, Quote, Scope

TALKERS = 2
"""Authors of a session that are counted: one, or more than one."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a message states of a slot, or (with ``message`` 0) what a person decided of it. ``order_at``, ``position`` and
    ``session`` are where it was said, ``at`` when, in microseconds, if that is known."""

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
class Derived:
    """A fact as it follows from its statements. ``replaced_by`` is the place of its successor among those that were derived
    with it; ``ends`` tells that it is the end of another that is up for review."""

    kind: FactKind
    subject: str
    attribute: str
    value: str
    text: str
    confidence: float
    state: FactState
    ends: bool
    said_at: str | None
    since: str | None
    until: str | None
    at: int
    since_at: int | None
    until_at: int | None
    made_by: str
    decided: bool
    evidence: tuple[tuple[int, int, int], ...]
    replaced_by: int | None = None


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


def fact_id(key: int) -> str:
    return f"f{key}"


def fact_key(public: str) -> int | None:
    """The store's key of a public fact id, or None when it is not one."""
    return int(public[1:]) if re.fullmatch(r"f[1-9]\d{0,17}", public) else None


# --- what is due -------------------------------------------------------------------------------------


def due(db: sqlite3.Connection, count: int) -> list[Due]:
    """The next messages to read, the oldest keys first."""
    rows = db.execute(
        "SELECT m.id, m.session_id, s.user_id, s.namespace, s.format, s.storage_scope, m.role, m.author, m.talk, m.text,"
        " m.sent_at, m.metadata, m.revision FROM fact_due d JOIN message m ON m.id = d.message_id"
        " JOIN session s ON s.id = m.session_id ORDER BY d.message_id LIMIT ?",
        (count,),
    ).fetchall()
    return [Due(*row) for row in rows]


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
        "INSERT INTO fact_statement (message_id, user_id, namespace, slot, kind, subject, attribute, value, mode, confidence,"
        " since, until, start, stop, made_by, by_model, digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (s.message, user_id, namespace, s.slot, s.kind, s.subject, s.attribute, s.value, s.mode, s.confidence,
             s.since, s.until, s.start, s.stop, s.made_by, s.by_model, s.digest)
            for s in statements
        ),
    )  # fmt: skip


def unasked(db: sqlite3.Connection, count: int) -> list[Due]:
    """The next messages that were read by the rules and not by a model, the newest first."""
    rows = db.execute(
        "SELECT m.id, m.session_id, s.user_id, s.namespace, s.format, s.storage_scope, m.role, m.author, m.talk, m.text,"
        " m.sent_at, m.metadata, m.revision FROM message m JOIN session s ON s.id = m.session_id"
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
        "SELECT f.message_id, f.slot, f.kind, f.subject, f.attribute, f.value, f.mode, f.confidence, f.since, f.until,"
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
        (user_id, namespace, slot, decision.kind, decision.subject, decision.attribute, decision.value, decision.how,
         decision.since, decision.at),
    )  # fmt: skip
    make_stale(tx, user_id, namespace, slot)


def undecide(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str]) -> None:
    """Take back what the person decided of these values of a slot."""
    tx.executemany(
        "DELETE FROM fact_decision WHERE user_id = ? AND namespace = ? AND slot = ? AND value = ?",
        ((user_id, namespace, slot, value) for value in values),
    )
    make_stale(tx, user_id, namespace, slot)


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


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact's row, as far as it must be known to keep its id."""

    id: int
    attribute: str
    value: str
    ends: bool
    messages: frozenset[int]


def kept(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Kept]:
    """The facts of a slot as they stand."""
    rows = tx.execute(
        "SELECT id, attribute, value, ends FROM fact WHERE user_id = ? AND namespace = ? AND slot = ? ORDER BY id",
        (user_id, namespace, slot),
    ).fetchall()
    return [
        Kept(key, attribute, value, bool(ends), frozenset(
            row[0] for row in tx.execute("SELECT message_id FROM fact_evidence WHERE fact_id = ?", (key,))
        ))
        for key, attribute, value, ends in rows
    ]  # fmt: skip


def put(
    tx: sqlite3.Connection,
    scope: tuple[str, str, str],
    derived: Sequence[Derived],
    ids: Mapping[int, int],
) -> None:
    """Put the facts of a slot in place of what stood there; ``ids`` are the ids to keep, by place in ``derived``."""
    tx.execute("DELETE FROM fact WHERE user_id = ? AND namespace = ? AND slot = ?", scope)
    new = next_key(tx, "fact")
    keys = []
    for number in range(len(derived)):
        keys.append(ids.get(number, new))
        new += number not in ids
    for key, one in zip(keys, derived, strict=True):
        tx.execute(
            "INSERT INTO fact (id, user_id, namespace, slot, kind, subject, attribute, value, text, confidence, state, ends,"
            " said_at, since, until, at, since_at, until_at, made_by, decided)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, *scope, one.kind, one.subject, one.attribute, one.value, one.text, one.confidence, one.state, one.ends,
             one.said_at, one.since, one.until, one.at, one.since_at, one.until_at, one.made_by, one.decided),
        )  # fmt: skip
        tx.executemany(
            "INSERT OR IGNORE INTO fact_evidence VALUES (?, ?, ?, ?)",
            ((key, *place) for place in one.evidence),
        )
    for key, one in zip(keys, derived, strict=True):
        if one.replaced_by is not None:
            tx.execute("UPDATE fact SET replaced_by = ? WHERE id = ?", (keys[one.replaced_by], key))
    tx.execute("DELETE FROM fact_stale WHERE user_id = ? AND namespace = ? AND slot = ?", scope)


# --- read back ---------------------------------------------------------------------------------------

_FACT = (
    "SELECT id, user_id, namespace, kind, subject, attribute, value, text, confidence, state, said_at, since, until, made_by,"
    " replaced_by, slot, ends FROM fact"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A stored fact with its place; ``fact`` is what leaves the program."""

    id: int
    slot: str
    ends: bool
    fact: Fact


def _rows(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Row]:
    rows = db.execute(f"{_FACT} WHERE {where}", values).fetchall()
    quotes: dict[int, list[Quote]] = {}
    for fact, message, start, stop, text in db.execute(
        "SELECT e.fact_id, e.message_id, e.start, e.stop, substr(m.text, e.start + 1, e.stop - e.start)"
        " FROM fact_evidence e JOIN message m ON m.id = e.message_id"
        f" WHERE e.fact_id IN {LISTED} ORDER BY m.order_at, m.position, m.id, e.start",
        (listed(row[0] for row in rows),),
    ):
        quotes.setdefault(fact, []).append(Quote(message_id(message), start, stop, text))
    found = []
    for (
        key,
        user,
        namespace,
        kind,
        subject,
        attribute,
        value,
        text,
        confidence,
        state_,
        said,
        since,
        until,
        by,
        to,
        slot,
        ends,
    ) in rows:
        fact = Fact(
            id=fact_id(key), user_id=user, namespace=namespace, kind=kind, subject=subject, attribute=attribute, value=value,
            text=text, confidence=round(confidence, 3), state=state_, said_at=said, since=since, until=until, made_by=by,
            evidence=tuple(quotes.get(key, ())), replaced_by=fact_id(to) if to else None,
        )  # fmt: skip
        found.append(Row(key, slot, bool(ends), fact))
    return found


def of(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    states: Sequence[FactState] = (),
    kind: FactKind | None = None,
    subject: str | None = None,
    attribute: str | None = None,
    slot: str | None = None,
    at: int | None = None,
) -> list[Row]:
    """A scope's facts: those in ``states``, or those that held ``at`` a moment (microseconds)."""
    where, values = ["user_id = ? AND namespace = ?"], [scope.user_id, scope.namespace]
    for column, wanted in (("kind", kind), ("attribute", attribute), ("slot", slot)):
        if wanted is not None:
            where.append(f"{column} = ?")
            values.append(wanted)
    if subject is not None:
        where.append("subject = ? COLLATE NOCASE")
        values.append(subject)
    more: list[object] = [*values]
    if states:
        where.append(f"state IN ({marks(states)})")
        more += states
    if at is not None:
        where.append(
            "state IN ('held', 'ended', 'superseded') AND (since_at IS NULL OR since_at <= ?)"
            " AND (until_at IS NULL OR until_at > ?)"
        )
        more += [at, at]
    return _rows(db, " AND ".join(where) + " ORDER BY at, id", more)


def get(db: sqlite3.Connection, reference: str, scope: Scope | None = None) -> Row:
    """The fact of an id ("f7"); one of ``scope``, if given.

    Raises:
        NotFound: there is none.
    """
    key = fact_key(reference)
    found = _rows(db, "id = ?", (key,)) if key else []
    if scope is not None:
        found = [
            row for row in found if (row.fact.user_id, row.fact.namespace) == (scope.user_id, scope.namespace)
        ]
    if not found:
        raise NotFound(f"no fact {reference!r}", hint="'appliance facts' lists them with their ids")
    return found[0]

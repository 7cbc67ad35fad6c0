"""Facts in the truth, as they follow from what messages state and a person decided.

A fact's row is derived: ``put`` replaces those of a slot. What reads them back shows only one user's and one
namespace's.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from appliance.errors import NotFound
from appliance.moments import now
from appliance.store import sessions
from appliance.store.messages import message_id
from appliance.store.sql import LISTED, listed, marks, next_key
from appliance.store.visible import NOT_EXPIRED
from appliance.types import Fact, FactKind, FactState, Quote, Scope


@dataclass(frozen=True, slots=True)
class Derived:
    """A fact as it follows from its statements. ``replaced_by`` is the place of its successor among those that were
    derived with it; ``ends`` tells that it is the end of another that is up for review."""

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


def fact_id(key: int) -> str:
    return f"f{key}"


def fact_key(public: str) -> int | None:
    """The store's key of a public fact id, or None when it is not one."""
    return int(public[1:]) if re.fullmatch(r"f[1-9]\d{0,17}", public) else None


@dataclass(frozen=True, slots=True)
class Kept:
    """A fact as it stands: its id, and what it was derived as, with its successor's id."""

    id: int
    derived: Derived
    replaced_by: int | None


def kept(tx: sqlite3.Connection, scope: tuple[str, str, str]) -> list[Kept]:
    """The facts of a slot (user, namespace, slot) as they stand, by their ids."""
    evidence: dict[int, list[tuple[int, int, int]]] = {}
    for fact, *place in tx.execute(
        "SELECT e.fact_id, e.message_id, e.start, e.stop FROM fact f JOIN fact_evidence e ON e.fact_id = f.id"
        " WHERE f.user_id = ? AND f.namespace = ? AND f.slot = ?",
        scope,
    ):
        evidence.setdefault(fact, []).append((place[0], place[1], place[2]))
    rows = tx.execute(
        f"SELECT id, {_DERIVED}, replaced_by FROM fact WHERE user_id = ? AND namespace = ? AND slot = ? ORDER BY id",
        scope,
    ).fetchall()
    return [Kept(row[0], _derived(row[1:-1], evidence.get(row[0], [])), row[-1]) for row in rows]


def _derived(values: Sequence[Any], evidence: list[tuple[int, int, int]]) -> Derived:
    *before, ends, said_at, since, until, at, since_at, until_at, made_by, decided = values
    kind, subject, attribute, value, text, confidence, state = before
    return Derived(
        kind,
        subject,
        attribute,
        value,
        text,
        confidence,
        state,
        bool(ends),
        said_at,
        since,
        until,
        at,
        since_at,
        until_at,
        made_by,
        bool(decided),
        tuple(sorted(evidence)),
    )


_DERIVED = (
    "kind, subject, attribute, value, text, confidence, state, ends, said_at, since, until, at, since_at, until_at,"
    " made_by, decided"
)


def put(
    tx: sqlite3.Connection,
    scope: tuple[str, str, str],
    derived: Sequence[Derived],
    before: Sequence[Kept],
    ids: Mapping[int, int],
) -> None:
    """Put the facts of a slot in place of what stood there ``before``; ``ids`` are the ids to keep, by place in
    ``derived``. Only what is different is written."""
    new = next_key(tx, "fact")
    keys = []
    for number in range(len(derived)):
        keys.append(ids.get(number, new))
        new += number not in ids
    stood = {one.id: one for one in before}
    put = dict(zip(keys, derived, strict=True))
    heirs = {key: keys[one.replaced_by] if one.replaced_by is not None else None for key, one in put.items()}
    changed = [
        key
        for key, one in put.items()
        if key not in stood
        or stood[key].derived != replace(one, replaced_by=None)
        or stood[key].replaced_by != heirs[key]
    ]
    gone = [*(stood.keys() - put.keys()), *(key for key in changed if key in stood)]
    tx.executemany("DELETE FROM fact WHERE id = ?", ((key,) for key in gone))
    for key in changed:
        one = put[key]
        tx.execute(
            f"INSERT INTO fact (id, user_id, namespace, slot, {_DERIVED})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key,
                *scope,
                one.kind,
                one.subject,
                one.attribute,
                one.value,
                one.text,
                one.confidence,
                one.state,
                one.ends,
                one.said_at,
                one.since,
                one.until,
                one.at,
                one.since_at,
                one.until_at,
                one.made_by,
                one.decided,
            ),
        )
        tx.executemany(
            "INSERT INTO fact_evidence VALUES (?, ?, ?, ?)", ((key, *place) for place in one.evidence)
        )
    # What was deleted and put back has lost who pointed to it.
    tx.executemany(
        "UPDATE fact SET replaced_by = ? WHERE id = ? AND replaced_by IS NOT ?",
        ((heir, key, heir) for key, heir in heirs.items()),
    )
    tx.execute("DELETE FROM fact_stale WHERE user_id = ? AND namespace = ? AND slot = ?", scope)


# --- read back ---------------------------------------------------------------------------------------

_FACT = (
    "SELECT id, user_id, namespace, kind, subject, attribute, value, text, confidence, state,"
    " said_at, since, until, made_by,"
    " replaced_by, slot, ends, decided FROM fact"
)


_AN_AGENTS = (
    "(NOT EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact_id = fact.id) OR EXISTS (SELECT 1 FROM fact_evidence e"
    " JOIN message m ON m.id = e.message_id JOIN session s ON s.id = m.session_id"
    f" WHERE e.fact_id = fact.id AND {sessions.TAKES_PART}))"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A stored fact with its place; ``fact`` is what leaves the program."""

    id: int
    slot: str
    ends: bool
    fact: Fact


def _rows(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[Row]:
    """Facts with their evidence; without what only a session says that has outlived its time."""
    rows = db.execute(f"{_FACT} WHERE {where}", values).fetchall()
    quotes: dict[int, list[Quote]] = {}
    for fact, message, start, stop, text in db.execute(
        "SELECT e.fact_id, e.message_id, e.start, e.stop, substr(m.text, e.start + 1, e.stop - e.start)"
        " FROM fact_evidence e JOIN message m ON m.id = e.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE e.fact_id IN {LISTED} AND {NOT_EXPIRED} ORDER BY m.order_at, m.position, m.id, e.start",
        (listed(row[0] for row in rows), now()),
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
        decided,
    ) in rows:
        if key not in quotes and not decided:
            continue
        fact = Fact(
            id=fact_id(key),
            user_id=user,
            namespace=namespace,
            kind=kind,
            subject=subject,
            attribute=attribute,
            value=value,
            text=text,
            confidence=round(confidence, 3),
            state=state_,
            said_at=said,
            since=since,
            until=until,
            made_by=by,
            evidence=tuple(quotes.get(key, ())),
            replaced_by=fact_id(to) if to else None,
        )
        found.append(Row(key, slot, bool(ends), fact))
    return found


def count(db: sqlite3.Connection) -> int:
    """How many facts hold, everybody's."""
    (held,) = db.execute("SELECT count(*) FROM fact WHERE state = 'held'").fetchone()
    return int(held)


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
    """A scope's facts: those in ``states``, or those that held ``at`` a moment (microseconds). An agent's are those
    that are said in a session in which it takes part, and those that the person told of without a session."""
    where, values = ["user_id = ? AND namespace = ?"], [scope.user_id, scope.namespace]
    if scope.agent_id is not None:
        where.append(_AN_AGENTS)
        values.append(scope.agent_id)
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

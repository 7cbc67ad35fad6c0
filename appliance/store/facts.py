"""Facts in the database, derived from the statements of messages and the decisions of a person.

``replace_slot`` replaces the facts of a slot. Queries return those of one user and one namespace only.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace

from appliance.errors import NotFound
from appliance.lazy_dataclasses import dataclass
from appliance.store import sessions
from appliance.store.messages import message_id
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, json_keys, next_key, placeholders
from appliance.store.visibility import NOT_EXPIRED
from appliance.timestamps import now
from appliance.types import Fact, FactKind, FactState, Quote, Scope


@dataclass(frozen=True, slots=True)
class DerivedFact:
    """A fact as derived from its statements. ``replaced_by`` is the index of its successor among the facts derived
    with it; ``ends`` means that it is the end of another fact, up for review; ``evidence`` is (message, start, stop)
    each."""

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
    """Return the store's key of a public fact id, or None if the text is not one."""
    return int(public[1:]) if re.fullmatch(r"f[1-9]\d{0,17}", public) else None


@dataclass(frozen=True, slots=True)
class PersistedFact:
    """A stored fact: its key, its derived content, and the key of its successor."""

    id: int
    derived: DerivedFact
    replaced_by: int | None


def stored_facts(tx: sqlite3.Connection, scope: tuple[str, str, str]) -> list[PersistedFact]:
    """Return the stored facts of a slot (user, namespace, slot), by key."""
    evidence: dict[int, list[tuple[int, int, int]]] = {}
    for fact, *place in tx.execute(
        "SELECT e.fact_id, e.message_id, e.start, e.stop FROM fact f JOIN fact_evidence e ON e.fact_id = f.id"
        " WHERE f.user_id = ? AND f.namespace = ? AND f.slot = ?",
        scope,
    ):
        evidence.setdefault(fact, []).append((place[0], place[1], place[2]))
    rows = tx.execute(
        f"SELECT id, {_DERIVED_COLUMNS}, replaced_by FROM fact"
        " WHERE user_id = ? AND namespace = ? AND slot = ? ORDER BY id",
        scope,
    ).fetchall()
    facts = []
    for key, *values, successor in rows:
        columns = dict(zip(_DERIVED_COLUMNS.split(", "), values, strict=True))
        columns |= {"ends": bool(columns["ends"]), "decided": bool(columns["decided"])}
        derived = DerivedFact(**columns, evidence=tuple(sorted(evidence.get(key, ()))))
        facts.append(PersistedFact(key, derived, successor))
    return facts


_DERIVED_COLUMNS = (
    "kind, subject, attribute, value, text, confidence, state, ends, said_at, since, until, at, since_at, until_at,"
    " made_by, decided"
)
"""The columns of a fact that are fields of ``DerivedFact``."""


def replace_slot(
    tx: sqlite3.Connection,
    scope: tuple[str, str, str],
    derived: Sequence[DerivedFact],
    stored: Sequence[PersistedFact],
    ids: Mapping[int, int],
) -> None:
    """Replace the facts of a slot, writing only differences.

    Args:
        tx: The transaction.
        scope: User, namespace and slot.
        derived: The new facts.
        stored: The facts of the slot so far.
        ids: The keys that facts keep, by their index in ``derived``.
    """
    new = next_key(tx, "fact")
    keys = []
    for index in range(len(derived)):
        keys.append(ids.get(index, new))
        new += index not in ids
    stored_by_key = {fact.id: fact for fact in stored}
    facts_by_key = dict(zip(keys, derived, strict=True))
    successors = {
        key: keys[fact.replaced_by] if fact.replaced_by is not None else None for key, fact in facts_by_key.items()
    }
    changed = [
        key
        for key, fact in facts_by_key.items()
        if stored_by_key.get(key) != PersistedFact(key, replace(fact, replaced_by=None), successors[key])
    ]
    removed = [*(stored_by_key.keys() - facts_by_key.keys()), *(key for key in changed if key in stored_by_key)]
    tx.executemany("DELETE FROM fact WHERE id = ?", ((key,) for key in removed))
    for key in changed:
        fact = facts_by_key[key]
        values = (key, *scope, *(getattr(fact, column) for column in _DERIVED_COLUMNS.split(", ")))
        tx.execute(
            f"INSERT INTO fact (id, user_id, namespace, slot, {_DERIVED_COLUMNS}) VALUES ({placeholders(values)})",
            values,
        )
        tx.executemany("INSERT INTO fact_evidence VALUES (?, ?, ?, ?)", ((key, *span) for span in fact.evidence))
    # Deleting a row and inserting it again loses the references to it.
    tx.executemany(
        "UPDATE fact SET replaced_by = ? WHERE id = ? AND replaced_by IS NOT ?",
        ((successor, key, successor) for key, successor in successors.items()),
    )
    tx.execute("DELETE FROM fact_stale WHERE user_id = ? AND namespace = ? AND slot = ?", scope)


# --- reading -----------------------------------------------------------------------------------------

_AGENT_FACTS_SQL = (
    "(NOT EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact_id = fact.id) OR EXISTS (SELECT 1 FROM fact_evidence e"
    " JOIN message m ON m.id = e.message_id JOIN session s ON s.id = m.session_id"
    f" WHERE e.fact_id = fact.id AND {sessions.AGENT_PARTICIPATES_SQL}))"
)


_STATE_SQL = "CASE WHEN state = 'held' AND until_at <= ? THEN 'ended' ELSE state END"
"""The state of a fact now: a date, or a plan with a date, ends by itself when that day is over."""


@dataclass(frozen=True, slots=True)
class FactRow:
    """A stored fact with its key and slot; ``fact`` is its public form."""

    id: int
    slot: str
    ends: bool
    fact: Fact


def _fetch_rows(db: sqlite3.Connection, where: str, values: Sequence[object]) -> list[FactRow]:
    """Facts with their evidence, except undecided ones whose evidence has all expired."""
    rows = db.execute(
        "SELECT id, slot, ends, decided, confidence, replaced_by, user_id, namespace, kind, subject, attribute, value,"
        f" text, {_STATE_SQL}, said_at, since, until, made_by FROM fact WHERE {where}",
        (now(), *values),
    ).fetchall()
    quotes: dict[int, list[Quote]] = {}
    for fact, message, start, stop, text in db.execute(
        "SELECT e.fact_id, e.message_id, e.start, e.stop, substr(m.text, e.start + 1, e.stop - e.start)"
        " FROM fact_evidence e JOIN message m ON m.id = e.message_id JOIN session s ON s.id = m.session_id"
        f" WHERE e.fact_id IN {JSON_KEYS_SQL} AND {NOT_EXPIRED} ORDER BY m.order_at, m.position, m.id, e.start",
        (json_keys(row[0] for row in rows), now()),
    ):
        quotes.setdefault(fact, []).append(Quote(message_id(message), start, stop, text))
    found = []
    for key, slot, ends, decided, confidence, successor, *columns in rows:
        if key not in quotes and not decided:
            continue
        user_id, namespace, kind, subject, attribute, value, text, state, said_at, since, until, made_by = columns
        fact = Fact(
            fact_id(key), user_id, namespace, kind, subject, attribute, value, text, round(confidence, 3), state,
            said_at, since, until, made_by, tuple(quotes.get(key, ())), fact_id(successor) if successor else None,
        )  # fmt: skip
        found.append(FactRow(key, slot, bool(ends), fact))
    return found


def count_held(db: sqlite3.Connection) -> int:
    """Return the number of facts that hold now, of all users."""
    return fetch_int(db, f"SELECT count(*) FROM fact WHERE {_STATE_SQL} = 'held'", (now(),))


def count_reviews(db: sqlite3.Connection, scope: Scope) -> int:
    """Return the number of statements that wait for the person's decision."""
    return fetch_int(
        db,
        "SELECT count(*) FROM fact f WHERE f.user_id = ? AND f.namespace = ? AND f.state = 'review' AND (f.decided"
        " OR EXISTS (SELECT 1 FROM fact_evidence e JOIN message m ON m.id = e.message_id"
        f" JOIN session s ON s.id = m.session_id WHERE e.fact_id = f.id AND {NOT_EXPIRED}))",
        (scope.user_id, scope.namespace, now()),
    )


def query(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    states: Sequence[FactState] = (),
    kind: FactKind | None = None,
    subject: str | None = None,
    attribute: str | None = None,
    slot: str | None = None,
    at: int | None = None,
) -> list[FactRow]:
    """Return the facts of a scope, in the order of their statements.

    A scope with an agent has the facts stated in sessions in which the agent takes part, and those that the person
    added without a session.

    Args:
        db: The connection.
        scope: Whose facts.
        states: Only facts in these states; empty for all.
        kind: Only facts of this kind.
        subject: Only facts about this subject, in any case of its letters.
        attribute: Only facts about this attribute.
        slot: Only facts of this slot.
        at: Only facts that held at this time, in microseconds since 1970.
    """
    where = ["user_id = ? AND namespace = ?"]
    values: list[object] = [scope.user_id, scope.namespace]
    for condition, value in (
        (_AGENT_FACTS_SQL, scope.agent_id),
        ("kind = ?", kind),
        ("attribute = ?", attribute),
        ("slot = ?", slot),
        ("subject = ? COLLATE NOCASE", subject),
    ):
        if value is not None:
            where.append(condition)
            values.append(value)
    if states:
        where.append(f"{_STATE_SQL} IN ({placeholders(states)})")
        values += [now(), *states]
    if at is not None:
        where.append(
            "state IN ('held', 'ended', 'superseded') AND (since_at IS NULL OR since_at <= ?)"
            " AND (until_at IS NULL OR until_at > ?)"
        )
        values += [at, at]
    return _fetch_rows(db, " AND ".join(where) + " ORDER BY at, id", values)


def get(db: sqlite3.Connection, reference: str, scope: Scope | None = None) -> FactRow:
    """Return the fact with a public id ("f7"), within ``scope`` if it is not None.

    Raises:
        NotFound: There is none.
    """
    key = fact_key(reference)
    found = _fetch_rows(db, "id = ?", (key,)) if key else []
    if scope is not None:
        found = [row for row in found if (row.fact.user_id, row.fact.namespace) == (scope.user_id, scope.namespace)]
    if not found:
        raise NotFound(f"There is no fact {reference!r}.", hint="'appliance facts' lists the facts with their ids.")
    return found[0]

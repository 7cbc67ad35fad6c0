"""The statements that were extracted from messages, the decisions of a person, and the messages still to be read.

Facts are derived from these (see ``store.facts``). A slot is stale while its facts do not reflect its statements.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from appliance.store.facts import fact_key
from appliance.store.sql import JSON_KEYS_SQL, fetch_int, has_row, json_keys, pages, placeholders
from appliance.types import FactKind, Scope

MAX_PAGE_CHARACTERS = 2_000_000
"""The most characters of the messages read at once, after the first message; it bounds the memory that they take, and
how long a shutdown has to wait."""

_PENDING_SQL = (
    "SELECT m.id, m.session_id, s.user_id, s.namespace, s.format, s.storage_scope, m.role, m.author, m.talk, m.text,"
    " m.sent_at, m.metadata, m.revision FROM message m JOIN session s ON s.id = m.session_id"
)
_STATED_COLUMNS = (
    "slot", "kind", "subject", "attribute", "value", "mode", "confidence", "since", "until", "start", "stop",
    "made_by", "by_model", "digest",
)  # fmt: skip
_DECISION_COLUMNS = "kind, subject, attribute, value, how, since, at"

MAX_COUNTED_AUTHORS = 2
"""Authors are counted up to this number: only one or several makes a difference."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A message's statement about a slot, or (with ``message`` 0) the decision of a person. ``session``, ``order_at``
    and ``position`` are those of the message; ``at`` is its time in microseconds since 1970, if it is known."""

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
class PendingStatements:
    """A message that has not been read for facts yet, with the properties of its session."""

    id: int
    session: int
    user_id: str
    namespace: str
    format: str
    scope: str
    role: str
    author: str | None
    conversational: bool
    text: str
    sent_at: str | None
    metadata: str
    revision: int


# --- what is due -------------------------------------------------------------------------------------


def pending_messages(db: sqlite3.Connection, count: int) -> list[PendingStatements]:
    """Return up to ``count`` messages to read next, oldest keys first; fewer if they are long."""
    keys: list[int] = []
    characters = 0
    for key, length in db.execute(
        "SELECT d.message_id, length(m.text) FROM fact_due d JOIN message m ON m.id = d.message_id"
        " ORDER BY d.message_id LIMIT ?",
        (count,),
    ):
        characters += length
        if keys and characters > MAX_PAGE_CHARACTERS:
            break
        keys.append(key)
    rows = db.execute(f"{_PENDING_SQL} WHERE m.id IN {JSON_KEYS_SQL} ORDER BY m.id", (json_keys(keys),))
    return [PendingStatements(*row) for row in rows.fetchall()]


def has_pending(db: sqlite3.Connection) -> bool:
    """Whether any message has not been read for facts yet."""
    return has_row(db, "SELECT 1 FROM fact_due LIMIT 1")


def count_pending(db: sqlite3.Connection) -> int:
    """Return the number of messages that have not been read for facts yet."""
    return fetch_int(db, "SELECT count(*) FROM fact_due")


def is_up_to_date(db: sqlite3.Connection) -> bool:
    """Whether the facts of all slots reflect their statements."""
    return not has_row(db, "SELECT 1 FROM fact_stale LIMIT 1")


def participants(db: sqlite3.Connection, session: int) -> tuple[bool, int]:
    """Whether an assistant takes part in a session, and the number of its named authors with the role user, up to
    ``MAX_COUNTED_AUTHORS``."""
    row = db.execute("SELECT assistant, authors FROM fact_session WHERE session_id = ?", (session,)).fetchone()
    assistant, authors = row or (False, 0)
    if not assistant:
        query = "SELECT 1 FROM message WHERE session_id = ? AND role = 'assistant' AND talk LIMIT 1"
        assistant = has_row(db, query, (session,))
    if authors < MAX_COUNTED_AUTHORS:
        authors = fetch_int(
            db,
            "SELECT count(*) FROM (SELECT DISTINCT author FROM message WHERE session_id = ? AND role = 'user' AND talk"
            " AND author IS NOT NULL LIMIT ?)",
            (session, MAX_COUNTED_AUTHORS),
        )
    return bool(assistant), min(authors, MAX_COUNTED_AUTHORS)


def note_participants(tx: sqlite3.Connection, session: int, assistant: bool, authors: int) -> None:
    """Store who takes part in a session; if that has changed, all messages of its users have to be read again."""
    row = tx.execute("SELECT assistant, authors FROM fact_session WHERE session_id = ?", (session,)).fetchone()
    if row == (assistant, authors):
        return
    tx.execute("INSERT OR REPLACE INTO fact_session VALUES (?, ?, ?)", (session, assistant, authors))
    if row is not None:
        tx.execute(
            "INSERT OR IGNORE INTO fact_due SELECT id FROM message WHERE session_id = ? AND talk AND role = 'user'",
            (session,),
        )


def unchanged(tx: sqlite3.Connection, messages: Sequence[PendingStatements]) -> list[PendingStatements]:
    """Return those of the messages that have not changed since they were read."""
    rows = tx.execute(
        f"SELECT id, revision, role, author, talk FROM message WHERE id IN {JSON_KEYS_SQL}",
        (json_keys(message.id for message in messages),),
    )
    current = {key: tuple(values) for key, *values in rows}
    return [m for m in messages if current.get(m.id) == (m.revision, m.role, m.author, m.conversational)]


def replace_statements(tx: sqlite3.Connection, message: PendingStatements, statements: Iterable[Statement]) -> None:
    """Replace the statements of a message, which then counts as read by the rules."""
    for table in ("fact_statement", "fact_asked", "fact_due"):
        tx.execute(f"DELETE FROM {table} WHERE message_id = ?", (message.id,))
    add_statements(tx, message.user_id, message.namespace, statements)


def add_statements(tx: sqlite3.Connection, user_id: str, namespace: str, statements: Iterable[Statement]) -> None:
    """Store further statements of messages."""
    tx.executemany(
        f"INSERT INTO fact_statement (user_id, namespace, message_id, {', '.join(_STATED_COLUMNS)})"
        f" VALUES (?, ?, ?, {placeholders(_STATED_COLUMNS)})",
        ((user_id, namespace, s.message, *(getattr(s, column) for column in _STATED_COLUMNS)) for s in statements),
    )


def without_model_reading(db: sqlite3.Connection, count: int) -> list[PendingStatements]:
    """Return up to ``count`` messages that the rules have read but no model, newest first."""
    rows = db.execute(
        f"{_PENDING_SQL}"
        " WHERE m.role = 'user' AND m.talk AND NOT EXISTS (SELECT 1 FROM fact_asked a WHERE a.message_id = m.id)"
        " AND NOT EXISTS (SELECT 1 FROM fact_due d WHERE d.message_id = m.id) ORDER BY m.id DESC LIMIT ?",
        (count,),
    )
    return [PendingStatements(*row) for row in rows.fetchall()]


def mark_read_by_model(tx: sqlite3.Connection, keys: Iterable[int]) -> None:
    """Note that a model has read these messages."""
    tx.executemany("INSERT OR IGNORE INTO fact_asked VALUES (?)", ((key,) for key in keys))


# --- slots -------------------------------------------------------------------------------------------


def stale_slots(tx: sqlite3.Connection, count: int) -> list[tuple[str, str, str]]:
    """Return up to ``count`` slots whose facts have to be derived again: user, namespace, slot."""
    return tx.execute("SELECT user_id, namespace, slot FROM fact_stale LIMIT ?", (count,)).fetchall()


def mark_stale(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> None:
    tx.execute("INSERT OR IGNORE INTO fact_stale VALUES (?, ?, ?)", (user_id, namespace, slot))


def mark_all_stale(tx: sqlite3.Connection, scope: Scope) -> None:
    """Have the facts of all slots of a scope derived again."""
    tx.execute(
        "INSERT OR IGNORE INTO fact_stale SELECT DISTINCT user_id, namespace, slot FROM fact_statement"
        " WHERE user_id = ? AND namespace = ?",
        (scope.user_id, scope.namespace),
    )


def statements(db: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Statement]:
    """Return the statements of all messages about a slot."""
    rows = db.execute(
        f"SELECT f.message_id, {', '.join(f'f.{column}' for column in _STATED_COLUMNS)},"
        " m.session_id, m.order_at, m.position, m.at, m.sent_at"
        " FROM fact_statement f JOIN message m ON m.id = f.message_id"
        " WHERE f.user_id = ? AND f.namespace = ? AND f.slot = ?",
        (user_id, namespace, slot),
    )
    return [Statement(*row) for row in rows.fetchall()]


def changeable_statements(
    db: sqlite3.Connection, user_id: str, namespace: str, attributes: Iterable[str], unlike: str
) -> list[Statement]:
    """Return the statements of all messages about dates and these attributes, in all slots but one."""
    rows = db.execute(
        f"SELECT f.message_id, {', '.join(f'f.{column}' for column in _STATED_COLUMNS)},"
        " m.session_id, m.order_at, m.position, m.at, m.sent_at"
        " FROM fact_statement f JOIN message m ON m.id = f.message_id"
        " WHERE f.user_id = ? AND f.namespace = ? AND f.slot <> ?"
        f" AND (f.kind = 'date' OR f.attribute IN {JSON_KEYS_SQL})",
        (user_id, namespace, unlike, json_keys(attributes)),
    )
    return [Statement(*row) for row in rows.fetchall()]


def changeable_decisions(
    db: sqlite3.Connection, user_id: str, namespace: str, attributes: Iterable[str]
) -> list[tuple[str, Decision]]:
    """Return the decisions of the person about dates and these attributes, each with its slot, in order."""
    rows = db.execute(
        f"SELECT slot, {_DECISION_COLUMNS}, seen FROM fact_decision WHERE user_id = ? AND namespace = ?"
        f" AND (kind = 'date' OR attribute IN {JSON_KEYS_SQL}) ORDER BY id",
        (user_id, namespace, json_keys(attributes)),
    )
    return [(slot, Decision(*row)) for slot, *row in rows.fetchall()]


def changeable_slots(
    db: sqlite3.Connection, user_id: str, namespace: str, attributes: Iterable[str], unlike: str
) -> set[str]:
    """Return the slots of all statements and facts about dates and these attributes, but for one slot."""
    condition = f"WHERE user_id = ? AND namespace = ? AND slot <> ? AND (kind = 'date' OR attribute IN {JSON_KEYS_SQL})"
    query = " UNION ".join(f"SELECT slot FROM {table} {condition}" for table in ("fact_statement", "fact"))
    values = (user_id, namespace, unlike, json_keys(attributes))
    return {slot for (slot,) in db.execute(query, (*values, *values))}


def changed_slots(
    db: sqlite3.Connection, user_id: str, namespace: str, attributes: Iterable[str], unlike: str
) -> set[str]:
    """Return the slots, but for one, of facts about dates and these attributes that statements of other slots may have
    changed: a value no longer holds or waits for a review, or no statement of the slot itself is left."""
    rows = db.execute(
        "SELECT DISTINCT f.slot FROM fact f WHERE f.user_id = ? AND f.namespace = ? AND f.slot <> ?"
        f" AND (f.kind = 'date' OR f.attribute IN {JSON_KEYS_SQL}) AND (f.state <> 'held' OR NOT EXISTS (SELECT 1 FROM"
        " fact_statement s WHERE s.user_id = f.user_id AND s.namespace = f.namespace AND s.slot = f.slot))",
        (user_id, namespace, unlike, json_keys(attributes)),
    )
    return {slot for (slot,) in rows}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a person about a slot. ``at`` is in microseconds since 1970; ``last_message`` is the key of the
    newest message at that time, 0 if the decision was made in another memory."""

    kind: FactKind
    subject: str
    attribute: str
    value: str
    how: str
    since: str | None
    at: int
    last_message: int = 0


def decisions(db: sqlite3.Connection, user_id: str, namespace: str, slot: str) -> list[Decision]:
    """Return the decisions of the person about a slot, in order."""
    rows = db.execute(
        f"SELECT {_DECISION_COLUMNS}, seen FROM fact_decision"
        " WHERE user_id = ? AND namespace = ? AND slot = ? ORDER BY id",
        (user_id, namespace, slot),
    )
    return [Decision(*row) for row in rows.fetchall()]


def add_decision(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, decision: Decision) -> None:
    """Store a decision of the person."""
    tx.execute(
        f"INSERT INTO fact_decision (user_id, namespace, slot, {_DECISION_COLUMNS}, seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(id), 0) FROM message))",
        (user_id, namespace, slot, *(getattr(decision, column) for column in _DECISION_COLUMNS.split(", "))),
    )
    mark_stale(tx, user_id, namespace, slot)


def restore_decision(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, decision: Decision) -> None:
    """Store a decision that was made in another memory, unless it is there. Which messages were known when it was made
    is told by its time."""
    values = [user_id, namespace, slot, *(getattr(decision, column) for column in _DECISION_COLUMNS.split(", "))]
    known = "user_id = ? AND namespace = ? AND slot = ? AND kind = ? AND subject = ? AND attribute = ? AND value = ?"
    if not has_row(tx, f"SELECT 1 FROM fact_decision WHERE {known} AND how = ? AND since IS ? AND at = ?", values):
        tx.execute(
            f"INSERT INTO fact_decision (user_id, namespace, slot, {_DECISION_COLUMNS}, seen)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            values,
        )
        mark_stale(tx, user_id, namespace, slot)


def remove_decisions(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str]) -> None:
    """Remove the decisions of the person about these values of a slot."""
    _delete_decisions(tx, user_id, namespace, slot, values, "")


def withdraw_decisions(tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str]) -> None:
    """Remove those decisions about these values of a slot that responded to messages; keep values that were added."""
    _delete_decisions(tx, user_id, namespace, slot, values, " AND how <> 'added'")


def _delete_decisions(
    tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, values: Iterable[str], condition: str
) -> None:
    tx.executemany(
        f"DELETE FROM fact_decision WHERE user_id = ? AND namespace = ? AND slot = ? AND value = ?{condition}",
        ((user_id, namespace, slot, value) for value in values),
    )
    mark_stale(tx, user_id, namespace, slot)


def replace_decisions(
    tx: sqlite3.Connection, user_id: str, namespace: str, slot: str, decisions: Iterable[Decision]
) -> None:
    """Store these decisions of the person about a slot in place of those that are there."""
    scope = (user_id, namespace, slot)
    tx.execute("DELETE FROM fact_decision WHERE user_id = ? AND namespace = ? AND slot = ?", scope)
    tx.executemany(
        f"INSERT INTO fact_decision (user_id, namespace, slot, {_DECISION_COLUMNS}, seen)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (*scope, *(getattr(decision, column) for column in _DECISION_COLUMNS.split(", ")), decision.last_message)
            for decision in decisions
        ),
    )
    mark_stale(tx, *scope)


def withdraw_all_decisions(tx: sqlite3.Connection, scope: Scope) -> None:
    """Remove all decisions of a scope, and its facts."""
    for table in ("fact_decision", "fact_refused", "fact_stale", "fact"):
        tx.execute(f"DELETE FROM {table} WHERE user_id = ? AND namespace = ?", (scope.user_id, scope.namespace))


def stated_values(db: sqlite3.Connection, messages: Iterable[int]) -> list[tuple[str, str, str, str]]:
    """Return the values that messages state: user, namespace, slot, value."""
    return db.execute(
        f"SELECT DISTINCT user_id, namespace, slot, value FROM fact_statement WHERE message_id IN {JSON_KEYS_SQL}",
        (json_keys(messages),),
    ).fetchall()


def facts_resting_on(db: sqlite3.Connection, messages: Iterable[int]) -> set[int]:
    """Return the facts that rest on these messages alone."""
    rows = db.execute(
        "WITH gone AS MATERIALIZED (SELECT value AS id FROM json_each(?))"
        " SELECT id FROM fact f WHERE f.id IN (SELECT fact_id FROM fact_evidence WHERE message_id IN gone)"
        " AND NOT EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact_id = f.id AND e.message_id NOT IN gone)"
        " AND NOT EXISTS (SELECT 1 FROM fact_decision d WHERE d.user_id = f.user_id AND d.namespace = f.namespace"
        " AND d.slot = f.slot AND d.value = f.value AND d.how = 'added')",
        (json_keys(messages),),
    )
    return {key for (key,) in rows}


def named_facts(db: sqlite3.Connection, scope: Scope, references: Iterable[str]) -> tuple[set[int], list[str]]:
    """Return the facts of a scope that are named by their ids ("f7"), and the other references. What has no such fact
    may be an external id."""
    facts, others = set[int](), []
    for reference in references:
        query = "SELECT 1 FROM fact WHERE id = ? AND user_id = ? AND namespace = ?"
        key = fact_key(reference)
        if key and has_row(db, query, (key, scope.user_id, scope.namespace)):
            facts.add(key)
        else:
            others.append(reference)
    return facts, others


def stated_by_hand(db: sqlite3.Connection, facts: Iterable[int]) -> list[str]:
    """Return the values of those of facts that the person has added or decided about."""
    query = (
        "SELECT DISTINCT d.value FROM fact f JOIN fact_decision d ON d.user_id = f.user_id"
        " AND d.namespace = f.namespace AND d.slot = f.slot AND d.value = f.value"
        f" WHERE f.id IN {JSON_KEYS_SQL}"
    )
    return [value for (value,) in db.execute(query, (json_keys(facts),))]


def messages_of_facts(db: sqlite3.Connection, facts: Iterable[int]) -> set[int]:
    """Return the messages that are evidence for facts."""
    query = f"SELECT message_id FROM fact_evidence WHERE fact_id IN {JSON_KEYS_SQL}"
    return {key for (key,) in db.execute(query, (json_keys(facts),))}


def facts_without_messages(db: sqlite3.Connection, facts: Iterable[int]) -> set[int]:
    """Return those of facts for which no message is evidence: the person has added them."""
    query = (
        f"SELECT f.id FROM fact f WHERE f.id IN {JSON_KEYS_SQL}"
        " AND NOT EXISTS (SELECT 1 FROM fact_evidence e WHERE e.fact_id = f.id)"
    )
    return {key for (key,) in db.execute(query, (json_keys(facts),))}


def values_of_facts(db: sqlite3.Connection, facts: Iterable[int]) -> list[tuple[str, str, str, str]]:
    """Return the values of facts, as (user, namespace, slot, value)."""
    query = f"SELECT user_id, namespace, slot, value FROM fact WHERE id IN {JSON_KEYS_SQL}"
    return [
        (str(user), str(space), str(slot), str(value))
        for user, space, slot, value in db.execute(query, (json_keys(facts),))
    ]


def remove_facts(tx: sqlite3.Connection, facts: Collection[int]) -> None:
    """Remove facts, with what the person decided about their values. Their evidence goes with the messages."""
    for user_id, namespace, slot, value in values_of_facts(tx, facts):
        remove_decisions(tx, user_id, namespace, slot, [value])
    tx.execute(f"DELETE FROM fact WHERE id IN {JSON_KEYS_SQL}", (json_keys(facts),))


def count_facts(db: sqlite3.Connection, scope: Scope) -> int:
    """Return the number of facts of a scope, in any state."""
    query = "SELECT count(*) FROM fact WHERE user_id = ? AND namespace = ?"
    return fetch_int(db, query, (scope.user_id, scope.namespace))


def reject_digests(tx: sqlite3.Connection, user_id: str, namespace: str, digests: Iterable[bytes]) -> None:
    """Store the digests of statements that a person rejected."""
    tx.executemany(
        "INSERT OR IGNORE INTO fact_refused VALUES (?, ?, ?)", ((user_id, namespace, digest) for digest in digests)
    )


def unreject_digests(tx: sqlite3.Connection, user_id: str, namespace: str, digests: Iterable[bytes]) -> None:
    """Remove the digests of rejected statements."""
    tx.executemany(
        "DELETE FROM fact_refused WHERE user_id = ? AND namespace = ? AND digest = ?",
        ((user_id, namespace, digest) for digest in digests),
    )


def rejected_digests(db: sqlite3.Connection, user_id: str, namespace: str, digests: Sequence[bytes]) -> set[bytes]:
    """Return those of the digests that were rejected."""
    rejected: set[bytes] = set()
    for page in pages(digests):
        query = "SELECT digest FROM fact_refused WHERE user_id = ? AND namespace = ? AND digest IN"
        rows = db.execute(f"{query} ({placeholders(page)})", (user_id, namespace, *page))
        rejected.update(digest for (digest,) in rows)
    return rejected

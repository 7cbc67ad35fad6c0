"""What a memory holds besides messages, as records of an export: how its sessions are set, earlier forms of messages,
what a person decided about facts, and what was forgotten.

``records`` reads them and ``apply`` writes them into another memory, after the messages that they belong to. A record
names sessions and messages as their sources do, because ids differ from memory to memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from appliance.store import digests, facts, messages, sessions, statements
from appliance.store.sql import from_json, pages, to_json
from appliance.store.statements import Decision
from appliance.timestamps import iso_from_microseconds, to_microseconds
from appliance.types import Scope, SessionRecord

_SESSION_ORDER = "s.user_id, s.namespace, s.format, s.external_id"

Apply = Callable[[sqlite3.Connection, Scope, Mapping[str, Any]], str | None]
"""Writes a record of a scope. Returns why it could not, or None."""


def records(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """Yield the state of a user, of all users without one, in the same order for the same content. What was forgotten
    is only part of the state of all users."""
    keys = [
        key
        for key, user in db.execute(f"SELECT s.id, s.user_id FROM session s ORDER BY {_SESSION_ORDER}")
        if user_id in (None, user)
    ]
    named = {info.id: info for page in pages(keys) for info in sessions.infos(db, page)}
    for info in named.values():
        values = _session_values(db, info)
        if values or not info.messages:
            yield {"record": "session", **_reference(info, owner), **values}
    for info in named.values():
        if info.branch_of in named and info.branch_at is not None:
            at = messages.get(db, [int(info.branch_at[1:])]).get(int(info.branch_at[1:]))
            if at is not None:
                past = named[sessions.public_id(at.session_id)]
                parent = named[info.branch_of]
                yield {
                    "record": "branch", **_reference(info, owner), "parent": _reference(parent, owner),
                    "at": {**_reference(past, owner), "message_id": at.external_id},
                }  # fmt: skip
    yield from _revisions(db, named, owner)
    yield from _decisions(db, user_id, owner)
    yield from _facts(db, user_id, owner)
    if user_id is None:
        yield from _forgotten(db)


def _owner_of(user_id: str, namespace: str, owner: str) -> dict[str, str]:
    if user_id == owner and not namespace:
        return {}
    return {"user_id": user_id} | ({"namespace": namespace} if namespace else {})


def _reference(info: Any, owner: str) -> dict[str, str]:
    return {"session_id": info.external_id, "source": info.format, **_owner_of(info.user_id, info.namespace, owner)}


def _session_values(db: sqlite3.Connection, info: Any) -> dict[str, Any]:
    """What is set for a session, without defaults."""
    titled, started, active_at, expires_at = db.execute(
        # A session that is read back begins with its first message.
        "SELECT titled, nullif(started_at, (SELECT m.sent_at FROM message m WHERE m.session_id = s.id"
        " ORDER BY m.order_at, m.position, m.id LIMIT 1)), active_at, expires_at FROM session s WHERE id = ?",
        (sessions.key(info),),
    ).fetchone()
    values = {
        "title": info.title if titled == "person" or not info.messages else None,
        "title_by": "person" if titled == "person" else None,
        "started_at": started,
        "pinned": info.pinned or None,
        "storage_scope": None if info.storage_scope == "all" else info.storage_scope,
        "ttl": info.ttl,
        "active_at": None if expires_at is None else iso_from_microseconds(active_at),
        "expires_at": info.expires_at,
        "options": info.options or None,
        "agent_id": info.agent_id or None,
        "agents": sorted(info.agents) or None,
        "metadata": info.metadata or None,
    }
    return {name: value for name, value in values.items() if value is not None}


def _revisions(db: sqlite3.Connection, named: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    for info in named.values():
        rows = db.execute(
            "SELECT m.external_id, r.number, r.role, r.author, r.sent_at, r.reply_to, r.text, r.metadata, r.replaced_at"
            " FROM revision r JOIN message m ON m.id = r.message_id WHERE m.session_id = ?"
            " ORDER BY m.order_at, m.position, m.id, r.number",
            (sessions.key(info),),
        )
        for external_id, number, role, author, sent_at, reply_to, text, metadata, replaced_at in rows:
            values = {
                "role": role, "author": author, "timestamp": sent_at, "content": text, "reply_to": reply_to,
                "metadata": from_json(metadata),
            }  # fmt: skip
            given = {name: value for name, value in values.items() if value is not None}
            reference = {**_reference(info, owner), "message_id": external_id}
            yield {
                "record": "revision", **reference, "number": number, "replaced_at": iso_from_microseconds(replaced_at),
                "form": given,
            }  # fmt: skip


def _decisions(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    for user, namespace, slot, *values in db.execute(
        "SELECT user_id, namespace, slot, kind, subject, attribute, value, how, since, at FROM fact_decision"
        " WHERE ?1 IS NULL OR user_id = ?1 ORDER BY user_id, namespace, at, id",
        (user_id,),
    ):
        names = ("kind", "subject", "attribute", "value", "how", "since")
        decided = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        yield {
            "record": "decision", **_owner_of(user, namespace, owner), "slot": slot, **decided,
            "at": iso_from_microseconds(values[-1]),
        }  # fmt: skip
    for user, namespace, digest in db.execute(
        "SELECT user_id, namespace, digest FROM fact_refused WHERE ?1 IS NULL OR user_id = ?1"
        " ORDER BY user_id, namespace, digest",
        (user_id,),
    ):
        yield {"record": "rejection", **_owner_of(user, namespace, owner), "digest": digest.hex()}


def _facts(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """The facts with their evidence, to be read; a memory derives them again from messages and decisions."""
    scopes = db.execute(
        "SELECT DISTINCT user_id, namespace FROM fact WHERE ?1 IS NULL OR user_id = ?1 ORDER BY 1, 2", (user_id,)
    ).fetchall()
    for user, namespace in scopes:
        found = [row.fact for row in facts.query(db, Scope(user, namespace))]
        cited = {int(quote.message_id[1:]) for fact in found for quote in fact.evidence}
        ids = {messages.message_id(key): row.external_id for key, row in messages.get(db, cited).items()}
        lines = []
        for fact in found:
            values = {
                "kind": fact.kind, "subject": fact.subject, "attribute": fact.attribute, "value": fact.value,
                "text": fact.text, "confidence": round(fact.confidence, 4), "state": fact.state,
                "said_at": fact.said_at, "since": fact.since, "until": fact.until, "made_by": fact.made_by,
                "evidence": [
                    {"message_id": ids.get(quote.message_id, ""), "quote": quote.text} for quote in fact.evidence
                ],
            }  # fmt: skip
            given = {name: value for name, value in values.items() if value is not None}
            lines.append({"record": "fact", **_owner_of(user, namespace, owner), **given})
        yield from sorted(lines, key=to_json)


def _forgotten(db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    row = db.execute("SELECT key FROM forgotten_key").fetchone()
    if row is not None:
        found = [digest.hex() for (digest,) in db.execute("SELECT digest FROM forgotten ORDER BY digest")]
        for page in pages(found):
            yield {"record": "forgotten", "key": row[0].hex(), "digests": list(page)}


# --- writing ------------------------------------------------------------------------------------------------


def apply(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    """Write a record. Doing it twice changes nothing more. Returns why it could not be written, or None.

    Raises:
        KeyError, TypeError, ValueError: The record has another form.
    """
    return _APPLY[record["record"]](tx, scope, record)


def _microseconds(text: str) -> int:
    return to_microseconds(datetime.fromisoformat(text))


def _session(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> int | None:
    row = tx.execute(
        "SELECT id FROM session WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?",
        (scope.user_id, scope.namespace, record["source"], record["session_id"]),
    ).fetchone()
    return None if row is None else int(row[0])


def _message(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> int | None:
    session = _session(tx, scope, record)
    row = tx.execute(
        "SELECT id FROM message WHERE session_id = ? AND external_id = ?", (session, record["message_id"])
    ).fetchone()
    return None if row is None else int(row[0])


def _apply_session(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    title = record.get("title")
    new = SessionRecord(record["session_id"], title, metadata=record.get("metadata", {}))
    key, _ = sessions.upsert(tx, scope, record["source"], new)
    if record.get("agent_id"):
        sessions.update(tx, key, agent_id=record["agent_id"])
    for agent in record.get("agents", ()):
        sessions.add_agent(tx, key, agent)
    columns: dict[str, str | int | None] = {
        name: record[name] for name in ("storage_scope", "ttl", "started_at") if name in record
    }
    columns |= {name: _microseconds(record[name]) for name in ("active_at", "expires_at") if name in record}
    if record.get("title_by") == "person":
        columns |= {"titled": "person", "title": title}
    if record.get("pinned"):
        columns["pinned"] = 1
    if "options" in record:
        columns["options"] = to_json(record["options"])
    if columns:
        sessions.update(tx, key, **columns)
    return None


def _apply_branch(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    parent, at = _session(tx, scope, record["parent"]), _message(tx, scope, record["at"])
    if parent is None or at is None:
        return "the conversation that it branches from is missing"
    key = _session(tx, scope, record)
    if key is None:  # a branch without messages of its own
        key, _ = sessions.upsert(tx, scope, record["source"], SessionRecord(record["session_id"]))
    sessions.update(tx, key, parent_id=parent, branch_at=at)
    return None


def _apply_revision(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    key, form = _message(tx, scope, record), record["form"]
    if key is None:
        return "the message that it is an earlier form of is missing"
    number = int(record["number"])
    (current,) = tx.execute("SELECT revision FROM message WHERE id = ?", (key,)).fetchone()
    if current > number:
        return None  # the memory has earlier forms of its own
    tx.execute(
        "INSERT INTO revision (message_id, number, role, author, sent_at, reply_to, replaced_at, text, metadata)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key, number, form.get("role"), form.get("author"), form.get("timestamp"), form.get("reply_to"),
            _microseconds(record["replaced_at"]), form["content"], to_json(form.get("metadata", {})),
        ),
    )  # fmt: skip
    intact = digests.intact(tx, [key])
    tx.execute("UPDATE message SET revision = ? WHERE id = ?", (number + 1, key))
    digests.refresh(tx, intact)
    digests.refresh_revisions(tx, [key])
    return None


def _apply_decision(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    decision = Decision(
        kind=record["kind"], subject=record["subject"], attribute=record["attribute"], value=record["value"],
        how=record["how"], since=record.get("since"), at=_microseconds(record["at"]),
    )  # fmt: skip
    statements.restore_decision(tx, scope.user_id, scope.namespace, record["slot"], decision)
    return None


def _apply_rejection(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    statements.reject_digests(tx, scope.user_id, scope.namespace, [bytes.fromhex(record["digest"])])
    statements.mark_all_stale(tx, scope)
    return None


def _apply_forgotten(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    key = bytes.fromhex(record["key"])
    tx.execute("INSERT OR IGNORE INTO forgotten_key VALUES (1, ?)", (key,))
    if tx.execute("SELECT key FROM forgotten_key").fetchone() != (key,):
        return "this memory has forgotten messages of its own, and can't tell those of another one by their digests"
    tx.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", [(bytes.fromhex(one),) for one in record["digests"]])
    return None


_APPLY: Mapping[str, Apply] = {
    "session": _apply_session,
    "branch": _apply_branch,
    "revision": _apply_revision,
    "decision": _apply_decision,
    "rejection": _apply_rejection,
    "fact": lambda tx, scope, record: None,  # derived again
    "forgotten": _apply_forgotten,
}

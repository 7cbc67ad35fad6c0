"""What a memory holds besides messages, as records of an export: how its sessions are set, earlier forms of messages,
feedback on them, who takes part and who is in address books, core memory, what a person decided about people and
facts, and what was forgotten.

A record names sessions and messages as their sources do, because ids differ from memory to memory. ``state_import``
writes records into another memory.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from appliance.store import core_blocks, facts, feedback, messages, people, profiles, sessions
from appliance.store.sql import from_json, pages, to_json
from appliance.timestamps import iso_from_microseconds
from appliance.types import Scope

_SESSION_ORDER = "s.user_id, s.namespace, s.format, s.external_id"


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
    yield from _feedback(db, named, owner)
    yield from _participants(db, named, owner)
    yield from _people(db, user_id, owner)
    yield from _blocks(db, user_id, owner)
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
        "tags": list(info.tags) or None,
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


def _feedback(db: sqlite3.Connection, named: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    for info in named.values():
        for external_id, kind, at in feedback.of_session(db, sessions.key(info)):
            reference = {**_reference(info, owner), "message_id": external_id}
            yield {"record": "feedback", **reference, "kind": kind, "at": iso_from_microseconds(at)}


def _participants(db: sqlite3.Connection, named: Mapping[str, Any], owner: str) -> Iterator[dict[str, Any]]:
    for info in named.values():
        for author, profile in profiles.participants(db, sessions.key(info)):
            yield {
                "record": "participant", **_reference(info, owner), "author": author, **_profile_values(profile),
            }  # fmt: skip


def _profile_values(profile: profiles.Profile) -> dict[str, Any]:
    return {"identities": sorted(profile.identities)} | ({"me": True} if profile.me else {})


def _people(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """The entries of address books, and what was decided about people."""
    for scope in people.scopes(db):
        if user_id in (None, scope.user_id):
            whose = _owner_of(scope.user_id, scope.namespace, owner)
            for profile, path, format, size in profiles.contacts(db, scope):
                yield {
                    "record": "contact", **whose, "source": profile.source, **_profile_values(profile),
                    "file": {"path": path, "format": format, "bytes": size},
                }  # fmt: skip
            for decision in people.decisions(db, scope):
                values = {
                    "kind": decision.kind, "identities": decision.identities, "others": decision.others or None,
                    "name": decision.name, "at": iso_from_microseconds(decision.at),
                }  # fmt: skip
                yield {
                    "record": "person",
                    **whose,
                    **{key: value for key, value in values.items() if value is not None},
                }


def _blocks(db: sqlite3.Connection, user_id: str | None, owner: str) -> Iterator[dict[str, Any]]:
    """The blocks of core memory, with the forms that they had."""
    for scope in core_blocks.scopes(db):
        if user_id not in (None, scope.user_id):
            continue
        for block in core_blocks.list_blocks(db, scope.user_id, scope.namespace):
            found = core_blocks.find(db, scope, block.label)
            forms = [] if found is None else core_blocks.revisions(db, found.key)
            yield {
                "record": "block", **_owner_of(scope.user_id, scope.namespace, owner), "label": block.label,
                "description": block.description, "limit": block.limit, "read_only": block.read_only,
                "revisions": [asdict(form) for form in forms],
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

"""Writes the records of an export (``state``) into a memory, after the messages that they belong to.

An export may have been edited or damaged since. A record of another form, or one that fits nothing in the memory, is
left out as a whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec

from appliance.errors import UsageError
from appliance.runtime.decoding import convert
from appliance.store import (
    branches,
    core_blocks,
    digests,
    feedback,
    imports,
    people,
    profiles,
    sessions,
    statements,
    tags,
    tombstones,
)
from appliance.store.people import PersonDecision
from appliance.store.sql import to_json
from appliance.store.statements import Decision
from appliance.timestamps import to_microseconds
from appliance.types import (
    BlockEditor,
    ContactRecord,
    FactKind,
    FeedbackKind,
    IdentityKind,
    ParticipantRecord,
    Role,
    Scope,
    SessionRecord,
    StorageScope,
)
from appliance.types.core import MAX_ASSISTANT_CHARACTERS, MAX_CORE_CHARACTERS

_Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 48)]

ANOTHER_FORM = "it has another form than this program writes"


class _Session(msgspec.Struct, frozen=True):
    """A session by the names of its source. ``key`` is None for one that the memory does not have."""

    session_id: str
    source: str

    def key(self, tx: sqlite3.Connection, scope: Scope) -> int | None:
        row = tx.execute(
            "SELECT id FROM session WHERE user_id = ? AND namespace = ? AND format = ? AND external_id = ?",
            (scope.user_id, scope.namespace, self.source, self.session_id),
        ).fetchone()
        return None if row is None else int(row[0])


class _Message(_Session, frozen=True):
    """A message by the names of its source."""

    message_id: str

    def message_key(self, tx: sqlite3.Connection, scope: Scope) -> int | None:
        row = tx.execute(
            "SELECT id FROM message WHERE session_id = ? AND external_id = ?", (self.key(tx, scope), self.message_id)
        ).fetchone()
        return None if row is None else int(row[0])


class _SessionState(_Session, frozen=True):
    title: str | None = None
    title_by: Literal["person"] | None = None
    started_at: str | None = None
    pinned: bool = False
    storage_scope: StorageScope | None = None
    ttl: _Count | None = None
    active_at: str | None = None
    expires_at: str | None = None
    options: dict[str, Any] | None = None
    agent_id: str = ""
    agents: list[str] = []
    metadata: dict[str, Any] = {}
    tags: list[str] = []


class _Branch(_Session, frozen=True):
    parent: _Session
    at: _Message


class _Form(msgspec.Struct, frozen=True):
    content: str
    role: Role | None = None
    author: str | None = None
    timestamp: str | None = None
    reply_to: str | None = None
    metadata: dict[str, Any] = {}


class _Revision(_Message, frozen=True):
    number: _Count
    replaced_at: str
    form: _Form


class _Feedback(_Message, frozen=True):
    kind: FeedbackKind
    at: str


class _Participant(_Session, frozen=True):
    author: str
    identities: list[tuple[IdentityKind, str]]
    me: bool = False


class _File(msgspec.Struct, frozen=True):
    path: str
    format: str
    bytes: _Count


class _Contact(msgspec.Struct, frozen=True):
    source: str
    identities: list[tuple[IdentityKind, str]]
    file: _File
    me: bool = False


class _Person(msgspec.Struct, frozen=True):
    kind: Literal["merge", "split", "rename", "me"]
    identities: list[tuple[str, str, str]]
    at: str
    others: list[tuple[str, str, str]] = []
    name: str | None = None


class _BlockRevision(msgspec.Struct, frozen=True):
    number: Annotated[int, msgspec.Meta(ge=1, lt=1 << 48)]
    value: str
    changed_by: BlockEditor
    changed_at: str
    assistant: str = ""


class _Block(msgspec.Struct, frozen=True):
    label: Annotated[str, msgspec.Meta(pattern=r"^[^\W_][\w.-]{0,39}$")]
    limit: Annotated[int, msgspec.Meta(ge=1, le=MAX_CORE_CHARACTERS)]
    revisions: Annotated[list[_BlockRevision], msgspec.Meta(min_length=1)]
    description: str = ""
    read_only: bool = False


class _Decision(msgspec.Struct, frozen=True):
    slot: str
    kind: FactKind
    subject: str
    attribute: str
    value: str
    how: str
    at: str
    since: str | None = None


class _Rejection(msgspec.Struct, frozen=True):
    digest: str


class _Tombstones(msgspec.Struct, frozen=True):
    key: str
    digests: list[str]


def apply(tx: sqlite3.Connection, scope: Scope, record: Mapping[str, Any]) -> str | None:
    """Write a record of a scope. Doing it twice changes nothing more. Returns why it was left out, or None."""
    if record["record"] == "fact":
        return None  # derived again from messages and decisions
    kind, write = _KINDS[record["record"]]
    tx.execute("SAVEPOINT record")
    try:
        reason = write(tx, scope, convert(record, kind))
    except (msgspec.ValidationError, UsageError, ValueError, OverflowError, sqlite3.IntegrityError):
        reason = ANOTHER_FORM
    if reason is not None:
        tx.execute("ROLLBACK TO record")
    tx.execute("RELEASE record")
    return reason


def _write_session(tx: sqlite3.Connection, scope: Scope, record: _SessionState) -> str | None:
    new = SessionRecord(record.session_id, record.title, metadata=record.metadata)
    key, _ = sessions.upsert(tx, scope, record.source, new)
    for agent in record.agents:
        sessions.add_agent(tx, key, agent)
    is_titled = record.title_by == "person"
    columns: dict[str, str | int | None] = {
        "agent_id": record.agent_id or None,
        "storage_scope": record.storage_scope,
        "ttl": record.ttl,
        "started_at": record.started_at,
        "active_at": _microseconds(record.active_at),
        "expires_at": _microseconds(record.expires_at),
        "titled": record.title_by,
        "title": record.title if is_titled else None,
        "pinned": 1 if record.pinned else None,
    }
    if given := {name: value for name, value in columns.items() if value is not None}:
        sessions.update(tx, key, **given)
    tags.add(tx, key, record.tags)
    if record.options is not None:
        sessions.set_options(tx, key, to_json(record.options))
    return None


def _write_branch(tx: sqlite3.Connection, scope: Scope, record: _Branch) -> str | None:
    parent, at = record.parent.key(tx, scope), record.at.message_key(tx, scope)
    if parent is None or at is None:
        return "the conversation that it branches from is missing"
    key = record.key(tx, scope)
    if key is None:  # a branch without messages of its own
        key, _ = sessions.upsert(tx, scope, record.source, SessionRecord(record.session_id))
    if key in {part.session for part in branches.session_parts(tx, parent)}:
        return "it would be a branch of itself"
    sessions.update(tx, key, parent_id=parent, branch_at=at)
    return None


def _write_revision(tx: sqlite3.Connection, scope: Scope, record: _Revision) -> str | None:
    key, form, number = record.message_key(tx, scope), record.form, record.number
    if key is None:
        return "the message that it is an earlier form of is missing"
    (current,) = tx.execute("SELECT revision FROM message WHERE id = ?", (key,)).fetchone()
    if current > number:
        return None  # the memory has earlier forms of its own
    tx.execute(
        "INSERT INTO revision (message_id, number, role, author, sent_at, reply_to, replaced_at, text, metadata)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key, number, form.role, form.author, form.timestamp, form.reply_to, _microseconds(record.replaced_at),
            form.content, to_json(form.metadata),
        ),
    )  # fmt: skip
    intact = digests.intact(tx, [key])
    tx.execute("UPDATE message SET revision = ? WHERE id = ?", (number + 1, key))
    digests.refresh(tx, intact)
    digests.refresh_revisions(tx, [key])
    return None


def _write_feedback(tx: sqlite3.Connection, scope: Scope, record: _Feedback) -> str | None:
    key = record.message_key(tx, scope)
    if key is None:
        return "the message that it is about is missing"
    feedback.add(tx, key, record.kind, to_microseconds(datetime.fromisoformat(record.at)))
    return None


def _write_participant(tx: sqlite3.Connection, scope: Scope, record: _Participant) -> str | None:
    key = record.key(tx, scope)
    if key is None:
        return "the conversation in which the person takes part is missing"
    said = ParticipantRecord("", record.author, tuple(record.identities), record.me)
    profiles.add_participants(tx, scope, record.source, key, [said])
    return None


def _write_contact(tx: sqlite3.Connection, scope: Scope, record: _Contact) -> str | None:
    file = imports.upsert_source(tx, record.file.path, record.file.format, record.file.bytes)
    imports.finish_source(tx, record.file.path)
    profiles.add_contact(tx, scope, record.source, file, ContactRecord(tuple(record.identities), record.me))
    return None


def _write_person(tx: sqlite3.Connection, scope: Scope, record: _Person) -> str | None:
    if not record.identities or (record.kind == "rename" and not record.name):
        return ANOTHER_FORM
    at = to_microseconds(datetime.fromisoformat(record.at))
    decision = PersonDecision(record.kind, tuple(record.identities), tuple(record.others), record.name, at=at)
    people.add_decision(tx, scope, decision)
    return None


def _write_block(tx: sqlite3.Connection, scope: Scope, record: _Block) -> str | None:
    """Write a block that the memory does not have. One with the same label is the person's present one, and stays."""
    if record.label != record.label.casefold() or any(len(form.value) > record.limit for form in record.revisions[-1:]):
        return ANOTHER_FORM
    found = core_blocks.find(tx, scope, record.label)
    if found is not None:
        known = {form.number: form.value for form in core_blocks.revisions(tx, found.key)}
        differs = any(known.get(form.number) != form.value for form in record.revisions)
        return f"the core memory has another block {record.label!r} already" if differs else None
    limits = sum(block.limit for block in core_blocks.list_blocks(tx, scope.user_id, scope.namespace))
    if limits + record.limit > MAX_CORE_CHARACTERS:
        return f"the core memory has no room for the block {record.label!r}"
    key = core_blocks.add(tx, scope, record.label)
    core_blocks.update(tx, key, description=record.description, limit=record.limit, read_only=record.read_only)
    for form in record.revisions:
        at = to_microseconds(datetime.fromisoformat(form.changed_at))
        name = form.assistant[:MAX_ASSISTANT_CHARACTERS]
        core_blocks.add_revision(tx, key, form.value, form.changed_by, at, assistant=name, number=form.number)
    return None


def _write_decision(tx: sqlite3.Connection, scope: Scope, record: _Decision) -> str | None:
    at = to_microseconds(datetime.fromisoformat(record.at))
    decision = Decision(record.kind, record.subject, record.attribute, record.value, record.how, record.since, at)
    statements.restore_decision(tx, scope.user_id, scope.namespace, record.slot, decision)
    return None


def _write_rejection(tx: sqlite3.Connection, scope: Scope, record: _Rejection) -> str | None:
    statements.reject_digests(tx, scope.user_id, scope.namespace, [bytes.fromhex(record.digest)])
    statements.mark_all_stale(tx, scope)
    return None


def _write_forgotten(tx: sqlite3.Connection, scope: Scope, record: _Tombstones) -> str | None:
    if not tombstones.adopt(tx, bytes.fromhex(record.key), map(bytes.fromhex, record.digests)):
        return "this memory has forgotten messages of its own, and can't tell those of another one by their digests"
    return None


def _microseconds(text: str | None) -> int | None:
    return None if text is None else to_microseconds(datetime.fromisoformat(text))


_KINDS: Mapping[str, tuple[Any, Callable[[sqlite3.Connection, Scope, Any], str | None]]] = {
    "session": (_SessionState, _write_session),
    "branch": (_Branch, _write_branch),
    "revision": (_Revision, _write_revision),
    "feedback": (_Feedback, _write_feedback),
    "participant": (_Participant, _write_participant),
    "contact": (_Contact, _write_contact),
    "person": (_Person, _write_person),
    "block": (_Block, _write_block),
    "decision": (_Decision, _write_decision),
    "rejection": (_Rejection, _write_rejection),
    "forgotten": (_Tombstones, _write_forgotten),
}
"""The form of each kind of record, and what writes it."""

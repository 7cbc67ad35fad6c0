"""Which stored session and messages those of a batch are: by ids, by their first messages, and but for erased ones."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from appliance.ingest import dedup, renamed_authors
from appliance.ingest.batches import FileTally, MessageBatch
from appliance.ingest.unfinished import is_completion
from appliance.secrets.masking import drop_secrets
from appliance.store import message_states, sessions, tombstones
from appliance.store.messages import MessageInsert
from appliance.store.tombstones import MessageOrigin
from appliance.types import InputProblem, Scope, SessionRecord

if TYPE_CHECKING:
    from appliance.ingest.pipeline import IngestContext


def without_forgotten(
    tx: sqlite3.Connection, key: str, batch: MessageBatch, context: IngestContext, tally: FileTally
) -> list[MessageInsert]:
    """The messages of one session in a batch, without erased ones."""
    progress, incoming = batch.progress_by_session[key], batch.messages[key]
    scope, format = owner_of(progress.record, context), progress.record.format or tally.format or ""
    session = progress.stored_external_id or progress.record.external_id
    origins = [MessageOrigin(scope.user_id, scope.namespace, format, session, m.external_id) for m in incoming]
    in_chat = not (progress.has_generated_ids or progress.record.has_global_ids)
    forgotten_ids = tombstones.erased_ids(tx, origins, in_chat=in_chat)
    if forgotten_ids and context.include_forgotten:
        tombstones.remove(tx, [origin for origin in origins if origin.message in forgotten_ids])
        return incoming
    tally.forgotten += sum(message.external_id in forgotten_ids for message in incoming)
    return [message for message in incoming if message.external_id not in forgotten_ids]


def with_known_ids(
    tx: sqlite3.Connection,
    key: str,
    batch: MessageBatch,
    incoming: list[MessageInsert],
    context: IngestContext,
    tally: FileTally,
) -> list[MessageInsert]:
    """The messages of one session in a batch, with the ids of stored ones that have another name for their author."""
    progress = batch.progress_by_session[key]
    if not progress.has_generated_ids:
        return incoming
    others = {one.record.external_id for one in batch.progress_by_session.values() if one is not progress}
    format = progress.record.format or tally.format or ""
    scope = owner_of(progress.record, context)
    found = renamed_authors.with_known_ids(
        tx, scope, format, progress, incoming, others, include_forgotten=context.include_forgotten
    )
    tally.forgotten += found.forgotten
    for new, old in found.names.items():
        message = f"the chat is known already; {new} was called {old}"
        if all(note.message != message for note in tally.notes):
            tally.notes.append(InputProblem("", message, harmless=True))
    return list(found.messages)


def people_title(incoming: Sequence[MessageInsert], context: IngestContext) -> str | None:
    """The title of a chat among people without an assistant, those with the most messages first."""
    if any(message.role == "assistant" for message in incoming):
        return None
    names = Counter(message.author for message in incoming if message.role == "user" and message.author)
    return sessions.people_title([name for name, _ in names.most_common()], context.me)


def owner_of(record: SessionRecord, context: IngestContext) -> Scope:
    """Whose session a record is: an export of this program may say so, if the import keeps owners."""
    return record.scope if context.keep_owners and record.scope else context.scope


def upsert_session(
    tx: sqlite3.Connection,
    key: str,
    batch: MessageBatch,
    incoming: Sequence[MessageInsert],
    context: IngestContext,
    format: str,
    source: int,
) -> tuple[int, bool]:
    """The session that the messages of one key in a batch belong to, and whether it is new. A chat whose messages have
    no ids is recognised by its first messages if its file has been renamed, or if the first was cut off before."""
    progress = batch.progress_by_session[key]
    record = progress.record
    format = record.format or format
    scope = owner_of(record, context)
    if progress.has_generated_ids and progress.stored_external_id is None:
        progress.stored_external_id = record.external_id
        first = incoming[: dedup.RECOGNITION_MESSAGES]
        other_ids = {other.record.external_id for other in batch.progress_by_session.values() if other is not progress}
        # Words alone are not enough: many chats begin with "hi". And two chats of one file are never the same.
        if all(message.own_at is not None for message in first):
            found = sessions.session_holding_most(tx, scope, format, [message.external_id for message in first])
            if found is not None and found[1] == len(first) and found[0] not in other_ids:
                progress.stored_external_id = found[0]
            begun = message_states.only_message(tx, source, scope, format) if found is None else None
            if (
                begun is not None
                and begun[0] not in {record.external_id, *other_ids}
                and is_completion(begun[1], first[0], is_last=len(incoming) == 1)
            ):
                progress.stored_external_id = begun[0]
    if progress.stored_external_id is not None and progress.stored_external_id != record.external_id:
        record = replace(record, external_id=progress.stored_external_id, title=None)
    if context.drop_secrets:
        record = replace(record, title=drop_secrets(record.title))
    return sessions.upsert(tx, scope, format, record, context.ttl)

"""Ingestion: source → parse → normalize → dedup → chunk → store, one transaction a batch.

When ``ingest`` has yielded a file, its messages are durable and can be found by their words; then the indexer gives
every chunk its vector and its point.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from secrets import token_hex

import msgspec

from appliance import timestamps
from appliance.errors import InputError, UsageError
from appliance.formats.base import Document
from appliance.ingest import dedup, sources
from appliance.ingest.chunk import Chunker
from appliance.ingest.normalize import SessionProgress, normalize, start_session
from appliance.secrets.detector import find_in_texts
from appliance.secrets.masking import drop_secrets
from appliance.store import chunks, lexical, messages, neighbours, profiles, secrets, sessions, state_import, tombstones
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.messages import MessageInsert
from appliance.store.priority import DEFAULT_IMPORTANCE, PINNED_IMPORTANCE
from appliance.store.sql import to_json
from appliance.store.tombstones import MessageOrigin
from appliance.types import (
    ContactRecord,
    Event,
    FileReport,
    FileStatus,
    InputProblem,
    MessageRecord,
    ParticipantRecord,
    Record,
    Scope,
    SessionRecord,
    StateRecord,
)

BATCH_MESSAGES = 1_000
BATCH_CHARACTERS = 4_000_000
"""A batch ends at the first of these two limits. Each commit costs a disk flush, and a batch is held in memory."""

BATCH_MESSAGES_DURING_QUERIES = 100
"""Messages of a batch while queries run: another writer has to wait for the whole batch, which yields to queries."""

STEP_MESSAGES = 10
"""Messages that are indexed or chunked before queries may run again: a few milliseconds."""

MARK_STEP_MESSAGES = 100
"""Messages that are searched for secrets in one go, in about a millisecond: most of the time of one is that of the
call."""

ScoreImportance = Callable[[MessageInsert], float]
"""Returns the score of a message's words, 0 to 1."""


@dataclass(frozen=True, slots=True)
class IngestContext:
    """The resources and options of an ingest.

    Attributes:
        database: Where the messages are stored.
        target: Returns the active generation and its chunker. Called in each transaction, because a rebuild may replace
            the generation in between.
        scope: Whose memory the messages become a part of.
        keep_owners: Whether sessions of a native export keep the scopes that it names.
        format: The format of every document; None to detect it.
        me: The name of the person where a format only says "me".
        ttl: The default time to live of local sessions, in seconds; see ``sessions.touch``.
        dry_run: Whether to roll everything back.
        include_forgotten: Whether to store messages that were erased before.
        drop_secrets: Whether to store no keys, tokens, card numbers and passwords.
        progress: Called after each batch with the name of the document and the number of its messages so far.
        score_importance: Scores the words of messages; None to leave that for later.
        yield_to_queries: Called between small steps of reading and storing; waits while queries run.
        is_idle: Returns whether no query runs, so that batches may be large.
        publish: Called with an event for each document.
    """

    database: Database
    target: Callable[[], tuple[int, Chunker]]
    scope: Scope
    keep_owners: bool = False
    format: str | None = None
    me: str | None = None
    ttl: int = 0
    dry_run: bool = False
    include_forgotten: bool = False
    drop_secrets: bool = False
    progress: Callable[[str, int], None] = lambda path, messages: None
    score_importance: ScoreImportance | None = None
    yield_to_queries: Callable[[], None] = lambda: None
    is_idle: Callable[[], bool] = lambda: True
    publish: Callable[[Event], None] = lambda event: None


@dataclass(slots=True)
class FileTally:
    """The growing counts of one file; ``report`` gives the final ones."""

    path: str
    format: str | None = None
    conversations: int = 0
    messages: int = 0
    new: int = 0
    updated: int = 0
    duplicates: int = 0
    chunks: int = 0
    forgotten: int = 0
    status: FileStatus | None = None
    errors: list[InputProblem] = field(default_factory=list)
    notes: list[InputProblem] = field(default_factory=list)

    def report(self) -> FileReport:
        status = self.status or ("ok" if not self.errors else "partial" if self.messages else "failed")
        return FileReport(
            self.path, self.format, status, self.conversations, self.messages, self.new, self.updated,
            self.duplicates, tuple(self.errors), tuple(self.notes),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """The messages of one transaction by session, in the order of the file, and what else comes after them.
    ``participants`` of a session wait there until its messages come."""

    progress_by_session: dict[str, SessionProgress]
    messages: dict[str, list[MessageInsert]]
    state: list[StateRecord] = field(default_factory=list)
    participants: dict[str, list[ParticipantRecord]] = field(default_factory=dict)
    contacts: list[ContactRecord] = field(default_factory=list)


def ingest(paths: Sequence[Path], context: IngestContext, within: Path | None = None) -> Iterator[FileTally]:
    """Ingest files, folders and zips, and yield the result of each file, in order.

    A file or a record that can't be read does not affect the others.

    Args:
        paths: The paths to read.
        context: The resources and options.
        within: The watched folder in which the paths were found; None if the user named them.
    """
    for source in sources.detect_documents(paths, context.format, context.me, within):
        if isinstance(source, sources.UnreadSource):
            yield _unread_tally(source)
        else:
            yield ingest_document(source, context)


def ingest_document(detected: sources.DetectedDocument, context: IngestContext) -> FileTally:
    """Ingest one document as a stream, one transaction a batch."""
    document = detected.document
    tally = FileTally(document.name, detected.format)
    try:
        with context.database.dry_run() if context.dry_run else nullcontext():
            for batch in batches(detected.parser.parse(document), tally, context.yield_to_queries, context.is_idle):
                store(batch, document, context, tally)
                context.progress(document.name, tally.messages)
    except InputError as error:
        hint = f"; {error.hint}" if error.hint else ""
        tally.errors.append(InputProblem(error.where or "", error.args[0] + hint))
    if tally.forgotten:
        skipped = f"skipped {tally.forgotten} message{'' if tally.forgotten == 1 else 's'}"
        message = f"{skipped} that had been forgotten; use 'ingest --again' to import them"
        tally.notes.append(InputProblem("", message, harmless=True))
    if not context.dry_run:
        counts = {name: getattr(tally, name) for name in ("messages", "new", "updated", "duplicates")}
        context.publish(Event("ingested", document.name, {**counts, "errors": len(tally.errors)}))
    return tally


def _yielding_scorer(context: IngestContext) -> ScoreImportance | None:
    score_importance = context.score_importance
    if score_importance is None:
        return None

    def yield_and_score(message: MessageInsert) -> float:
        context.yield_to_queries()
        return score_importance(message)

    return yield_and_score


def _unread_tally(source: sources.UnreadSource) -> FileTally:
    hint = f"; {source.hint}" if source.hint else ""
    errors = [replace(problem, message=problem.message + hint) for problem in source.errors]
    return FileTally(source.path, status=source.status, errors=errors, notes=list(source.notes))


def batches(
    records: Iterable[Record],
    tally: FileTally,
    yield_to_queries: Callable[[], None] = lambda: None,
    is_idle: Callable[[], bool] = lambda: True,
) -> Iterator[MessageBatch]:
    """Yield records as normalized messages, in batches; problems are added to the tally."""
    progress_by_session: dict[str, SessionProgress] = {}
    batch: dict[str, list[MessageInsert]] = {}
    other: list[StateRecord] = []
    participants: dict[str, list[ParticipantRecord]] = {}
    contacts: list[ContactRecord] = []
    count = characters = contact_count = 0
    for record in records:
        yield_to_queries()
        if isinstance(record, InputProblem):
            (tally.notes if record.harmless else tally.errors).append(record)
        elif isinstance(record, SessionRecord):
            if record.key not in progress_by_session:
                progress_by_session[record.key] = start_session(record)
                tally.conversations += 1
        elif isinstance(record, ParticipantRecord):
            participants.setdefault(record.session, []).append(record)
        else:
            if isinstance(record, StateRecord):
                other.append(record)
            elif isinstance(record, ContactRecord):
                contacts.append(record)
                contact_count += 1
            else:
                batch.setdefault(record.session, []).append(normalize(record, progress_by_session[record.session]))
                characters += len(record.text)
            count += 1
            limit = BATCH_MESSAGES if is_idle() else BATCH_MESSAGES_DURING_QUERIES
            if count >= limit or characters >= BATCH_CHARACTERS:
                tally.messages += count - len(other) - len(contacts)
                yield MessageBatch(progress_by_session, batch, other, participants, contacts)
                batch, other, contacts, count, characters = {}, [], [], 0, 0
    tally.messages += count - len(other) - len(contacts)
    if batch or other or contacts:
        yield MessageBatch(progress_by_session, batch, other, participants, contacts)
    if contact_count:
        noun = "contact" if contact_count == 1 else "contacts"
        tally.notes.append(InputProblem("", f"read {contact_count} {noun}, by which people are told", harmless=True))


def store(batch: MessageBatch, document: Document, context: IngestContext, tally: FileTally) -> None:
    """Store one batch in one transaction, so that database, full text and outbox agree even after an interruption."""
    with context.database.write() as tx:
        change, score_importance = BatchChange(), _yielding_scorer(context)
        source: int | None = None
        for key, incoming in batch.messages.items():
            incoming = _without_forgotten(tx, key, batch, context, tally)
            if context.drop_secrets:
                incoming = without_secrets(incoming)
            if not incoming:
                continue
            if source is None:  # the name of a file whose messages were all forgotten is not noted
                source = messages.upsert_source(tx, document.name, tally.format or "", document.size)
            session, is_new = _session(tx, key, batch, incoming, context, tally.format or "")
            messages.link_source(tx, source, session)
            for run in dedup.split_at_edits(incoming):
                context.yield_to_queries()
                found = dedup.compare_with_store(tx, session, run, batch.progress_by_session[key])
                write(tx, session, source, found, change, score_importance, is_new_session=is_new)
                tally.new += len(found.new)
                tally.updated += len(found.changed)
                tally.duplicates += found.unchanged
                is_new = False
            if batch.progress_by_session[key].record.title is None:
                user_texts = (message.text for message in incoming if message.conversational and message.role == "user")
                sessions.set_missing_title(tx, session, user_texts)
            if reported := batch.participants.pop(key, None):
                scope = _owner(batch.progress_by_session[key].record, context)
                format = batch.progress_by_session[key].record.format or tally.format or ""
                profiles.add_participants(tx, scope, format, session, reported)
        if batch.contacts:
            source = source or messages.upsert_source(tx, document.name, tally.format or "", document.size)
            for contact in batch.contacts:
                profiles.add_contact(tx, context.scope, tally.format or "", source, contact)
        tally.chunks += index_changes(tx, change, context)
        for record in batch.state:
            _apply_state(tx, record, context, tally)


def _apply_state(tx: sqlite3.Connection, record: StateRecord, context: IngestContext, tally: FileTally) -> None:
    """Write what an export of this program says besides messages; what can't be written becomes a problem."""
    scope = record.scope if context.keep_owners and record.scope else context.scope
    reason = state_import.apply(tx, scope, record.values)
    if reason is not None:
        kind = record.values["record"]
        tally.errors.append(InputProblem(record.where, f"the record {kind!r} is left out: {reason}"))


def add(
    record: MessageRecord,
    session: int,
    context: IngestContext,
    before: Callable[[sqlite3.Connection], None] = lambda tx: None,
) -> int:
    """Store a single message, or a new form of a stored one.

    Args:
        record: The message. Without a time, a new message gets the current time and comes after all others, whatever
            the clock says; a changed message keeps its time.
        session: The key of its session.
        context: The resources and options.
        before: Called first in the transaction; may raise to refuse the message.

    Returns:
        The key of the message.

    Raises:
        UsageError: The text is not valid Unicode.
    """
    try:
        record.text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"The text is not valid Unicode at character {error.start}.") from error
    external_id = record.external_id or token_hex(8)
    with context.database.write() as tx:
        before(tx)
        known = messages.stored_states(tx, session, [external_id]).get(external_id)
        is_undated = record.sent_at is None
        sent_at: datetime | None = record.sent_at or timestamps.from_microseconds(timestamps.now())
        if known is not None and record.sent_at is None:
            sent_at = datetime.fromisoformat(known.sent_at) if known.sent_at else None
        record = replace(record, external_id=external_id, sent_at=sent_at)
        message = normalize(record, start_session(SessionRecord(record.session)))
        if context.drop_secrets:
            (message,) = without_secrets([message])
        change = BatchChange()
        found = dedup.compare_with_store(tx, session, [message])
        if is_undated and found.new:
            found = replace(found, new=(dedup.place_after(found.new[0], messages.end_order_key(tx, session)),))
        write(tx, session, None, found, change, context.score_importance)
        index_changes(tx, change, context)
        return messages.stored_states(tx, session, [external_id])[external_id].id


def without_secrets(incoming: Sequence[MessageInsert]) -> list[MessageInsert]:
    """Return messages with the secrets of their texts and metadata dropped."""
    found = find_in_texts([part for message in incoming for part in (message.text, message.metadata)])
    kept = list(incoming)
    for number in {place // 2 for place in found}:
        message = kept[number]
        metadata = to_json(drop_secrets(msgspec.json.decode(message.metadata)))
        kept[number] = replace(message, text=drop_secrets(message.text), metadata=metadata)
    return kept


@dataclass(slots=True)
class BatchChange:
    """The messages that a transaction has written and still has to index: in the full text, as chunks, and again
    because they have new neighbours."""

    to_index: set[int] = field(default_factory=set)
    to_chunk: list[ChunkableMessage] = field(default_factory=list)
    neighbours: set[int] = field(default_factory=set)


def write(
    tx: sqlite3.Connection,
    session: int,
    source: int | None,
    found: dedup.DedupResult,
    change: BatchChange,
    score_importance: ScoreImportance | None = None,
    *,
    is_new_session: bool = False,
) -> None:
    """Store new and changed messages of a session, for ``index_changes`` to index.

    Args:
        tx: The transaction.
        session: The key of the session.
        source: The key of the file; None for messages added by hand.
        found: The new and changed messages.
        change: Collects what has to be indexed.
        score_importance: Scores the words of the messages; None to leave that for later.
        is_new_session: Whether the session had no messages before.
    """
    changed = [key for key, _ in found.changed]
    arriving = [*found.new, *(message for _, message in found.changed)]
    affected = (
        set()
        if is_new_session
        else neighbours.affected_neighbours(tx, session, arriving) | neighbours.with_neighbours(tx, changed)
    )
    # Messages that are not in the index yet can't be removed from it.
    lexical.remove_from_index(tx, set(changed) - change.to_index)
    importances = [score_importance(message) if score_importance else None for message in arriving]
    keys = messages.insert(tx, session, source, found.new, importances[: len(found.new)])
    for (key, message), value in zip(found.changed, importances[len(found.new) :], strict=True):
        messages.revise(tx, key, source, message, value)
    chunks.delete(tx, changed)
    change.to_index.update(changed, keys)
    change.neighbours |= affected.difference(changed)
    for key, m, value in zip([*keys, *changed], arriving, importances, strict=True):
        importance = PINNED_IMPORTANCE if m.pinned else DEFAULT_IMPORTANCE if value is None else value
        change.to_chunk.append(ChunkableMessage(key, m.author, m.text, m.conversational, m.order_at, importance))


def index_changes(tx: sqlite3.Connection, change: BatchChange, context: IngestContext) -> int:
    """Add everything written to the full text, the chunks and the outbox; returns the number of new chunks."""
    to_index = sorted(change.to_index)
    for at in range(0, len(to_index), STEP_MESSAGES):
        context.yield_to_queries()
        lexical.add_to_index(tx, to_index[at : at + STEP_MESSAGES])
    # If a message was written twice, its last form counts.
    to_chunk = list({message.id: message for message in change.to_chunk}.values())
    chunks.requeue(tx, change.neighbours.difference(message.id for message in to_chunk))
    generation, chunker = context.target()
    made = 0
    for at in range(0, len(to_chunk), STEP_MESSAGES):
        context.yield_to_queries()
        step = to_chunk[at : at + STEP_MESSAGES]
        made += chunks.insert(tx, generation, [*zip(step, chunker.split(step), strict=True)])
    for at in range(0, len(to_chunk), MARK_STEP_MESSAGES):
        context.yield_to_queries()
        secrets.replace_marks(tx, {message.id: message.text for message in to_chunk[at : at + MARK_STEP_MESSAGES]})
    return made


def _without_forgotten(
    tx: sqlite3.Connection, key: str, batch: MessageBatch, context: IngestContext, tally: FileTally
) -> list[MessageInsert]:
    """The messages of one session in a batch, without erased ones."""
    progress, incoming = batch.progress_by_session[key], batch.messages[key]
    scope, format = _owner(progress.record, context), progress.record.format or tally.format or ""
    session = progress.stored_external_id or progress.record.external_id
    origins = [MessageOrigin(scope.user_id, scope.namespace, format, session, m.external_id) for m in incoming]
    forgotten_ids = tombstones.erased_ids(tx, origins, in_chat=not progress.has_generated_ids)
    if forgotten_ids and context.include_forgotten:
        tombstones.remove(tx, [origin for origin in origins if origin.message in forgotten_ids])
        return incoming
    tally.forgotten += sum(message.external_id in forgotten_ids for message in incoming)
    return [message for message in incoming if message.external_id not in forgotten_ids]


def _owner(record: SessionRecord, context: IngestContext) -> Scope:
    return record.scope if context.keep_owners and record.scope else context.scope


def _session(
    tx: sqlite3.Connection,
    key: str,
    batch: MessageBatch,
    incoming: Sequence[MessageInsert],
    context: IngestContext,
    format: str,
) -> tuple[int, bool]:
    """The session that the messages of one key in a batch belong to, and whether it is new. A chat whose messages have
    no ids is recognised by its first messages if its file has been renamed."""
    progress = batch.progress_by_session[key]
    record = progress.record
    format = record.format or format
    scope = _owner(record, context)
    if progress.has_generated_ids and progress.stored_external_id is None:
        progress.stored_external_id = record.external_id
        first = incoming[: dedup.RECOGNITION_MESSAGES]
        other_ids = {other.record.external_id for other in batch.progress_by_session.values() if other is not progress}
        # Words alone are not enough: many chats begin with "hi". And two chats of one file are never the same.
        if all(message.at is not None for message in first):
            found = sessions.session_holding_most(tx, scope, format, [message.external_id for message in first])
            if found is not None and found[1] == len(first) and found[0] not in other_ids:
                progress.stored_external_id = found[0]
    if progress.stored_external_id is not None and progress.stored_external_id != record.external_id:
        record = replace(record, external_id=progress.stored_external_id, title=None)
    if context.drop_secrets:
        record = replace(record, title=drop_secrets(record.title))
    return sessions.upsert(tx, scope, format, record, context.ttl)

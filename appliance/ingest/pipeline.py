"""Ingestion: source → parse → normalize → dedup → chunk → store, one transaction a batch.

When ``ingest`` has yielded a file, its messages are durable and can be found by their words; then the indexer gives
every chunk its vector and its point.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from secrets import token_hex

from appliance import timestamps
from appliance.errors import InputError, check_unicode
from appliance.formats.base import Document
from appliance.ingest import attached_files, dedup, session_matching, sources
from appliance.ingest.batches import FileTally, MessageBatch, batches
from appliance.ingest.chunk import Chunker
from appliance.ingest.normalize import normalize, start_session
from appliance.ingest.pages import MessagePage, pages, without_secrets
from appliance.ingest.shared_messages import take_out_shared
from appliance.ingest.side_files import SideFiles
from appliance.secrets.personal import SecretSpan
from appliance.store import (
    attachments,
    chunk_spans,
    chunks,
    conversation_time,
    document_updates,
    imports,
    lexical,
    messages,
    neighbours,
    profiles,
    secrets,
    sessions,
    state_import,
    tombstones,
)
from appliance.store.chunks import ChunkableMessage
from appliance.store.database import Database
from appliance.store.messages import MessageInsert
from appliance.store.priority import DEFAULT_IMPORTANCE, PINNED_IMPORTANCE
from appliance.types import Event, InputProblem, MessageRecord, Scope, SessionRecord, StateRecord

STEP_MESSAGES = 10
"""Messages that are indexed and split before queries may run again: a few milliseconds."""

UNSPLIT_STEP_MESSAGES = 50
"""The same for messages that are not split."""

SPLIT_AT_ONCE_BYTES = 1 << 20
"""The long messages of a larger document are stored as one chunk each, and split by the indexer: to count their tokens
takes as long as everything else."""

MARK_STEP_MESSAGES = 100
"""Messages that are searched for secrets in one go, in about a millisecond: most of the time of one is that of the
call."""

CHANGED = "it changed while it was read; ingest it again when its program has finished: only new messages are added"
"""The note on a file that is still being written."""

ScoreImportance = Callable[[MessageInsert], float]
"""Returns the score of a message's words, 0 to 1."""


def pages_here(detected: sources.DetectedDocument, context: IngestContext) -> Iterator[MessagePage]:
    """Yield the pages of a document."""
    document = detected.document
    known = partial(attachments.known_digests, context.database.read(), document.name)
    records = attached_files.with_files(detected.parser.parse(document), document, known)
    return pages(records, context.yield_to_queries)


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
        day_first: Whether the day stands before the month in dates that leave it open; None if nothing was told.
        ttl: The default time to live of local sessions, in seconds; see ``sessions.touch``.
        dry_run: Whether to roll everything back.
        include_forgotten: Whether to store messages that were erased before.
        drop_secrets: Whether to store no keys, tokens, card numbers and passwords.
        progress: Called after each batch with the name of the document and the number of its messages so far.
        score_importance: Scores the words of messages; None to leave that for later.
        yield_to_queries: Called between small steps of reading and storing; waits while queries run.
        is_idle: Returns whether no query runs, so that batches may be large: of ``batch_messages``, or as many as
        usual. publish: Called with an event for each document.
        note_begun: Called first in each transaction that stores messages of a document.
        read_pages: Reads a document; ``pages_here`` or what does the same elsewhere.
        side_files: Collects the files that are read with a document.
        take_in_files: Called when the messages of a document are stored, for the files that are attached to them.
    """

    database: Database
    target: Callable[[], tuple[int, Chunker]]
    scope: Scope
    keep_owners: bool = False
    format: str | None = None
    me: str | None = None
    day_first: bool | None = None
    ttl: int = 0
    dry_run: bool = False
    include_forgotten: bool = False
    drop_secrets: bool = False
    progress: Callable[[str, int], None] = lambda path, messages: None
    score_importance: ScoreImportance | None = None
    yield_to_queries: Callable[[], None] = lambda: None
    is_idle: Callable[[], bool] = lambda: True
    batch_messages: int = 0
    publish: Callable[[Event], None] = lambda event: None
    note_begun: Callable[[sqlite3.Connection], None] = lambda tx: None
    read_pages: Callable[[sources.DetectedDocument, IngestContext], Iterator[MessagePage]] = pages_here
    side_files: SideFiles = field(default_factory=SideFiles)
    take_in_files: Callable[[Document, IngestContext, FileTally], None] = lambda document, context, tally: None


def ingest(paths: Sequence[Path], context: IngestContext, within: Path | None = None) -> Iterator[FileTally]:
    """Ingest files, folders and zips, and yield the result of each file, in order.

    A file or a record that can't be read does not affect the others.

    Args:
        paths: The paths to read.
        context: The resources and options.
        within: The watched folder in which the paths were found; None if the user named them.
    """
    for source in sources.detect_documents(paths, context.format, context.me, within, context.side_files):
        if isinstance(source, sources.UnreadSource):
            yield _unread_tally(source)
        else:
            yield ingest_document(replace(source, document=source.document.told(context.day_first)), context)


def ingest_document(detected: sources.DetectedDocument, context: IngestContext) -> FileTally:
    """Ingest one document as a stream, one transaction a batch."""
    document = detected.document
    tally = FileTally(document.name, detected.format)
    context.side_files.formats[document.name] = detected.format
    before = sources.stamp(document)
    try:
        with context.database.dry_run() if context.dry_run else nullcontext():
            is_whole = True
            for batch in batches(context.read_pages(detected, context), tally, context.is_idle, context.batch_messages):
                store(batch, document, context, tally)
                is_whole = batch.is_whole
                context.progress(document.name, tally.messages)
            if not (is_whole or tally.errors):  # that a full batch was the last one shows afterwards
                with context.database.write() as tx:
                    imports.finish_source(tx, document.name)
    except InputError as error:
        hint = f"; {error.hint}" if error.hint else ""
        tally.errors.append(InputProblem(error.where or "", error.args[0] + hint))
    if before != (after := sources.stamp(document)):
        message = CHANGED if after is not None else "it was moved or deleted while it was read"
        tally.notes.append(InputProblem("", message, harmless=True))
    if not context.dry_run:
        context.take_in_files(document, context, tally)
        counts = {name: getattr(tally, name) for name in ("messages", "new", "updated", "duplicates")}
        context.publish(Event("ingested", document.name, {**counts, "errors": len(tally.errors)}))
    if tally.forgotten:
        skipped = f"skipped {tally.forgotten} message{'' if tally.forgotten == 1 else 's'}"
        message = f"{skipped} that had been forgotten or deleted; use 'ingest --again' to import them"
        tally.notes.append(InputProblem("", message, harmless=True))
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


def store(batch: MessageBatch, document: Document, context: IngestContext, tally: FileTally) -> None:
    """Store one batch in one transaction, so that database, full text and outbox agree even after an interruption."""
    with context.database.write() as tx:
        context.note_begun(tx)
        change, score_importance = BatchChange(), _yielding_scorer(context)
        source: int | None = None
        may_be_forgotten = tombstones.exist(tx)
        for key in batch.messages:
            incoming = _accepted(tx, key, batch, context, tally, may_be_forgotten=may_be_forgotten)
            if not incoming:
                continue
            if source is None:  # the name of a file whose messages were all forgotten is not noted
                source = imports.upsert_source(tx, document.name, tally.format or "", document.size)
            _store_session(tx, key, batch, incoming, source, context, tally, change, score_importance)
        if batch.contacts:
            source = source or imports.upsert_source(tx, document.name, tally.format or "", document.size)
            for contact in batch.contacts:
                profiles.add_contact(tx, context.scope, tally.format or "", source, contact)
        is_split = document.size <= SPLIT_AT_ONCE_BYTES or context.dry_run
        made = index_changes(tx, change, context, split=is_split)
        if is_split:
            tally.chunks += made
        else:
            tally.unsplit.extend(change.written)
        for record in batch.state:
            _apply_state(tx, record, context, tally)
        if batch.is_whole and not tally.errors:
            imports.finish_source(tx, document.name)


def _accepted(
    tx: sqlite3.Connection,
    key: str,
    batch: MessageBatch,
    context: IngestContext,
    tally: FileTally,
    *,
    may_be_forgotten: bool,
) -> list[MessageInsert]:
    """The messages of one session in a batch that are to be stored: without erased ones and unwanted secrets, and with
    the ids under which they are known."""
    incoming = batch.messages[key]
    if may_be_forgotten:
        incoming = session_matching.without_forgotten(tx, key, batch, context, tally)
    if context.drop_secrets and any(message.secrets is None for message in incoming):
        incoming = without_secrets(incoming)
    return session_matching.with_known_ids(tx, key, batch, incoming, context, tally)


def _store_session(
    tx: sqlite3.Connection,
    key: str,
    batch: MessageBatch,
    incoming: list[MessageInsert],
    source: int,
    context: IngestContext,
    tally: FileTally,
    change: BatchChange,
    score_importance: ScoreImportance | None,
) -> None:
    """Store the messages of one session in a batch, and what the document says of the session itself."""
    session, is_new = session_matching.upsert_session(tx, key, batch, incoming, context, tally.format or "", source)
    imports.link_source(tx, source, session)
    tally.sessions.add(session)
    user_texts = [message.text for message in incoming if message.conversational and message.role == "user"]
    progress = batch.progress_by_session[key]
    if progress.record.has_global_ids:
        incoming, left_out = take_out_shared(tx, source, session, incoming)
        tally.duplicates += left_out
    runs = list(dedup.split_at_edits(incoming))
    for number, run in enumerate(runs, 1):
        context.yield_to_queries()
        is_end = batch.is_end and number == len(runs)
        found = dedup.compare_with_store(tx, session, run, progress, is_new_session=is_new, is_end=is_end)
        conversation_time.set_times(
            tx, [(key, m.sent_at, m.at, m.metadata) for key, m in found.dated if m.sent_at and m.at is not None]
        )
        write(tx, session, source, found, change, score_importance, is_new_session=is_new)
        edited = [key for key, _ in (*found.changed, *found.dated)]
        change.written |= {page.id: page for page in document_updates.follow(tx, edited)} if edited else {}
        tally.new += len(found.new)
        tally.updated += len(found.changed)
        tally.duplicates += found.unchanged
        is_new = False
    if files := batch.files.get(key):
        attachments.note_files(tx, session, source, files)
    if progress.record.title is None:
        title = session_matching.people_title(incoming, context)
        sessions.set_missing_title(tx, session, user_texts, title)
    if reported := batch.participants.pop(key, None):
        owner = session_matching.owner_of(progress.record, context)
        profiles.add_participants(tx, owner, progress.record.format or tally.format or "", session, reported)


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
    check_unicode(record.text, "The text")
    external_id = record.external_id or token_hex(8)
    with context.database.write() as tx:
        before(tx)
        known = messages.stored_states(tx, session, [external_id]).get(external_id)
        is_undated = record.sent_at is None
        sent_at: datetime | None = record.sent_at or timestamps.from_microseconds(timestamps.now())
        if known is not None and record.sent_at is None:
            sent_at = datetime.fromisoformat(known.sent_at) if known.sent_at else None
            if sent_at is not None and conversation_time.is_marked(known.metadata):
                metadata = dict(record.metadata)
                conversation_time.mark(metadata, sent_at)
                record = replace(record, metadata=metadata)
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


@dataclass(slots=True)
class BatchChange:
    """What a transaction still has to index: the messages that it has written, by key and in their last form, and those
    that have new neighbours."""

    written: dict[int, ChunkableMessage] = field(default_factory=dict)
    secrets: dict[int, Sequence[SecretSpan]] = field(default_factory=dict)
    """The secrets of those messages in which they were looked for already."""
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
    if changed:
        # Messages that are not in the index yet can't be removed from it.
        lexical.remove_from_index(tx, set(changed) - change.written.keys())
        chunks.delete(tx, changed)
    importances = [
        message.importance if message.importance is not None or not score_importance else score_importance(message)
        for message in arriving
    ]
    keys = messages.insert(tx, session, source, found.new, importances[: len(found.new)])
    for (key, message), value in zip(found.changed, importances[len(found.new) :], strict=True):
        messages.revise(tx, key, source, message, value)
    change.neighbours |= affected.difference(changed)
    for key, m, value in zip([*keys, *changed], arriving, importances, strict=True):
        importance = PINNED_IMPORTANCE if m.pinned else DEFAULT_IMPORTANCE if value is None else value
        change.written[key] = ChunkableMessage(
            key, m.author, m.text, m.conversational, m.order_at, importance, m.digest
        )
        change.secrets.pop(key, None)
        if m.secrets is not None:
            change.secrets[key] = m.secrets


def index_changes(tx: sqlite3.Connection, change: BatchChange, context: IngestContext, *, split: bool = True) -> int:
    """Add everything written to the full text, the chunks and the outbox; returns the number of new chunks. Without
    ``split``, each message is one chunk for now."""
    written = [change.written[key] for key in sorted(change.written)]
    chunks.requeue(tx, change.neighbours.difference(change.written))
    generation, chunker = context.target()
    made = 0
    step_messages = STEP_MESSAGES if split else UNSPLIT_STEP_MESSAGES
    for at in range(0, len(written), step_messages):
        context.yield_to_queries()
        step = written[at : at + step_messages]
        lexical.add_texts(tx, ((message.id, message.text) for message in step))
        spans = chunker.split(step) if split else map(chunk_spans.whole, step)
        made += chunks.insert(tx, generation, [*zip(step, spans, strict=True)])
    for at in range(0, len(written), MARK_STEP_MESSAGES):
        context.yield_to_queries()
        step = written[at : at + MARK_STEP_MESSAGES]
        found = {message.id: change.secrets[message.id] for message in step if message.id in change.secrets}
        secrets.replace_found(tx, found)
        if unsearched := {message.id: message.text for message in step if message.id not in found}:
            secrets.replace_marks(tx, unsearched)
    return made

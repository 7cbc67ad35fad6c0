"""Attached files after their messages: their text becomes messages, and copies of them go into the home.

``take_in`` does so for the files of a document that was just ingested, ``read_due`` for those that are left: of an
earlier version of this program, of an interrupted ingest, or for which a library was not installed.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from appliance.formats import documents as formats
from appliance.formats.base import Document
from appliance.formats.documents import EXTRA_HINT, DocumentKind
from appliance.formats.text import READ_ERRORS
from appliance.ingest import attached_files, dedup
from appliance.ingest.batches import FileTally
from appliance.ingest.document_reader import MAX_BYTES, DocumentReader, ReadDocument
from appliance.ingest.pages import without_secrets
from appliance.ingest.pipeline import SPLIT_AT_ONCE_BYTES, BatchChange, IngestContext, index_changes, write
from appliance.lazy_dataclasses import dataclass
from appliance.store import conversation_time, documents, kept_files, messages, tombstones
from appliance.store.database import Database
from appliance.store.documents import TextState, UnreadAttachment
from appliance.store.messages import MessageInsert, MessageRow
from appliance.store.sql import PAGE_ROWS, from_json, to_json
from appliance.types import DocumentPage, InputProblem, PageText
from appliance.types.documents import DOCUMENT

PAGES_A_TRANSACTION = 500
CHARACTERS_A_TRANSACTION = 2_000_000
"""A transaction ends with the page that reaches one of these limits."""

ID_CHARACTERS = 16
"""Characters of a file's digest in the ids of its pages."""

OpenFile = Callable[[], AbstractContextManager[BinaryIO]]


@dataclass(frozen=True, slots=True)
class AttachmentOptions:
    """``folder`` is that of the copies in the home; ``keep`` says whether an ingest makes some, ``read`` whether the
    texts of documents are read."""

    folder: Path
    keep: bool = False
    read: bool = True


def take_in(document: Document, context: IngestContext, tally: FileTally, options: AttachmentOptions) -> None:
    """Read the texts of the files that are attached to a document's messages, and keep copies of the files. What can't
    be read or copied is noted; its message stays as it is."""
    row = context.database.read().execute("SELECT id FROM source WHERE path = ?", (document.name,)).fetchone()
    if row is None:
        return
    (source,) = row
    if options.read:
        _read_beside(source, document, context, tally)
    if options.keep:
        _keep_beside(source, document, context, tally, options)


def _read_beside(source: int, document: Document, context: IngestContext, tally: FileTally) -> None:
    readable = formats.readable_kinds()
    lacking: Counter[str] = Counter()
    with DocumentReader() as reader, _UnreadNotes(context) as unread:
        again = context.include_forgotten
        for attachment in documents.unread(context.database.read(), source=source, again=again):
            context.yield_to_queries()
            kind = formats.kind_of(attachment.path, attachment.type)
            if kind is not None and kind not in readable:
                lacking[kind] += 1
            found = document.context.find(attachment.path)
            open_file = None if found is None else found.open
            if (why := _unread_state(attachment, kind, readable, open_file)) or kind is None or open_file is None:
                unread.add(attachment, why)
                continue
            read = _read(attachment, kind, reader, open_file, context, tally)
            if read.problem:
                message = f"{_extent(read)}: {read.problem}"
                tally.notes.append(InputProblem(attachment.path, message, harmless=True))
    if lacking:
        count = lacking.total()
        kinds = ", ".join(sorted(lacking))
        tally.notes.append(
            InputProblem(
                "",
                f"the text of {count} attached {'document' if count == 1 else 'documents'} ({kinds}) can't be searched;"
                f" {EXTRA_HINT} installs what reads it, then ingest again",
                harmless=True,
            )
        )


def _extent(read: ReadDocument) -> str:
    pages = "1 page" if len(read.pages) == 1 else f"{len(read.pages):,} pages"
    return f"only {pages} of its text can be searched" if read.pages else "its text can't be searched"


def read_due(
    database: Database,
    make_context: Callable[[], IngestContext],
    options: AttachmentOptions,
    should_continue: Callable[[], bool],
) -> int:
    """Read the texts of attachments that were not looked for yet, where their files are. Returns how many there were.
    ``make_context`` is called if there are any."""
    due = _due(database)
    attachment = next(due, None)
    if attachment is None:
        return 0
    context, readable, done = make_context(), formats.readable_kinds(), 0
    with DocumentReader() as reader, _UnreadNotes(context) as unread:
        while attachment is not None and should_continue():
            context.yield_to_queries()
            kind = formats.kind_of(attachment.path, attachment.type)
            open_file = _opener(attachment, options.folder)
            if (why := _unread_state(attachment, kind, readable, open_file)) or kind is None or open_file is None:
                unread.add(attachment, why)
            else:
                _read(attachment, kind, reader, open_file, context, FileTally(""))
            done += 1
            attachment = next(due, None)
    return done


def _due(database: Database) -> Iterator[UnreadAttachment]:
    after = (0, -1)
    while found := documents.unread(database.read(), after=after, limit=PAGE_ROWS):
        yield from found
        after = (found[-1].message, found[-1].number)


def _opener(attachment: UnreadAttachment, folder: Path) -> OpenFile | None:
    """What opens the file of an attachment: its copy in the home, else where its export is; None if it is gone."""
    if attachment.kept and attachment.digest is not None:
        copy = kept_files.path_of(folder, attachment.digest)
        if copy.is_file():
            return lambda: copy.open("rb")
    return None if attachment.source is None else attached_files.opener(attachment.source, attachment.path)


def _unread_state(
    attachment: UnreadAttachment,
    kind: DocumentKind | None,
    readable: Collection[DocumentKind],
    open_file: OpenFile | None,
) -> TextState | None:
    """Why an attachment is not read now; None if it is."""
    if kind is None:
        return "none"
    if kind not in readable:
        return "unavailable"
    # Of one without a digest, an ingest has read too much already: the next one goes on.
    is_due = attachment.digest is not None or attachment.size > MAX_BYTES
    return None if open_file is not None and is_due else "missing"


class _UnreadNotes:
    """Notes why attachments were not read, many in a transaction: a chat may have a hundred thousand pictures. To be
    used in a ``with`` statement."""

    def __init__(self, context: IngestContext) -> None:
        self._database = context.database
        self._notes: list[tuple[UnreadAttachment, TextState]] = []

    def __enter__(self) -> _UnreadNotes:
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def add(self, attachment: UnreadAttachment, state: TextState | None) -> None:
        self._notes.append((attachment, state or "none"))
        if len(self._notes) >= PAGE_ROWS:
            self._write()

    def _write(self) -> None:
        notes, self._notes = self._notes, []
        if notes:
            with self._database.write() as tx:
                for attachment, state in notes:
                    documents.note(tx, attachment, state)


def _read(
    attachment: UnreadAttachment,
    kind: DocumentKind,
    reader: DocumentReader,
    open_file: OpenFile,
    context: IngestContext,
    tally: FileTally,
) -> ReadDocument:
    """Read the text of an attachment, store its pages, and note what became of it. Returns what was read."""
    read = reader.read(kind, attachment.size, open_file)
    if not read.pages and not read.problem:
        read = replace(read, problem="it has no text; it may be a scan" if kind == "pdf" else "it has no text")
    if read.pages:
        _store(attachment, read, context, tally)
        tally.documents += 1
        tally.pages += len(read.pages)
    else:
        with context.database.write() as tx:
            documents.note(tx, attachment, "failed" if read.is_lasting else "missing", problem=read.problem)
    return read


def _store(attachment: UnreadAttachment, read: ReadDocument, context: IngestContext, tally: FileTally) -> None:
    """Store the pages of a document as messages, behind the one that carries it. Those that are known stay."""
    for number, pages, is_last in _steps(read.pages):
        with context.database.write() as tx:
            parent = messages.get(tx, [attachment.message]).get(attachment.message)
            if parent is None:
                return  # it was deleted meanwhile
            incoming = [_message(parent, attachment, page, at) for at, page in enumerate(pages, number)]
            incoming = _without_forgotten(tx, parent, incoming, context)
            if context.drop_secrets:
                incoming = without_secrets(incoming)
            change = BatchChange()
            found = _compare(tx, parent, incoming)
            write(tx, parent.session_id, parent.source_id, found, change, context.score_importance)
            is_split = sum(len(message.text) for message in incoming) <= SPLIT_AT_ONCE_BYTES
            made = index_changes(tx, change, context, split=is_split)
            if is_split:
                tally.chunks += made
            else:
                tally.unsplit.extend(change.written)
            if is_last:
                state: TextState = "partial" if read.problem else "read"
                documents.note(tx, attachment, state, len(read.pages), read.problem)


def _steps(pages: Sequence[PageText]) -> Iterator[tuple[int, Sequence[PageText], bool]]:
    """The pages of each transaction, with the number of the first of them, and whether they are the last."""
    start = characters = 0
    for end, page in enumerate(pages, 1):
        characters += len(page.text)
        if end == len(pages) or end - start >= PAGES_A_TRANSACTION or characters >= CHARACTERS_A_TRANSACTION:
            yield start + 1, pages[start:end], end == len(pages)
            start, characters = end, 0


def _message(parent: MessageRow, attachment: UnreadAttachment, page: PageText, number: int) -> MessageInsert:
    """A page as a message: at the place, of the time and by the author of the one that carries the document."""
    digest = attachment.digest or ""
    document = DocumentPage(attachment.name, page.place, number, parent.external_id, digest)
    of_parent = from_json(parent.metadata)
    times = {key: of_parent[key] for key in (conversation_time.KEY, "timezone") if key in of_parent}
    return MessageInsert(
        external_id=f"{parent.external_id}#{digest[:ID_CHARACTERS]}.{number}",
        position=parent.position,
        order_at=parent.order_at,
        sent_at=parent.sent_at,
        at=parent.at,
        role="system",
        author=parent.author,
        text=page.text,
        conversational=False,
        reply_to=None,
        metadata=to_json({**times, DOCUMENT: document.metadata()}),
    )


def _compare(tx: sqlite3.Connection, parent: MessageRow, incoming: Sequence[MessageInsert]) -> dedup.DedupResult:
    """Which pages are new, changed or known. All are at the place of their message, behind it by their keys."""
    stored = messages.stored_states(tx, parent.session_id, [message.external_id for message in incoming])
    new = tuple(message for message in incoming if message.external_id not in stored)
    changed = tuple(
        (stored[message.external_id].id, message)
        for message in incoming
        if message.external_id in stored and dedup.differs(stored[message.external_id], message)
    )
    return dedup.DedupResult(new, changed, len(incoming) - len(new) - len(changed))


def _without_forgotten(
    tx: sqlite3.Connection, parent: MessageRow, incoming: list[MessageInsert], context: IngestContext
) -> list[MessageInsert]:
    """The pages that were not erased before."""
    (of_parent,) = tombstones.origins(tx, [parent.id])
    origins = [replace(of_parent, message=message.external_id) for message in incoming]
    erased = tombstones.erased_ids(tx, origins, in_chat=True)
    if erased and context.include_forgotten:
        tombstones.remove(tx, [origin for origin in origins if origin.message in erased])
        return incoming
    return [message for message in incoming if message.external_id not in erased]


# --- copies ---------------------------------------------------------------------------------------------


def _keep_beside(
    source: int, document: Document, context: IngestContext, tally: FileTally, options: AttachmentOptions
) -> None:
    for attachment, path in kept_files.unkept(context.database.read(), source, again=context.include_forgotten):
        context.yield_to_queries()
        found = document.context.find(path)
        if found is None:
            continue
        try:
            kept_files.keep(context.database, options.folder, attachment, found.open)
        except READ_ERRORS as error:
            tally.notes.append(InputProblem(path, f"no copy was kept: {error}", harmless=True))
            continue
        tally.kept += 1

"""The way in: source → parse → normalise → dedup → chunk → store, a batch a transaction; then embed.

``ingest`` reads top to bottom. What it returns is durable and can be found by its words; ``embed.drain``
then gives every chunk its vector and its point.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from appliance import moments
from appliance.errors import InputError, UsageError
from appliance.ingest import dedup, sources
from appliance.ingest.chunk import Chunker
from appliance.ingest.normalise import Course, begin, normalise
from appliance.ingest.parse.base import Document
from appliance.store import chunks, forgotten, lexical, messages, neighbours, sessions
from appliance.store.chunks import Chunkable
from appliance.store.database import Database
from appliance.store.forgotten import Origin
from appliance.store.messages import NewMessage
from appliance.store.priority import PINNED, UNWEIGHED
from appliance.types import (
    Event,
    FileReport,
    FileStatus,
    MessageRecord,
    Problem,
    Record,
    Scope,
    SessionRecord,
)

BATCH_MESSAGES = 1_000
BATCH_CHARACTERS = 4_000_000
"""A batch ends at whichever comes first: one commit costs a disk flush, and memory is bounded by it."""


BATCH_BESIDE_QUESTIONS = 100
"""Messages a batch while somebody asks: whoever has something to say waits for the batch under way, which makes way."""

STEP = 10
"""Messages that are stored, entered into the full text or chunked before questions may go first again: some
milliseconds."""

Weigh = Callable[[NewMessage], float]
"""Says what a message's words are worth, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Intake:
    """What an ingest writes into, and for whom.

    ``target`` gives the generation that serves and how to chunk for it; it is asked in each transaction,
    because a rebuild may put another in its place between two. ``keep_owners`` leaves what an export of
    ours says of its owners to them; else everything becomes ``scope``'s. ``me`` is what the person is called
    where a format only says "me". ``ttl`` is that of conversations which were made here, see ``sessions.touch``.
    ``again`` takes in what was forgotten before. ``weigh`` says what a message's words are worth; without it that is
    left for later. ``make_way`` lets questions go first: it is called between small steps of reading and storing;
    ``is_calm`` says whether nobody asks, so that batches may be large. ``tell`` is told of each file.
    """

    database: Database
    target: Callable[[], tuple[int, Chunker]]
    scope: Scope
    keep_owners: bool = False
    format: str | None = None
    me: str | None = None
    ttl: int = 0
    dry_run: bool = False
    again: bool = False
    progress: Callable[[str, int], None] = lambda path, messages: None
    weigh: Weigh | None = None
    make_way: Callable[[], None] = lambda: None
    is_calm: Callable[[], bool] = lambda: True
    tell: Callable[[Event], None] = lambda event: None


@dataclass(slots=True)
class Tally:
    """One file's counts as they grow; ``report`` freezes them."""

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
    errors: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)

    def report(self) -> FileReport:
        return FileReport(
            path=self.path,
            format=self.format,
            status=self.status or ("ok" if not self.errors else "partial" if self.messages else "failed"),
            conversations=self.conversations,
            messages=self.messages,
            new=self.new,
            updated=self.updated,
            duplicates=self.duplicates,
            errors=tuple(self.errors),
            notes=tuple(self.notes),
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages on their way into one transaction, by session, in the order of the file."""

    courses: dict[str, Course]
    messages: dict[str, list[NewMessage]]


def ingest(paths: Sequence[Path], intake: Intake, within: Path | None = None) -> Iterator[Tally]:
    """Read files, folders and zips; yields what became of each file, in their order. ``within`` is the folder
    that they were found in, if nobody named them.

    A file that can't be read costs only itself, and a record that can't be read costs only itself.
    """
    for found in sources.recognise(paths, intake.format, intake.me, within):
        if isinstance(found, sources.PassedOver):
            yield _passed_over(found)
        else:
            yield ingest_document(found, intake)


def ingest_document(found: sources.Recognised, intake: Intake) -> Tally:
    """One document, streamed, a transaction a batch."""
    tally = Tally(found.document.name, found.format)
    try:
        with intake.database.trial() if intake.dry_run else nullcontext():
            for batch in batches(found.parser.parse(found.document), tally, intake.make_way, intake.is_calm):
                store(batch, found.document, intake, tally)
                intake.progress(found.document.name, tally.messages)
    except InputError as error:
        hint = f"; {error.hint}" if error.hint else ""
        tally.errors.append(Problem(error.where or "", error.args[0] + hint))
    if tally.forgotten:
        words = f"forgotten before, and left out: {tally.forgotten}; 'ingest --again' takes them in"
        tally.notes.append(Problem("", words, harmless=True))
    if not intake.dry_run:
        intake.tell(Event("ingested", found.document.name, _counts(tally)))
    return tally


def _counts(tally: Tally) -> dict[str, int]:
    return {
        "messages": tally.messages,
        "new": tally.new,
        "updated": tally.updated,
        "duplicates": tally.duplicates,
        "errors": len(tally.errors),
    }


def _politely_weighed(intake: Intake) -> Weigh | None:
    weigh = intake.weigh
    if weigh is None:
        return None

    def weighed(message: NewMessage) -> float:
        intake.make_way()
        return weigh(message)

    return weighed


def _passed_over(found: sources.PassedOver) -> Tally:
    hint = f"; {found.hint}" if found.hint else ""
    errors = [replace(problem, message=problem.message + hint) for problem in found.errors]
    return Tally(found.path, status=found.status, errors=errors, notes=list(found.notes))


def batches(
    records: Iterable[Record],
    tally: Tally,
    make_way: Callable[[], None] = lambda: None,
    is_calm: Callable[[], bool] = lambda: True,
) -> Iterator[Batch]:
    """The records as normalised messages, in batches; problems go to the tally."""
    courses: dict[str, Course] = {}
    batch: dict[str, list[NewMessage]] = {}
    count = characters = 0
    for record in records:
        make_way()
        if isinstance(record, Problem):
            (tally.notes if record.harmless else tally.errors).append(record)
        elif isinstance(record, SessionRecord):
            if record.key not in courses:
                courses[record.key] = begin(record)
                tally.conversations += 1
        else:
            batch.setdefault(record.session, []).append(normalise(record, courses[record.session]))
            count, characters = count + 1, characters + len(record.text)
            most = BATCH_MESSAGES if is_calm() else BATCH_BESIDE_QUESTIONS
            if count >= most or characters >= BATCH_CHARACTERS:
                tally.messages += count
                yield Batch(courses, batch)
                batch, count, characters = {}, 0, 0
    tally.messages += count
    if batch:
        yield Batch(courses, batch)


def store(batch: Batch, document: Document, intake: Intake, tally: Tally) -> None:
    """One batch, in one transaction: truth, full text and outbox agree whenever it is interrupted."""
    with intake.database.write() as tx:
        source = messages.enter_source(tx, document.name, tally.format or "", document.size)
        change, weigh = Change(), _politely_weighed(intake)
        for key, incoming in batch.messages.items():
            incoming = _not_forgotten(tx, key, batch, intake, tally)
            if not incoming:
                continue
            session, is_new = _session(tx, key, batch, incoming, intake, tally.format or "")
            for stretch in dedup.stretches(incoming):
                intake.make_way()
                found = dedup.sort_out(tx, session, stretch, batch.courses[key])
                write(tx, session, source, found, change, weigh, alone=is_new)
                tally.new += len(found.new)
                tally.updated += len(found.changed)
                tally.duplicates += found.same
                is_new = False
            if batch.courses[key].record.title is None:
                said = (message.text for message in incoming if message.talk and message.role == "user")
                sessions.entitle(tx, session, said)
        tally.chunks += finish(tx, change, intake)


def add(
    record: MessageRecord,
    session: int,
    intake: Intake,
    before: Callable[[sqlite3.Connection], None] = lambda tx: None,
) -> int:
    """One message by hand, or another form of one that is there; its key. Without a time, a new message is of
    now and stands behind all others, whatever the clock says; a changed one keeps its own. ``before`` is called
    first in the transaction, and may refuse.

    Raises:
        UsageError: the text is not valid Unicode.
    """
    try:
        record.text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"the text is not valid Unicode at character {error.start}") from error
    external_id = record.external_id or secrets.token_hex(8)
    with intake.database.write() as tx:
        before(tx)
        known = messages.known(tx, session, [external_id]).get(external_id)
        said_now = record.sent_at is None
        sent_at: datetime | None = record.sent_at or moments.moment(moments.now())
        if known is not None and record.sent_at is None:
            sent_at = datetime.fromisoformat(known.sent_at) if known.sent_at else None
        record = replace(record, external_id=external_id, sent_at=sent_at)
        message = normalise(record, begin(SessionRecord(record.session)))
        change = Change()
        found = dedup.sort_out(tx, session, [message])
        if said_now and found.new:
            found = replace(found, new=(dedup.behind(found.new[0], messages.end(tx, session)),))
        write(tx, session, None, found, change, intake.weigh)
        finish(tx, change, intake)
        return messages.known(tx, session, [external_id])[external_id].id


@dataclass(slots=True)
class Change:
    """What a transaction has written and still has to index, all at once: messages to enter into the full
    text, to chunk, and to queue again because what stands beside them changed."""

    entering: set[int] = field(default_factory=set)
    written: list[Chunkable] = field(default_factory=list)
    beside: set[int] = field(default_factory=set)


def write(
    tx: sqlite3.Connection,
    session: int,
    source: int | None,
    found: dedup.Sorted,
    change: Change,
    weigh: Weigh | None = None,
    *,
    alone: bool = False,
) -> None:
    """Store new and changed messages of a session; ``finish`` then indexes them. ``alone`` says that the
    session had no messages before."""
    changed = [key for key, _ in found.changed]
    arriving = [*found.new, *(message for _, message in found.changed)]
    touched = set() if alone else neighbours.around(tx, session, arriving) | neighbours.beside(tx, changed)
    # What has not been entered yet can't be withdrawn.
    lexical.withdraw(tx, set(changed) - change.entering)
    worth = [weigh(message) if weigh else None for message in arriving]
    keys = messages.insert(tx, session, source, found.new, worth[: len(found.new)])
    for (key, message), value in zip(found.changed, worth[len(found.new) :], strict=True):
        messages.revise(tx, key, source, message, value)
    chunks.drop(tx, changed)
    change.entering.update(changed, keys)
    change.beside |= touched.difference(changed)
    change.written += [
        Chunkable(
            key,
            message.author,
            message.text,
            message.talk,
            message.order_at,
            PINNED if message.pinned else UNWEIGHED if value is None else value,
        )
        for key, message, value in zip([*keys, *changed], arriving, worth, strict=True)
    ]


def finish(tx: sqlite3.Connection, change: Change, intake: Intake) -> int:
    """Full text, chunks and outbox entries of all that was written; how many chunks were made."""
    entering = sorted(change.entering)
    for at in range(0, len(entering), STEP):
        intake.make_way()
        lexical.enter(tx, entering[at : at + STEP])
    # Of a message that was written twice the last form counts.
    written = list({message.id: message for message in change.written}.values())
    chunks.requeue(tx, change.beside.difference(message.id for message in written))
    generation, chunker = intake.target()
    made = 0
    for at in range(0, len(written), STEP):
        intake.make_way()
        some = written[at : at + STEP]
        made += chunks.put(tx, generation, [*zip(some, chunker.split(some), strict=True)])
    return made


def _not_forgotten(
    tx: sqlite3.Connection, key: str, batch: Batch, intake: Intake, tally: Tally
) -> list[NewMessage]:
    """A batch's messages of one session but for those that were erased for good."""
    course, incoming = batch.courses[key], batch.messages[key]
    scope, format = _owner(course.record, intake), course.record.format or tally.format or ""
    session = course.stored_as or course.record.external_id
    origins = [Origin(scope.user_id, scope.namespace, format, session, m.external_id) for m in incoming]
    gone = forgotten.known(tx, origins, in_chat=not course.made_ids)
    if gone and intake.again:
        forgotten.take_back(tx, [origin for origin in origins if origin.message in gone])
        return incoming
    tally.forgotten += sum(message.external_id in gone for message in incoming)
    return [message for message in incoming if message.external_id not in gone]


def _owner(record: SessionRecord, intake: Intake) -> Scope:
    return record.scope if intake.keep_owners and record.scope else intake.scope


def _session(
    tx: sqlite3.Connection,
    key: str,
    batch: Batch,
    incoming: Sequence[NewMessage],
    intake: Intake,
    format: str,
) -> tuple[int, bool]:
    """The session that a batch's messages of one key belong to. A chat without ids of its own is recognised
    by its first messages when its file has got another name."""
    course = batch.courses[key]
    record = course.record
    format = record.format or format
    scope = _owner(record, intake)
    if course.made_ids and course.stored_as is None:
        course.stored_as = record.external_id
        first = incoming[: dedup.RECOGNISE]
        beside = {other.record.external_id for other in batch.courses.values() if other is not course}
        # Words alone don't tell: many chats begin with "hi". Nor are two chats of one file the same.
        if all(message.at is not None for message in first):
            found = sessions.holding(tx, scope, format, [message.external_id for message in first])
            if found is not None and found[1] == len(first) and found[0] not in beside:
                course.stored_as = found[0]
    if course.stored_as is not None and course.stored_as != record.external_id:
        record = replace(record, external_id=course.stored_as, title=None)
    return sessions.enter(tx, scope, format, record, intake.ttl)

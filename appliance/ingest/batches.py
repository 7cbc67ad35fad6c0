"""The pages of a document as batches, each of which one transaction stores, and the growing counts of the document."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from appliance.errors import InputError
from appliance.ingest.normalize import SessionProgress, start_session
from appliance.ingest.pages import MessagePage
from appliance.store.messages import MessageInsert
from appliance.types import (
    AttachedFile,
    ContactRecord,
    FileReport,
    FileStatus,
    InputProblem,
    ParticipantRecord,
    StateRecord,
)

BATCH_MESSAGES = 4_000
BATCH_CHARACTERS = 8_000_000
"""A batch ends with the page that reaches one of these two limits, or with the next page while queries run: another
writer has to wait for the whole batch, which yields to queries. Each commit costs a disk flush and a segment of the
full text, and a batch is held in memory."""

CHARACTERS_A_MESSAGE = BATCH_CHARACTERS // BATCH_MESSAGES
"""The second limit of a batch, for each message of another first one."""


@dataclass(slots=True)
class FileTally:
    """The growing counts of one file; ``report`` gives the final ones. ``unsplit`` are the written messages that the
    indexer still has to split, and that ``chunks`` does not count; ``sessions`` are the stored sessions of which the
    file has messages."""

    path: str
    format: str | None = None
    conversations: int = 0
    sessions: set[int] = field(default_factory=set)
    messages: int = 0
    new: int = 0
    updated: int = 0
    duplicates: int = 0
    chunks: int = 0
    unsplit: array[int] = field(default_factory=lambda: array("q"))
    forgotten: int = 0
    documents: int = 0
    pages: int = 0
    kept: int = 0
    status: FileStatus | None = None
    errors: list[InputProblem] = field(default_factory=list)
    notes: list[InputProblem] = field(default_factory=list)

    def report(self) -> FileReport:
        status = self.status or ("ok" if not self.errors else "partial" if self.messages else "failed")
        return FileReport(
            self.path, self.format, status, self.conversations, self.messages, self.new, self.updated,
            self.duplicates, tuple(self.errors), tuple(self.notes), self.documents, self.pages, self.kept,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """The messages of one transaction by session, in the order of the file, and what else comes after them.
    ``participants`` of a session wait until its messages come."""

    progress_by_session: dict[str, SessionProgress]
    messages: dict[str, list[MessageInsert]] = field(default_factory=dict)
    state: list[StateRecord] = field(default_factory=list)
    participants: dict[str, list[ParticipantRecord]] = field(default_factory=dict)
    contacts: list[ContactRecord] = field(default_factory=list)
    files: dict[str, dict[str, tuple[AttachedFile, ...]]] = field(default_factory=dict)
    """What is known of attached files, by session and by the external id of the message."""
    is_end: bool = False
    """Whether the document ends with this batch, as far as that is known."""
    is_whole: bool = False
    """Whether it is known of this batch that nothing comes after it; a last one may also come before what can't be
    read."""


def batches(
    pages: Iterable[MessagePage], tally: FileTally, is_idle: Callable[[], bool] = lambda: True, most_messages: int = 0
) -> Iterator[MessageBatch]:
    """Yield pages as batches of up to ``most_messages``, or as many as usual; what else they say is added to the tally.

    Raises:
        InputError: The document can't be read any further; raised when everything before that place was yielded.
    """
    progress_by_session: dict[str, SessionProgress] = {}
    participants: dict[str, list[ParticipantRecord]] = {}
    batch = MessageBatch(progress_by_session, participants=participants)
    count = characters = contacts = 0
    failure: InputError | None = None
    most = most_messages or BATCH_MESSAGES
    most_characters = most_messages * CHARACTERS_A_MESSAGE or BATCH_CHARACTERS
    try:
        for page in pages:
            for problem in page.problems:
                (tally.notes if problem.harmless else tally.errors).append(problem)
            for record in page.sessions:
                progress_by_session[record.key] = start_session(record)
                tally.conversations += 1
            for key in page.generated:
                progress_by_session[key].has_generated_ids = True
            for key, found in page.messages.items():
                batch.messages.setdefault(key, []).extend(found)
                characters += sum(len(message.text) for message in found)
            for key, files in page.files.items():
                batch.files.setdefault(key, {}).update(files)
            for key, reported in page.participants.items():
                participants.setdefault(key, []).extend(reported)
            batch.contacts.extend(page.contacts)
            batch.state.extend(page.state)
            tally.messages += page.message_count
            contacts += len(page.contacts)
            count += page.message_count + len(page.state) + len(page.contacts)
            if count >= (most if is_idle() else 1) or characters >= most_characters:
                yield batch
                batch = MessageBatch(progress_by_session, participants=participants)
                count = characters = 0
    except InputError as error:
        failure = error
    if count:
        yield replace(batch, is_end=True, is_whole=failure is None)
    if contacts:
        noun = "contact" if contacts == 1 else "contacts"
        tally.notes.append(InputProblem("", f"read {contacts} {noun}, by which people are told", harmless=True))
    if failure is not None:
        raise failure

"""What a parser yields as pages of normalized messages, ready to be stored.

A page is small, so that queries run between two; the pipeline stores many in one transaction. Making them needs no
store: the pages of a large document are made in a process of its own (``page_reader``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace

import msgspec

from appliance.errors import InputError
from appliance.ingest.normalize import SessionProgress, normalize, start_session
from appliance.lazy_dataclasses import dataclass
from appliance.secrets.detector import find_in_texts
from appliance.secrets.masking import drop_secrets
from appliance.store.messages import MessageInsert
from appliance.store.sql import to_json
from appliance.types import (
    AttachedFile,
    ContactRecord,
    InputProblem,
    ParticipantRecord,
    Record,
    SessionRecord,
    StateRecord,
)

PAGE_MESSAGES = 100
PAGE_CHARACTERS = 200_000
"""A page ends at the first of these two limits: some milliseconds of work."""

Prepare = Callable[[Sequence[MessageInsert]], list[MessageInsert]]
"""Completes normalized messages by what can be known of them without the store."""


@dataclass(slots=True)
class MessagePage:
    """Up to ``PAGE_MESSAGES`` messages of a document, by the key of their session and in order, and what else the
    parser has said meanwhile. ``sessions`` are those that begin here; ``generated`` are the keys of those sessions
    whose messages have no ids of their own; ``files`` is what is known of attached files, by session and by the
    external id of the message; ``participants`` are those of sessions, by their keys."""

    sessions: list[SessionRecord] = field(default_factory=list)
    messages: dict[str, list[MessageInsert]] = field(default_factory=dict)
    generated: set[str] = field(default_factory=set)
    files: dict[str, dict[str, tuple[AttachedFile, ...]]] = field(default_factory=dict)
    participants: dict[str, list[ParticipantRecord]] = field(default_factory=dict)
    contacts: list[ContactRecord] = field(default_factory=list)
    state: list[StateRecord] = field(default_factory=list)
    problems: list[InputProblem] = field(default_factory=list)

    @property
    def message_count(self) -> int:
        return sum(map(len, self.messages.values()))


def pages(
    records: Iterable[Record], yield_to_queries: Callable[[], None] = lambda: None, prepare: Prepare = list
) -> Iterator[MessagePage]:
    """Yield records as pages of normalized messages.

    Raises:
        InputError: The parser has raised it; raised when everything before it was yielded.
    """
    progress: dict[str, SessionProgress] = {}
    page, count, characters = MessagePage(), 0, 0
    failure: InputError | None = None
    try:
        for record in records:
            yield_to_queries()
            if isinstance(record, InputProblem):
                page.problems.append(record)
            elif isinstance(record, SessionRecord):
                if record.key not in progress:
                    progress[record.key] = start_session(record)
                    page.sessions.append(record)
            elif isinstance(record, ParticipantRecord):
                page.participants.setdefault(record.session, []).append(record)
            elif isinstance(record, ContactRecord):
                page.contacts.append(record)
            elif isinstance(record, StateRecord):
                page.state.append(record)
            else:
                session = progress[record.session]
                message = normalize(record, session)
                page.messages.setdefault(record.session, []).append(message)
                if record.files:
                    page.files.setdefault(record.session, {})[message.external_id] = record.files
                if session.has_generated_ids:
                    page.generated.add(record.session)
                characters += len(record.text)
            count += 1
            if count >= PAGE_MESSAGES or characters >= PAGE_CHARACTERS:
                yield _prepared(page, prepare)
                page, count, characters = MessagePage(), 0, 0
    except InputError as error:
        failure = error
    if count:
        yield _prepared(page, prepare)
    if failure is not None:
        raise failure


def _prepared(page: MessagePage, prepare: Prepare) -> MessagePage:
    """The page with its messages completed, those of all sessions in one go."""
    completed = iter(prepare([message for messages in page.messages.values() for message in messages]))
    for messages in page.messages.values():
        messages[:] = [next(completed) for _ in messages]
    return page


def without_secrets(messages: Sequence[MessageInsert]) -> list[MessageInsert]:
    """Return messages with the secrets of their texts and metadata dropped."""
    found = find_in_texts([part for message in messages for part in (message.text, message.metadata)])
    kept = list(messages)
    for number in {place // 2 for place in found}:
        message = kept[number]
        metadata = to_json(drop_secrets(msgspec.json.decode(message.metadata)))
        kept[number] = replace(message, text=drop_secrets(message.text), metadata=metadata, digest=None)
    return kept

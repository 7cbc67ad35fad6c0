"""What a reading of a document stores, and what everybody relies on in it."""

from __future__ import annotations

import io
import time
from dataclasses import dataclass, field

from appliance.formats import detect, parser_of, unknown_text
from appliance.formats.base import Document, Parser
from appliance.types import InputProblem, MessageRecord, SessionRecord
from tests.fuzz.samples import marks

SECONDS = 5.0


@dataclass
class Outcome:
    """The marked words of messages by a person or an assistant (``said``) and of all that is stored."""

    format: str | None
    said: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    problems: list[InputProblem] = field(default_factory=list)
    notes: list[InputProblem] = field(default_factory=list)

    @property
    def is_guess(self) -> bool:
        return any(unknown_text.NOTE in note.message for note in self.notes)


def document_of(data: bytes, name: str) -> Document:
    return Document(name, len(data), lambda: io.BytesIO(data))


def read(document: Document, format: str | None, parser: Parser) -> Outcome:
    """Read a document, and hold the parser to what everybody relies on: a session before its messages, text that can be
    stored, ids that are unique within a session, and an end within seconds."""
    outcome = Outcome(format)
    sessions: set[str] = set()
    ids: set[tuple[str, str]] = set()
    began = time.process_time()
    for record in parser.parse(document):
        if isinstance(record, SessionRecord):
            sessions.add(record.key)
            # A file may hold a conversation twice; within each its ids are unique.
            ids = {(session, id) for session, id in ids if session != record.key}
            outcome.stored |= marks(record.title or "")
        elif isinstance(record, MessageRecord):
            assert record.session in sessions, "a message before its session"
            record.text.encode()
            if record.external_id is not None and format != "native":
                assert (record.session, record.external_id) not in ids, "an id twice"
                ids.add((record.session, record.external_id))
            found = marks(record.text)
            outcome.stored |= found | marks(record.author or "") | marks(repr(dict(record.metadata)))
            if record.role in ("user", "assistant"):
                outcome.said |= found
        elif isinstance(record, InputProblem):
            (outcome.notes if record.harmless else outcome.problems).append(record)
    assert time.process_time() - began < SECONDS, "it takes long"
    return outcome


def forced(data: bytes, name: str, format: str) -> Outcome:
    """As ``--format`` reads it."""
    return read(document_of(data, name), format, parser_of(format))


def detected(data: bytes, name: str) -> Outcome:
    """As it is read without a format.

    Raises: InputError if no format is recognised."""
    document = document_of(data, name)
    return read(document, *detect(document))

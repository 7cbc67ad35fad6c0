"""What the parser tests share: documents out of bytes and files, and their records by kind."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from appliance.formats import detect
from appliance.formats.base import Document
from appliance.types import ContactRecord, InputProblem, MessageRecord, ParticipantRecord, SessionRecord

FIXTURES = Path(__file__).parent / "fixtures"
EXPORTS = Path(__file__).parents[3] / "shared" / "exports"


@dataclass(frozen=True)
class Reading:
    """A document's records by kind."""

    format: str | None
    sessions: list[SessionRecord]
    messages: list[MessageRecord]
    problems: list[InputProblem]
    notes: list[InputProblem]
    participants: list[ParticipantRecord]
    contacts: list[ContactRecord]

    @property
    def texts(self) -> list[str]:
        return [message.text for message in self.messages]

    @property
    def roles(self) -> list[str]:
        return [message.role for message in self.messages]


def document_of(data: bytes, name: str = "upload") -> Document:
    return Document(name, len(data), lambda: io.BytesIO(data))


def reading_of(document: Document, forced: str | None = None) -> Reading:
    name, parser = detect(document, forced)
    sessions: list[SessionRecord] = []
    messages: list[MessageRecord] = []
    problems: list[InputProblem] = []
    participants: list[ParticipantRecord] = []
    contacts: list[ContactRecord] = []
    for record in parser.parse(document):
        if isinstance(record, SessionRecord):
            sessions.append(record)
        elif isinstance(record, MessageRecord):
            # The store relies on this: a session comes before its messages.
            assert record.session in {session.external_id for session in sessions}
            record.text.encode("utf-8")
            messages.append(record)
        elif isinstance(record, ParticipantRecord):
            assert record.session in {session.external_id for session in sessions}
            participants.append(record)
        elif isinstance(record, ContactRecord):
            contacts.append(record)
        else:
            problems.append(record)
    ids = [(m.session, m.external_id) for m in messages if m.external_id is not None]
    if name not in (None, "native"):
        assert len(ids) == len(set(ids)), "ids are unique within a session"
    return Reading(
        name,
        sessions,
        messages,
        [p for p in problems if not p.harmless],
        [p for p in problems if p.harmless],
        participants,
        contacts,
    )


@pytest.fixture
def read() -> Callable[..., Reading]:
    """Reads bytes as a document of a name, or a path; ``forced`` as in ``detect``."""

    def read_it(source: bytes | str | Path, name: str = "upload", forced: str | None = None) -> Reading:
        if isinstance(source, Path):
            path = source
            name = path.as_posix() if name == "upload" else name
            return reading_of(Document(name, path.stat().st_size, lambda: path.open("rb")), forced)
        data = source.encode("utf-8") if isinstance(source, str) else source
        return reading_of(document_of(data, name), forced)

    return read_it


@pytest.fixture
def fixtures() -> Path:
    return FIXTURES


@pytest.fixture
def exports() -> Path:
    if not EXPORTS.is_dir():
        pytest.skip("the collected sample exports are not here")
    return EXPORTS

"""What parsers yield, and what became of what was read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from appliance.types.words import FileStatus, Metadata, Role, Scope


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """A conversation's header, yielded before its first message.

    ``external_id`` is the source's own id, else one made from what identifies the chat (its name).
    ``created_at`` is aware where the source gives a zone, naive where it gives none, None where it
    gives no time. ``format`` is where the conversation first came from and ``scope`` whose it was, in an
    interchange file that says so: what was exported and is read back belongs to the conversation that
    it left.
    """

    external_id: str
    title: str | None = None
    created_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    format: str | None = None
    scope: Scope | None = None

    @property
    def key(self) -> str:
        """What its messages name it by, within one file."""
        if self.format is None and self.scope is None:
            return self.external_id
        owner = (self.scope.user_id, self.scope.namespace) if self.scope else ()
        return "\x1f".join((self.format or "", *owner, self.external_id))


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One turn, as the export has it; nothing of its text is changed or cut.

    ``session`` is the ``key`` of a SessionRecord that came before. ``external_id`` is the
    source's id, unique within its session, or None: then the pipeline makes one from the time, the
    author, the text and the count of equal ones before it. ``sent_at`` as in SessionRecord.
    ``where`` is the place in the file ("line 12", "conversation 3, node ab12"), for error reports.
    """

    session: str
    role: Role
    text: str
    external_id: str | None = None
    author: str | None = None
    sent_at: datetime | None = None
    reply_to: str | None = None
    metadata: Metadata = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in an input that could not be read; what is around it was.

    ``where`` names the place within the file. A note (``harmless=True``) says what the format leaves
    open or what was passed over by design; it does not make the file "partial".
    """

    where: str
    message: str
    harmless: bool = False


Record = SessionRecord | MessageRecord | Problem


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one input file. Counts are messages, except ``conversations``."""

    path: str
    format: str | None
    status: FileStatus
    conversations: int = 0
    messages: int = 0
    new: int = 0
    updated: int = 0
    duplicates: int = 0
    errors: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did. ``chunks`` were made by this ingest, ``embedded`` were given vectors by it,
    ``pending`` are all chunks of the store that still wait for one. ``complete`` is False when any
    input failed or was read only in part (exit code 1)."""

    files: tuple[FileReport, ...]
    chunks: int
    embedded: int
    pending: int
    seconds: float

    @property
    def complete(self) -> bool:
        return all(f.status in ("ok", "skipped") for f in self.files)

    def total(self, count: str) -> int:
        return sum(getattr(f, count) for f in self.files)


OnFile = Callable[[str, int], None]
"""Told a file's name and how many of its messages have been read so far."""

OnRead = Callable[[FileReport], None]
"""Told what became of a file in a watched folder."""

OnProgress = Callable[[int, int], None]
"""Told how many chunks are done and how many still wait."""

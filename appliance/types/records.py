"""What parsers yield, and the reports of an ingest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from appliance.types.attachments import AttachedFile
from appliance.types.people import IdentityKind
from appliance.types.vocabulary import FileStatus, Metadata, Role, Scope


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """The header of a session, yielded before its first message.

    ``external_id`` is the source's own id, else one derived from what identifies the chat (its name). ``created_at``
    is aware where the source gives a zone, naive where it gives none, None where it gives no time; messages without a
    time take it if ``dates_messages`` is True. With ``has_global_ids``, a message that another session of the format
    has under the same id is that message, and not stored again. Only the
    exports of this program set ``format`` and ``scope``, the original ones of the session: messages that were exported
    and are read back belong to the session that they came from. With ``is_rendition``, the messages lack parts that
    only the memory has, so that those it knows stay as they are.
    """

    external_id: str
    title: str | None = None
    created_at: datetime | None = None
    metadata: Metadata = field(default_factory=dict)
    format: str | None = None
    scope: Scope | None = None
    dates_messages: bool = True
    has_global_ids: bool = False
    is_rendition: bool = False

    @property
    def key(self) -> str:
        """The value by which ``MessageRecord.session`` refers to this session, unique within one file."""
        if self.format is None and self.scope is None:
            return self.external_id
        owner = (self.scope.user_id, self.scope.namespace) if self.scope else ()
        return "\x1f".join((self.format or "", *owner, self.external_id))


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """One message as the export has it, with its text unchanged and complete.

    ``session`` is the ``key`` of a SessionRecord that came before. ``external_id`` is the source's id, unique within
    its session, or None: then the pipeline derives one from the time, the author, the text and the number of equal
    messages before it. ``sent_at`` is aware or naive as in SessionRecord. ``where`` is the place in the file
    ("line 12", "conversation 3, node ab12"), for error reports. ``files`` says more of the attachments that
    ``metadata`` names.
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
    files: tuple[AttachedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class InputProblem:
    """A part of an input that could not be read, while the rest was.

    ``where`` names the place within the file. A note (``harmless=True``) says what the format leaves open or what was
    skipped by design; it does not make the file "partial".
    """

    where: str
    message: str
    harmless: bool = False


@dataclass(frozen=True, slots=True)
class StateRecord:
    """What an export of this program says besides messages; ``store.state_import`` knows the kinds of ``values``.
    ``scope`` is the owner that the export names."""

    values: Mapping[str, Any]
    scope: Scope | None
    where: str


@dataclass(frozen=True, slots=True)
class ParticipantRecord:
    """What an export says of an author of a session, besides the name in its messages: ``identities`` are pairs of kind
    and value, as the export spells them, of one account. ``me`` is True if it is the account of the exporting person.

    It stands before the author's first message in the session. Two records with different accounts for the same author
    say that two people have this name there.
    """

    session: str
    author: str
    identities: tuple[tuple[IdentityKind, str], ...]
    me: bool = False


@dataclass(frozen=True, slots=True)
class ContactRecord:
    """An entry of an address book, or of an export's list of contacts: ``identities`` as in ParticipantRecord, names
    among them. ``me`` is True for the card of the exporting person."""

    identities: tuple[tuple[IdentityKind, str], ...]
    me: bool = False


Record = SessionRecord | MessageRecord | ParticipantRecord | ContactRecord | StateRecord | InputProblem


@dataclass(frozen=True, slots=True)
class FileReport:
    """The result of reading one input file. Counts are messages, except ``conversations``, the attached ``documents``
    whose text was read with their ``pages``, and the attachments of which copies were ``kept``. ``read_with`` is the
    file with which a file without messages of its own was read, or to whose messages it is attached; empty for any
    other."""

    path: str
    format: str | None
    status: FileStatus
    conversations: int = 0
    messages: int = 0
    new: int = 0
    updated: int = 0
    duplicates: int = 0
    errors: tuple[InputProblem, ...] = ()
    notes: tuple[InputProblem, ...] = ()
    documents: int = 0
    pages: int = 0
    kept: int = 0
    read_with: str = ""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The result of an ingest. What this ingest stored has ``chunks`` now, and it embedded ``embedded``; ``pending``
    chunks of the whole store still wait for their vector, and ``pending_reason`` says why if an embedding API failed.
    Until its vectors are computed, each message of a document above 1 MB counts as one chunk, however long it is.
    ``stopped`` says why it ended early, if the disk has no room: then files lack, or vectors. ``complete`` is False
    when it was, or when an input failed or was read only in part (exit code 1). ``total`` adds up one count of all
    files, in which a conversation that is in several files counts for each: ``repeated_conversations`` counts how often
    one was counted before, where something was stored."""

    files: tuple[FileReport, ...]
    chunks: int
    embedded: int
    pending: int
    seconds: float
    pending_reason: str = ""
    stopped: str = ""
    repeated_conversations: int = 0

    @property
    def complete(self) -> bool:
        return not self.stopped and all(f.status in ("ok", "skipped") for f in self.files)

    def total(self, count: str) -> int:
        return sum(getattr(f, count) for f in self.files)


OnFile = Callable[[str, int], None]
"""Called with the name of a file and the number of its messages read so far."""

OnRead = Callable[[FileReport], None]
"""Called with the result of reading a file of a watched folder."""

OnEmbedded = Callable[[int, int], None]
"""Called with how many are done and how many are left: chunks to be embedded, or what else the work is counted in."""

"""What is stored: messages, sessions, summaries and facts; and the events about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, overload

from appliance.lazy_dataclasses import dataclass
from appliance.types.documents import DocumentPage, document_page
from appliance.types.vocabulary import FactKind, FactState, FeedbackKind, Level, Metadata, Role, StorageScope, TimeOf


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. ``timestamp`` is ISO 8601: in UTC where the source gave a zone, unchanged where it did not
    (then ``metadata["timezone"] == "unknown"``), None where it gave no time. ``time`` says whose time it is."""

    id: str
    session_id: str
    external_id: str
    role: Role
    author: str | None
    timestamp: str | None
    text: str
    reply_to: str | None
    metadata: Metadata
    pinned: bool = False

    @property
    def time(self) -> TimeOf:
        """Whose time ``timestamp`` is: the message's own, or its conversation's if its source gave it none."""
        return "conversation" if self.metadata.get("time") == "conversation" else "message"

    @property
    def who(self) -> str:
        """Who wrote it, for people to read: the author, else the role; of a page the document, and who sent it."""
        document = self.document
        return document.credit(self.author) if document else self.author or self.role

    @property
    def document(self) -> DocumentPage | None:
        """The document that the message is a page of; None for every other message."""
        return document_page(self.metadata) if self.role == "system" else None

    @property
    def corrected(self) -> str | None:
        """When the person corrected the text (ISO 8601); None if it stands as it was said."""
        at = self.metadata.get("corrected")
        return at if isinstance(at, str) else None


@dataclass(frozen=True, slots=True)
class MessageVersion:
    """A form that a message had before it was edited or corrected: the first one has ``number`` 1. ``replaced_at`` is
    when the next one took its place, as ISO 8601; ``timestamp`` is as in ``Message``."""

    number: int
    role: Role
    author: str | None
    timestamp: str | None
    text: str
    metadata: Metadata
    replaced_at: str


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a message is worth keeping close now, 0 to 1: the sum of ``parts`` (role, own, density, names,
    decisions, unresolved and tools score its words; recalled, feedback and pinned come on top; only feedback can be
    negative). ``times`` counts how often it was recalled, ``last_at`` is the last time as ISO 8601. ``feedback`` counts
    the feedback of each kind that was given, and ``judgement`` is the last of "helpful", "wrong" and "outdated", which
    holds."""

    score: float
    parts: Mapping[str, float]
    pinned: bool
    times: int
    last_at: str | None
    feedback: Mapping[FeedbackKind, int] = field(default_factory=dict)
    judgement: FeedbackKind | None = None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A stored session, without its messages.

    ``messages``, ``first_at`` and ``last_at`` describe its own messages; a branch shares ``shared`` more with the
    session ``branch_of``, up to and including the message ``branch_at``. ``title_found`` is True for a title that was
    extracted from the first messages. ``agents`` take part in the session, in the order in which they joined.
    ``options`` holds ``auto_recall``, ``independent`` and the settings of the working memory. ``ttl`` is the session's
    own time to live in seconds (0: for ever; None: the default of the settings). ``tags`` are in order.
    """

    id: str
    external_id: str
    title: str | None
    user_id: str
    namespace: str
    agent_id: str
    format: str
    messages: int
    first_at: str | None
    last_at: str | None
    created_at: str
    metadata: Metadata
    pinned: bool = False
    storage_scope: StorageScope = "all"
    title_found: bool = False
    options: Metadata = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    ttl: int | None = None
    expires_at: str | None = None
    branch_of: str | None = None
    branch_at: str | None = None
    shared: int = 0
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionPage(Sequence[SessionInfo]):
    """Some sessions in the order that was asked for. A sequence of its sessions.

    Attributes:
        sessions: The sessions.
        next: The ``after`` of the request for the next page; None on the last page.
    """

    sessions: tuple[SessionInfo, ...]
    next: str | None = None

    def __len__(self) -> int:
        return len(self.sessions)

    @overload
    def __getitem__(self, place: int) -> SessionInfo: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[SessionInfo, ...]: ...
    def __getitem__(self, place: int | slice) -> SessionInfo | tuple[SessionInfo, ...]:
        return self.sessions[place]


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """The result of clearing or deleting a session, in messages. ``kept`` messages moved to the branch ``heir``,
    which begins with them."""

    messages: int
    kept: int = 0
    heir: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim part of a message: ``text`` is that of the message from ``start`` to ``end``, in characters."""

    message_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, with an id of its own ("sum7"). ``made_by`` is "extractive" or the name of the model that wrote it.
    An extractive summary consists of its ``quotes``, in order; for one that a model wrote they are the evidence.

    ``first_id`` and ``last_id`` are the first and the last of the ``messages`` messages that it covers, ``since`` and
    ``until`` their times as ISO 8601. ``metadata`` may have ``decisions``, ``unresolved``, ``solved``,
    ``commitments`` (each a list of sentences with their message ids), ``tools``, ``files`` and ``entities``,
    and ``contradicts``: the notes of a model that say something else than a fact that was held when it wrote them.
    """

    id: str
    session_id: str
    level: Level
    text: str
    quotes: tuple[Quote, ...]
    made_by: str
    first_id: str
    last_id: str
    messages: int
    since: str | None
    until: str | None
    made_at: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about the person, their world or their projects, with an id of its own ("f7").

    The ``attribute`` of ``subject`` ("me", or the name of a person or a project) is ``value``; ``text`` says so in a
    sentence. ``confidence`` is 0 to 1. ``said_at`` is the time of the statement; the fact holds from ``since`` to
    ``until`` (None: still), all ISO 8601. ``made_by`` is the rule or the model that extracted it, or "person".
    ``replaced_by`` is the id of the fact that replaced it.
    """

    id: str
    user_id: str
    namespace: str
    kind: FactKind
    subject: str
    attribute: str
    value: str
    text: str
    confidence: float
    state: FactState
    said_at: str | None
    since: str | None
    until: str | None
    made_by: str
    evidence: tuple[Quote, ...]
    replaced_by: str | None = None


FactDecision = Literal["confirm", "correct", "reject"]


@dataclass(frozen=True, slots=True)
class FactChange:
    """What a decision about a fact has changed: the ``fact`` as it is now, and in ``undo`` what takes the decision
    back."""

    fact: Fact
    undo: bytes


@dataclass(frozen=True, slots=True)
class FactAddition:
    """What adding a fact by hand has changed: the ``facts`` that hold because of it, and in ``undo`` what takes it
    back."""

    facts: tuple[Fact, ...]
    undo: bytes


@dataclass(frozen=True, slots=True)
class Window:
    """The working memory of a session: what an assistant sees of the present conversation.

    ``summary`` stands for the ``compacted`` messages before ``turns``; it is None if there are none. ``tokens`` counts
    both in ``encoding``, as they are rendered. It is at most ``budget``, unless the latest turns, which are always kept
    verbatim, exceed the budget by themselves: then ``notes`` says so. ``made_by`` is "" without a summary.
    """

    session_id: str
    strategy: Literal["summary_buffer", "buffer_window"]
    summary: str | None
    quotes: tuple[Quote, ...]
    compacted: int
    turns: tuple[Message, ...]
    tokens: int
    budget: int | None
    encoding: str
    made_by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """A notice of something that happened, such as the ``kind`` "summarised"; ``about`` is the id of its object.
    ``detail`` holds counts and names, never the words of a message."""

    kind: str
    about: str
    detail: Mapping[str, Any] = field(default_factory=dict)

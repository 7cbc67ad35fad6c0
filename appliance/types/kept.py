"""What is kept: messages, conversations, summaries, facts; and what tells of a change to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from appliance.types.words import FactKind, FactState, Level, Metadata, Role, StorageScope


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. ``timestamp`` is ISO 8601: UTC where the source gave a zone, as given where it
    did not (then ``metadata["timezone"] == "unknown"``), None where it gave none."""

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


@dataclass(frozen=True, slots=True)
class Importance:
    """How much a message is worth keeping close now, 0 to 1: the sum of ``parts`` (what the words are worth by role,
    own, density, names, decisions, unresolved and tools, and on top of it recalled and pinned). ``times`` is how often
    it was given to somebody, ``last_at`` when last, as ISO 8601."""

    score: float
    parts: Mapping[str, float]
    pinned: bool
    times: int
    last_at: str | None


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A stored conversation, without its messages.

    ``messages``, ``first_at`` and ``last_at`` are of its own; a branch shares ``shared`` more with the conversation
    ``branch_of``, up to and including the message ``branch_at``. ``title_found`` says that its title was
    taken from its first words. ``agents`` take part in it, the first one first. ``options`` hold ``auto_recall`` and
    the settings of its working memory. ``ttl`` is its own, in seconds (0: for ever; None: as the settings say).
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


class SessionPage(list[SessionInfo]):
    """Some conversations in an order that was asked for; ``next`` is where the page after this one begins, None
    behind the last."""

    def __init__(self, infos: Sequence[SessionInfo], next: str | None) -> None:
        super().__init__(infos)
        self.next = next


@dataclass(frozen=True, slots=True)
class Removed:
    """What a clearing or a deletion took away, in messages. ``kept`` are those that went over to the branch
    ``heir`` because it begins with them."""

    messages: int
    kept: int = 0
    heir: str | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of a message, as they stand there: ``text`` is the message's from ``start`` to ``end``, in
    characters."""

    message_id: str
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, by an id of its own ("sum7"). ``made_by`` is "extractive" or the name of the model that wrote
    it. An extractive one is its ``quotes``, in order; one that a model wrote has them as its evidence.

    ``first_id`` and ``last_id`` are the first and the last of the ``messages`` that it covers, ``since`` and
    ``until`` their times as ISO 8601. ``metadata`` may have ``decisions``, ``unresolved``, ``solved``,
    ``commitments`` (each a list of sentences with their message ids), ``tools``, ``files``, ``entities``.
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
    """Something stated about the person, their world or their projects, by an id of its own ("f7").

    ``attribute`` of ``subject`` ("me", or the name of a person or a project) is ``value``; ``text`` says it as a
    sentence. ``confidence`` is 0 to 1. ``said_at`` is when it was said, ``since`` and ``until`` from when to when
    it holds, all ISO 8601; an ``until`` of None is open. ``made_by`` is the rule or the model that found
    it, or "person". ``replaced_by`` is the fact that took its place.
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


@dataclass(frozen=True, slots=True)
class Window:
    """The working memory of a session: what an assistant has before it of the present conversation.

    ``summary`` stands for the ``folded`` messages before ``turns``; None where none are. ``tokens`` counts both
    in ``encoding``, as they are rendered (``memory.window.text``). They are at most ``budget``, unless the latest turns
    that always stand as they were said take more by themselves: then ``notes`` say so. ``made_by`` is "" without a
    summary.
    """

    session_id: str
    strategy: Literal["summary_buffer", "buffer_window"]
    summary: str | None
    quotes: tuple[Quote, ...]
    folded: int
    turns: tuple[Message, ...]
    tokens: int
    budget: int | None
    encoding: str
    made_by: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: ``kind`` is "summarised", ``about`` the id of what it happened to. ``detail`` holds
    counts and names, never a message's words."""

    kind: str
    about: str
    detail: Mapping[str, Any] = field(default_factory=dict)

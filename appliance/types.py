"""The values that travel through the program. All are frozen; none knows a store, a file or a model.

In:  a parser yields ``SessionRecord``, ``MessageRecord`` and ``Problem`` values, in the order of the file.
Out: a search yields ``Hit`` values; a context is ``Context``, made of ``Layer`` and ``ContextItem``.

Metadata keys that parsers set when the export says so, and nothing else reads meaning into:
``hidden`` (system or injected context that a person never saw), ``branch`` (off the active path),
``sidechain`` (agents among themselves), ``attachments`` (``[{"name", "text"}]``), ``reactions``,
``tools``, ``files``, ``edited``, ``deleted``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")

Mode = Literal["hybrid", "dense", "lexical"]
FileStatus = Literal["ok", "partial", "skipped", "failed"]
Fidelity = Literal["full", "compressed", "placeholder"]

StorageScope = Literal["all", "conversational", "summaries_only", "none"]
"""What a session gives to other conversations: all of it, what was said in the open, its summaries, or nothing.
Within the session itself everything is found."""

Level = Literal["exchange", "topic", "session", "procedure"]
"""What a summary is of: a question with its answer, a stretch about one thing, a whole conversation; or the steps of
something that worked."""
LEVELS: tuple[Level, ...] = ("exchange", "topic", "session", "procedure")

FactKind = Literal["profile", "relation", "preference", "date", "tool", "project", "instruction"]
FactState = Literal["held", "ended", "superseded", "review", "rejected"]

Metadata = Mapping[str, Any]

LOCAL = "local"
"""The format name of conversations that were made here, not imported."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is; part of every query. An empty namespace is a namespace of its own, not a
    wildcard; ``agent_id=None`` leaves the agent open."""

    user_id: str
    namespace: str = ""
    agent_id: str | None = None


# --- in -------------------------------------------------------------------------------------------


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


# --- kept -----------------------------------------------------------------------------------------


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


# --- out ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of one session, by store keys: its messages up to and including ``until``, all without one."""

    session: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """What a search is narrowed to. None (or an empty tuple) leaves a field open, but for ``roles``:
    empty means talk, that is what a person or an assistant said in the open; tool, system and hidden
    records are found only when their role is named.

    ``since`` is inclusive and ``until`` exclusive, in microseconds since 1970; messages without a time
    match neither. ``sources`` are format names ("chatgpt", "whatsapp"). ``session`` is a store key; ``past`` is what it
    shares with others as their branch. ``own`` is of sessions that keep their messages to themselves: it is found
    all the same, because the question is asked there. With ``levels``, summaries of these levels are meant, and no
    messages.
    """

    scope: Scope
    session: int | None = None
    roles: tuple[Role, ...] = ()
    sources: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    past: tuple[Part, ...] = ()
    own: tuple[Part, ...] = ()
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a message came from."""

    format: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message with its reasons. ``text`` is the whole message, ``snippet`` the part that
    matched best. ``why["score"]`` is a mapping of feature to contribution whose sum is ``score``;
    ``why["legs"]`` gives each leg's rank and raw score, ``why["folded"]`` the messages that say the same."""

    rank: int
    score: float
    message_id: str
    external_id: str
    session_id: str
    external_session_id: str
    session_title: str | None
    role: Role
    author: str | None
    timestamp: str | None
    text: str
    snippet: str
    source: Source
    tier: Literal["hot", "archived"]
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """At which stage of a search a message fell out, and in words why. ``rank`` and ``score`` are those it had
    among the candidates, ``why`` is as in a hit; None where it was none of them."""

    message_id: str
    stage: Literal["filtered", "not proposed", "ranked", "left out", "shown"]
    words: str
    rank: int | None = None
    score: float | None = None
    why: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SummaryHit:
    """A found summary with its reasons. ``why`` has each leg's part of the score, ``dense`` and ``gist``."""

    rank: int
    score: float
    summary: Summary
    session_title: str | None
    why: Mapping[str, float]


class Hits(list[Hit]):
    """The hits, best first, with what the search has to say about itself.

    ``mode`` is what was asked for; ``notes`` says in words which leg could not run and why, so that
    nothing is left out silently; ``took_ms`` is wall time; ``why_not`` is about the message asked about,
    ``times`` are the words of the query that name a time, by which what was said then comes first;
    ``summaries`` are the few that say most of what was asked for, best first.
    """

    why_not: WhyNot | None = None
    times: tuple[str, ...] = ()
    summaries: tuple[SummaryHit, ...] = ()

    def __init__(self, hits: Sequence[Hit], *, query: str, mode: Mode, notes: Sequence[str], took_ms: float):
        super().__init__(hits)
        self.query = query
        self.mode = mode
        self.notes = tuple(notes)
        self.took_ms = took_ms


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One fact, memory, sentence of a summary or turn in a context. ``tokens`` is what it adds to the rendered prompt.

    ``message_id`` is a message's, but for a fact ("f7") and a summary ("sum7", or "s9" for that of the session
    itself): their ``why["messages"]`` names the messages that they are from. ``why`` says how a memory came to be
    here: its ``rank``, ``score``, ``relevance`` (a share of the best) and ``importance``, or the memory that it
    stands ``beside``.
    """

    message_id: str
    text: str
    tokens: int
    fidelity: Fidelity
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of a context, in prompt order. ``tokens`` are those of its items, of its heading and of the heads of
    its groups."""

    name: Literal["profile", "retrieved", "summary", "recent"]
    tokens: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that was considered for the context and left out, with the reason."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """What an assistant is given. ``tokens`` counts ``text`` exactly with ``encoding`` and never exceeds ``budget``;
    it is the sum of the layers'. All four layers are there, empty where there is nothing. ``messages`` is the same
    content in chat form, whose contents take no more than the budget either."""

    query: str
    budget: int
    tokens: int
    encoding: str
    layers: tuple[Layer, ...]
    messages: tuple[Mapping[str, str], ...]
    text: str
    dropped: tuple[Dropped, ...]
    notes: tuple[str, ...] = ()

"""The results of the tools; ``rendering`` writes them as text."""

from __future__ import annotations

import msgspec


class ToolResult(msgspec.Struct, omit_defaults=True, kw_only=True, frozen=True):
    """A part of an answer; empty fields are left out."""


class MessageLine(ToolResult, frozen=True):
    """A message in an index: enough to choose by. ``characters`` is the length of the whole text; ``time`` is
    "conversation" if ``when`` is the conversation's time, because the source gave the message none."""

    id: str
    session: str
    who: str
    text: str
    characters: int
    when: str = ""
    time: str = ""
    title: str = ""
    score: float = 0.0
    alike: int = 0
    here: bool = False


class SessionLine(ToolResult, frozen=True):
    id: str
    title: str
    source: str
    messages: int
    first: str = ""
    last: str = ""
    pinned: bool = False


class SearchResult(ToolResult, frozen=True):
    """Hits, best first. ``found`` is false if nothing matches well; ``weak`` gives the ``weaker`` messages.
    ``next`` is the cursor for further ones."""

    query: str
    hits: list[MessageLine]
    found: bool = True
    weaker: int = 0
    notes: list[str] = []
    next: str = ""


class ContextResult(ToolResult, frozen=True):
    """``found`` is false if no memory is a good match: what was asked for is not known."""

    query: str
    tokens: int
    budget: int
    encoding: str
    text: str
    found: bool = True
    ids: list[str] = []
    left_out: int = 0
    notes: list[str] = []


class MessagePart(ToolResult, frozen=True):
    """A message's text from character ``start`` to ``end`` of ``characters``; ``time`` as in MessageLine."""

    id: str
    session: str
    who: str
    text: str
    start: int
    end: int
    characters: int
    when: str = ""
    time: str = ""
    title: str = ""
    attachments: list[str] = []


class GetResult(ToolResult, frozen=True):
    """``next`` is the cursor for what is left: ``left`` messages, of which the first may have been begun."""

    messages: list[MessagePart]
    missing: list[str] = []
    left: int = 0
    next: str = ""


class TimelineSpan(ToolResult, frozen=True):
    """Messages of one session in order: the ``first`` to the ``last`` (counted from 1) ``of`` those that were asked
    for; ``records`` were not (tool, system and hidden ones). For what a person wrote, they are not counted."""

    session: SessionLine
    lines: list[MessageLine]
    first: int = 0
    last: int = 0
    of: int = 0
    records: int = 0


class TimelineResult(ToolResult, frozen=True):
    stretches: list[TimelineSpan]
    notes: list[str] = []
    next: str = ""


class AddResult(ToolResult, frozen=True):
    id: str
    session: str
    role: str
    characters: int
    pinned: bool = False


class FeedbackLine(ToolResult, frozen=True):
    """A message, and its importance from now on, 0 to 1."""

    id: str
    importance: float


class FeedbackResult(ToolResult, frozen=True):
    kind: str
    messages: list[FeedbackLine]


class UpdateResult(ToolResult, frozen=True):
    """``versions`` is how many texts the message has had, with the present one."""

    id: str
    session: str
    role: str
    characters: int
    versions: int


class SessionsResult(ToolResult, frozen=True):
    sessions: list[SessionLine]
    summary: str = ""
    next: str = ""


class OverviewGroup(ToolResult, frozen=True):
    """Messages by the ``keys`` of units, of a month, or of a conversation on a day; "" where they have none."""

    keys: list[str]
    messages: int
    conversations: int = 1
    lines: list[MessageLine] = []


class AttachmentLine(ToolResult, frozen=True):
    """A file; memory_get with ``message`` gives the words around it. ``size`` is in bytes."""

    id: str
    message: str
    who: str
    name: str
    kind: str
    when: str = ""
    size: int = 0
    text: str = ""


class OverviewResult(ToolResult, frozen=True):
    """``messages`` and ``attachments`` are how many there are in all; ``left`` groups or files are not shown."""

    groups: list[OverviewGroup] = []
    files: list[AttachmentLine] = []
    messages: int = 0
    attachments: int = 0
    notes: list[str] = []
    left: int = 0
    next: str = ""


class FactLine(ToolResult, frozen=True):
    id: str
    text: str
    kind: str
    state: str
    sure: float
    since: str = ""
    until: str = ""
    messages: list[str] = []
    by: str = ""
    replaced_by: str = ""


class FactsResult(ToolResult, frozen=True):
    facts: list[FactLine]
    left: int = 0
    pending: int = 0
    in_review: int = 0
    next: str = ""


class PersonLine(ToolResult, frozen=True):
    id: str
    name: str
    messages: int
    conversations: int
    first: str = ""
    last: str = ""
    me: bool = False
    automated: bool = False
    also: list[str] = []
    """Other names, addresses and numbers."""


class PeopleResult(ToolResult, frozen=True):
    """People; for one person also why the identities belong together, conversations and recalled messages."""

    people: list[PersonLine]
    same: list[str] = []
    evidence: list[str] = []
    conversations: list[str] = []
    recalled: list[str] = []
    done: str = ""
    left: int = 0
    next: str = ""


class BlockLine(ToolResult, frozen=True):
    """A block of core memory, or a form that it had. ``text`` may be a part, from character ``start`` to ``end`` of
    ``characters``; ``next`` then is the cursor for the rest."""

    label: str
    revision: int
    text: str
    characters: int
    limit: int
    by: str
    when: str
    description: str = ""
    read_only: bool = False
    start: int = 0
    end: int = 0


class CoreResult(ToolResult, frozen=True):
    """Blocks of core memory; for a history the forms of one, the present one first."""

    blocks: list[BlockLine]
    done: str = ""
    next: str = ""


class ForgetResult(ToolResult, frozen=True):
    """A preview with its ``confirm`` code, or what was erased with its ``receipt``. ``echoes`` counts what would
    still say it, unless with_echoes erases that too; ``blocks`` are sentences that go from core memory, and ``titles``
    those of the first whole sessions."""

    done: bool
    messages: int
    sessions: int
    characters: int
    facts: int
    blocks: list[str] = []
    titles: dict[str, str] = {}
    sources: dict[str, int] = {}
    files: int = 0
    echoes: int = 0
    notes: list[str] = []
    sample: list[MessageLine] = []
    confirm: str = ""
    receipt: str = ""
    at: str = ""
    vectors: int = 0
    searched_files: int = 0
    traces: int = 0
    exports_with_traces: int = 0


class StatusResult(ToolResult, frozen=True):
    health: str
    user: str
    namespace: str
    read_only: bool
    version: str
    counts: dict[str, int]
    counted: str
    model: str = ""

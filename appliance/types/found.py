"""What a search is narrowed to, what it finds, and what an assistant is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from appliance.types.kept import Summary
from appliance.types.words import Fidelity, Level, Mode, Role, Scope


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

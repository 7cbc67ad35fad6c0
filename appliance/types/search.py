"""The filters of a search, its hits, and the context that is built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

from appliance.types.attachments import Contained
from appliance.types.documents import DocumentPage
from appliance.types.stored import Message, Summary
from appliance.types.vocabulary import Fidelity, LayerName, Level, Mode, Role, Scope, TimeOf


@dataclass(frozen=True, slots=True)
class SessionPart:
    """A part of one session, by store keys: its messages up to and including ``until``, or all if it is None."""

    session: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a search. None or an empty tuple does not filter, except for ``roles``: without any, a search
    finds conversational messages and, unless ``documents`` is False, pages of documents; it finds tool, system and
    hidden messages when their role is named.

    ``since`` is inclusive and ``until`` exclusive, in microseconds since 1970; messages without a time match neither.
    ``sources`` are format names ("chatgpt", "whatsapp"). A message passes by its author if that is one of ``authors``,
    whole names as they are stored; or one of ``author_sessions``, names with the only sessions in which they count; or,
    with ``unsigned``, if it is a user's and names none. ``session`` is a store key, ``sessions`` are several of which a
    message must be in one; ``ancestor_parts`` are the messages that it shares, as a branch, with the sessions it
    branched from. ``exempt_parts`` are found whatever the storage scope of their session, because the query comes from
    there. With ``levels``, the search finds summaries of these levels instead of messages. With ``has``, it finds
    messages that have any of these besides words. ``messages`` are those that mention what is asked for: tools, files
    or entities. ``chunks`` are those of the messages that pass both, for the index, which knows neither.
    """

    scope: Scope
    session: int | None = None
    roles: tuple[Role, ...] = ()
    sources: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    since: int | None = None
    until: int | None = None
    ancestor_parts: tuple[SessionPart, ...] = ()
    exempt_parts: tuple[SessionPart, ...] = ()
    levels: tuple[Level, ...] = ()
    has: tuple[Contained, ...] = ()
    messages: tuple[int, ...] | None = None
    chunks: tuple[int, ...] | None = None
    author_sessions: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unsigned: bool = False
    sessions: tuple[int, ...] | None = None
    documents: bool = True

    @property
    def names_authors(self) -> bool:
        """Whether only messages of some authors pass."""
        return bool(self.authors or self.author_sessions or self.unsigned)

    def of_whole_scope(self) -> Filters:
        """The same without what a search looks for: what its caller may see, in whatever session."""
        return replace(
            self, session=None, sources=(), authors=(), since=None, until=None, ancestor_parts=(), author_sessions=(),
            unsigned=False, sessions=None, has=(), messages=None, chunks=None,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a message: the format of its export, and the path of the file."""

    format: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """A found message with its reasons. ``text`` is the whole message, ``snippet`` the part that matches best.
    ``score`` is how likely it is, 0 to 1, that the message is what was asked for. ``why["score"]`` maps features to
    their contributions, whose sum orders the hits; ``why["legs"]`` has the rank and raw score of each leg,
    ``why["variants"]`` the variants of the message. ``before`` and ``after`` are the turns around it, as many as were
    asked for. ``time`` says whose time ``timestamp`` is: the message's own, or its conversation's. ``corrected`` is
    when the person corrected the text (ISO 8601). ``document`` is set if the message is a page of an attached document,
    whose author and time are those of the message that carries it. ``folded`` is the number of its variants by the
    same author that are no hits of their own; the hit stands for them too."""

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
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    time: TimeOf = "message"
    corrected: str | None = None
    document: DocumentPage | None = None
    folded: int = 0

    @property
    def who(self) -> str:
        """Who wrote it, for people to read: the author, else the role; of a page the document, and who sent it."""
        return self.document.credit(self.author) if self.document else self.author or self.role

    @property
    def points(self) -> float:
        """The sum by which the hits of one search are ordered; it means nothing for another search."""
        return float(sum(self.why.get("score", {}).values()))


@dataclass(frozen=True, slots=True)
class WhyNot:
    """At which stage a search left a message out, and an explanation in words. ``rank`` and ``score`` are those among
    the candidates, ``why`` is as in a hit; all three are None if the message was not a candidate."""

    message_id: str
    stage: Literal["filtered", "not proposed", "ranked", "left out", "below minimum", "shown"]
    words: str
    rank: int | None = None
    score: float | None = None
    why: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SummaryHit:
    """A found summary with its reasons: ``why`` maps the legs ``dense`` and ``summary`` to their contributions."""

    rank: int
    score: float
    summary: Summary
    session_title: str | None
    why: Mapping[str, float]


LIKELY_SCORE = 0.5
"""From this score on a hit is likely to be what was asked for. If no hit has it, all may be about something else."""

UNLIKELY_SCORE = 0.12
"""Below this score a hit is unlikely: if the best one is, a search has found nothing. Of the cited messages among the
first ten hits, 1.7 % of LoCoMo's and 3.6 % of BEAM's have less."""


@dataclass(frozen=True, slots=True)
class Hits(Sequence[Hit]):
    """The hits of a search in their order, with what the search has to say about itself. A sequence of its hits.

    Attributes:
        hits: The hits.
        query: What was searched for.
        mode: The mode of the search.
        notes: Which leg could not run and why, in words, so that nothing is left out silently.
        took_ms: Wall time of finding the hits, in milliseconds.
        total: How many hits there are, those before and behind these included: the ranked candidates, and every other
            message that matches the words and filters.
        total_is_exact: Whether ``total`` is that number. Otherwise there are at least so many, and they were not
            counted, or not to the end.
        likely: How many of ``total`` are likely to be what was asked for (``LIKELY_SCORE``); the others share words or
            a part of the meaning.
        more: Whether there are hits behind these, which ``offset`` leads to.
        found: Whether the best message is a good match. If it is not, there are no hits, unless a minimum score is
            asked for; ``total`` counts the others nevertheless.
        supports_context: Whether the best message is so good a match that an assistant may rely on it. If it is not, a
            context has no memories, while a search shows them to a person.
        why_not: What became of the message that was asked about.
        times: The words of the query that name a time; messages from then come first.
        summaries: The summaries that answer the query best.
    """

    hits: tuple[Hit, ...]
    query: str
    mode: Mode
    notes: tuple[str, ...]
    took_ms: float
    why_not: WhyNot | None = None
    times: tuple[str, ...] = ()
    summaries: tuple[SummaryHit, ...] = ()
    total: int = 0
    total_is_exact: bool = True
    likely: int = 0
    more: bool = False
    found: bool = True
    supports_context: bool = True

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, place: int) -> Hit: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, place: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[place]


def without_unlikely(hits: Sequence[Hit]) -> Sequence[Hit]:
    """The hits up to the last one that is not unlikely, at least the first one."""
    kept = [place for place, hit in enumerate(hits, 1) if hit.score >= UNLIKELY_SCORE]
    return hits[: kept[-1] if kept else 1]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One fact, message, sentence of a summary or turn in a context. ``tokens`` is what it adds to the rendered prompt.

    ``message_id`` is the id of a message, a fact ("f7"), a block of core memory ("core:persona") or a summary ("sum7",
    or "s9" for the running summary of that session); for facts and summaries ``why["messages"]`` names the messages
    that they come from. ``why`` says why a message was chosen: its ``rank``, ``score``, ``relevance`` (relative to the
    best hit) and ``importance``, or the message that it stands ``beside``.
    """

    message_id: str
    text: str
    tokens: int
    fidelity: Fidelity
    why: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Layer:
    """One part of a context, in prompt order. ``tokens`` counts its items, its heading and the headings of its
    groups."""

    name: LayerName
    tokens: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A message that was considered for a context and left out, and the reason."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Context:
    """What an assistant is given. ``tokens`` is the exact length of ``text`` in ``encoding``; it is the sum of the
    layers' tokens and never exceeds ``budget``. All five layers are present, even if empty. ``messages`` is the same
    content in chat form; its contents do not exceed the budget either. ``found`` is False if memories were searched for
    and none is a good match: the memory does not know the answer."""

    query: str
    budget: int
    tokens: int
    encoding: str
    layers: tuple[Layer, ...]
    messages: tuple[Mapping[str, str], ...]
    text: str
    dropped: tuple[Dropped, ...]
    notes: tuple[str, ...] = ()
    found: bool = True

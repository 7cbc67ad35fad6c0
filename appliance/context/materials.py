"""The values that a context is built from: the plan, the material, and the parts of the prompt."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.context.budget import CountTokens
from appliance.context.shares import Shares
from appliance.types import ContextItem, CoreBlock, Fact, Hit, Message, Summary, Window


@dataclass(frozen=True, slots=True)
class ContextPlan:
    """What a context is built for.

    Attributes:
        query: The query.
        words: Its content words.
        budget: The most tokens.
        shares: How the budget is shared among the layers.
        encoding: The name of the encoding.
        count: Counts the tokens of a text.
        per_session: So many memories of one session come before those of other sessions, so that one long chat does not
            crowd the others out. Further memories of it can fill what the others leave.
        now: Microseconds since 1970.
        recall_limit: The most memories; None for as many as the budget holds.
        names_nothing: Whether the query names nothing to look for, so that summaries answer it as well as messages.
        says_no_match: Whether a line says that no memory matches, if there is none.
    """

    query: str
    words: Sequence[str]
    budget: int
    shares: Shares
    encoding: str
    count: CountTokens
    per_session: int
    now: int
    recall_limit: int | None = None
    names_nothing: bool = False
    says_no_match: bool = False

    def layer_tokens(self, layer: str) -> int:
        """The tokens of a layer's share."""
        return int(self.budget * self.shares[layer])

    def has_share(self, layer: str) -> bool:
        return self.shares[layer] > 0


@dataclass(frozen=True, slots=True)
class ContextMaterial:
    """What a context can be made from.

    Attributes:
        turns: The latest turns of the present session, oldest first.
        window: Its working memory, which replaces ``turns`` and has a summary of the turns before.
        hits: Memories, best first.
        blocks: The blocks of core memory.
        facts: The facts that hold now.
        summaries: Summaries of other sessions, best first.
        neighbours: The messages directly before and after each of the best hits, by message id.
        importance: 0 to 1 by message id; 0.5 if not known.
        pinned: The ids of pinned messages.
        judgements: The feedback that holds ("helpful", "wrong", "outdated"), by message id.
        worth: What hits are worth, 0 to 1, by message id; 1 if not known. See ``worth``.
        no_match: Whether memories were searched for, and none is good enough to be shown.
        found: Whether the best memory is a good match, or none was searched for.
    """

    turns: Sequence[Message] = ()
    window: Window | None = None
    hits: Sequence[Hit] = ()
    blocks: Sequence[CoreBlock] = ()
    facts: Sequence[Fact] = ()
    summaries: Sequence[Summary] = ()
    neighbours: Mapping[str, tuple[Message | None, Message | None]] = field(default_factory=dict)
    importance: Mapping[str, float] = field(default_factory=dict)
    pinned: Collection[str] = ()
    judgements: Mapping[str, str] = field(default_factory=dict)
    worth: Mapping[str, float] = field(default_factory=dict)
    no_match: bool = False
    found: bool = True

    @property
    def latest(self) -> Sequence[Message]:
        return self.window.turns if self.window is not None else self.turns


TimelinePosition = tuple[bool, str, str, int]
"""The sort key of a memory: whether its time is unknown, the time, the session and the message's key."""

NO_POSITION: TimelinePosition = (True, "", "", 0)


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of the prompt.

    Attributes:
        item: The item that it shows.
        rendered: Its text in the prompt.
        group: The head of its group, if any.
        position: Its place among the memories.
        rank: Its rank among the memories; the largest rank is dropped first.
        role: The role of a turn.
    """

    item: ContextItem
    rendered: str
    group: str = ""
    position: TimelinePosition = NO_POSITION
    rank: int = 0
    role: str = ""


def total(pieces: Sequence[PromptPart]) -> int:
    """The tokens of parts, without headings and group heads."""
    return sum(piece.item.tokens for piece in pieces)

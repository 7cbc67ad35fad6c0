"""What a context is built of, as values: the plan, the material, and the pieces that a prompt is made of."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from appliance.context.budget import CountTokens
from appliance.context.shares import Shares
from appliance.types import ContextItem, Fact, Hit, Message, Summary, Window


@dataclass(frozen=True, slots=True)
class Plan:
    """What a context is built for: the question and its words, the budget in the encoding's tokens, and how it is
    shared out. ``now`` is in microseconds since 1970.

    ``per_session`` memories of one session come before others have had their turn, so that one long chat does
    not crowd them out; a chat of ten years can still fill what they leave.
    """

    query: str
    words: Sequence[str]
    budget: int
    shares: Shares
    encoding: str
    count: CountTokens
    per_session: int
    now: int

    def room(self, layer: str) -> int:
        """The tokens of a layer's share."""
        return int(self.budget * self.shares[layer])

    def wants(self, layer: str) -> bool:
        return self.shares[layer] > 0


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to choose from.

    ``turns`` are the present session's latest, oldest first; a ``window`` brings its own and what stands for the
    turns before them. ``hits`` and ``summaries`` (of other sessions) are ranked, ``facts`` are those that hold now.
    ``beside`` has, for the best hits, what was said directly before and after. ``importance`` is 0 to 1 by message
    id, 0.5 where it is not known; ``pinned`` are message ids.
    """

    turns: Sequence[Message] = ()
    window: Window | None = None
    hits: Sequence[Hit] = ()
    facts: Sequence[Fact] = ()
    summaries: Sequence[Summary] = ()
    beside: Mapping[str, tuple[Message | None, Message | None]] = field(default_factory=dict)
    importance: Mapping[str, float] = field(default_factory=dict)
    pinned: Collection[str] = ()

    @property
    def latest(self) -> Sequence[Message]:
        return self.window.turns if self.window is not None else self.turns


Place = tuple[bool, str, str, int]
"""Where a memory stands in time: whether it has none, its time, its session and its number."""

NOWHERE: Place = (True, "", "", 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the prompt and the item that it shows. ``group`` is the head that it stands under, if any, and
    ``place`` where it stands among the memories. ``rank`` says who of these gives way first: the largest."""

    item: ContextItem
    rendered: str
    group: str = ""
    place: Place = NOWHERE
    rank: int = 0
    role: str = ""


def total(pieces: Sequence[Piece]) -> int:
    """The tokens of pieces, without headings and heads."""
    return sum(piece.item.tokens for piece in pieces)

"""The hits of a search as far as somebody has scrolled. The list and the conversations opened from it share them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Hit, HitOrder, Hits, MessageMatches

T = TypeVar("T")

RunQuery = Callable[[Callable[["Appliance"], T]], Awaitable[T]]

PAGE_HITS = 20
"""Hits of a page behind the first one, which has as many as the settings say, or as fit on a higher screen."""

NEAR_MESSAGES = 6
"""Messages between two hits of a conversation, at most, for them to be listed together: they are of one exchange."""


@dataclass(frozen=True, slots=True)
class SearchSpec:
    """What was searched for. ``arguments`` are those of ``Appliance.search`` besides the query and the page."""

    query: str
    arguments: Mapping[str, Any]
    sort: HitOrder = "score"
    neighbours: int = 0


@dataclass(frozen=True, slots=True)
class ResultPage:
    """One page of hits, with the words that match in them and their sentences, by message id."""

    hits: Hits
    matches: Mapping[str, MessageMatches]


def read_page(memory: Appliance, spec: SearchSpec, offset: int = 0, fit: int = 0) -> ResultPage:
    """Search for one page. Call it on a thread. ``fit`` hits have room on the screen, of which the first page has more
    if the settings say so.

    Raises:
        ApplianceError: as the memory says.
    """
    hits = memory.search(
        spec.query, limit=PAGE_HITS if offset else max(fit, memory.settings.search.limit), offset=offset,
        sort=spec.sort, neighbours=spec.neighbours,
        **spec.arguments,
    )  # fmt: skip
    ids = [hit.message_id for hit in hits]
    matches = memory.overview.matches(spec.query, ids) if ids and spec.query.strip() else []
    return ResultPage(hits, {found.message_id: found for found in matches})


@dataclass(slots=True)
class SearchResults:
    """The pages that were read, in the order in which they are listed.

    ``total`` is the number of all hits, or at least so many; ``followers`` are the ids of hits that are listed under
    the one before, which they are near; ``position`` is the index of the hit that was opened last; ``likely`` counts
    the hits that are likely to be what was asked for, which come first, or is None where hits are listed by time
    or by filters alone.
    """

    spec: SearchSpec
    hits: list[Hit] = field(default_factory=list)
    matches: dict[str, MessageMatches] = field(default_factory=dict)
    followers: set[str] = field(default_factory=set)
    notes: tuple[str, ...] = ()
    total: int = 0
    total_is_exact: bool = True
    more: bool = False
    found: bool = True
    position: int = 0
    likely: int | None = None
    _offset: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def __len__(self) -> int:
        return len(self.hits)

    def add(self, page: ResultPage) -> None:
        """Add the next page. A hit that is listed already, because the memory has changed meanwhile, is left out."""
        known = {hit.message_id for hit in self.hits}
        new = [hit for hit in page.hits if hit.message_id not in known]
        if self.spec.sort == "score" and self.spec.query.strip():  # what passes filters alone is as good as any other
            self.likely = max(self.likely or 0, page.hits.likely)
        likely = [hit for hit in new if self.is_likely(hit)]
        for hit, is_follower in (*group_near(likely), *group_near([hit for hit in new if not self.is_likely(hit)])):
            self.hits.append(hit)
            if is_follower:
                self.followers.add(hit.message_id)
        self.matches.update(page.matches)
        if not self._offset:
            self.notes, self.found = page.hits.notes, page.hits.found
            self.total, self.total_is_exact = page.hits.total, page.hits.total_is_exact
        self._offset += len(page.hits)
        self.more = page.hits.more
        if not self.more and self.hits:
            self.total, self.total_is_exact = self._offset, True

    def is_likely(self, hit: Hit) -> bool:
        """Whether a hit is likely to be what was asked for."""
        return self.likely is None or hit.rank <= self.likely

    @property
    def are_weak(self) -> bool:
        """Whether no hit is likely to be what was asked for."""
        return bool(self.hits) and self.likely == 0

    @property
    def last_likely(self) -> int | None:
        """The index of the last likely hit if less likely ones are listed behind it."""
        first_other = next((index for index, hit in enumerate(self.hits) if not self.is_likely(hit)), 0)
        return first_other - 1 if first_other else None

    def reach(self, message_id: str) -> None:
        """Go on from the hit that is a message; from the last one if the message is none of those that were read."""
        self.position = next(
            (index for index, hit in enumerate(self.hits) if hit.message_id == message_id), self.position
        )

    def position_text(self, message_id: str) -> str:
        """ "hit 2 of 107" for the message of the hit that is read; of others "left hit 2 of 107"."""
        hit = self.hits[self.position]
        text = self._number_text(hit)
        return text if hit.message_id == message_id else f"left {text}"

    def _number_text(self, hit: Hit) -> str:
        if not self.likely or self.likely >= self.total:  # where none is likely, none is less so
            return f"hit {self.position + 1:,} of {self.total:,}"
        if self.is_likely(hit):
            return f"hit {self.position + 1:,} of {self.likely:,} likely"
        return f"less likely hit {self.position + 1:,} of {self.total:,}"

    async def load_more(self, run_query: RunQuery[ResultPage]) -> bool:
        """Read the next page; False if there is none, or another call has read one meanwhile.

        Raises:
            ApplianceError: as the memory says.
        """
        before = self._offset
        async with self._lock:
            if not self.more or self._offset != before:
                return False
            self.add(await run_query(partial(read_page, spec=self.spec, offset=self._offset)))
            return True

    async def count(self, run_query: RunQuery[Hits]) -> None:
        """Count all hits, which takes a search of its own.

        Raises:
            ApplianceError: as the memory says.
        """

        def search(memory: Appliance) -> Hits:
            return memory.search(self.spec.query, limit=1, count=True, sort=self.spec.sort, **self.spec.arguments)

        counted = await run_query(search)
        if self.more:
            self.total, self.total_is_exact = max(counted.total, len(self)), counted.total_is_exact

    def total_text(self) -> str:
        """ "558 hits, 2 likely; the first 10 are listed"; "more than 10,000 hits" where not all were counted."""
        if not self.hits:
            return "No matches" if self.found or not self.total else "No good match"
        likely = f", {self.likely:,} likely" if self.likely and self.likely < self.total else ""
        likely = ", weak matches only" if self.are_weak else likely
        if not self.more:
            return f"{len(self):,} hit{'' if len(self) == 1 else 's'}{likely}"
        at_least = "" if self.total_is_exact else "more than "
        total = self.total if self.total_is_exact else self.total - 1
        return f"{at_least}{total:,} hits{likely}; the first {len(self):,} are listed"


def group_near(hits: Sequence[Hit]) -> Iterator[tuple[Hit, bool]]:
    """Yield hits in their order, each followed by those of its conversation that are near it, which are marked True."""
    remaining = list(hits)
    while remaining:
        first = remaining.pop(0)
        near = [hit for hit in remaining if _are_near(first, hit)]
        remaining = [hit for hit in remaining if hit not in near]
        yield first, False
        yield from ((hit, True) for hit in near)


def _are_near(one: Hit, other: Hit) -> bool:
    """Whether two hits stand close in a conversation: messages are numbered in the order in which they were read."""
    if one.session_id != other.session_id:
        return False
    return abs(_number(one) - _number(other)) <= NEAR_MESSAGES


def _number(hit: Hit) -> int:
    return int(hit.message_id[1:])

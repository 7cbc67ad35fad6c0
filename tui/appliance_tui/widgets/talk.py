"""A conversation as it is laid out: what stands above each message, and how high each will be, before any was read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from appliance.types import Outline

FOLDS_ABOVE = 30
"""Lines above which a message is folded: it would fill the screen and hide what it answers."""

FOLDED = 20
"""Lines of a folded message that are shown."""

ESTIMATED_AT = 72
"""Characters of a line by which an outline estimates lines."""

HEAD = 2
"""Lines above a message that begins a turn: an empty one, and who speaks when."""

DAY = 2
"""Lines more above a message that begins a day."""


@dataclass(frozen=True, slots=True)
class Talk:
    """An outline with what is reckoned from it once. ``heads`` says which messages have a head of their own: not those
    that the same one says in the same minute; ``days`` which of them begin a day; ``day_starts`` are their indices."""

    outline: Outline
    places: Mapping[str, int]
    heads: NDArray[np.bool_]
    days: NDArray[np.bool_]
    day_starts: Sequence[int]

    def __len__(self) -> int:
        return len(self.outline.ids)

    def above(self, index: int) -> int:
        """Lines above the text of a message."""
        return HEAD * bool(self.heads[index]) + DAY * bool(self.days[index])

    def heights(self, width: int) -> NDArray[np.int64]:
        """An estimate of each message's height, all of them folded."""
        characters = np.asarray(self.outline.characters, np.int64)
        breaks = np.asarray(self.outline.lines, np.int64) - characters // ESTIMATED_AT - 1
        lines = characters // max(1, width) + 1 + breaks
        lines = np.where(lines > FOLDS_ABOVE, FOLDED + 1, lines)
        heights: NDArray[np.int64] = lines + HEAD * self.heads + DAY * self.days
        return heights

    def day_beside(self, index: int, by: int) -> int | None:
        """Where the next day begins (``by`` 1), or the present or else the previous one (-1); None if there is none."""
        if by > 0:
            behind = bisect_right(self.day_starts, index)
            return self.day_starts[behind] if behind < len(self.day_starts) else None
        before = bisect_right(self.day_starts, index - 1)
        return self.day_starts[before - 1] if before else None

    def first_at(self, date: str) -> int | None:
        """The first message of a year, a month or a day, or else the next one that was said after it."""
        return next(
            (start for start in self.day_starts if self.outline.times[start][: len(date)] >= date), None
        )

    def nearest(self, id: str, before: Talk) -> int:
        """Where a message is; if it is not there any more, what has come to its place since ``before``."""
        if (place := self.places.get(id)) is not None:
            return place
        was = before.places.get(id, 0)
        following = before.outline.ids[was + 1 : was + 1 + 1_000]
        near = next((self.places[one] for one in following if one in self.places), was)
        return max(0, min(near, len(self) - 1))


def talk(outline: Outline) -> Talk:
    """What is reckoned from an outline: some milliseconds for each 10,000 messages, so on a thread."""
    days = [time[:10] for time in outline.times]
    begins = _changes(days) & np.fromiter(map(bool, days), np.bool_, len(days))
    minutes = [time[:16] for time in outline.times]
    heads = begins | _changes(minutes) | _changes(outline.authors) | _changes(outline.roles)
    places = {id: place for place, id in enumerate(outline.ids)}
    return Talk(outline, places, heads, begins, np.flatnonzero(begins).tolist())


def _changes(column: Sequence[str]) -> NDArray[np.bool_]:
    """Which values differ from the one before; the first one does."""
    changed = np.ones(len(column), np.bool_)
    if len(column) > 1:
        changed[1:] = [one != other for one, other in zip(column[1:], column, strict=False)]
    return changed

"""The layout of a conversation: the lines above each message, and heights, estimated before the messages are read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from appliance.types import Outline

FOLD_THRESHOLD_LINES = 30
"""Lines above which a message is folded: it would fill the screen and hide the message it answers."""

FOLDED_LINES = 20
"""Lines of a folded message that are shown."""

OUTLINE_LINE_WIDTH = 72
"""Characters a line by which an outline counts the lines of a message."""

HEADER_LINES = 2
"""Lines above a message that begins a turn: an empty one, and author and time."""

DAY_LINES = 2
"""Further lines above the first message of a day."""


@dataclass(frozen=True, slots=True)
class ConversationLayout:
    """An outline with what is computed from it once.

    ``has_header`` tells which messages have a header: not those of the same author in the same minute, but for those
    with attachments.
    ``begins_day`` tells which are the first of a day; ``day_starts`` are the indices of those.
    """

    outline: Outline
    index_by_id: Mapping[str, int]
    has_header: NDArray[np.bool_]
    begins_day: NDArray[np.bool_]
    day_starts: Sequence[int]

    def author(self, index: int) -> tuple[str | None, str]:
        """The name of a message's author, None if its source gave none, and the role."""
        return self.outline.authors[index] or None, self.outline.roles[index]

    def __len__(self) -> int:
        return len(self.outline.ids)

    def lines_above(self, index: int) -> int:
        """Lines above the text of a message."""
        return HEADER_LINES * bool(self.has_header[index]) + DAY_LINES * bool(self.begins_day[index])

    def estimate_heights(self, width: int) -> NDArray[np.int64]:
        """Estimate the lines of each message, folded, at a width in columns."""
        characters = np.asarray(self.outline.characters, np.int64)
        breaks = np.asarray(self.outline.lines, np.int64) - characters // OUTLINE_LINE_WIDTH - 1
        lines = characters // max(1, width) + 1 + breaks
        lines = np.where(lines > FOLD_THRESHOLD_LINES, FOLDED_LINES + 1, lines)
        heights: NDArray[np.int64] = lines + HEADER_LINES * self.has_header + DAY_LINES * self.begins_day
        return heights

    def adjacent_day(self, index: int, by: int) -> int | None:
        """The start of the next day (``by`` 1), or of the current or else the previous one (-1), if there is one."""
        if by > 0:
            following = bisect_right(self.day_starts, index)
            return self.day_starts[following] if following < len(self.day_starts) else None
        preceding = bisect_right(self.day_starts, index - 1)
        return self.day_starts[preceding - 1] if preceding else None

    def first_on_or_after(self, date: str) -> int | None:
        """The first message of a year, a month or a day, or the next one after it."""
        return next((start for start in self.day_starts if self.outline.times[start][: len(date)] >= date), None)

    def nearest_index(self, id: str, previous: ConversationLayout) -> int:
        """The index of a message; if it is gone, of the next one that followed it in the ``previous`` layout."""
        if (index := self.index_by_id.get(id)) is not None:
            return index
        previous_index = previous.index_by_id.get(id, 0)
        following = previous.outline.ids[previous_index + 1 : previous_index + 1 + 1_000]
        nearest = next(
            (self.index_by_id[next_id] for next_id in following if next_id in self.index_by_id), previous_index
        )
        return max(0, min(nearest, len(self) - 1))


def build_layout(outline: Outline) -> ConversationLayout:
    """Compute the layout of an outline. It takes some milliseconds for 10,000 messages, so call it on a thread."""
    days = [time[:10] for time in outline.times]
    begins_day = _change_mask(days) & np.fromiter(map(bool, days), np.bool_, len(days))
    minutes = [time[:16] for time in outline.times]
    has_header = begins_day | _change_mask(minutes) | _change_mask(outline.authors) | _change_mask(outline.roles)
    has_header |= np.fromiter(map(bool, outline.attachments), np.bool_, len(days))  # the header counts them
    index_by_id = {id: index for index, id in enumerate(outline.ids)}
    return ConversationLayout(outline, index_by_id, has_header, begins_day, np.flatnonzero(begins_day).tolist())


def _change_mask(column: Sequence[str]) -> NDArray[np.bool_]:
    """Which values differ from the previous one; the first counts as different."""
    changed = np.ones(len(column), np.bool_)
    if len(column) > 1:
        changed[1:] = [value != previous for value, previous in zip(column[1:], column, strict=False)]
    return changed


class HeightIndex:
    """The heights of a column of items in lines, and the line on which each begins.

    A changed height moves all that follows. The sums are recomputed when they are next needed, which takes 0.2 ms for
    100,000 items.
    """

    def __init__(self, heights: NDArray[np.int64]) -> None:
        self._heights = heights
        self._ends: NDArray[np.int64] | None = None

    @classmethod
    def empty(cls) -> Self:
        return cls(np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return int(self._heights[index])

    @property
    def total(self) -> int:
        """The height of the column."""
        return int(self._cumulative_heights()[-1]) if len(self._heights) else 0

    def top(self, index: int) -> int:
        """The first line of an item."""
        return int(self._cumulative_heights()[index - 1]) if index else 0

    def index_at(self, line: int) -> int:
        """The item at a line, the nearest one for a line outside. The column must not be empty."""
        return max(0, min(int(np.searchsorted(self._cumulative_heights(), line, side="right")), len(self._heights) - 1))

    def begins_in_row(self, indices: Sequence[int], row: int, rows: int) -> bool:
        """Whether any of some items, which are in order, begins in what a row of a scrollbar of so many rows stands
        for."""
        if not indices:
            return False
        rows = min(rows, self.total)
        start, end = row * self.total // rows, (row + 1) * self.total // rows
        first = self.index_at(start)
        place = bisect_left(indices, first + (self.top(first) < start))
        return place < len(indices) and self.top(indices[place]) < end

    def update(self, heights: Mapping[int, int]) -> None:
        """Set heights by index."""
        if heights:
            self._heights[list(heights)] = list(heights.values())
            self._ends = None

    def _cumulative_heights(self) -> NDArray[np.int64]:
        if self._ends is None:
            self._ends = np.cumsum(self._heights)
        return self._ends


def empty_layout(session_id: str) -> ConversationLayout:
    """A conversation without messages."""
    from appliance.types import Outline

    return build_layout(Outline(session_id))

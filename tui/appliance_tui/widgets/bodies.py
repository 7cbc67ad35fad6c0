"""The texts of messages as they were drawn: how many lines each takes, and which of them are there."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from textual.strip import Strip

from appliance_tui.widgets.drawing import Look, drawn, pieces
from appliance_tui.widgets.talk import FOLDED, FOLDS_ABOVE

LINES_KEPT = 6_000
"""Drawn lines that are kept: a hundred screens of them are some ten megabytes."""


@dataclass(slots=True)
class Body:
    """A drawn text. ``heights`` are those of its pieces, an estimate where ``strips`` has none of that piece; folded
    there is one. ``more`` are the lines that are folded away, ``exact`` whether they were counted."""

    sources: tuple[str, ...]
    heights: list[int]
    strips: dict[int, Sequence[Strip]]
    long: bool
    folded: bool
    more: int = 0
    exact: bool = True
    look: Look | None = None
    turn: int = 0
    """When it was asked for: what is older than the conversation that is shown is asked for again."""

    @property
    def lines(self) -> int:
        """The lines that it takes, with the one that says how it is folded."""
        return sum(self.heights) + self.long

    @property
    def drawn_lines(self) -> int:
        """The lines that are there."""
        return sum(map(len, self.strips.values()))

    def find(self, row: int) -> tuple[int, int]:
        """The piece that a row lies in, and its row there; behind the last piece there is the line about the fold."""
        for number, height in enumerate(self.heights):
            if row < height:
                return number, row
            row -= height
        return len(self.heights), row

    def top(self, piece: int) -> int:
        """The row on which a piece begins."""
        return sum(self.heights[:piece])


def body(text: str, look: Look, *, folded: bool, wanted: Collection[int] = (0,)) -> Body:
    """Draw a text, of a long one that is not folded the wanted pieces."""
    sources = pieces(text)
    first = drawn(sources[0], look)
    long = len(sources) > 1 or len(first) > FOLDS_ABOVE
    if long and folded:
        shown = first[:FOLDED]
        exact = len(sources) == 1
        more = len(first) - len(shown) if exact else _estimate(text, look.width) - len(shown)
        return Body((), [len(shown)], {0: shown}, True, True, max(1, more), exact, look)
    strips = {0: first} | {
        number: drawn(sources[number], look) for number in wanted if 0 < number < len(sources)
    }
    heights = [
        len(strips[number]) if number in strips else _estimate(source, look.width)
        for number, source in enumerate(sources)
    ]
    return Body(sources if len(sources) > 1 else (), heights, {**strips}, long, False, look=look)


def drawn_pieces(sources: Sequence[str], look: Look, wanted: Collection[int]) -> dict[int, Sequence[Strip]]:
    """Pieces of a text that was cut before."""
    return {number: drawn(sources[number], look) for number in wanted if number < len(sources)}


def _estimate(text: str, width: int) -> int:
    return len(text) // max(1, width) + text.count("\n") + 1


@dataclass(slots=True)
class Bodies:
    """The drawn texts by the ids of their messages, those last used kept."""

    _kept: OrderedDict[str, Body] = field(default_factory=OrderedDict)
    lines: int = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def get(self, id: str) -> Body | None:
        """The text of a message; it counts as used."""
        found = self._kept.get(id)
        if found is not None:
            self._kept.move_to_end(id)
        return found

    def put(self, id: str, body: Body) -> None:
        """Keep a text in place of the one before."""
        self.drop(id)
        self._kept[id] = body
        self.lines += body.drawn_lines
        self._bound(id)

    def add(self, id: str, body: Body, strips: dict[int, Sequence[Strip]]) -> None:
        """More pieces of a text that is kept."""
        for number, lines in strips.items():
            body.strips[number] = lines
            body.heights[number] = len(lines)
        self.lines = sum(one.drawn_lines for one in self._kept.values())
        self._bound(id)

    def drop(self, id: str) -> None:
        """Let go of a text."""
        gone = self._kept.pop(id, None)
        if gone is not None:
            self.lines -= gone.drawn_lines

    def clear(self) -> None:
        """Let go of all."""
        self._kept.clear()
        self.lines = 0

    def _bound(self, latest: str) -> None:
        """Let go of what was not used for longest; of a very long text, of the pieces that were drawn first."""
        while self.lines > LINES_KEPT and len(self._kept) > 1:
            self.drop(next(iter(self._kept)))
        strips = self._kept[latest].strips
        while self.lines > LINES_KEPT and len(strips) > 1:
            self.lines -= len(strips.pop(next(iter(strips))))

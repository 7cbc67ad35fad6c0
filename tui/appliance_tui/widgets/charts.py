"""Plots in the colours of the theme."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

from rich.cells import cell_len
from rich.text import Text
from textual.color import Color
from textual.content import Content
from textual.widgets import Static

from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.words import fitted, one_line
from appliance_tui.working import Looking

Lines = Mapping[str, Sequence[tuple[float, float]]]
"""Points by the name of their line."""

COLOURS = ("primary", "secondary", "accent", "error", "foreground")
MARKS = (("braille", "⠤"), ("hd", "▄"), ("dot", "•"), ("x", "x"), ("+", "+"))
"""As plotext names them, and as the legend shows them. A line has a colour and a mark of its own: where there are no
colours, the marks tell them apart."""

NAMED = 18
"""Cells at most of a name beside a bar."""

LEAST_WIDTH, LEAST_HEIGHT = 16, 4
"""Cells below which there is nothing to be seen."""

TICKS = 5
LINES_A_TICK = 3
CELLS_A_TICK = 12
"""Room that a tick needs on the axes."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """All that a plot is drawn from."""

    lines: Lines
    ticks: Sequence[tuple[float, str]]
    width: int
    height: int
    colours: Sequence[tuple[int, int, int]]
    ink: tuple[int, int, int]
    paper: tuple[int, int, int]


class Chart(Static):
    """Lines, with a title, a legend, and words for places on the axis below. It is drawn on a thread, for that takes up
    to a tenth of a second."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__("", id=id, markup=False)
        self.title = title
        self._empty = empty
        self._lines: Lines = {}
        self._ticks: Sequence[tuple[float, str]] = ()
        self._draw = Looking(self, self._drawn)

    def on_mount(self) -> None:
        self.watch(self.app, "theme", lambda: self._draw(), init=False)
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def show(self, lines: Lines, ticks: Sequence[tuple[float, str]]) -> None:
        """Show other lines; ``ticks`` are what stands below."""
        if (lines, ticks) != (self._lines, self._ticks):
            self._lines, self._ticks = lines, ticks
            self._draw()

    async def _drawn(self) -> None:
        lines = {name: points for name, points in self._lines.items() if points}
        self.border_title = self.title
        if not lines:
            self.border_subtitle = self._empty
            self.update("")
            return
        legend = [
            Content.assemble((f"{mark} ", f"${colour}"), one_line(name))
            for name, colour, (_, mark) in zip(lines, cycle(COLOURS), cycle(MARKS), strict=False)
        ]
        self.border_subtitle = Content("  ").join(legend)
        width, height = self.content_size
        if width < LEAST_WIDTH or height < LEAST_HEIGHT:
            return
        theme = self.app.theme_variables
        drawing = Drawing(
            lines, self._ticks, width, height,
            [_rgb(theme[colour]) for colour in COLOURS], _rgb(theme["foreground"]), _rgb(theme["background"]),
        )  # fmt: skip
        self.update(await asyncio.to_thread(plotted, drawing))


def plotted(drawing: Drawing) -> Text:
    """A plot as text. One at a time: the library behind it keeps some of its state for all plots."""
    with _ONE_AT_A_TIME:
        from textual_plotext import Plot

        plot = Plot()
        plot.canvas_color(drawing.paper)
        plot.axes_color(drawing.paper)
        plot.ticks_color(drawing.ink)
        plot.frame(False)
        top = max(value for points in drawing.lines.values() for _, value in points) or 1.0
        for points, colour, (mark, _) in zip(
            drawing.lines.values(), cycle(drawing.colours), cycle(MARKS), strict=False
        ):
            at, values = zip(*_thinned(points, drawing.width), strict=True)
            plot.plot(list(at), list(values), color=colour, marker=mark)
        plot.ylim(0, top)
        count = max(2, min(TICKS, drawing.height // LINES_A_TICK))
        heights = [top * step / (count - 1) for step in range(count)]
        plot.yticks(heights, [short(height) for height in heights])
        step = max(1, -(-len(drawing.ticks) // max(2, drawing.width // CELLS_A_TICK)))
        ticks = drawing.ticks[::step]
        plot.xticks([at for at, _ in ticks], [word for _, word in ticks])
        plot.plotsize(drawing.width, drawing.height)
        plot._set_size(drawing.width, drawing.height)
        return Text.from_ansi(plot.build())


def _thinned(points: Sequence[tuple[float, float]], width: int) -> list[tuple[float, float]]:
    """No more points than there are cells, the highest of those that share one: a peak stays to be seen."""
    group = -(-len(points) // max(1, width))
    return [max(points[at : at + group], key=lambda point: point[1]) for at in range(0, len(points), group)]


_ONE_AT_A_TIME = threading.Lock()


class Bars(Static):
    """Counts by name as bars, largest first."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__("", id=id, markup=False)
        self.border_title = title
        self._empty = empty
        self._counts: Sequence[tuple[str, float, str]] = ()

    def show(self, counts: Sequence[tuple[str, float, str]]) -> None:
        """Names with their counts, and the counts in words."""
        self._counts = counts
        self._write()

    def on_resize(self) -> None:
        self._write()

    def _write(self) -> None:
        if not self._counts:
            self.update(Content.styled(self._empty, "$foreground-muted"))
            return
        width, height = self.size
        rows = self._counts
        if len(rows) > height > 1:  # the smallest ones together
            rest = rows[height - 1 :]
            rows = [*rows[: height - 1], (f"{len(rest)} more", 0.0, "")]
        top = max(count for _, count, _ in self._counts) or 1.0
        named = min(NAMED, max(cell_len(name) for name, _, _ in rows))
        told = max(len(words) for _, _, words in rows)
        room = max(4, width - named - told - 2)
        self.update(
            Content("\n").join(
                Content.assemble(
                    (fitted(name, named), "$foreground"),
                    " ",
                    (bar(count / top, room), f"${COLOURS[0]}"),
                    " ",
                    (f"{words:>{told}}", "$foreground-muted"),
                )
                for name, count, words in rows
            )
        )


def short(value: float) -> str:
    """A number in few letters: 950, 1.2k, 3.4M."""
    for unit in ("", "k", "M"):
        if abs(value) < 1000 or unit == "M":
            return f"{value:.0f}{unit}" if value >= 10 or value == int(value) else f"{value:.1f}{unit}"
        value /= 1000
    raise AssertionError


def _rgb(colour: str) -> tuple[int, int, int]:
    return Color.parse(colour).rgb

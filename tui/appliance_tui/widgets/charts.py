"""Line and bar charts in the colours of the theme."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from itertools import cycle

from rich.cells import cell_len
from rich.text import Text
from textual.color import Color
from textual.content import Content
from textual.widgets import Static

from appliance.lazy_dataclasses import dataclass
from appliance_tui.widgets.display_text import fit_width, one_line, render_bar
from appliance_tui.workers import CoalescingRefresh

LineSeries = Mapping[str, Sequence[tuple[float, float]]]
"""Points (x, y) by the name of their line."""

COLOURS = ("primary", "secondary", "accent", "error", "foreground")
LINE_MARKS = (("braille", "⠤"), ("hd", "▄"), ("dot", "•"), ("x", "x"), ("+", "+"))
"""The marks of lines, as plotext names them and as the legend shows them. They tell lines apart without colours."""

MAX_NAME_CELLS = 18
"""Cells of a bar's name at most."""

MIN_WIDTH, MIN_HEIGHT = 16, 4
"""Cells below which nothing is drawn."""

MAX_TICKS = 5
LINES_PER_TICK = 3
CELLS_PER_TICK = 12
"""Space that a tick needs on each axis."""


@dataclass(frozen=True, slots=True)
class PlotSpec:
    """Everything that a plot is drawn from. Sizes are in cells, colours RGB from 0 to 255."""

    lines: LineSeries
    ticks: Sequence[tuple[float, str]]
    width: int
    height: int
    colours: Sequence[tuple[int, int, int]]
    foreground: tuple[int, int, int]
    background: tuple[int, int, int]


class Chart(Static):
    """A line chart with title, legend and labelled ticks. It is drawn on a thread, which takes up to 0.1 seconds. Lines
    of a single point are shown as numbers. ``empty`` says in words that there are no lines."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__("", id=id, markup=False)
        self.title = title
        self.empty = empty
        self._lines: LineSeries = {}
        self._ticks: Sequence[tuple[float, str]] = ()
        self._redraw = CoalescingRefresh(self, self._update_plot)

    def on_mount(self) -> None:
        self.watch(self.app, "theme", lambda: self._redraw(), init=False)
        self._redraw()

    def on_resize(self) -> None:
        self._redraw()

    @property
    def is_empty(self) -> bool:
        """Whether there is no point to draw."""
        return not any(self._lines.values())

    def show(self, lines: LineSeries, ticks: Sequence[tuple[float, str]]) -> None:
        """Show other lines. ``ticks`` are positions on the x-axis with their labels."""
        if (lines, ticks) != (self._lines, self._ticks):
            self._lines, self._ticks = lines, ticks
            self._redraw()

    async def _update_plot(self) -> None:
        lines = {name: points for name, points in self._lines.items() if points}
        self.border_title = self.title
        if not lines:
            self.border_subtitle = self.empty
            self.update("")
            return
        if len({x for points in lines.values() for x, _ in points}) < 2:
            self.border_subtitle = ""
            self.update(_single_values(lines, self._ticks))
            return
        legend = [
            Content.assemble((f"{mark} ", f"${colour}"), one_line(name))
            for name, colour, (_, mark) in zip(lines, cycle(COLOURS), cycle(LINE_MARKS), strict=False)
        ]
        self.border_subtitle = Content("  ").join(legend)
        width, height = self.content_size
        if width < MIN_WIDTH or height < MIN_HEIGHT:
            return
        theme = self.app.theme_variables
        spec = PlotSpec(
            lines, self._ticks, width, height,
            [_rgb(theme[colour]) for colour in COLOURS], _rgb(theme["foreground"]), _rgb(theme["background"]),
        )  # fmt: skip
        self.update(await asyncio.to_thread(render_plot, spec))


def _single_values(lines: LineSeries, ticks: Sequence[tuple[float, str]]) -> Content:
    """The numbers of lines that have one point each: no line goes through a single point."""
    width = max(map(cell_len, lines))
    rows = [
        Content.assemble((f"{fit_width(name, width)}  ", "$foreground-muted"), (f"{points[0][1]:,g}", "bold"))
        for name, points in lines.items()
    ]
    return Content("\n").join([*(Content.styled(label, "$foreground-muted") for _, label in ticks[:1]), *rows])


def render_plot(spec: PlotSpec) -> Text:
    """Draw a plot as text, one at a time: plotext shares some of its state among all plots."""
    with _PLOT_LOCK:
        from textual_plotext import Plot

        plot = Plot()
        plot.canvas_color(spec.background)
        plot.axes_color(spec.background)
        plot.ticks_color(spec.foreground)
        plot.frame(False)
        top = max(value for points in spec.lines.values() for _, value in points) or 1.0
        for points, colour, (mark, _) in zip(spec.lines.values(), cycle(spec.colours), cycle(LINE_MARKS), strict=False):
            xs, ys = zip(*_downsample(points, spec.width), strict=True)
            plot.plot(list(xs), list(ys), color=colour, marker=mark)
        plot.ylim(0, top)
        places = [x for points in spec.lines.values() for x, _ in points]
        cell = (max(places) - min(places)) / spec.width
        if cell:
            plot.xlim(min(places) - cell, max(places) + cell)  # else the first and the last point hide in the axes
        count = max(2, min(MAX_TICKS, spec.height // LINES_PER_TICK))
        heights = [top * step / (count - 1) for step in range(count)]
        plot.yticks(heights, [format_compact(height) for height in heights])
        step = max(1, -(-len(spec.ticks) // max(2, spec.width // CELLS_PER_TICK)))
        ticks = spec.ticks[::step]
        plot.xticks([x for x, _ in ticks], [label for _, label in ticks])
        plot.plotsize(spec.width, spec.height)
        plot._set_size(spec.width, spec.height)
        return Text.from_ansi(plot.build())


def _downsample(points: Sequence[tuple[float, float]], width: int) -> list[tuple[float, float]]:
    """At most one point a cell, the highest of its group, so that peaks remain visible."""
    group = -(-len(points) // max(1, width))
    return [max(points[start : start + group], key=lambda point: point[1]) for start in range(0, len(points), group)]


_PLOT_LOCK = threading.Lock()


class BarChart(Static):
    """A bar for each name, in the order given; rows that do not fit are summed up in a last one."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__("", id=id, markup=False)
        self.border_title = title
        self._empty = empty
        self._counts: Sequence[tuple[str, float, str]] = ()

    def show(self, counts: Sequence[tuple[str, float, str]]) -> None:
        """Show names with their counts and the counts as text."""
        self._counts = counts
        self._show_bars()

    def on_resize(self) -> None:
        self._show_bars()

    def _show_bars(self) -> None:
        if not self._counts:
            self.update(Content.styled(self._empty, "$foreground-muted"))
            return
        width, height = self.size
        rows = self._counts
        if len(rows) > height > 1:  # the smallest ones together
            rest = rows[height - 1 :]
            rows = [*rows[: height - 1], (f"{len(rest)} more", 0.0, "")]
        top = max(count for _, count, _ in self._counts) or 1.0
        name_width = min(MAX_NAME_CELLS, max(cell_len(name) for name, _, _ in rows))
        count_width = max(len(label) for _, _, label in rows)
        bar_width = max(4, width - name_width - count_width - 2)
        self.update(
            Content("\n").join(
                Content.assemble(
                    (fit_width(name, name_width), "$foreground"),
                    " ",
                    (render_bar(count / top, bar_width), f"${COLOURS[0]}"),
                    " ",
                    (f"{label:>{count_width}}", "$foreground-muted"),
                )
                for name, count, label in rows
            )
        )


def format_compact(value: float) -> str:
    """A short number: 950, 1.2k, 3.4M."""
    for unit in ("", "k", "M"):
        if abs(value) < 1000 or unit == "M":
            return f"{value:.0f}{unit}" if value >= 10 or value == int(value) else f"{value:.1f}{unit}"
        value /= 1000
    raise AssertionError


def _rgb(colour: str) -> tuple[int, int, int]:
    return Color.parse(colour).rgb

"""Plots in the colours of the theme."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle

from rich.cells import cell_len
from textual.color import Color
from textual.content import Content
from textual.widgets import Static
from textual_plotext import PlotextPlot

from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.words import fitted

Lines = Mapping[str, Sequence[tuple[float, float]]]
"""Points by the name of their line."""

COLOURS = ("primary", "secondary", "accent", "error", "foreground")
MARKS = ("braille", "dot", "fhd", "sd", "hd")
"""A line has a colour and a mark of its own: where there are no colours, the marks tell them apart."""

NAMED = 18
"""Cells at most of a name beside a bar."""

TICKS = 5


class Chart(PlotextPlot):
    """Lines over a count of things, with a title and words for the ends of the axis below."""

    def __init__(self, id: str, title: str, empty: str) -> None:
        super().__init__(id=id)
        self.border_title = title
        self._empty = empty
        self._lines: Lines = {}
        self._ticks: Sequence[tuple[float, str]] = ()
        self._bottom = 0.0

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(self.app, "theme", self._draw, init=False)
        self._draw()

    def show(self, lines: Lines, ticks: Sequence[tuple[float, str]]) -> None:
        """Show other lines; ``ticks`` are what stands below."""
        if (lines, ticks) != (self._lines, self._ticks):
            self._lines, self._ticks = lines, ticks
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        plot, theme = self.plt, self.app.theme_variables
        plot.clear_figure()
        plot.canvas_color(_rgb(theme["background"]))
        plot.axes_color(_rgb(theme["background"]))
        plot.ticks_color(_rgb(theme["foreground"]))
        plot.frame(False)
        every = {name: points for name, points in self._lines.items() if points}
        if not every:
            plot.xticks([])
            plot.yticks([])
            plot.title(self._empty)
            self.refresh()
            return
        top = max(value for points in every.values() for _, value in points) or 1.0
        for (name, points), colour, mark in zip(every.items(), cycle(COLOURS), cycle(MARKS), strict=False):
            at, values = zip(*points, strict=True)
            plot.plot(list(at), list(values), label=name, color=_rgb(theme[colour]), marker=mark)
        plot.ylim(self._bottom, top)
        heights = [top * step / (TICKS - 1) for step in range(TICKS)]
        plot.yticks(heights, [short(height) for height in heights])
        if self._ticks:
            plot.xticks([at for at, _ in self._ticks], [word for _, word in self._ticks])
        self.refresh()

    def render(self) -> object:  # type: ignore[override]
        """The plot; textual-plotext takes the library's own colours, and these are the theme's."""
        from rich.text import Text

        self.plt.plotsize(self.size.width, self.size.height)
        self.plt._set_size(self.size.width, self.size.height)
        return Text.from_ansi(self.plt.build())


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

"""Where the entries of the start page stand: in one column beside their headings, or in two columns below them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from appliance.lazy_dataclasses import dataclass
from appliance_tui.widgets.start_entries import Density, Look, Section, StartEntry, entry_lines, render_entry

MIN_WIDTH = 40
"""Columns below which nothing can be read."""

TWO_COLUMNS = 110
"""Columns from which the page has two columns."""

MAX_WIDTH, MAX_COLUMN = 170, 100
"""The widest that two columns and one column become: longer lines are hard to follow."""

LEFT_SHARE = 0.56
"""The share of the left of two columns, which has the conversations."""

COLUMN_GAP = 4
LABEL_WIDTH = 14
"""The width of the headings beside their entries."""

GUTTER = 2
"""Columns before an entry, where the bar of the selected one stands."""

LEFT_SECTION = "Recent"
"""The label of the section that stands in the left of two columns; the others are in the right one."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A part of a line from a column on. ``entry`` is the index of the entry that it belongs to, None for others."""

    x: int
    width: int
    content: Content
    entry: int | None = None


@dataclass(frozen=True, slots=True)
class StartLayout:
    """The lines of the page, and the entries that have a place on it, column by column. ``columns`` are the indices at
    which a column of entries begins."""

    lines: Sequence[Sequence[Cell]] = ()
    entries: Sequence[StartEntry] = ()
    columns: Sequence[int] = (0,)


@dataclass(frozen=True, slots=True)
class _Column:
    x: int
    width: int
    sections: Sequence[Section]
    labelled: bool


def arrange(heading: Content, sections: Sequence[Section], width: int, height: int, look: Look) -> StartLayout:
    """Lay a page out for a window. Where there is little room, each section shows its first entries."""
    if not sections or width < MIN_WIDTH:
        return StartLayout()
    left = [section for section in sections if section.label == LEFT_SECTION]
    right = [section for section in sections if section.label != LEFT_SECTION]
    if width >= TWO_COLUMNS and left and right:
        whole = min(width, MAX_WIDTH)
        first = int((whole - COLUMN_GAP) * LEFT_SHARE)
        second = whole - COLUMN_GAP - first
        columns = [_Column(0, first, left, False), _Column(first + COLUMN_GAP, second, right, False)]
    else:
        columns = [_Column(0, min(width, MAX_COLUMN), sections, True)]
    head = [[Cell(GUTTER, min(width, MAX_WIDTH) - GUTTER, heading)], []]
    entries: list[StartEntry] = []
    starts: list[int] = []
    blocks = []
    for column in columns:
        starts.append(len(entries))
        blocks.append(_column_lines(column, height - len(head), look, entries))
    rows = max(map(len, blocks))
    body = [[cell for block in blocks if row < len(block) for cell in block[row]] for row in range(rows)]
    return StartLayout([*head, *body], entries, starts)


def _column_lines(column: _Column, height: int, look: Look, entries: list[StartEntry]) -> list[list[Cell]]:
    """The lines of a column; its entries are added to ``entries``."""
    density, gap, counts = _fit(column, height)
    x, width = column.x, column.width
    lines: list[list[Cell]] = []
    for number, (section, count) in enumerate(zip(column.sections, counts, strict=True)):
        if number and gap and lines[-1]:
            lines.append([])
        name = section.label if column.labelled else section.name
        label = Content.styled(name, "bold $text-primary")
        beside = LABEL_WIDTH if column.labelled else 0
        if not column.labelled:
            rule = "─" * max(0, width - GUTTER - len(name) - 1)
            head = Content.assemble(label, " ", (rule, "$panel"))
            lines.append([Cell(x + GUTTER, width - GUTTER, head)])
        for place, entry in enumerate(section.entries[:count]):
            room = width - beside - GUTTER
            for line, content in enumerate(render_entry(entry, room, look, density)):
                cells = [Cell(x + beside, width - beside, content, len(entries))]
                if column.labelled and not place and not line:
                    cells.insert(0, Cell(x + GUTTER, LABEL_WIDTH - GUTTER, label))
                lines.append(cells)
            lines += [[]] * (entry_lines(entry, density) - line - 1)
            entries.append(entry)
    return lines


def _fit(column: _Column, height: int) -> tuple[Density, bool, list[int]]:
    """How dense the entries are, whether sections are set apart, and how many entries each has."""
    whole = [len(section.entries) for section in column.sections]
    for density in ("airy", "roomy"):
        if _height(column, whole, density, gap=True) <= height:
            return density, True, whole
    counts = list(whole)
    while _height(column, counts, "dense", gap=True) > height:
        spare = [count - section.least for count, section in zip(counts, column.sections, strict=True)]
        if max(spare) <= 0:
            return "dense", False, counts
        counts[len(spare) - 1 - spare[::-1].index(max(spare))] -= 1
    return "dense", True, counts


def _height(column: _Column, counts: Sequence[int], density: Density, *, gap: bool) -> int:
    lines = sum(
        entry_lines(entry, density)
        for section, count in zip(column.sections, counts, strict=True)
        for entry in section.entries[:count]
    )
    heads = 0 if column.labelled else len(column.sections)
    return lines + heads + (len(column.sections) - 1 if gap else 0)

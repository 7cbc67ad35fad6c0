"""What stands around the texts of a conversation: who speaks when, days, marks, folds, and words that were found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from appliance_tui.widgets.words import fitted, one_line

if TYPE_CHECKING:
    from appliance.types import Outline
    from appliance_tui.widgets.bodies import Body

GUTTER = 3
"""Columns left of a text: the mark, the star of what is pinned, and an empty one."""

NAME = 40
"""Columns of an author's name at most."""

ROLE_COLOURS = {"user": "primary", "assistant": "secondary", "tool": "warning", "system": "muted"}


@lru_cache(64)
def _style(colour: str, *, bold: bool = False, italic: bool = False, reverse: bool = False) -> Style:
    return Style(color=colour, bold=bold or None, italic=italic or None, reverse=reverse or None)


def gutter(marked: bool, pinned: bool, colours: Mapping[str, str]) -> Strip:
    """The columns left of a line."""
    return Strip(
        [
            Segment("▌" if marked else " ", _style(colours["accent"])),
            Segment("★" if pinned else " ", _style(colours["warning"])),
            Segment(" "),
        ],
        GUTTER,
    )


def head_line(outline: Outline, index: int, colours: Mapping[str, str]) -> Strip:
    """Who speaks, by letter and name, and when."""
    role = outline.roles[index]
    colour = colours[ROLE_COLOURS.get(role, "muted")]
    author = one_line(outline.authors[index])
    name = fitted(author, min(NAME, cell_len(author))) if author else role
    muted = _style(colours["muted"])
    said = outline.times[index]
    about = [said[11:16]] if len(said) > 10 else []
    if author and role != "user":
        about.append(role)
    return Strip(
        [
            Segment(f" {role[:1].upper()} ", _style(colour, bold=True, reverse=True)),
            Segment(" "),
            Segment(name, _style(colour, bold=True)),
            Segment("  " + " · ".join(about), muted),
        ]
    )


def day_line(time: str, width: int, colours: Mapping[str, str]) -> Strip:
    """The line between two days."""
    words = f" {long_day(time)} "
    dashes = max(0, width - cell_len(words))
    muted = _style(colours["muted"])
    left = dashes // 2
    return Strip(
        [
            Segment("─" * left, muted),
            Segment(words, _style(colours["foreground"], bold=True)),
            Segment("─" * (dashes - left), muted),
        ]
    )


def long_day(time: str) -> str:
    """The day of an ISO 8601 time, in words; as it is if it is none."""
    try:
        day = date.fromisoformat(time[:10])
    except ValueError:
        return time[:10]
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


def hint_line(body: Body, colours: Mapping[str, str]) -> Strip:
    """How a long message is folded."""
    lines = f"{'' if body.exact else 'about '}{body.more:,} more line{'' if body.more == 1 else 's'}"
    words = f"… {lines}, enter unfolds" if body.folded else "⌃ enter folds"
    return Strip([Segment(words, _style(colours["accent"], italic=True))])


def lit(strip: Strip, found: re.Pattern[str]) -> Strip:
    """A line with what was looked for marked."""
    text = strip.text
    spans = [match.span() for match in found.finditer(text) if match.end() > match.start()]
    if not spans:
        return strip
    cuts = [cell_len(text[:edge]) for span in spans for edge in span]
    parts = strip.divide([*cuts, strip.cell_length])
    return Strip.join([part.apply_style(_FOUND) if number % 2 else part for number, part in enumerate(parts)])


_FOUND = Style(reverse=True, bold=True)

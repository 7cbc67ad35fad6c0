"""The lines around message texts: headers, days, the gutter, folds and marks of matches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from appliance_tui.author_colours import author_key
from appliance_tui.widgets.display_text import fit_width, one_line, pluralize

if TYPE_CHECKING:
    from appliance.types import Outline
    from appliance_tui.author_colours import ReadableColours
    from appliance_tui.widgets.conversation_layout import ConversationLayout
    from appliance_tui.widgets.message_cache import RenderedBody

GUTTER = 3
"""Columns left of a text: the selection, the star of a pinned message, and an empty one."""

MAX_NAME_WIDTH = 40
"""Columns of an author's name at most."""


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


def header_line(
    outline: Outline,
    index: int,
    colours: Mapping[str, str],
    palette: ReadableColours,
    keys: Mapping[str, str],
    names: Mapping[str, str],
) -> Strip:
    """The initial of a person or the letter of another role, the author, the time, and how many files are attached.

    Args:
        keys: What stands for people by their names, as for ``ReadableColours.of_author``.
        names: The names of people who write under a number, an address or an id, as ``person_names`` gives them.
    """
    role = outline.roles[index]
    written_as = outline.authors[index]
    author = names.get(author_key(written_as), written_as)
    colour, author = palette.of_author(author, role, keys), one_line(author)
    name = fit_width(author, min(MAX_NAME_WIDTH, cell_len(author))) if author else role
    letters = (character for character in author if character.isalpha() and cell_len(character))
    letter = next(letters, role[:1]) if role == "user" else role[:1]
    muted = _style(colours["muted"])
    sent_at = outline.times[index]
    about = [sent_at[11:16]] if len(sent_at) > 10 else []
    if author and role != "user":
        about.append(role)
    if files := outline.attachments[index]:
        about.append(pluralize(files, "file"))
    return Strip(
        [
            Segment(f" {letter.upper()[:1]} "[cell_len(letter) - 1 :], _style(colour, bold=True, reverse=True)),
            Segment(" "),
            Segment(name, _style(colour, bold=True)),
            Segment("  " + " · ".join(about), muted),
        ]
    )


def line_above(
    layout: ConversationLayout,
    index: int,
    row: int,
    width: int,
    colours: Mapping[str, str],
    palette: ReadableColours,
    people: Mapping[str, str],
    names: Mapping[str, str],
) -> Strip:
    """A row above the text of a message: its header, below the day if it begins one."""
    if row == layout.lines_above(index) - 1:
        return header_line(layout.outline, index, colours, palette, people, names)
    return day_line(layout.outline.times[index], width, colours) if layout.begins_day[index] and row == 1 else Strip([])


def day_line(time: str, width: int, colours: Mapping[str, str]) -> Strip:
    """The line above a day's first message."""
    label = f" {long_day(time)} "
    dashes = max(0, width - cell_len(label))
    muted = _style(colours["muted"])
    left, right = Segment("─" * (dashes // 2), muted), Segment("─" * (dashes - dashes // 2), muted)
    return Strip([left, Segment(label, _style(colours["foreground"], bold=True)), right])


def long_day(time: str) -> str:
    """The day of an ISO 8601 timestamp in words; as it is if it can't be parsed."""
    try:
        day = date.fromisoformat(time[:10])
    except ValueError:
        return time[:10]
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


def fold_hint_line(body: RenderedBody, colours: Mapping[str, str]) -> Strip:
    """The line below a long message."""
    lines = f"{'' if body.is_exact else 'about '}{pluralize(body.hidden_lines, 'more line')}"
    hint = f"… {lines}, enter unfolds" if body.is_folded else "⌃ enter folds"
    return Strip([Segment(hint, _style(colours["accent"], italic=True))])


def match_mark(colours: Mapping[str, str]) -> Strip:
    """The mark beside the scrollbar for a message with a match."""
    return Strip([Segment("━", _style(colours["accent"], bold=True))], 1)

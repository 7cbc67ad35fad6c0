"""The found messages as a list: who, when, where from, the part that matched, and how well."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.words import marked, minute, one_line

if TYPE_CHECKING:
    from appliance.types import Hit

BAR = 8
"""Cells of the score's bar."""

ROLE_COLOURS = {"user": "$primary", "assistant": "$secondary", "tool": "$warning", "system": "$text-muted"}


class HitList(OptionList):
    """Hits, best first. The list keeps no more than it shows."""

    def __init__(self) -> None:
        super().__init__(id="hits", markup=False)
        self.hits: Sequence[Hit] = ()

    def show(self, hits: Sequence[Hit], terms: Collection[str], pinned: Collection[str] = ()) -> None:
        """Show other hits, the first one marked."""
        self.hits = hits
        best = max((hit.score for hit in hits), default=0.0)
        with self.app.batch_update():
            self.clear_options()
            self.add_options(
                Option(_lines(hit, hit.score / best if best > 0 else 0.0, terms, hit.message_id in pinned))
                for hit in hits
            )
            self.highlighted = 0 if hits else None

    @property
    def chosen(self) -> Hit | None:
        """The hit that is marked."""
        return self.hits[self.highlighted] if self.highlighted is not None and self.hits else None


def _lines(hit: Hit, share: float, terms: Collection[str], pinned: bool) -> Content:
    author = one_line(hit.author or hit.role)[:40]
    about = " · ".join(
        part for part in (minute(hit.timestamp), hit.source.format, one_line(hit.session_title or "")) if part
    )
    head = Content.assemble(
        (bar(share, BAR), "$accent"),
        " ",
        (author, f"bold {ROLE_COLOURS[hit.role]}"),
        ("  ★" if pinned else "", "$warning"),
        "  ",
        (about, "$text-muted"),
    )
    return Content("\n").join([head, highlighted(one_line(hit.snippet), terms)])


def highlighted(text: str, terms: Collection[str]) -> Content:
    """A text with the words marked that were asked for."""
    content = Content(text)
    for start, end in marked(text, terms):
        content = content.stylize("bold $text-warning", start, end)
    return content

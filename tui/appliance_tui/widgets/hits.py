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

ROLE_COLOURS = {
    "user": "$primary",
    "assistant": "$secondary",
    "tool": "$warning",
    "system": "$foreground-muted",
}


class HitList(OptionList):
    """Hits, best first. The list keeps no more than it shows."""

    def __init__(self) -> None:
        super().__init__(id="hits", markup=False)
        self.hits: Sequence[Hit] = ()
        self._terms: Collection[str] = ()
        self._best = 0.0

    def show(self, hits: Sequence[Hit], terms: Collection[str]) -> None:
        """Show other hits, the first one marked."""
        self.hits = hits
        self._terms = terms
        self._best = max((hit.score for hit in hits), default=0.0)
        with self.app.batch_update():
            self.clear_options()
            self.add_options(Option(self._prompt(hit, False)) for hit in hits)
            self.highlighted = 0 if hits else None

    def star(self, message_id: str, pinned: bool) -> None:
        """Show that a message is pinned, or is not any more."""
        for place, hit in enumerate(self.hits):
            if hit.message_id == message_id:
                self.replace_option_prompt_at_index(place, self._prompt(hit, pinned))

    def _prompt(self, hit: Hit, pinned: bool) -> Content:
        return _lines(hit, hit.score / self._best if self._best > 0 else 0.0, self._terms, pinned)

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
        (about, "$foreground-muted"),
    )
    return Content("\n").join([head, highlighted(one_line(hit.snippet), terms)])


def highlighted(text: str, terms: Collection[str]) -> Content:
    """A text with the words marked that were asked for."""
    content = Content(text)
    for start, end in marked(text, terms):
        content = content.stylize("bold $text-warning", start, end)
    return content

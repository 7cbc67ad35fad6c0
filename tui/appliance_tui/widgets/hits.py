"""The list of hits: author, time, source, matching passage and score of each."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from appliance_tui.widgets.display_text import matching_spans, one_line, render_bar, time_of

if TYPE_CHECKING:
    from appliance.types import Hit

BAR_WIDTH = 8
"""Cells of the bar for the score."""

ROLE_COLOURS = {"user": "$primary", "assistant": "$secondary", "tool": "$warning", "system": "$foreground-muted"}


class HitList(OptionList):
    """Hits, best first."""

    def __init__(self) -> None:
        super().__init__(id="hits", markup=False)
        self.hits: Sequence[Hit] = ()
        self._terms: Collection[str] = ()

    def show(self, hits: Sequence[Hit], terms: Collection[str]) -> None:
        """Show other hits and select the first."""
        self.hits = hits
        self._terms = terms
        with self.app.batch_update():
            self.clear_options()
            self.add_options(Option(self._prompt(hit, False)) for hit in hits)
            self.highlighted = 0 if hits else None

    def show_pinned(self, message_id: str, pinned: bool) -> None:
        """Update the star of a message."""
        for index, hit in enumerate(self.hits):
            if hit.message_id == message_id:
                self.replace_option_prompt_at_index(index, self._prompt(hit, pinned))

    def _prompt(self, hit: Hit, pinned: bool) -> Content:
        about = filter(None, (time_of(hit), hit.source.format, one_line(hit.session_title or "")))
        head = Content.assemble(
            (render_bar(hit.score, BAR_WIDTH), "$accent"),
            " ",
            (one_line(hit.who)[:40], f"bold {ROLE_COLOURS[hit.role]}"),
            ("  ★" if pinned else "", "$warning"),
            "  ",
            (" · ".join(about), "$foreground-muted"),
        )
        return Content("\n").join([head, highlight_terms(one_line(hit.snippet), self._terms)])

    @property
    def chosen(self) -> Hit | None:
        """The selected hit."""
        return self.hits[self.highlighted] if self.highlighted is not None and self.hits else None


def highlight_terms(text: str, terms: Collection[str]) -> Content:
    """A text with the words of the query highlighted."""
    content = Content(text)
    for start, end in matching_spans(text, terms):
        content = content.stylize("bold $text-warning", start, end)
    return content

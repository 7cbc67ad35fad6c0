"""The summary of a conversation, with links to the messages it quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from appliance_tui.widgets.display_text import one_line, sanitize

if TYPE_CHECKING:
    from appliance.types import Summary

MAX_LINKS = 40
"""Quotes that are listed; to see more, a person reads the conversation."""


def message_links(summary: Summary) -> list[tuple[str, str]]:
    """The messages that a summary quotes, by id and in order, each with its quoted text."""
    texts: dict[str, list[str]] = {}
    for quote in summary.quotes:
        texts.setdefault(quote.message_id, []).append(one_line(quote.text))
    return [(id, " … ".join(quoted)) for id, quoted in texts.items()][:MAX_LINKS]


SummaryView = Literal["lines", "whole", "folded"]
"""How much of a summary is shown: its first lines, all of it, or nothing."""


class SummaryPanel(VerticalScroll, can_focus=False):
    """A summary, in its first lines, as a whole, or folded away."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.summary: Summary | None = None
        self._view: SummaryView = "lines"
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, summary: Summary | None, view: SummaryView) -> None:
        """Show a summary; hide the panel without one."""
        self.summary = summary
        if summary is not None:
            self.query_one(Static).update(summary_content(summary))
        self._set_view(view)

    def _set_view(self, view: SummaryView) -> None:
        self._view = view
        self.display = self.summary is not None and view != "folded"
        self.set_class(view == "whole", "-whole")

    @property
    def is_folded(self) -> bool:
        """Whether there is a summary that is not shown."""
        return self.summary is not None and self._view == "folded"

    def next_view(self, is_beside: bool) -> SummaryView:
        """Go on from the first lines to the whole summary, to none of it, and to the first lines again.

        Args:
            is_beside: The panel stands beside the conversation, where it always has room for all of it.
        """
        views: tuple[SummaryView, ...] = ("lines", "folded") if is_beside else ("lines", "whole", "folded")
        at = views.index(self._view) if self._view in views else 0
        self._set_view(views[(at + 1) % len(views)])
        self.scroll_home(animate=False)
        return self._view


def summary_content(summary: Summary) -> Content:
    """A summary as lines. Quotes are numbered and can be clicked."""
    if summary.made_by == "extractive":
        lines = [Content.styled("Key quotes", "bold $text-accent")]
    else:
        author = (f"by {one_line(summary.made_by)}", "$foreground-muted")
        lines = [Content.assemble(("Summary ", "bold $text-accent"), author), Content(sanitize(summary.text).strip())]
    for number, (_, text) in enumerate(message_links(summary), 1):
        link = Style.from_meta({"@click": f"screen.quote({number})"})
        line = Content.assemble((f"{number:>2} ", "bold $text-accent"), text)
        lines.append(line.stylize(link))
    return Content("\n").join(lines)

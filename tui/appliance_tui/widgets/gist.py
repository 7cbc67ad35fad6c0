"""The summary of a conversation, each line a way to the message that it is from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Static

from appliance_tui.widgets.words import one_line, shown

if TYPE_CHECKING:
    from appliance.types import Quote, Summary

LINKED = 40
"""Lines of a summary that lead to their messages; a person who wants more reads the conversation."""


def links(summary: Summary) -> list[Quote]:
    """What a summary leads to: one quote for each message, in order."""
    seen: dict[str, Quote] = {}
    for quote in summary.quotes:
        seen.setdefault(quote.message_id, quote)
    return list(seen.values())[:LINKED]


class Gist(VerticalScroll, can_focus=False):
    """A summary: its first lines, or all of them."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.summary: Summary | None = None
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, summary: Summary | None) -> None:
        """Show a summary; nothing at all without one."""
        self.summary = summary
        self.display = summary is not None
        if summary is not None:
            self.query_one(Static).update(told(summary))

    def toggle(self) -> None:
        """Show all of it, or its first lines."""
        self.toggle_class("-whole")
        self.scroll_home(animate=False)


def told(summary: Summary) -> Content:
    """A summary in lines, those numbered that lead somewhere: with a key or a click."""
    by = "in its own words" if summary.made_by == "extractive" else f"by {one_line(summary.made_by)}"
    lines = [Content.assemble(("Summary ", "bold $text-accent"), (by, "$foreground-muted"))]
    if summary.made_by != "extractive":
        lines.append(Content(shown(summary.text).strip()))
    for number, quote in enumerate(links(summary), 1):
        link = Style.from_meta({"@click": f"screen.quote({number})"})
        line = Content.assemble((f"{number:>2} ", "bold $text-accent"), one_line(quote.text))
        lines.append(line.stylize(link))
    return Content("\n").join(lines)

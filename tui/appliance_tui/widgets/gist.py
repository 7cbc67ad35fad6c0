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
    from appliance.types import Summary

LINKED = 40
"""Lines of a summary that lead to their messages; a person who wants more reads the conversation."""


def links(summary: Summary) -> list[tuple[str, str]]:
    """What a summary leads to: messages by their ids, in order, each with its words."""
    words: dict[str, list[str]] = {}
    for quote in summary.quotes:
        words.setdefault(quote.message_id, []).append(one_line(quote.text))
    return [(id, " … ".join(quoted)) for id, quoted in words.items()][:LINKED]


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
    for number, (_, text) in enumerate(links(summary), 1):
        link = Style.from_meta({"@click": f"screen.quote({number})"})
        line = Content.assemble((f"{number:>2} ", "bold $text-accent"), text)
        lines.append(line.stylize(link))
    return Content("\n").join(lines)

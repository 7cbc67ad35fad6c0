"""The summary of a conversation, with links to the messages it quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING

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


class SummaryPanel(VerticalScroll, can_focus=False):
    """A summary, in its first lines or as a whole."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.summary: Summary | None = None
        self.display = False

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)

    def show(self, summary: Summary | None) -> None:
        """Show a summary; hide the panel without one."""
        self.summary = summary
        self.display = summary is not None
        if summary is not None:
            self.query_one(Static).update(summary_content(summary))

    def toggle(self) -> None:
        """Switch between the first lines and the whole summary."""
        self.toggle_class("-whole")
        self.scroll_home(animate=False)


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

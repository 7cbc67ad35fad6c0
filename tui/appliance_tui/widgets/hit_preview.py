"""The selected hit in its conversation: the message with the passage that was found, and the turns around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from appliance_tui.author_colours import ReadableColours, readable_colours
from appliance_tui.widgets.display_text import one_line, sanitize, time_of
from appliance_tui.widgets.match_highlights import highlight_words, passage_pattern

if TYPE_CHECKING:
    from appliance.types import Hit, Message, MessageMatches
    from appliance_tui.app import ApplianceApp

PREVIEW_CHARACTERS = 20_000
"""Characters of a message in the preview; the conversation shows all of them."""

CHARACTERS_BEFORE_PASSAGE = 300
"""Characters before the passage that was found, where a message is too long to be shown from its start."""

NEIGHBOUR_CHARACTERS = 240
"""Characters of each turn around the hit: some lines, so that the hit itself stays on the screen."""

NEIGHBOURS = 2
"""Turns before and behind the hit."""


class HitPreview(VerticalScroll):
    """The preview, empty without a hit."""

    def __init__(self) -> None:
        super().__init__(id="preview", can_focus=False)
        self._shown: tuple[Hit | None, MessageMatches | None, Mapping[str, str]] = (None, None, {})

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _: self.show(*self._shown))

    def compose(self) -> ComposeResult:
        yield Static("", id="preview-text", markup=False)

    def show(self, hit: Hit | None, matches: MessageMatches | None, people: Mapping[str, str]) -> None:
        """Show a hit with the words that match in it; ``people`` as for ``ReadableColours.of_author``."""
        self._shown = (hit, matches, people)
        colours = readable_colours(self.app.theme_variables)
        app = cast("ApplianceApp", self.app)
        content = Content("") if hit is None else preview_content(hit, matches, colours, people, app)
        self.query_one("#preview-text", Static).update(content)
        self.scroll_home(animate=False)


def found_passage(hit: Hit, matches: MessageMatches | None) -> str:
    """The sentence with the query's words; of a hit by meaning the passage that matches best."""
    return matches.sentence if matches is not None and matches.sentence else hit.snippet.strip("… ")


def preview_content(
    hit: Hit, matches: MessageMatches | None, colours: ReadableColours, people: Mapping[str, str], app: ApplianceApp
) -> Content:
    """A hit between the turns around it, with the names and titles of ``app``."""

    def turns() -> Iterator[Content]:
        yield Content.assemble((app.title_of(hit.session_title or hit.session_id), "bold"))
        yield from (_neighbour(turn, colours, people, app) for turn in hit.before)
        head = Content.assemble(
            (app.name_of(hit.who), f"bold {colours.of_author(hit.author, hit.role, people)}"),
            (f" · {time_of(hit)}", colours.muted),
        )
        yield Content("\n").join([head, _body(hit, matches, colours)])
        yield from (_neighbour(turn, colours, people, app) for turn in hit.after)

    return Content("\n\n").join(list(turns()))


def _neighbour(turn: Message, colours: ReadableColours, people: Mapping[str, str], app: ApplianceApp) -> Content:
    text = one_line(turn.text[: 2 * NEIGHBOUR_CHARACTERS])
    cut = len(text) > NEIGHBOUR_CHARACTERS or len(turn.text) > 2 * NEIGHBOUR_CHARACTERS
    return Content.assemble(
        (app.name_of(turn.who), colours.of_author(turn.author, turn.role, people)),
        "  ",
        (text[:NEIGHBOUR_CHARACTERS] + ("…" if cut else ""), colours.muted),
    )


def _body(hit: Hit, matches: MessageMatches | None, colours: ReadableColours) -> Content:
    text = sanitize(hit.text)
    pattern = passage_pattern(found_passage(hit, matches))
    passage = pattern.search(text) if pattern is not None else None
    start = max(0, passage.start() - CHARACTERS_BEFORE_PASSAGE) if passage is not None else 0
    stop = start + PREVIEW_CHARACTERS
    words = matches.words if matches is not None else ()
    shown = highlight_words(text[start:stop], words, f"bold {colours.match}")
    if passage is not None:
        shown = shown.stylize(f"on {colours.glow}", passage.start() - start, min(passage.end(), stop) - start)
    return Content.assemble("… " if start else "", shown, "…" if stop < len(text) else "")

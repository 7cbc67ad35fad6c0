"""The list of hits: how good each is, author, time, source and matching passage. It loads more as one scrolls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.theme import Theme
from textual.visual import Visual
from textual.widgets.option_list import Option

from appliance_tui.actions import display_key
from appliance_tui.author_colours import ReadableColours, readable_colours
from appliance_tui.list_keys import ListScreen, OptionRows
from appliance_tui.search_results import SearchResults
from appliance_tui.selection import SelectableRows
from appliance_tui.widgets.display_text import one_line, render_bar, time_of
from appliance_tui.widgets.match_highlights import highlight_words

if TYPE_CHECKING:
    from appliance.types import Hit
    from appliance_tui.app import ApplianceApp

METER_WIDTH = 3
"""Cells of the meter for the score."""

MAX_NAME_CHARACTERS = 40

LESS_LIKELY = " less likely "
"""What the line says that stands between the likely hits and the others."""

LINE_KEYS = frozenset({"backspace", "ctrl+u", "ctrl+w", "ctrl+k"})
"""Keys that change a line, which a person may press where they believe to be in it."""

HIT_LINES = 2
"""Lines of a hit at least: who wrote it, and its passage."""

LOAD_AHEAD_HITS = 5
"""Hits behind the selected one, at least; with fewer the next page is loaded."""


class HitList(SelectableRows, OptionRows):
    """Hits, best first."""

    class NearEnd(Message):
        """The selection or the view has come near the end of the list."""

    def __init__(self) -> None:
        super().__init__(id="hits", markup=False)
        self.results: SearchResults | None = None
        self._pinned: set[str] = set()
        self._people: Mapping[str, str] = {}
        self._reason = Content()
        self._last_likely: int | None = None

    def show_reason(self, reason: str) -> None:
        """Say in the middle why there is no hit; "" if there are some."""
        self._reason = Content(reason)
        self.refresh()

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._draw_again)

    @property
    def hits(self) -> list[Hit]:
        return self.results.hits if self.results is not None else []

    def show(self, results: SearchResults | None) -> None:
        """Show other hits and select the first; of the same search, the one that was selected."""
        is_same = self.results is not None and results is not None and self.results.spec == results.spec
        selected = self.chosen.message_id if is_same and self.chosen is not None else None
        self.results = results
        self._pinned = set()
        with self.app.batch_update():
            self.border_title = LESS_LIKELY
            self.set_class(results is not None and results.are_weak, "-weak")
            self.clear_options()
            self._last_likely = None
            self.extend()
            place = next((index for index, hit in enumerate(self.hits) if hit.message_id == selected), 0)
            self.highlighted = place if self.options else None

    def extend(self) -> None:
        """List the hits that have been loaded since, with a line between the likely ones and the others."""
        first, before = self.option_count, self._last_likely
        self._last_likely = last = self.results.last_likely if self.results is not None else None
        if last is not None and before is None and 0 <= last < first:  # the line is below a row that is there already
            self.add_option(None)
            self.replace_option_prompt_at_index(last, self._prompt(self.hits[last]))  # it is higher now
        rows: list[Option | None] = []
        for index, hit in enumerate(self.hits[first:], first):
            rows += [Option(self._prompt(hit)), *([None] if index == last else [])]
        self.add_options(rows)

    def show_people(self, people: Mapping[str, str]) -> None:
        """Use one colour for all names of a person; see ``ReadableColours.of_author``."""
        if people != self._people:
            self._people = people
            self._draw_again()

    def show_pins(self, pins: Mapping[str, bool]) -> None:
        """Update the stars of messages by their ids."""
        changed = {id for id, pinned in pins.items() if pinned != (id in self._pinned)}
        self._pinned ^= changed
        for index, hit in enumerate(self.hits[: self.option_count] if changed else ()):
            if hit.message_id in changed:
                self.replace_option_prompt_at_index(index, self._prompt(hit))

    def are_pinned(self, ids: Sequence[str]) -> bool:
        """Whether messages are pinned, all of them."""
        return bool(ids) and self._pinned.issuperset(ids)

    def _draw_again(self, theme: Theme | None = None) -> None:
        for index, hit in enumerate(self.hits[: self.option_count]):
            self.replace_option_prompt_at_index(index, self._prompt(hit))

    @property
    def _colours(self) -> ReadableColours:
        return readable_colours(self.app.theme_variables)

    def _prompt(self, hit: Hit) -> Content:
        assert self.results is not None
        app, colours = cast("ApplianceApp", self.app), self._colours
        asks = bool(self.results.spec.query.strip())  # without words, no hit is better than another
        follows = hit.message_id in self.results.followers
        title = "" if follows else app.title_of(hit.session_title or "")
        about = filter(None, (time_of(hit), "" if follows else hit.source.format, title))
        head = Content.assemble(
            ("↳ " if follows else "", colours.muted),
            (f"{render_bar(hit.score, METER_WIDTH)} " if asks else "", colours.meter),
            (
                app.name_of(hit.who)[:MAX_NAME_CHARACTERS],
                f"bold {colours.of_author(hit.author, hit.role, self._people)}",
            ),
            (f" ×{hit.folded + 1:,}" if hit.folded else "", colours.muted),
            ("  ★" if hit.message_id in self._pinned else "", colours.star),
            "  ",
            (" · ".join(about), colours.muted),
        )
        matches = self.results.matches.get(hit.message_id)
        words = matches.words if matches is not None else ()
        snippet = highlight_words(one_line(hit.snippet), words, f"bold {colours.match}")
        return Content.assemble(head, "\n", snippet)

    @property
    def chosen(self) -> Hit | None:
        """The selected hit."""
        return self.hits[self.highlighted] if self.highlighted is not None and self.hits else None

    def row_ids(self) -> Sequence[str | None]:
        return [hit.message_id for hit in self.hits[: self.option_count]]

    def current_row(self) -> int | None:
        return self.highlighted

    def step_row(self, by: int) -> None:
        if self.highlighted is not None and 0 <= self.highlighted + by < self.option_count:  # else it would wrap
            self.highlighted += by

    def row_at(self, line: int) -> int | None:
        return self._lines[line][0] if line < len(self._lines) else None

    def row_marked_on(self, line: int) -> int | None:
        return self._lines[line][0] if line < len(self._lines) and not self._lines[line][1] else None

    def on_key(self, event: events.Key) -> None:
        """Letters are commands here, with hits and without. A key for the line, and a command for which there is no
        hit, says so: a person who types a word must see where it goes."""
        is_letter = event.is_printable and bool(event.character)
        if not is_letter and event.key not in LINE_KEYS:
            return
        active = self.screen.active_bindings.get(event.key)
        id = (active.binding.id or "") if active is not None else ""
        key = event.character if is_letter else display_key(event.key)
        if not id:
            self.notify(f"{key} is not a command here; tab leads back to the line.", timeout=3)
        elif not self.option_count and not cast("ListScreen[None]", self.screen).available(id):
            event.stop()
            event.prevent_default()
            self.notify(f"There is no hit for {key}; tab leads back to the line.", timeout=3)

    def on_click(self, event: events.Click) -> None:
        if self.select_by_mouse(event):
            event.prevent_default()

    def watch_highlighted(self, highlighted: int | None) -> None:
        super().watch_highlighted(highlighted)
        if highlighted is not None and highlighted >= self.option_count - LOAD_AHEAD_HITS:
            self.post_message(self.NearEnd())

    def on_resize(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        """Ask for more where there is room left."""
        if self.option_count and not self.max_scroll_y:
            self.post_message(self.NearEnd())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value > old_value and new_value + self.size.height >= self.max_scroll_y:
            self.post_message(self.NearEnd())

    def render_line(self, y: int) -> Strip:
        """As OptionList, with a bar at the left of the selected hit, which is seen without colours too."""
        if not self.option_count and self._reason:
            return self._render_reason(y)
        strip = self.checked(super().render_line(y), y)
        line = self.scroll_offset.y + y
        if self._is_line_of_likely(line):
            return self._line_of_likely(strip)
        if self.highlighted is None or line >= len(self._lines) or self._lines[line][0] != self.highlighted:
            return strip
        background = next((segment.style.bgcolor for segment in strip if segment.style), None)
        bar = Segment("▌", Style(color=self._colours.meter, bgcolor=background))
        return Strip([bar, *strip.crop(1)], strip.cell_length)

    def _is_line_of_likely(self, line: int) -> bool:
        """Whether a line of the list is the one below the last likely hit."""
        lines, last = self._lines, self._last_likely
        if last is None or line >= len(lines) or lines[line][0] != last:
            return False
        return line + 1 < len(lines) and lines[line + 1][0] != last

    def _line_of_likely(self, strip: Strip) -> Strip:
        """The line below the last likely hit, with words in it, on the background of what the list draws there."""
        background = next((segment.style.bgcolor for segment in strip if segment.style), None)
        width = strip.cell_length
        style = Style(color=self._colours.muted, bgcolor=background)
        return Strip([Segment(f"──{LESS_LIKELY}".ljust(width, "─")[:width], style)], width)

    def _render_reason(self, y: int) -> Strip:
        """A line of the reason why there is no hit, in the middle of the list."""
        width, height = self.scrollable_content_region.size
        style = self.visual_style
        lines = Visual.to_strips(self, self._reason, max(1, width - 4), None, style)
        row = y - max(0, (height - len(lines)) // 3)
        margin = Segment("  ", style.rich_style)
        strip = Strip([margin, *lines[row]]) if 0 <= row < len(lines) else Strip([])
        return strip.extend_cell_length(width, style.rich_style).crop(0, width)

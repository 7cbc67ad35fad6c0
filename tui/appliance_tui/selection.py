"""The rows that a person has selected, by their ids, and the lists in which rows can be selected."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from appliance.errors import NotFound
from appliance_tui.author_colours import readable_colours

if TYPE_CHECKING:
    from textual.widget import Widget

    from appliance.client import Appliance

CHECK = "✓"
"""The mark of a selected row, which is seen without colours too."""

CHECK_COLUMN = 1
"""The cell of a row in which the mark stands: behind the one that shows which row is current."""

MAX_MESSAGES_PER_READ = 500
"""Messages that the memory returns at once."""


class Selection:
    """The ids of selected rows, in the order in which they were selected. It outlives sorting and refreshing a list."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._ids))

    def __contains__(self, id: object) -> bool:
        return id in self._ids

    def toggle(self, id: str) -> None:
        """Select a row, or unselect it."""
        if id in self._ids:
            del self._ids[id]
        else:
            self._ids[id] = None

    def add(self, ids: Iterable[str]) -> None:
        self._ids.update(dict.fromkeys(ids))

    def clear(self) -> None:
        self._ids.clear()

    def keep(self, known: Container[Any]) -> None:
        """Drop what is not among ``known``."""
        self._ids = {id: None for id in self._ids if id in known}

    @property
    def text(self) -> str:
        """ "3 selected"; "" if nothing is."""
        return f"{len(self):,} selected" if self._ids else ""


class SelectionChanged(Message):
    """Other rows of a list are selected."""


if TYPE_CHECKING:
    _Mixed = Widget
else:
    _Mixed = object  # Textual takes styles and bindings from the first base that is a widget: the list itself


class SelectableRows(_Mixed):
    """What a list has in common with others whose rows can be selected: mixed into a widget, which says what its rows
    are, and hands its clicks and lines on. Ctrl+click selects a row, shift+click all from the current one on."""

    rows_selectable = True

    wheel_moves_current = True
    """Whether the mouse wheel makes another row current when it scrolls the one that is out of sight."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.selection = Selection()

    # --- what a subclass says -------------------------------------------------------------------------

    def row_ids(self) -> Sequence[str | None]:
        """The id of each row, None for one that can't be selected."""
        raise NotImplementedError

    def current_row(self) -> int | None:
        """The index of the row that keys act on."""
        raise NotImplementedError

    def step_row(self, by: int) -> None:
        """Make the next row (``by`` 1) or the previous one (-1) current."""
        raise NotImplementedError

    def row_at(self, line: int) -> int | None:
        """The index of the row with a line of the list, counted from its top."""
        raise NotImplementedError

    def row_marked_on(self, line: int) -> int | None:
        """The index of the row whose mark stands on a line of the list, None for other lines."""
        raise NotImplementedError

    # --- selecting ------------------------------------------------------------------------------------

    def selected_or_current(self) -> tuple[str, ...]:
        """The ids that an action is for: of the selected rows, else of the current one."""
        if len(self.selection):
            return tuple(self.selection)
        current = self._id_of(self.current_row())
        return () if current is None else (current,)

    def toggle_row(self, row: int | None = None) -> None:
        """Select or unselect a row, by default the current one."""
        if (id := self._id_of(self.current_row() if row is None else row)) is not None:
            self.selection.toggle(id)
            self._selection_changed()

    def extend_selection(self, by: int) -> None:
        """Select the current row and the one that ``step_row`` leads to."""
        before = self._id_of(self.current_row())
        self.step_row(by)
        after = self._id_of(self.current_row())
        self.selection.add(id for id in (before, after) if id is not None)
        self._selection_changed()

    def select_to(self, row: int) -> None:
        """Select all rows from the current one to another."""
        current = self.current_row()
        first, last = sorted((row if current is None else current, row))
        self.selection.add(id for id in self.row_ids()[first : last + 1] if id is not None)
        self._selection_changed()

    def clear_selection(self) -> None:
        if len(self.selection):
            self.selection.clear()
            self._selection_changed()

    def keep_selected(self, known: Container[Any]) -> None:
        """Drop from the selection what is not among ``known``."""
        before = len(self.selection)
        self.selection.keep(known)
        if len(self.selection) != before:
            self._selection_changed()

    def _id_of(self, row: int | None) -> str | None:
        ids = self.row_ids()
        return ids[row] if row is not None and 0 <= row < len(ids) else None

    def _selection_changed(self) -> None:
        self.refresh()
        self.post_message(SelectionChanged())

    # --- the mouse wheel ---------------------------------------------------------------------------------

    def on_mouse_scroll_down(self) -> None:
        self.call_later(self._take_current_along)  # when the list itself has scrolled

    def on_mouse_scroll_up(self) -> None:
        self.call_later(self._take_current_along)

    def _take_current_along(self) -> None:
        """Make the nearest row current that is seen in full, if the current one is not: no key acts on a row out of
        sight."""
        if not self.wheel_moves_current:
            return
        current, top = self.current_row(), self.scroll_offset.y
        lines = range(top, top + self.scrollable_content_region.height)
        seen = [row for row in dict.fromkeys(map(self.row_at, lines)) if row is not None]
        if top and seen and self.row_at(top - 1) == seen[0]:  # only its end is seen; to show it would scroll back
            seen = seen[1:]
        if seen and self.row_at(lines.stop) == seen[-1]:
            seen = seen[:-1]
        if current is not None and seen and not seen[0] <= current <= seen[-1]:
            self.step_row((seen[0] if current < seen[0] else seen[-1]) - current)

    # --- what a subclass calls ------------------------------------------------------------------------

    def select_by_mouse(self, event: events.Click) -> bool:
        """Select by a click with ctrl or shift; False for another click."""
        offset = event.get_content_offset(self)
        if not self.rows_selectable or not (event.ctrl or event.shift) or offset is None:
            return False
        if (row := self.row_at(offset.y + round(self.scroll_y))) is not None:
            if event.shift:
                self.select_to(row)
            else:
                self.toggle_row(row)
        return True

    def checked(self, strip: Strip, y: int) -> Strip:
        """A line on the screen, with the mark of a selected row where one belongs."""
        if not len(self.selection):
            return strip
        row = self.row_marked_on(y + round(self.scroll_y))
        return with_check(strip, self._check_style) if self._id_of(row) in self.selection else strip

    @property
    def _check_style(self) -> Style:
        return Style(color=readable_colours(self.app.theme_variables).meter, bold=True)


def with_check(strip: Strip, style: Style) -> Strip:
    """A line with the mark of a selected row, on the background that is there."""
    before, cell, after = strip.divide((CHECK_COLUMN, CHECK_COLUMN + 1, strip.cell_length))
    there = next((segment.style for segment in cell if segment.style), Style())
    mark = Strip([Segment(CHECK, there + style)], 1)
    return Strip.join([before, mark, after])


def existing(memory: Appliance, ids: Sequence[str]) -> set[str]:
    """Those of the ids of messages and conversations that still exist. Call it on a thread.

    Raises:
        ApplianceError: as the memory says.
    """
    message_ids = [id for id in ids if id.startswith("m")]
    found = {message.id for page in pages(message_ids) for message in memory.overview.messages(page)}
    for id in ids:
        if id not in found and not id.startswith("m"):
            with suppress(NotFound):
                found.add(memory.sessions.info(id).id)
    return found


def pages(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids of messages in as many at once as the memory returns."""
    return (ids[start : start + MAX_MESSAGES_PER_READ] for start in range(0, len(ids), MAX_MESSAGES_PER_READ))

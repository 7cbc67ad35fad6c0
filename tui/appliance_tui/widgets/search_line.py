"""The search line, whose arrow keys move the selection in the list below, and the chips of the active filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Button, Input, Static

from appliance.requests.typed_filters import SearchFilters
from appliance_tui.actions import bindings
from appliance_tui.filters import partial_filter
from appliance_tui.screens.picker import PickerOption
from appliance_tui.widgets.display_text import one_line


class SearchInput(Input):
    """An input for a query or a message, with completion of filters."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("line")]

    KEYS_WHILE_EMPTY = frozenset({"colon", "slash"})
    """Printable keys that are commands while the line is empty."""

    class Move(Message):
        """The selection in the list should move."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Moved(Message):
        """A key for the cursor was pressed on the empty line: left and right, or home and end."""

        def __init__(self, by: int, to_end: bool) -> None:
            super().__init__()
            self.by, self.to_end = by, to_end

    class DeleteAtStart(Message):
        """Backspace was pressed at the start of the line."""

    class Exited(Message):
        """The person leaves the line, by tab, for the list, where single letters are commands."""

    def __init__(self, *, id: str) -> None:
        self.completions: Sequence[PickerOption] = ()
        super().__init__(placeholder="Search", id=id, compact=True, suggester=_FilterSuggester(self))

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """As Input, but for the keys that are commands while the line is empty."""
        return super().check_consume_key(key, character) and not self._is_command(key)

    async def _on_key(self, event: events.Key) -> None:
        if self._is_command(event.key):
            event.prevent_default()  # the app's bindings take it
        else:
            await super()._on_key(event)

    def _is_command(self, key: str) -> bool:
        return not self.value and key in self.KEYS_WHILE_EMPTY

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """On the empty line, delete is left to the screen: there is nothing behind the cursor."""
        if action == "delete_right" and not self.value:
            return False
        return super().check_action(action, parameters)

    def action_move(self, by: int) -> None:
        self.post_message(self.Move(by))

    def action_cursor_left(self, select: bool = False) -> None:
        """As Input; on the empty line it posts ``Moved``, as the next three."""
        super().action_cursor_left(select) if self.value else self.post_message(self.Moved(-1, False))

    def action_cursor_right(self, select: bool = False) -> None:
        super().action_cursor_right(select) if self.value else self.post_message(self.Moved(1, False))

    def action_home(self, select: bool = False) -> None:
        super().action_home(select) if self.value else self.post_message(self.Moved(-1, True))

    def action_end(self, select: bool = False) -> None:
        super().action_end(select) if self.value else self.post_message(self.Moved(1, True))

    def action_delete_left(self) -> None:
        """As Input; at the start of the line also posts ``DeleteAtStart``."""
        if self.cursor_position == 0 and self.selection.is_empty:
            self.post_message(self.DeleteAtStart())
        super().action_delete_left()

    def action_leave(self) -> None:
        self.post_message(self.Exited())

    def take(self, text: str) -> None:
        """Take the focus and a text that was typed elsewhere, without selecting the line: more may follow."""
        self.select_on_focus = False
        self.focus()
        self.insert_text_at_cursor(text)

    def on_blur(self) -> None:
        self.select_on_focus = True


class _FilterSuggester(Suggester):
    """Completes the filter at the end of the line from the existing values, the most frequent first."""

    def __init__(self, line: SearchInput) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        partial = partial_filter(value)
        if partial is None or value.endswith('"'):
            return None
        name, part = partial
        for option in self._line.completions:
            if option.name == name and option.shown.startswith(part) and option.shown != part and _is_typable(option):
                quoted = f'"{option.shown}"' if " " in option.shown else option.shown
                return value[: len(value) - len(part)].removesuffix('"') + quoted + " "
        return None


def _is_typable(option: PickerOption) -> bool:
    """Whether the value of an option can be typed: an emoji that is joined of several can't."""
    return option.shown.isprintable() and '"' not in option.shown


HOW_TO_DROP = "⌫ on the empty line drops the last; tab, then X all"
"""What stands behind the chips."""


class FilterChip(Button):
    """One filter; a click removes it."""

    def __init__(self, name: str, value: str, label: str) -> None:
        super().__init__(f"{name}: {one_line(label)} ✕", compact=True, tooltip=f"Remove the filter {name}")
        self.filter = (name, value)


class FilterChips(Horizontal):
    """The active filters in a row, hidden when there are none."""

    class Dropped(Message):
        """A filter is to be removed."""

        def __init__(self, name: str, value: str) -> None:
            super().__init__()
            self.filter = (name, value)

    def show(self, filters: SearchFilters, names: Mapping[str, str]) -> None:
        """Show the filters. ``names`` are those of people by their ids."""
        self.display = bool(filters)
        self.remove_children()
        chips = (
            FilterChip(name, value, names.get(value, value) if name in ("author", "with") else value)
            for name, value in filters.pairs()
        )
        self.mount_all([*chips, Static(HOW_TO_DROP, classes="chips-hint", markup=False)])

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        assert isinstance(event.button, FilterChip)
        self.post_message(self.Dropped(*event.button.filter))

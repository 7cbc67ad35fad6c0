"""The line that a search is typed in: the arrows move in the list while one types."""

from __future__ import annotations

from collections.abc import Sequence

from textual.binding import Binding
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input

from appliance_tui.filters import ending
from appliance_tui.screens.choosing import Choice


class SearchLine(Input):
    """A search as it is typed."""

    BINDINGS = [  # noqa: RUF012
        Binding("down", "move(1)", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("escape,tab", "leave", show=False),
    ]

    class Move(Message):
        """The mark in the list is to go up or down."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Emptied(Message):
        """The person deletes where nothing is left to delete."""

    class Left(Message):
        """The person goes over to the list, where single letters do things."""

    def __init__(self, *, id: str) -> None:
        self.offers: Sequence[Choice] = ()
        super().__init__(placeholder="Search", id=id, compact=True, suggester=_Completing(self))

    def action_move(self, by: int) -> None:
        self.post_message(self.Move(by))

    def action_delete_left(self) -> None:
        """As an Input does; at the beginning, a filter goes."""
        if self.cursor_position == 0 and self.selection.is_empty:
            self.post_message(self.Emptied())
        super().action_delete_left()

    def action_leave(self) -> None:
        self.post_message(self.Left())


class _Completing(Suggester):
    """Completes the filter at the end of the line with what there is, the most frequent first."""

    def __init__(self, line: SearchLine) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._line = line

    async def get_suggestion(self, value: str) -> str | None:
        begun = ending(value)
        if begun is None:
            return None
        name, part = begun
        for one in self._line.offers:
            if one.name == name and one.value.startswith(part) and one.value != part:
                quoted = f'"{one.value}"' if " " in one.value else one.value
                return value[: len(value) - len(part)].removesuffix('"') + quoted + " "
        return None

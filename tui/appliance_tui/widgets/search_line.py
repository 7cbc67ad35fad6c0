"""The line that a search is typed in: the arrows move in the list while one types."""

from __future__ import annotations

from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input


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

    class Left(Message):
        """The person goes over to the list, where single letters do things."""

    def __init__(self, *, id: str) -> None:
        super().__init__(placeholder="Search", id=id, compact=True)

    def action_move(self, by: int) -> None:
        self.post_message(self.Move(by))

    def action_leave(self) -> None:
        self.post_message(self.Left())

"""A line in which the screen asks something: a date, words, a title. It is there only while it asks."""

from __future__ import annotations

from textual.binding import Binding
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input


class AskLine(Input):
    """One question at a time; ``about`` says which."""

    BINDINGS = [Binding("escape", "leave", show=False)]  # noqa: RUF012

    class Answered(Message):
        """What was typed, with enter."""

        def __init__(self, about: str, text: str) -> None:
            super().__init__()
            self.about = about
            self.text = text

    class Left(Message):
        """The person went away without an answer."""

        def __init__(self, about: str) -> None:
            super().__init__()
            self.about = about

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, compact=True)
        self.about = ""
        self.display = False
        self._before: Widget | None = None

    def ask(self, about: str, placeholder: str, text: str = "") -> None:
        """Ask; the keys go here until there is an answer."""
        if not self.display:
            self._before = self.screen.focused
        self.about = about
        self.placeholder = placeholder
        self.value = text
        self.display = True
        self.cursor_position = len(text)
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._end()
        self.post_message(self.Answered(self.about, event.value))

    def action_leave(self) -> None:
        """Go away."""
        self._end()
        self.post_message(self.Left(self.about))

    def _end(self) -> None:
        self.display = False
        if self._before is not None and self._before.is_attached:
            self._before.focus()

"""A line that asks for something when it is needed; what was typed stays for as long as it was not given."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static


class Answer(Horizontal):
    """A label and an input, which are there while something is asked. ``purpose`` says what for."""

    BINDINGS = [Binding("escape", "close", show=False)]  # noqa: RUF012
    DEFAULT_CSS = """
    Answer { height: 1; margin: 0 1; background: $surface; display: none; }
    Answer > Static { width: auto; color: $text-accent; text-style: bold; padding-right: 1; }
    Answer > Input { width: 1fr; }
    """

    class Typed(Message):
        """Something was typed."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    class Given(Typed):
        """The answer is given. Whoever takes it calls ``done``, or ``close`` where the text is to stay."""

    class Left(Message):
        """The line is not there any more."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._purpose = ""
        self._kept: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)
        yield Input(compact=True)

    def ask(self, purpose: str, label: str, value: str = "", example: str = "") -> None:
        """Ask for something: what was typed for it before stands there, else ``value``."""
        self._purpose = purpose
        self.query_one(Static).update(label)
        line = self.query_one(Input)
        line.placeholder = example
        with line.prevent(Input.Changed):
            line.value = self._kept.get(purpose, value)
        line.cursor_position = len(line.value)
        self.display = True
        line.focus()

    def action_close(self) -> None:
        self.close()

    def close(self) -> None:
        """Go away, and keep what was typed."""
        if self.display:
            self.display = False
            self.post_message(self.Left())

    def done(self) -> None:
        """Go away: what was typed was taken."""
        self._kept.pop(self._purpose, None)
        self.close()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._kept[self._purpose] = event.value
        self.post_message(self.Typed(self._purpose, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Given(self._purpose, event.value))

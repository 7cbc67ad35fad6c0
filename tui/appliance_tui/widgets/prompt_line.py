"""Lines that ask a question: one with a label and drafts, one that returns the focus to where it was."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.widgets.input import Selection

from appliance_tui.actions import bindings


def prefill(line: Input, text: str, *, extends: bool = False) -> None:
    """Put a text into a line for the person to take or to change. It is selected, so that the first letter takes its
    place and an arrow keeps it, unless what is typed ``extends`` it."""
    line.value = text
    line.selection = Selection.cursor(len(text)) if extends else Selection(0, len(text))


class AnswerInput(Input):
    """The input of a question, for the footer."""

    SUBMITS: ClassVar[str] = "question.answer"


class PromptLine(Horizontal):
    """A label and an input, visible while a question is open. Unfinished answers are kept as drafts by ``purpose``."""

    BINDINGS = [Binding("escape", "close", "Cancel", id="question.leave")]  # noqa: RUF012
    DEFAULT_CSS = """
    PromptLine { height: 1; margin: 0 1; background: $surface; display: none; }
    PromptLine > Static { width: auto; color: $text-accent; text-style: bold; padding-right: 1; }
    PromptLine > Input { width: 1fr; }
    """

    class Changed(Message):
        """The text has changed."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose, self.text = purpose, text

    class Submitted(Changed):
        """Enter was pressed. The receiver calls ``finish``, or ``close`` to keep the draft."""

    class Closed(Message):
        """The line was hidden."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._purpose = ""
        self._drafts: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)
        yield AnswerInput(compact=True, select_on_focus=False)

    def ask(self, purpose: str, label: str, value: str = "", example: str = "", *, extends: bool = False) -> None:
        """Ask for something, starting from the draft for this purpose, else from ``value``, which the first letter
        replaces, unless it ``extends`` it."""
        self._purpose = purpose
        self.query_one(Static).update(label)
        line = self.query_one(Input)
        line.placeholder = example
        with line.prevent(Input.Changed):
            prefill(line, self._drafts.get(purpose, value), extends=extends)
        self.display = True
        line.focus()

    def action_close(self) -> None:
        self.close()

    def close(self) -> None:
        """Hide the line and keep the draft."""
        if self.display:
            self.display = False
            self.post_message(self.Closed())

    def finish(self) -> None:
        """Hide the line and drop the draft."""
        self._drafts.pop(self._purpose, None)
        self.close()

    def drop_draft(self, purpose: str) -> None:
        """Begin the next question for a purpose with the value that it is asked with."""
        self._drafts.pop(purpose, None)

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self._drafts[self._purpose] = event.value
        self.post_message(self.Changed(self._purpose, event.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Submitted(self._purpose, event.value))


class QuestionLine(Input):
    """An input for a date, words or a title, visible while a question is open; ``about`` identifies the question.

    It closes when it is answered, unless the answer is ``checked``: then it stays, with what was typed, until the
    receiver calls ``finish``.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("question")]
    SUBMITS: ClassVar[str] = "question.answer"

    class Answered(Message):
        """Enter was pressed. Where the answer is checked, the receiver calls ``finish`` if it is a good one."""

        def __init__(self, about: str, text: str) -> None:
            super().__init__()
            self.about = about
            self.text = text

    class Cancelled(Message):
        """The question was cancelled."""

        def __init__(self, about: str) -> None:
            super().__init__()
            self.about = about

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, compact=True, select_on_focus=False)
        self.about = ""
        self.display = False
        self._previous_focus: Widget | None = None
        self._is_checked = False

    def ask(
        self, about: str, placeholder: str, text: str = "", *, checked: bool = False, extends: bool = False
    ) -> None:
        """Show the question and take the focus until it is answered. The first letter replaces ``text``, unless it
        ``extends`` it."""
        if not self.display:
            self._previous_focus = self.screen.focused
        self.about = about
        self._is_checked = checked
        self.placeholder = placeholder
        prefill(self, text, extends=extends)
        self.display = True
        self.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if not self._is_checked:
            self._hide_line()
        self.post_message(self.Answered(self.about, event.value))

    def finish(self) -> None:
        """Close the line after a good answer."""
        if self.display:
            self._hide_line()

    def action_leave(self) -> None:
        self._hide_line()
        self.post_message(self.Cancelled(self.about))

    def _hide_line(self) -> None:
        self.display = False
        if self._previous_focus is not None and self._previous_focus.is_attached:
            self._previous_focus.focus()

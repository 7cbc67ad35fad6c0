"""One of many, chosen by typing a part of it: filters, and whatever else there is a list of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from appliance_tui.widgets.words import one_line


@dataclass(frozen=True, slots=True)
class Choice:
    """Something to choose: ``name`` and ``value`` as they are given back, ``note`` beside them."""

    name: str
    value: str
    note: str = ""

    @property
    def shown(self) -> str:
        return f"{self.name}: {self.value}" if self.name else self.value


Typed = Callable[[str], Sequence[Choice]]
"""What can be chosen besides because it was typed."""


def nothing(text: str) -> Sequence[Choice]:
    return ()


class Choosing(ModalScreen[Choice | None]):
    """Gives back the choice, or None when the person goes away."""

    CSS_PATH = "choosing.tcss"
    BINDINGS = [  # noqa: RUF012
        Binding("escape", "dismiss(None)", "Close"),
        Binding("down", "move(1)", show=False, priority=True),
        Binding("up", "move(-1)", show=False, priority=True),
    ]

    MOST = 200
    """Choices that are listed at once; typing narrows them."""

    def __init__(
        self, title: str, choices: Sequence[Choice], typed: Typed = nothing, placeholder: str = ""
    ) -> None:
        super().__init__()
        self._called = title
        self._choices = choices
        self._typed = typed
        self._placeholder = placeholder
        self._listed: list[Choice] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="choosing"):
            yield Input(placeholder=self._placeholder or "Type a part of it", compact=True)
            yield OptionList(markup=False)

    def on_mount(self) -> None:
        self.query_one("#choosing").border_title = self._called
        self._list("")

    @on(Input.Changed)
    def _narrow(self, event: Input.Changed) -> None:
        self._list(event.value)

    def _list(self, text: str) -> None:
        parts = text.casefold().split()
        found = [one for one in self._choices if all(part in one.shown.casefold() for part in parts)]
        self._listed = [*self._typed(text), *found][: self.MOST]
        options = self.query_one(OptionList)
        options.clear_options()
        options.add_options(Option(self._line(one)) for one in self._listed)
        options.highlighted = 0 if self._listed else None

    def _line(self, one: Choice) -> Content:
        return Content.assemble(
            one_line(one.shown), (f"  {one.note}" if one.note else "", "$foreground-muted")
        )

    def action_move(self, by: int) -> None:
        options = self.query_one(OptionList)
        options.action_cursor_down() if by > 0 else options.action_cursor_up()

    @on(Input.Submitted)
    def _submitted(self) -> None:
        marked = self.query_one(OptionList).highlighted
        if marked is not None:
            self.dismiss(self._listed[marked])

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._listed[event.option_index])

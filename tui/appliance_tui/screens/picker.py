"""A dialog to choose one of many options, narrowed by typing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from appliance_tui.actions import bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen, OptionRows
from appliance_tui.widgets.display_text import one_line


@dataclass(frozen=True, slots=True)
class PickerOption:
    """An option; ``note`` is shown beside it, and ``text`` in place of a value that is an id. One with a ``question``
    shows it first, and is chosen by a second enter."""

    name: str
    value: str
    note: str = ""
    text: str = ""
    question: str = ""

    @property
    def shown(self) -> str:
        """The value as a person reads it."""
        return self.text or self.value

    @property
    def label(self) -> str:
        return f"{self.name}: {self.shown}" if self.name else self.shown


TypedOptions = Callable[[str], Sequence[PickerOption]]
"""Further options for a typed text."""

Matches = Callable[[PickerOption, str], bool]
"""Whether an option is one for a typed text."""


def has_words(option: PickerOption, text: str) -> bool:
    """Whether an option has all words of a text."""
    return all(part in option.label.casefold() for part in text.casefold().split())


class PickerScreen(ListScreen["PickerOption | None"], ModalScreen["PickerOption | None"]):
    """Returns the chosen option, or None if the dialog was closed."""

    CSS_PATH = "picker.tcss"
    PLACE: ClassVar[str] = "picker"
    SUBMITS = "picker.choose"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("picker")]

    MAX_OPTIONS = 200
    """Options that are listed at once; typing narrows them."""

    def __init__(
        self,
        title: str,
        options: Sequence[PickerOption],
        typed_options: TypedOptions = lambda text: (),
        placeholder: str = "",
        *,
        is_question: bool = False,
        matches: Matches = has_words,
    ) -> None:
        """A question has a few answers, and no line to narrow them."""
        super().__init__()
        self._matches = matches
        self._heading = title
        self._options = options
        self._typed_options = typed_options
        self._placeholder = placeholder
        self._is_question = is_question
        self._shown_options: list[PickerOption] = []
        self._asked: PickerOption | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="picker"):
            if not self._is_question:
                yield Input(placeholder=self._placeholder or "Type to filter", compact=True)
            yield OptionRows(markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one("#picker").border_title = self._heading
        self._show_options("")

    @on(Input.Changed)
    def _filter_options(self, event: Input.Changed) -> None:
        self._show_options(event.value)

    def _show_options(self, text: str) -> None:
        matches = [option for option in self._options if self._matches(option, text)]
        matches.sort(key=lambda option: not has_words(option, text))
        typed = self._typed_options(text)
        first, last = [one for one in typed if not one.question], [one for one in typed if one.question]
        self._shown_options = [*first, *matches[: self.MAX_OPTIONS - len(typed)], *last]
        self._asked = None
        options = self.query_one(OptionRows)
        options.clear_options()
        options.add_options(
            Option(Content.assemble(one_line(option.label), (f"  {option.note}", "$foreground-muted")))
            for option in self._shown_options
        )
        options.highlighted = 0 if self._shown_options else None
        if not self._shown_options and (text or not self._placeholder):
            options.add_option(Option("No match" if text else "Nothing to choose", disabled=True))

    def action_leave(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    def action_choose(self) -> None:
        highlighted = self.query_one(OptionRows).highlighted
        if highlighted is not None:
            self._choose(highlighted)

    @on(OptionList.OptionSelected)
    def _choose_clicked(self, event: OptionList.OptionSelected) -> None:
        self._choose(event.option_index)

    def _choose(self, index: int) -> None:
        option = self._shown_options[index]
        if option.question and option is not self._asked:
            self._asked = option
            question = Content.styled(one_line(option.question), "bold $text-warning")
            self.query_one(OptionRows).replace_option_prompt_at_index(index, question)
        else:
            self.dismiss(option)

"""The help: all actions with their present keys, from the current screen on, narrowed by typing. A module of its own,
because it is loaded on demand."""

from __future__ import annotations

from textwrap import wrap
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from appliance_tui.actions import ACTIONS, PLACES, Action, bindings, display_keys
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen

GAP = 2
"""Columns between keys, name and sentence of an action, at least."""

KEYS_WIDTH = 11
"""Columns of the keys. Where the settings have more keys than fit, the rest of their line begins further right."""

NAME_WIDTH = max(len(action.name) for action in ACTIONS)

MIN_TEXT_COLUMNS = 20
"""Columns of a sentence at least; where there are fewer, it stands below keys and name."""

INDENT = 4

MAX_COLUMNS, FRAME_COLUMNS = 110, 8
"""The width of the dialog at most, and what its frame and the scrollbar take of it, as in its style sheet."""


class HelpScreen(ListScreen[None], ModalScreen[None]):
    """All keys and what they do. ``place`` is where the person comes from; its keys are shown first."""

    CSS_PATH = "help.tcss"
    PLACE: ClassVar[str] = "help"
    MAIN_LIST = "#help-text"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("help")]

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def compose(self) -> ComposeResult:
        with Vertical(id="help"):
            yield Input(placeholder="Type to filter, esc closes", compact=True)
            with VerticalScroll(id="help-text", can_focus=False):
                yield Static("No key matches what is typed. ^u clears it.", id="help-nothing")
                for place, name in PLACES.items():
                    yield Static(name, classes="help-place", id=f"help-{place}")
                    yield Static("", classes="help-keys", id=f"help-keys-{place}")
        yield KeyFooter()

    def on_resize(self) -> None:
        """Break the lines for the new width."""
        self._show(self.query_one(Input).value)

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Keys (change them in config.toml under [tui.keys])"
        self.query_one(Input).focus()
        self._show("")
        self.call_after_refresh(self._go_to_place)

    def _go_to_place(self) -> None:
        if self._place in PLACES:
            self.query_one(f"#help-{self._place}").scroll_visible(animate=False, top=True)

    @on(Input.Changed)
    def _filter(self, event: Input.Changed) -> None:
        self._show(event.value)
        self.query_one("#help-text").scroll_home(animate=False)

    def _show(self, typed: str) -> None:
        words = typed.casefold().split()
        found_any = False
        for place, name in PLACES.items():
            found = [
                action
                for action in ACTIONS
                if action.place == place and all(word in self._searched(action, name) for word in words)
            ]
            found_any |= bool(found)
            self.query_one(f"#help-{place}").display = bool(found)
            keys = self.query_one(f"#help-keys-{place}", Static)
            keys.display = bool(found)
            keys.update(Content("\n").join(map(self._line, found)))
        self.query_one("#help-nothing").display = not found_any

    def _keys(self, action: Action) -> str:
        return display_keys(action, self.app._keymap)

    def _searched(self, action: Action, place: str) -> str:
        return f"{self._keys(action)} {action.name} {action.help} {place}".casefold()

    def _line(self, action: Action) -> Content:
        room = min(MAX_COLUMNS, self.app.size.width * 9 // 10) - FRAME_COLUMNS
        keys = f"{self._keys(action):<{KEYS_WIDTH}}" + " " * GAP
        column = len(keys) + NAME_WIDTH + GAP
        name, lines = f"{action.name:<{NAME_WIDTH + GAP}}", wrap(action.help, max(1, room - column))
        if room - column < MIN_TEXT_COLUMNS:
            column = INDENT
            name, lines = action.name, ["", *wrap(action.help, max(1, room - column))]
        return Content.assemble((keys, "bold $text-accent"), (name, "bold"), ("\n" + " " * column).join(lines))

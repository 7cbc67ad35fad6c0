"""The help: all actions with their present keys. A module of its own, because it is loaded on demand."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance_tui.actions import ACTIONS, PLACES, Action


class HelpScreen(ModalScreen[None]):
    """All keys and what they do."""

    CSS_PATH = "help.tcss"
    BINDINGS = [("escape,question_mark,q", "dismiss", "Close")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            for place, name in PLACES.items():
                place_actions = [action for action in ACTIONS if action.place == place]
                if place_actions:
                    yield Static(name, classes="help-place")
                    yield Static(Content("\n").join(map(self._action_line, place_actions)), classes="help-keys")

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Keys (change them in config.toml under [tui.keys])"

    def _action_line(self, action: Action) -> Content:
        keys = self.app._keymap.get(action.id, action.keys)
        shown = " ".join(_display(key) for key in keys.split(","))
        return Content.assemble((f"{shown:<14}", "bold $text-accent"), (f"{action.name:<16}", "bold"), action.help)


_DISPLAY = {"question_mark": "?", "slash": "/", "ctrl": "^", "escape": "esc"}


def _display(key: str) -> str:
    return "+".join(_DISPLAY.get(part, part) for part in key.split("+")).replace("^+", "^")

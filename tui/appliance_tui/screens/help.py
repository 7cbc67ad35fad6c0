"""The help: the table of actions with the keys that they have now."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance_tui.actions import ACTIONS, PLACES, Action


class Help(ModalScreen[None]):
    """Every key and what it does."""

    CSS_PATH = "help.tcss"
    BINDINGS = [("escape,question_mark,q", "dismiss", "Close")]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            for place, name in PLACES.items():
                here = [action for action in ACTIONS if action.place == place]
                if here:
                    yield Static(name, classes="help-place")
                    yield Static(Content("\n").join(map(self._line, here)), classes="help-keys")

    def on_mount(self) -> None:
        self.query_one("#help").border_title = "Keys (re-map them in config.toml under [tui.keys])"

    def _line(self, action: Action) -> Content:
        keys = self.app._keymap.get(action.id, action.keys)
        shown = " ".join(_display(key) for key in keys.split(","))
        return Content.assemble(
            (f"{shown:<14}", "bold $text-accent"), (f"{action.name:<16}", "bold"), action.help
        )


_DISPLAY = {"question_mark": "?", "slash": "/", "ctrl": "^", "escape": "esc"}


def _display(key: str) -> str:
    return "+".join(_DISPLAY.get(part, part) for part in key.split("+")).replace("^+", "^")

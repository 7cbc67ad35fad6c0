"""The filters of a search, each of which goes with a click."""

from __future__ import annotations

from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Button

from appliance_tui.filters import Narrowed


class Chip(Button):
    """One filter."""

    def __init__(self, name: str, value: str) -> None:
        super().__init__(f"{name}: {value} ✕", compact=True, tooltip=f"Drop the filter {name}")
        self.filter = (name, value)


class Chips(Horizontal):
    """All filters, in a row that is not there without any."""

    class Dropped(Message):
        """A filter is to go."""

        def __init__(self, name: str, value: str) -> None:
            super().__init__()
            self.filter = (name, value)

    def show(self, narrowed: Narrowed) -> None:
        self.display = bool(narrowed)
        self.remove_children()
        self.mount_all(Chip(name, value) for name, value in narrowed.chips())

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        assert isinstance(event.button, Chip)
        self.post_message(self.Dropped(*event.button.filter))

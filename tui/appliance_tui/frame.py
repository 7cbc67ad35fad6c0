"""What all screens have in common: the bar of screens on top, the banner, the keys below."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from appliance_tui.actions import ACTIONS, SCREENS, bindings

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

NAMES = {action.id.removeprefix("app."): action.name for action in ACTIONS if action.place == "app"}
NARROW = 100
"""Columns below which the bar shows less."""


WIDE = 130
"""Columns from which what is marked in a list stands beside it."""


class Places(Static):
    """The screens by name, the present one marked, and whose memory it is."""

    def __init__(self, present: str) -> None:
        super().__init__(id="places")
        self._present = present

    def on_mount(self) -> None:
        self.watch(self.app, "told", self._write)
        self.watch(self.app, "user", self._write)

    def on_resize(self) -> None:
        self._write()

    def _write(self) -> None:
        from textual.content import Content

        app = cast("ApplianceApp", self.app)
        wide = self.size.width >= NARROW
        parts = [
            Content.assemble(
                (f" F{number} ", "$foreground-muted"),
                (NAMES[name], "bold $text-accent" if name == self._present else "$foreground-muted"),
            )
            if wide
            else Content.assemble(
                (f" {NAMES[name]}", "bold $text-accent" if name == self._present else "$foreground-muted")
            )
            for number, name in enumerate(SCREENS, 1)
        ]
        left = Content.assemble(*parts)
        right = Content.assemble(
            (f"{app.whose}{' · ' + app.told if app.told and wide else ''} ", "$foreground-muted")
        )
        gap = max(1, self.size.width - left.cell_length - right.cell_length)
        self.update(Content.assemble(left, " " * gap, right) if gap > 1 else left)


class Frame(Screen[None]):
    """A screen of the bar. ``PLACE`` is its name in the table of actions; ``body`` is what fills it."""

    PLACE: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        if "PLACE" in vars(cls):
            cls.BINDINGS = [*bindings(cls.PLACE), *vars(cls).get("BINDINGS", ())]
        super().__init_subclass__()

    def compose(self) -> ComposeResult:
        yield Places(self.PLACE)
        yield Static("", id="banner")
        with Vertical(id="body"):
            yield from self.body()
        yield Footer(show_command_palette=False)

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.watch(self.app, "banner", self._show_banner)
        self.call_after_refresh(self.appliance.shown)

    def _show_banner(self, words: str) -> None:
        banner = self.query_one("#banner", Static)
        banner.update(words)
        banner.display = bool(words)

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

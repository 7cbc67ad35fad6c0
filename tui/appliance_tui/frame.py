"""What all screens have in common: the bar of screens on top, the banner, the keys below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static
from textual.widgets._footer import FooterKey

from appliance_tui.actions import ACTIONS, SCREENS, bindings

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

SCREEN_NAMES = {action.id.removeprefix("app."): action.name for action in ACTIONS if action.place == "app"}

COMPACT_BAR_COLUMNS = 100
"""Columns below which the bar leaves out keys and counts."""

SPLIT_VIEW_COLUMNS = 130
"""Columns from which details are shown beside a list."""


class ScreenBar(Static):
    """The names of the screens, the current one highlighted, and the user whose memory is shown."""

    def __init__(self, current: str) -> None:
        super().__init__(id="places")
        self._current_name = current

    def on_mount(self) -> None:
        self.watch(self.app, "status_text", self._write)
        self.watch(self.app, "user", self._write)

    def on_resize(self) -> None:
        self._write()

    def _write(self) -> None:
        app = cast("ApplianceApp", self.app)
        wide = self.size.width >= COMPACT_BAR_COLUMNS
        left = Content.assemble(
            *(
                part
                for number, name in enumerate(SCREENS, 1)
                for part in (
                    (f" F{number} " if wide else " ", "$foreground-muted"),
                    (SCREEN_NAMES[name], "bold $text-accent" if name == self._current_name else "$foreground-muted"),
                )
            )
        )
        texts = [f"{app.active_user} · {app.status_text} "] if app.status_text and wide else []
        for text in [*texts, f"{app.active_user} "]:  # the longest that has room
            right = Content.styled(text, "$foreground-muted")
            gap = self.size.width - left.cell_length - right.cell_length
            if gap > 1:
                self.update(Content.assemble(left, " " * gap, right))
                return
        self.update(left)


class KeyFooter(Footer):
    """The keys that act on a screen. Composed again when they change: ``Footer`` does so whenever the focus moves."""

    _composed_keys: object = None

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        if self._bindings_ready:
            self._composed_keys = self._current_keys()
        for widget in super().compose():
            if isinstance(widget, FooterKey):
                # A key begins compact, and is told otherwise when it is mounted: its styles are worked out three times.
                widget.set_reactive(FooterKey.compact, self.compact)
            yield widget

    def bindings_changed(self, screen: Screen[Any]) -> None:
        if self._composed_keys is None or self._composed_keys != self._current_keys():
            super().bindings_changed(screen)

    def _current_keys(self) -> object:
        active = self.screen.active_bindings.values()
        return [(binding, enabled, tooltip) for _, binding, enabled, tooltip in active if binding.show]


class FrameScreen(Screen[None]):
    """A screen of the bar. ``PLACE`` is its place in the table of actions; ``body`` composes its content."""

    PLACE: ClassVar[str] = ""
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (SPLIT_VIEW_COLUMNS, "-wide")]  # noqa: RUF012

    def __init_subclass__(cls) -> None:
        if "PLACE" in vars(cls):
            cls.BINDINGS = [*bindings(cls.PLACE), *vars(cls).get("BINDINGS", ())]
        super().__init_subclass__()

    def compose(self) -> ComposeResult:
        yield ScreenBar(self.PLACE)
        yield Static("", id="banner")
        with Vertical(id="body"):
            yield from self.body()
        yield KeyFooter()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.watch(self.app, "banner", self._show_banner)
        self.call_after_refresh(self.appliance.mark_drawn)

    def _show_banner(self, text: str) -> None:
        banner = self.query_one("#banner", Static)
        banner.update(text)
        banner.display = bool(text)

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

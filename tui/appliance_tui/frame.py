"""What all screens have in common: the bar of screens on top, the banner, the keys below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import ScrollableContainer, Vertical
from textual.content import Content
from textual.keys import REPLACED_KEYS, key_to_character
from textual.screen import Screen
from textual.widgets import Input, Static

from appliance_tui.actions import ACTIONS, SCREENS, Action, actions, bindings, first_key
from appliance_tui.list_keys import EVERYWHERE, ListScreen, Navigable
from appliance_tui.pending_rows import PendingRowsScreen
from appliance_tui.widgets.click_line import ClickLine, LinePart

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

SCREEN_NAMES = {action.id.removeprefix("app."): action.name for action in ACTIONS if action.place == "app"}

COMPACT_BAR_COLUMNS = 100
"""Columns below which the bar leaves out spaces and counts."""

SHORT_NAME_CHARACTERS = 4
"""Characters of the names of screens in a bar that has no room for all of them."""

SWITCH_USER = "user"
"""What a click on the name of the user means."""

SPLIT_VIEW_COLUMNS = 130
"""Columns from which details are shown beside a list."""


def tab_label(app: App[object], action_id: str, count: int = 0) -> Content:
    """The label of a tab: the key of the action that shows it, its name, and how many entries wait there if any do."""
    name = next(action.name for action in ACTIONS if action.id == action_id)
    key = first_key(action_id, app._keymap)
    return Content.assemble((f"{key} ", "$foreground-muted"), f"{name} {count:,}" if count else name)


class ScreenBar(ClickLine):
    """The names of the screens, the current one highlighted, and the user whose memory is shown."""

    def __init__(self, current: str) -> None:
        super().__init__(id="places")
        self._current_name = current

    def on_mount(self) -> None:
        self.watch(self.app, "status_text", self._write)
        self.watch(self.app, "user", self._write)
        self.watch(self.app, "erasure", self._write)

    def on_resize(self) -> None:
        self._write()

    def _write(self) -> None:
        app = cast("ApplianceApp", self.app)
        wide = self.size.width >= COMPACT_BAR_COLUMNS
        left, shorter_names = self._names(" " if wide else "", None), self._names("", SHORT_NAME_CHARACTERS)
        erasing = f"{app.erasure.bar_text} · " if app.erasure is not None and app.erasure.bar_text else ""
        status = f" · {app.status_text}" if app.status_text and wide else ""
        user = LinePart(Content.styled(app.active_user, "$foreground-muted"), SWITCH_USER, "Switch the user")
        before = LinePart(Content.styled(erasing, "bold $text-warning"))
        short = f"{app.erasure.short_bar_text} " if erasing and app.erasure is not None else ""
        shorter = LinePart(Content.styled(short, "bold $text-warning"))
        for names, right in (  # the longest that has room
            (left, [before, user, LinePart(Content.styled(f"{status} ", "$foreground-muted"))]),
            (left, [shorter, user, LinePart(Content(" "))]),
            (shorter_names, [before, user, LinePart(Content(" "))]),
            (shorter_names, [shorter, user, LinePart(Content(" "))]),
            (shorter_names, [before]),
        ):
            gap = self.size.width - sum(part.content.cell_length for part in (*names, *right))
            if gap > 1:
                self.show([*names, LinePart(Content(" " * gap)), *right])
                return
        self.show(shorter_names)

    def _names(self, space: str, most: int | None) -> list[LinePart]:
        """The screens by key and name, with a space between both, and names of at most so many characters but for the
        current one."""
        parts = []
        for number, name in enumerate(SCREENS, 1):
            is_current = name == self._current_name
            shown = SCREEN_NAMES[name] if is_current else SCREEN_NAMES[name][:most]
            label = (shown, "bold $text-accent" if is_current else "$foreground-muted")
            key = f"F{number}"
            parts.append(LinePart(Content.assemble((f" {key}{space}", "$foreground-muted"), label), name, key))
        return parts

    @on(ClickLine.Clicked)
    def _go(self, event: ClickLine.Clicked) -> None:
        event.stop()
        app = cast("ApplianceApp", self.app)
        app.action_switch_user() if event.value == SWITCH_USER else app.action_go(event.value)


class KeyFooter(ClickLine):
    """The keys that do something now: with the focus, the selection and the state as they are. Help and Quit stand on
    the right; of the others, those that come first in the table of actions are shown, as many as there is room for."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self) -> None:
        self._write()

    def _bindings_changed(self, screen: Screen[Any]) -> None:
        if self.is_attached and screen is self.screen:
            self._write()

    def _write(self) -> None:
        if not self.screen.is_mounted:  # it writes then
            return
        keys = list(self._current_keys())
        always = [part for action, part in keys if action.id in EVERYWHERE]
        others = [part for action, part in keys if action.id not in EVERYWHERE]
        room = self.size.width - sum(part.content.cell_length for part in always)
        left: list[LinePart] = []
        for part in others:
            room -= part.content.cell_length
            if room < 0:
                break
            left.append(part)
        gap = self.size.width - sum(part.content.cell_length for part in (*left, *always))
        self.show([*left, LinePart(Content(" " * max(0, gap))), *always])

    def _current_keys(self) -> Iterator[tuple[Action, LinePart]]:
        """The actions with a key that acts now, the most important first."""
        screen = cast("ListScreen[Any]", self.screen)
        keys: dict[str, tuple[str, str]] = {}
        active_bindings = screen.active_bindings
        for key, active in active_bindings.items():
            binding = self._taken_by_screen(key) or active.binding
            if active.enabled and binding.id and not self._is_typed(key):
                keys.setdefault(binding.id, (key, self.app.get_key_display(binding)))
        if "enter" in active_bindings and (action := self._done_by_enter(screen)) is not None:
            keys[action.id] = ("enter", "⏎")
        names: set[str] = set()  # what the screen does itself needs no key of the app
        submits = screen.submits
        offered = [action for action in ACTIONS if action.show_in_footer and action.id in keys]
        for action in sorted(offered, key=lambda action: (_is_of_app(action), action.id != submits)):
            if action.place == "app" and action.name in names:
                continue
            if action.id == "app.recall" and getattr(screen, "PLACE", "") not in SCREENS[1:]:
                continue
            if action.id == "app.watch_found" and not cast("ApplianceApp", self.app).histories_left:
                continue
            if action.id == "app.undo" and not cast("ApplianceApp", self.app).changes.key_undoes:
                continue
            if screen.available(action.id):
                names.add(action.name)
                key, label = keys[action.id]
                content = Content.assemble((f" {label} ", "bold $footer-key-foreground"), f"{screen.label(action)} ")
                yield action, LinePart(content, key, action.help)

    def _taken_by_screen(self, key: str) -> Binding | None:
        """The screen's binding of an arrow that the focused line or text has, too, only to scroll: a line never does,
        and a text does the same."""
        focused = self.screen.focused
        if key not in ("up", "down") or not isinstance(focused, (Input, ScrollableContainer)):
            return None
        if any(one.id for one in focused._bindings.key_to_bindings.get(key, ())):
            return None
        return next(iter(self.screen._bindings.key_to_bindings.get(key, ())), None)

    def _done_by_enter(self, screen: ListScreen[Any]) -> Action | None:
        """What Enter leads to where the focused line or list has it first, and tells the screen."""
        if isinstance(screen.focused, Input):
            submits = screen.submits or getattr(screen.focused, "SUBMITS", "")
            return next((action for action in ACTIONS if action.id == submits), None)
        if isinstance(screen.focused, Navigable):
            if isinstance(opens := getattr(screen.focused, "OPENS", None), str):
                return next((action for action in ACTIONS if action.id == opens), None)
            place = getattr(screen, "PLACE", "")
            return next((action for action in actions(place) if "enter" in action.keys.split(",")), None)
        return None

    def _is_typed(self, key: str) -> bool:
        """Whether the focused line takes a key as text. Textual knows so of most keys, but not of "/", "+" and "-"."""
        character = key_to_character(REPLACED_KEYS.get(key, key))
        focused = self.screen.focused
        return focused is not None and focused.check_consume_key(key, character)

    @on(ClickLine.Clicked)
    def _press(self, event: ClickLine.Clicked) -> None:
        event.stop()
        self.app.simulate_key(event.value)


def _is_of_app(action: Action) -> bool:
    """Whether an action comes behind those of the screen. Undo does not: it is for what was done there last."""
    return action.place == "app" and action.id != "app.undo"


class FrameScreen(PendingRowsScreen[None]):
    """A screen of the bar. ``PLACE`` is its place in the table of actions; ``body`` composes its content."""

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
        self.refresh_bindings()
        self.call_after_refresh(self.appliance.mark_drawn)

    def on_screen_suspend(self) -> None:
        """Hide the keys: a dialog above has its own."""
        self.query(KeyFooter).set(visible=False)

    def on_screen_resume(self) -> None:
        self.query(KeyFooter).set(visible=True)

    def _show_banner(self, text: str) -> None:
        banner = self.query_one("#banner", Static)
        banner.update(text)
        banner.display = bool(text)

    @property
    def appliance(self) -> ApplianceApp:
        """The app, by its own type."""
        return cast("ApplianceApp", self.app)

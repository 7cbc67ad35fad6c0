"""Moving in lists: the same keys in every list, which act on the list that has the focus, else on the screen's own."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from textual import events
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.screen import Screen, ScreenResultType
from textual.widget import Widget
from textual.widgets import Input, OptionList

from appliance_tui.actions import ACTIONS, Action, actions, bindings

EVERYWHERE = ("app.help", "app.quit")
"""The actions of the app that dialogs have, too: there, Textual takes no key of the app."""


def everywhere_bindings() -> list[Binding]:
    """The keys of ``EVERYWHERE`` for a screen."""
    return [
        Binding(action.keys, f"app.{action.action}", action.name, id=action.id)
        for action in ACTIONS
        if action.id in EVERYWHERE
    ]


@runtime_checkable
class HasHint(Protocol):
    """An app with a notice that may name a key."""

    def check_hint(self) -> None:
        """Take the key out of the notice where it does nothing now."""


@runtime_checkable
class Navigable(Protocol):
    """A list whose selection moves."""

    def action_step(self, by: int) -> None:
        """Move the selection by so many items."""

    def action_page(self, by: int) -> None:
        """Move the selection by so many screens."""

    def action_end(self, last: bool) -> None:
        """Select the first or the last item."""


def is_laid_out(options: OptionList) -> bool:
    """Whether the lines of a list of options are known. Textual moves by pages in them and fails where there are none:
    in a list without options, or one that has no place on the screen yet."""
    return (options.highlighted or 0) in options._index_to_line and bool(options._lines)


class OptionRows(OptionList, inherit_bindings=False):
    """An ``OptionList`` that moves as every list does: it stops at its ends, and a click selects an option, which only
    another click on it opens."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", show=False)]
    _measured_width = -1

    def _update_lines(self) -> None:
        """As ``OptionList``, which measures the height of an option once. A scrollbar that comes or goes changes the
        width without a resize, and the last words of an option that needs one more line then would not be drawn."""
        width = self.scrollable_content_region.width
        if width and width != self._measured_width:
            self._measured_width = width
            self._clear_caches()
        super()._update_lines()

    def action_step(self, by: int) -> None:
        """As ``Navigable``; options that are disabled are passed over."""
        start = index = (-1 if by > 0 else self.option_count) if self.highlighted is None else self.highlighted
        for _ in range(abs(by)):
            ahead = range(index + 1, self.option_count) if by > 0 else range(index - 1, -1, -1)
            index = next((place for place in ahead if not self.options[place].disabled), index)
        if index != start:
            self.highlighted = index
        else:  # what can't be selected is read on
            self.scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """As ``Navigable``."""
        if is_laid_out(self):
            self._move_page(1 if by > 0 else -1)

    def action_end(self, last: bool) -> None:
        """As ``Navigable``."""
        self.action_last() if last else self.action_first()

    async def _on_click(self, event: events.Click) -> None:
        event.prevent_default()  # Textual's own opens at the first click
        clicked: int | None = event.style.meta.get("option")
        if clicked is None or self.options[clicked].disabled:
            return
        if clicked == self.highlighted:
            self.action_select()
        else:
            self.highlighted = clicked


class ListScreen(Screen[ScreenResultType]):
    """A screen with lists or texts that scroll.

    ``MAIN_LIST`` selects those that the keys move in while another widget has the focus; the first that is shown
    counts. ``LINE`` selects the line to type in; ``SUBMITS`` is the id of the action that Enter does there.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("list"), *everywhere_bindings()]
    MAIN_LIST: ClassVar[str] = "RowList, OptionRows, VerticalScroll"
    LINE: ClassVar[str] = "Input"
    SUBMITS: ClassVar[str] = ""

    @property
    def submits(self) -> str:
        """The id of the action that Enter does now in the line."""
        return self.SUBMITS

    def on_screen_resume(self) -> None:
        self._check_hint()

    def watch_focused(self) -> None:
        self._check_hint()

    def _check_hint(self) -> None:
        """A notice that names a key must be true where the focus is now."""
        if self.app._screen_stack and isinstance(self.app, HasHint):
            self.app.check_hint()

    def available(self, id: str) -> bool:
        """Whether an action of the footer would do something now. Its key says why not where it would not."""
        return id not in ("line.up", "line.down")  # only where there are earlier queries, or a start page

    def why_not(self, id: str) -> str:
        """Why an action would do nothing now, such as one for a row of an empty list; "" if it does something, or says
        so itself."""
        return ""

    def on_key(self, event: events.Key) -> None:
        """Say why a key does nothing. What a line takes does not come here, but for keys such as Enter."""
        if isinstance(self.focused, Input):
            return
        keymap = self.app._keymap
        pressed = (
            action.id
            for action in actions(getattr(self, "PLACE", ""))
            if event.key in keymap.get(action.id, action.keys).split(",")
        )
        if reason := next(filter(None, map(self.why_not, pressed)), ""):
            event.stop()
            event.prevent_default()
            self.notify(reason, timeout=3)

    def targets_pinned(self) -> bool:
        """Whether all that "Pin" acts on is pinned, so that it unpins."""
        return False

    def label(self, action: Action) -> str:
        """The name of an action in the footer, as things stand."""
        return f"Un{action.name.lower()}" if action.name == "Pin" and self.targets_pinned() else action.name

    @property
    def navigated(self) -> Widget | None:
        """The list that the keys move in."""
        # A line to type in scrolls too, as a container does, but it is no list.
        if isinstance(self.focused, (Navigable, ScrollableContainer)) and not isinstance(self.focused, Input):
            return self.focused
        return next((widget for widget in self.query(self.MAIN_LIST) if widget.is_on_screen), None)

    def action_list_step(self, by: int) -> None:
        """Move by so many items, or scroll by so many lines."""
        widget = self.navigated
        if isinstance(widget, Navigable):
            widget.action_step(by)
        elif widget is not None:
            widget.scroll_relative(y=by, animate=False)

    def action_list_page(self, by: int) -> None:
        """Move by so many screens."""
        widget = self.navigated
        if isinstance(widget, Navigable):
            widget.action_page(by)
        elif widget is not None:
            widget.scroll_relative(y=by * max(1, widget.size.height - 1), animate=False)

    def action_list_end(self, last: bool) -> None:
        """Go to the first item or the last one."""
        widget = self.navigated
        if isinstance(widget, Navigable):
            widget.action_end(last)
        elif widget is not None:
            widget.scroll_end(animate=False) if last else widget.scroll_home(animate=False)

    def action_list_type(self) -> None:
        """Go to the line to type in."""
        for line in self.query(self.LINE):
            if line.is_on_screen and line.focusable:
                line.focus()
                return

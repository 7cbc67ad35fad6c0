"""The command palette with its keys in the last line. A module of its own, because it is loaded on demand."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import CommandList, CommandPalette

from appliance_tui.actions import Action, bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import everywhere_bindings, is_laid_out


class PaletteScreen(CommandPalette):
    """Every action by its name."""

    PLACE: ClassVar[str] = "palette"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("palette"), *everywhere_bindings()]
    DEFAULT_CSS = "PaletteScreen > KeyFooter { dock: bottom; background: $panel; }"
    submits = "palette.run"
    """As ``ListScreen``; the next two, too."""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield KeyFooter()

    def available(self, id: str) -> bool:
        return True

    def label(self, action: Action) -> str:
        return action.name

    def action_close(self) -> None:
        self._action_escape()

    def action_step(self, by: int) -> None:
        self._action_cursor_down() if by > 0 else self._action_command_list("cursor_up")

    def _action_command_list(self, action: str) -> None:
        # Its keys may come before the list is drawn, or while nothing is in it.
        if not action.startswith("page") or is_laid_out(self.query_one(CommandList)):
            super()._action_command_list(action)

"""What the screens with a list of messages or conversations have in common: rows are selected, and an action is for the
selected ones, else for the current one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from textual import on
from textual.binding import Binding
from textual.css.query import NoMatches
from textual.widgets import Input

from appliance_tui.frame import FrameScreen
from appliance_tui.selection import SelectableRows, Selection, SelectionChanged, existing
from appliance_tui.workers import begin, show_errors


class SelectingScreen(FrameScreen):
    """A screen with a list in which rows can be selected."""

    def __init_subclass__(cls) -> None:
        # Escape clears a selection before anything else that it does on the screen.
        cls.BINDINGS = [Binding("escape", "unselect", show=False, priority=True), *vars(cls).get("BINDINGS", ())]
        super().__init_subclass__()

    @property
    def selectable(self) -> SelectableRows:
        """The list."""
        raise NotImplementedError

    @property
    def selection(self) -> Selection:
        return self.selectable.selection

    def target_ids(self) -> tuple[str, ...]:
        """The ids that an action is for: of the selected rows, else of the current one."""
        return self.selectable.selected_or_current()

    def export_ids(self) -> Sequence[str]:
        """The ids of messages and conversations that an export of the targets has."""
        return self.target_ids()

    def selection_note(self) -> str:
        """How many rows are selected, and how to end that; "" without one."""
        return f"{self.selection.text}, esc clears" if len(self.selection) else ""

    def show_selection(self) -> None:
        """Say how many rows are selected."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a selection, and on a line that is typed in, escape is for something else."""
        if action == "unselect" and (isinstance(self.focused, Input) or not self._has_selection):
            return False
        return super().check_action(action, parameters)

    @property
    def _has_selection(self) -> bool:
        with suppress(NoMatches):  # the screen is not composed yet
            return bool(len(self.selection))
        return False

    @on(SelectionChanged)
    def _selection_changed(self, event: SelectionChanged) -> None:
        event.stop()
        self.show_selection()
        self.refresh_bindings()

    def drop_missing(self) -> None:
        """Unselect what no longer exists, where the memory has changed."""
        if len(self.selection):
            begin(self, self._drop_missing, "selection", exclusive=True)

    async def _drop_missing(self) -> None:
        with show_errors(lambda text: None):  # the next change tries again
            known = await self.appliance.memory_worker.run_query(partial(existing, ids=tuple(self.selection)))
            if self.is_mounted:
                self.selectable.keep_selected(known)

    def action_select(self) -> None:
        self.selectable.toggle_row()

    def action_extend(self, by: int) -> None:
        self.selectable.extend_selection(by)

    def action_unselect(self) -> None:
        self.selectable.clear_selection()

    def action_export(self) -> None:
        """Export the targets to a file, after a dialog."""
        from appliance_tui.screens.export import ExportScreen

        if ids := self.export_ids():
            self.app.push_screen(ExportScreen(ids))

    def action_editor(self) -> None:
        """Read the targets in an editor."""
        if ids := self.export_ids():
            self.appliance.read_in_editor(ids)

    def action_feedback(self) -> None:
        """Say what the targets were worth."""
        from appliance_tui.feedback import ask_worth

        if ids := self.target_ids():
            begin(self, partial(ask_worth, self.appliance, ids), "feedback", exclusive=True)

"""The transcript of a conversation, with messages that can be selected."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.strip import Strip

from appliance_tui.selection import SelectableRows
from appliance_tui.widgets.transcript import TranscriptView


class SelectableTranscript(SelectableRows, TranscriptView, can_focus=True, inherit_bindings=False):
    """A transcript in which messages can be selected. The wheel reads on from where the hit is, as a page does."""

    wheel_moves_current = False

    def row_ids(self) -> Sequence[str | None]:
        return () if self._is_empty else self._conversation.outline.ids

    def current_row(self) -> int | None:
        return None if self._is_empty else self.mark

    def step_row(self, by: int) -> None:
        self.action_step(by)

    def row_at(self, line: int) -> int | None:
        return None if self._is_empty or line >= self._heights.total else self._locate_line(line)[0]

    def row_marked_on(self, line: int) -> int | None:
        """The message whose header stands on a line."""
        if self._is_empty or self._text_style is None or line >= self._heights.total:
            return None
        index, piece, row = self._locate_line(line)
        return index if piece < 0 and row == self._conversation.lines_above(index) - 1 else None

    def on_click(self, event: events.Click) -> None:
        if self.select_by_mouse(event):
            event.prevent_default()

    def render_line(self, y: int) -> Strip:
        return self.checked(super().render_line(y), y)

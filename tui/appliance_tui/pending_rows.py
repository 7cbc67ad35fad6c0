"""Screens whose rows are loaded: keys that act on a row wait until those are listed that the keys before them ask for.

Otherwise a key that comes early acts on no row or on another one, and what is typed behind it, the name of a file or a
title, is taken for commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.events import Key
from textual.screen import ScreenResultType

from appliance_tui.actions import display_key
from appliance_tui.list_keys import ListScreen

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

CHOOSES_ROWS = frozenset(
    {
        "list.type",
        *(f"conversations.{name}" for name in ("clear", "title", "sort", "reverse", "source", "pinned")),
        *(f"people.{name}" for name in ("filter", "clear", "sort", "undo", "contacts", "people", "proposals")),
        *(f"memory.{name}" for name in ("facts", "review", "summaries", "pinned", "core", "add", "filter", "clear")),
        *(f"memory.{name}" for name in ("which", "more")),
        *(f"inbox.{name}" for name in ("other_list", "retry_all", "resume", "add", "filter", "clear", "stop")),
        *(f"attachments.{name}" for name in ("all", "kind", "close")),
    }
)
"""The actions of these screens that are for no row: they say which rows are listed, open a line, or lead away."""


class PendingRowsScreen(ListScreen[ScreenResultType]):
    """A screen with rows. One that loads them sets ``rows_pending`` where others are wanted, its class at first, and
    calls ``rows_arrived`` when they are listed, or can't be read."""

    PLACE: ClassVar[str] = ""
    rows_pending = False

    def rows_arrived(self) -> None:
        """Let keys act on the rows."""
        self.rows_pending = False
        cast("ApplianceApp", self.app).input_queue.resume()

    def must_wait(self, event: Key) -> bool:
        """As ``WaitingScreen``: whether a key is for a row, and the rows are not listed yet."""
        focused = self.focused
        if not self.rows_pending or (focused is not None and focused.check_consume_key(event.key, event.character)):
            return False
        active = self.active_bindings.get(event.key)
        id = (active.binding.id or "") if active is not None else ""
        return id.startswith((f"{self.PLACE}.", "list.")) and id not in CHOOSES_ROWS

    def tell_of_wait(self, event: Key) -> None:
        """As ``WaitingScreen``."""
        key = display_key(event.key)
        self.notify(f"Still loading. {key} waits for the list; another key takes its place.", timeout=3)

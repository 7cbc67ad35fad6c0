"""A dialog to go anywhere: it lists what matches as one types."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from appliance_tui.actions import bindings
from appliance_tui.destinations import ID_PATTERN, Destination, find_destinations
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.widgets.display_text import one_line
from appliance_tui.widgets.rows import MUTED, RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import SerialWorker, begin

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp

TYPING_PAUSE_SECONDS = 0.05
"""Seconds without a key before what matches is looked for."""

HINT = "A title, a person, a screen, a date (15 March 2024, last May) or an id (m345)"


class JumpScreen(ListScreen["Destination | None"], ModalScreen["Destination | None"]):
    """Returns where to go, None if the dialog was closed. ``reading`` is the conversation that is being read."""

    CSS_PATH = "jump.tcss"
    PLACE: ClassVar[str] = "jump"
    SUBMITS = "jump.choose"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("jump")]

    def __init__(self, reading: str | None) -> None:
        super().__init__()
        self._reading = reading
        self._listed_text: str | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="jump", classes="dialog"):
            line = SearchInput(id="jump-line")
            line.placeholder = HINT
            yield line
            yield RowList[Destination](_line, key=lambda destination: destination, id="jump-rows")
            yield Static("", id="jump-note", markup=False)
        yield KeyFooter()

    def on_mount(self) -> None:
        self._queries = SerialWorker(self, cast("ApplianceApp", self.app).memory_worker)
        self.query_one("#jump").border_title = "Go to"
        self._schedule_search()

    def available(self, id: str) -> bool:
        """As ``ListScreen``; the line moves in the rows at any time, and keeps the focus."""
        return id not in ("line.up", "line.leave")

    @property
    def _rows(self) -> RowList[Destination]:
        return self.query_one("#jump-rows", RowList)

    @on(Input.Changed)
    def _schedule_search(self) -> None:
        begin(self, partial(self._list_matches, self.query_one(SearchInput).value), "jump", exclusive=True)

    async def _list_matches(self, typed: str) -> None:
        app = cast("ApplianceApp", self.app)
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        user = app.user
        with app.report_errors():
            found = await self._queries.run_query(lambda memory: find_destinations(memory, typed, user, self._reading))
            self._rows.show(found, first=True)
            self._listed_text = typed
            self._rows.display = bool(found)
            self.query_one("#jump-note", Static).update("" if found else nothing_found(typed))

    @on(SearchInput.Move)
    def _move_mark(self, event: SearchInput.Move) -> None:
        self._rows.action_step(event.by)

    def action_leave(self) -> None:
        self.dismiss(None)

    @on(RowList.Opened)
    def action_choose(self) -> None:
        if self._rows.chosen is not None:
            self.dismiss(self._rows.chosen)

    @on(Input.Submitted)
    async def _choose_typed(self) -> None:
        """Go to the first match of what is typed, which may not be listed yet."""
        if self._listed_text != self.query_one(SearchInput).value:
            await self._list_matches(self.query_one(SearchInput).value)
        self.action_choose()


def nothing_found(typed: str) -> str:
    """Why nothing is listed, and what can be typed."""
    text = one_line(typed.strip())
    if ID_PATTERN.fullmatch(text):
        what = "message" if text[0] in "mM" else "conversation"
        reason = f"There is no {what} {text} of this user. It may have been forgotten."
    else:
        reason = f"Nothing found for “{text}”."
    return f"{reason}\n\n{HINT} can be typed here."


def _line(destination: Destination, width: int) -> Content:
    return Content.assemble(
        (f"{destination.kind:<13}", MUTED), (destination.name, "bold"), "  ", (destination.note, MUTED)
    )

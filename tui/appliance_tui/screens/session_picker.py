"""A dialog to choose a conversation: one of the latest, or by its id or words of its title."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input

from appliance.errors import ApplianceError
from appliance_tui.actions import bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.widgets.display_text import minute, one_line, pluralize
from appliance_tui.widgets.rows import MUTED, RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import begin

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

MAX_LISTED = 50
"""Conversations that are listed; typing words of the title finds others."""


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """A conversation by its id, "" for none."""

    id: str
    title: str
    details: str = ""


NO_SESSION = SessionChoice("", "None", "a new conversation")


class SessionPickerScreen(ListScreen["SessionChoice | None"], ModalScreen["SessionChoice | None"]):
    """Returns the chosen conversation, None if the dialog was closed."""

    CSS_PATH = "session_picker.tcss"
    PLACE: ClassVar[str] = "present"
    SUBMITS = "present.choose"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("present")]

    def compose(self) -> ComposeResult:
        with Vertical(id="present", classes="dialog"):
            line = SearchInput(id="present-line")
            line.placeholder = "An id (s12) or words of the title"
            yield line
            yield RowList[SessionChoice](_choice_line, key=lambda choice: choice.id, id="present-rows")
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one("#present").border_title = "Current conversation"
        self._schedule_search()

    def available(self, id: str) -> bool:
        """As ``ListScreen``; the line moves in the rows at any time, and keeps the focus."""
        return id not in ("line.up", "line.leave")

    @on(Input.Changed)
    def _schedule_search(self) -> None:
        typed = self.query_one(SearchInput).value.strip()
        begin(self, partial(self._load_list, typed), "present", exclusive=True)

    async def _load_list(self, typed: str) -> None:
        app = cast("ApplianceApp", self.app)
        user = app.user
        with app.report_errors():
            choices = await app.memory_worker.run_query(lambda memory: _find_sessions(memory, typed, user))
            self.query_one(RowList).show(choices if typed else [NO_SESSION, *choices], first=True)

    @on(SearchInput.Move)
    def _move_mark(self, event: SearchInput.Move) -> None:
        self.query_one(RowList).action_step(event.by)

    def action_leave(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    @on(RowList.Opened)
    def action_choose(self) -> None:
        chosen = self.query_one(RowList).chosen
        if isinstance(chosen, SessionChoice):
            self.dismiss(chosen)


def _find_sessions(memory: Appliance, typed: str, user: str | None) -> list[SessionChoice]:
    infos = list(memory.sessions.list(user_id=user, title=typed, limit=MAX_LISTED))
    if typed:
        with suppress(ApplianceError):  # not an id, but words
            exact = memory.sessions.info(typed, user_id=user)
            infos = [exact, *(info for info in infos if info.id != exact.id)]
    return [
        SessionChoice(
            info.id,
            info.title or info.external_id,
            f"{pluralize(info.messages, 'message')} · {info.format} · {minute(info.last_at)}",
        )
        for info in infos
    ]


def _choice_line(choice: SessionChoice, width: int) -> Content:
    return Content.assemble(
        (f"{choice.id:<6}", MUTED), (one_line(choice.title)[:60], "bold"), "  ", (choice.details, MUTED)
    )

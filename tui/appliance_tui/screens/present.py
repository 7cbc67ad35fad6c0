"""Choosing a conversation: one of the latest, or one by its id or by words of its title."""

from __future__ import annotations

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

from appliance_tui.actions import bindings
from appliance_tui.widgets.rows import MUTED, Rows
from appliance_tui.widgets.search_line import SearchLine
from appliance_tui.widgets.words import minute, one_line
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance_tui.app import ApplianceApp

OFFERED = 50
"""Conversations that are listed: whoever wants another one types words of its title."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A conversation by its id, "" for none."""

    id: str
    title: str
    about: str = ""


NONE = Chosen("", "None", "only what is known and what was said elsewhere")


class Present(ModalScreen["Chosen | None"]):
    """Gives back the chosen conversation; None where the choice was left."""

    CSS_PATH = "present.tcss"
    PLACE: ClassVar[str] = "present"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("present")]

    def compose(self) -> ComposeResult:
        with Vertical(id="present", classes="dialog"):
            line = SearchLine(id="present-line")
            line.placeholder = "An id (s12), or words of the title"
            yield line
            yield Rows[Chosen](_drawn, key=lambda one: one.id, id="present-rows")

    def on_mount(self) -> None:
        self.query_one("#present").border_title = "The conversation that goes on"
        self._look()

    @on(Input.Changed)
    def _look(self) -> None:
        typed = self.query_one(SearchLine).value.strip()
        begin(self, partial(self._list, typed), "present", anew=True)

    async def _list(self, typed: str) -> None:
        from appliance.errors import ApplianceError

        app = cast("ApplianceApp", self.app)
        user = app.user
        try:
            found = await app.link.ask(lambda memory: _found(memory, typed, user))
        except ApplianceError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.query_one(Rows).show([NONE, *found] if not typed else found, first=True)

    @on(SearchLine.Move)
    def _moved(self, event: SearchLine.Move) -> None:
        self.query_one(Rows).action_step(event.by)

    @on(SearchLine.Left)
    def action_leave(self) -> None:
        self.dismiss(None)

    @on(Input.Submitted)
    @on(Rows.Opened)
    def action_choose(self) -> None:
        """Take the marked conversation."""
        chosen = self.query_one(Rows).chosen
        if isinstance(chosen, Chosen):
            self.dismiss(chosen)


def _found(memory: Appliance, typed: str, user: str | None) -> list[Chosen]:
    from appliance.errors import ApplianceError

    infos = list(memory.sessions.list(user_id=user, title=typed, limit=OFFERED))
    if typed:
        try:
            named = memory.sessions.info(typed, user_id=user)
        except ApplianceError:  # no id then, but words
            pass
        else:
            infos = [named, *(one for one in infos if one.id != named.id)]
    return [
        Chosen(
            one.id,
            one.title or one.external_id,
            f"{one.messages:,} messages · {one.format} · {minute(one.last_at)}",
        )
        for one in infos
    ]


def _drawn(one: Chosen, width: int) -> Content:
    return Content.assemble(
        (f"{one.id:<6}", MUTED), (one_line(one.title)[:60], "bold"), "  ", (one.about, MUTED)
    )

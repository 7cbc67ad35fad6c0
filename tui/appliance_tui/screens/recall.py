"""Recall: what is typed is searched for as it is typed, and every hit can be read, explained, pinned and forgotten."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.reactive import var
from textual.widgets import Input, Static

from appliance_tui import filters
from appliance_tui.filters import Narrowed
from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.opening import file_of, open_file
from appliance_tui.screens.choosing import Choice, Choosing
from appliance_tui.screens.why import Why
from appliance_tui.widgets.chips import Chips
from appliance_tui.widgets.hits import HitList, highlighted
from appliance_tui.widgets.search_line import SearchLine
from appliance_tui.widgets.welcome import FirstRun
from appliance_tui.widgets.words import minute, one_line, shown, terms
from appliance_tui.working import Looking, OneAtATime, begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Hit, Hits

PAUSE = 0.015
"""Seconds without a key before what was typed is searched for: a held key comes every 0.03, a quick typist's
every 0.1."""

PREVIEWED = 20_000
"""Characters of a message that stand beside the list; the conversation has all of them."""

EMPTY = "Type to search everything that was said.  source:whatsapp  role:assistant  since:2024-03  user:ana  narrow it."


class Recall(Frame):
    """The first screen."""

    CSS_PATH = "recall.tcss"
    PLACE = "recall"

    narrowed: var[Narrowed] = var(Narrowed())
    answered: var[str] = var("")
    """What was typed when that was asked for which now stands in the list."""

    def body(self) -> ComposeResult:
        yield SearchLine(id="query")
        yield Chips(id="chips")
        with Horizontal(id="found"):
            yield HitList()
            with VerticalScroll(id="preview", can_focus=False):
                yield Static("", id="preview-text", markup=False)
        yield FirstRun()
        yield Static(EMPTY, id="note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._questions = OneAtATime(self, self.appliance.link)
        self.query_one(SearchLine).focus()
        self._learn = Looking(self, self._ask_choices)
        self.watch(self.app, "user", self._turn_to)

    def _turn_to(self) -> None:
        """Another's memory is looked at."""
        self._learn()
        self._look()

    # --- searching ------------------------------------------------------------------------------------

    @on(Input.Changed, "#query")
    def _typed(self, event: Input.Changed) -> None:
        left, narrowed = filters.taken(event.value, self.narrowed)
        if narrowed != self.narrowed:
            event.input.value = left  # which is another change
            self.narrowed = narrowed
            return
        self._look()

    def watch_narrowed(self, narrowed: Narrowed) -> None:
        if self.is_mounted:
            self.query_one(Chips).show(narrowed)
            self._look()

    def _look(self) -> None:
        """Search anew; an earlier search that has not answered yet is not waited for."""
        begin(self, partial(self._search, self.query_one(SearchLine).value), "search", anew=True)

    async def _search(self, query: str) -> None:
        await asyncio.sleep(PAUSE)
        if not query.strip():
            self._show(None, query)
            return
        asked = self.narrowed.asked(self.appliance.user)
        from appliance.errors import ApplianceError

        try:
            hits = await self._questions.ask(lambda memory: memory.search(query, **asked))
            self._show(hits, query)
            there = await self._questions.ask(
                lambda memory: memory.browsing.messages([hit.message_id for hit in hits])
            )
        except ApplianceError as error:
            self._say(str(error))
            return
        for message in there:
            if message.pinned:
                self.query_one(HitList).star(message.id, True)

    def _show(self, hits: Hits | None, query: str) -> None:
        self.query_one(HitList).show(hits or (), terms(query))
        self.answered = query
        if hits is None:
            self._say(EMPTY)
            return
        count = f"{len(hits)} hit{'' if len(hits) == 1 else 's'}"
        self._say(" · ".join([count if hits else "Nothing found", *hits.notes]))

    def _say(self, words: str) -> None:
        self.query_one("#note", Static).update(words)

    def on_happened(self, message: Happened) -> None:
        if (
            message.kind in ("embedded", "ingested", "forgotten", "deleted")
            and self.query_one(SearchLine).value
        ):
            self._look()

    # --- the list -------------------------------------------------------------------------------------

    @property
    def _hit(self) -> Hit | None:
        return self.query_one(HitList).chosen

    @on(HitList.OptionHighlighted)
    def _preview(self) -> None:
        hit, text = self._hit, self.query_one("#preview-text", Static)
        if hit is None:
            text.update("")
            return
        body = shown(hit.text[:PREVIEWED]) + ("…" if len(hit.text) > PREVIEWED else "")
        who = f"{one_line(hit.author or hit.role)} · {minute(hit.timestamp)}"
        where = one_line(hit.session_title or hit.session_id)
        text.update(highlighted(f"{who}\n{where}\n\n{body}", terms(self.query_one(SearchLine).value)))

    @on(SearchLine.Move)
    def _moved(self, event: SearchLine.Move) -> None:
        hits = self.query_one(HitList)
        if event.by > 0:
            hits.action_cursor_down()
        else:
            hits.action_cursor_up()

    @on(SearchLine.Left)
    def _to_list(self) -> None:
        self.query_one(HitList).focus()

    @on(HitList.OptionSelected)
    @on(Input.Submitted, "#query")
    def action_open(self) -> None:
        """Open the message in its conversation."""
        if (hit := self._hit) is not None:
            self.appliance.read(hit.session_id, hit.message_id)

    def action_search(self) -> None:
        self.query_one(SearchLine).focus()

    # --- filters --------------------------------------------------------------------------------------

    @on(Chips.Dropped)
    def _drop(self, event: Chips.Dropped) -> None:
        self.narrowed = self.narrowed.without(*event.filter)

    @on(SearchLine.Emptied)
    def _drop_last(self) -> None:
        if chips := list(self.narrowed.chips()):
            self.narrowed = self.narrowed.without(*chips[-1])

    def action_clear_filters(self) -> None:
        """Drop all filters."""
        self.narrowed = Narrowed()

    @work(exclusive=True, group="filter")
    async def action_filter(self) -> None:
        """Choose a filter out of what there is."""
        choices = await self._choices()
        chosen = await self.app.push_screen_wait(
            Choosing("Narrow the search", choices, filters.typed, "A user, source or role; or since 2024-03")
        )
        if chosen is not None:
            self.narrowed = self.narrowed.plus(chosen.name, chosen.value)

    async def _choices(self) -> list[Choice]:
        user = self.appliance.user
        there = await self.appliance.link.ask(lambda memory: memory.browsing.choices(user_id=user))
        return [
            *(Choice("source", name, f"{count:,} messages") for name, count in there.sources.items()),
            *(Choice("role", name, f"{count:,} messages") for name, count in there.roles.items()),
            *(Choice("user", name, f"{count:,} conversations") for name, count in there.users.items()),
        ]

    async def _ask_choices(self) -> None:
        counts = await self.appliance.link.ask(lambda memory: memory.browsing.counts())
        if counts["messages"]:  # who has none is told at once how to begin
            await self.appliance.settled.wait()
        choices = await self._choices()
        self.query_one(SearchLine).offers = choices
        is_empty = not any(one.name == "source" for one in choices)
        self.query_one(FirstRun).display = is_empty
        self.query_one("#found").display = not is_empty

    # --- what is done with a hit ----------------------------------------------------------------------

    def action_why(self) -> None:
        """Say why the hit was found."""
        if (hit := self._hit) is not None:
            who = one_line(hit.author or hit.role)
            self.app.push_screen(
                Why(
                    f"Why {hit.message_id} is hit {hit.rank}",
                    f"{who}: {one_line(hit.snippet)}",
                    hit.why,
                    hit.score,
                )
            )

    @work(exclusive=True, group="why")
    async def action_why_not(self) -> None:
        """Say why a message that the person names was not found."""
        query, asked = self.query_one(SearchLine).value, self.narrowed.asked(self.appliance.user)
        named = await self.app.push_screen_wait(
            Choosing("Why not this message?", (), _by_id, "The id of a message, such as m345")
        )
        if named is None or not query.strip():
            return

        def search(memory: Appliance) -> Hits:
            return memory.search(query, why_not=named.value, **asked)

        with self.appliance.telling():
            about = (await self.appliance.link.ask(search)).why_not
            if about is not None:
                title = f"Why {about.message_id} is {about.stage}"
                self.app.push_screen(Why(title, about.words, about.why, about.score))

    def action_copy(self) -> None:
        """Copy the whole message."""
        if (hit := self._hit) is not None:
            self.app.copy_to_clipboard(hit.text)
            self.notify(f"Copied {len(hit.text):,} characters", timeout=2)

    @work(exclusive=True, group="pin")
    async def action_pin(self) -> None:
        """Pin the hit, or let it go again."""
        if (hit := self._hit) is None:
            return
        with self.appliance.telling():
            pinned = await self.appliance.toggle_pin(hit.message_id)
            self.query_one(HitList).star(hit.message_id, pinned)

    def action_forget(self) -> None:
        """Erase the hit for good, after a look at what goes."""
        if (hit := self._hit) is not None:
            self.appliance.forget(hit.message_id)

    def action_source(self) -> None:
        """Open the file that the hit came from."""
        if (hit := self._hit) is None:
            return
        if hit.source.path is None:
            self.notify("It came from no file: it was added by hand or by a program", timeout=3)
            return
        file = file_of(hit.source.path)
        if not file.exists():
            self.notify(f"{one_line(str(file))} is not there any more", severity="warning")
        elif not open_file(file):
            self.notify(one_line(str(file)), title="Nothing here opens files")


def _by_id(text: str) -> list[Choice]:
    return [Choice("", text.strip(), "this one")] if text.strip() else []

"""Recall: what is typed is searched for as it is typed, and every hit can be read, explained, pinned and forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.reactive import var
from textual.widgets import Input, Static

from appliance_tui import filters
from appliance_tui.filters import Narrowed
from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.widgets.chips import Chips
from appliance_tui.widgets.hits import HitList, highlighted
from appliance_tui.widgets.search_line import SearchLine
from appliance_tui.widgets.words import minute, one_line, shown, terms

if TYPE_CHECKING:
    from appliance.types import Hit, Hits

PAUSE = 0.03
"""Seconds without a key before what was typed is searched for: at 40 words a minute a key comes every 0.3."""

PREVIEWED = 20_000
"""Characters of a message that stand beside the list; the conversation has all of them."""

EMPTY = "Type to search everything that was said.  source:whatsapp  role:assistant  since:2024-03  user:ana  narrow it."


class Recall(Frame):
    """The first screen."""

    PLACE = "recall"

    narrowed: var[Narrowed] = var(Narrowed())

    def body(self) -> ComposeResult:
        yield SearchLine(id="query")
        yield Chips(id="chips")
        with Horizontal(id="found"):
            yield HitList()
            with VerticalScroll(id="preview", can_focus=False):
                yield Static("", id="preview-text", markup=False)
        yield Static(EMPTY, id="note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._one_at_a_time = asyncio.Lock()
        self.query_one(SearchLine).focus()

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
        self.run_worker(self._search(self.query_one(SearchLine).value), exclusive=True, group="search")

    async def _search(self, query: str) -> None:
        await asyncio.sleep(PAUSE)
        if not query.strip():
            self._show(None, query)
            return
        asked = self.narrowed.asked(self.appliance.user)
        from appliance.errors import ApplianceError

        # One at a time: the memory can't break off a search, and two would only hold each other up.
        async with self._one_at_a_time:
            task = asyncio.ensure_future(
                self.appliance.link.ask(lambda memory: memory.search(query, **asked))
            )
            try:
                hits = await asyncio.shield(task)
            except ApplianceError as error:
                self._say(str(error))
                return
            except asyncio.CancelledError:
                await asyncio.wait([task])
                raise
        self._show(hits, query)

    def _show(self, hits: Hits | None, query: str) -> None:
        self.query_one(HitList).show(hits or (), terms(query))
        if hits is None:
            self._say(EMPTY)
            return
        count = f"{len(hits)} hit{'' if len(hits) == 1 else 's'}"
        self._say(" · ".join([count if hits else "Nothing found", f"{hits.took_ms:.0f} ms", *hits.notes]))

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

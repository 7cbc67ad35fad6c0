"""A screen with hits of a search, and what is done with them: they are explained, copied, pinned, tagged and forgotten,
and their files and authors are gone to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import work

from appliance.requests.typed_filters import SearchFilters
from appliance_tui.path_input import open_file, source_file
from appliance_tui.screens.explanation import explain_hit, explain_miss
from appliance_tui.selecting import SelectingScreen
from appliance_tui.selection import pages
from appliance_tui.undo import toggle_pins
from appliance_tui.widgets.display_text import one_line, pluralize
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import SerialWorker, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Hit, Message


class HitsScreen(SelectingScreen):
    """The hits of a search, one of them current. The search itself is a subclass's."""

    search_filters: SearchFilters
    _queries: SerialWorker

    def _show_note(self, text: str) -> None:
        raise NotImplementedError

    def targets_pinned(self) -> bool:
        """As ``ListScreen``."""
        return self.query_one(HitList).are_pinned(self.target_ids())

    @property
    def selectable(self) -> HitList:
        return self.query_one(HitList)

    @property
    def _marked_hit(self) -> Hit | None:
        """The selected hit, where it is seen: no key acts on another."""
        return self.query_one(HitList).chosen if self.query_one("#results").display else None

    def target_ids(self) -> tuple[str, ...]:
        """As ``SelectingScreen``; none where no hit is seen."""
        return super().target_ids() if self._marked_hit is not None else ()

    async def _show_pins(self, hits: Iterable[Hit]) -> None:
        ids = [hit.message_id for hit in hits]
        for page in pages(ids):
            found = await self._queries.run_query(partial(_read_messages, ids=page))
            self.query_one(HitList).show_pins({message.id: message.pinned for message in found})
        self.refresh_bindings()

    def _refresh_pins(self) -> None:
        begin(self, self._load_pins, "pins", exclusive=True)

    async def _load_pins(self) -> None:
        with show_errors(self._show_note):
            await self._show_pins(self.query_one(HitList).hits)

    @work(exclusive=True, group="why")
    async def action_why(self) -> None:
        """Explain the selected hit: a sentence, and the numbers behind it."""
        results = self.query_one(HitList).results
        if (hit := self._marked_hit) is not None and results is not None:
            with self.appliance.report_errors():
                await explain_hit(self.appliance, hit, results, self._queries.run_query)

    @work(exclusive=True, group="why")
    async def action_why_not(self) -> None:
        """Explain why a message that the person names did not match."""
        query = self.query_one(SearchInput).value
        with self.appliance.report_errors():
            await explain_miss(self.appliance, query, self.search_filters.search_arguments(self.appliance.user))

    def action_copy(self) -> None:
        if (hit := self._marked_hit) is not None:
            self.app.copy_to_clipboard(hit.text)
            self.notify(f"Copied {pluralize(len(hit.text), 'character')}.", timeout=2)

    def action_pin(self) -> None:
        if ids := self.target_ids():
            begin(self, partial(self._pin, ids), "pin")

    async def _pin(self, ids: Sequence[str]) -> None:
        with self.appliance.report_errors():
            await self.appliance.make_change(partial(toggle_pins, ids=ids))
            await self._load_pins()

    def action_forget(self) -> None:
        if ids := self.target_ids():
            self.appliance.forget(*ids)

    def action_tags(self) -> None:
        ids = set(self.target_ids())
        self.appliance.tag([hit.session_id for hit in self.query_one(HitList).hits if hit.message_id in ids])

    def action_person(self) -> None:
        if (hit := self._marked_hit) is not None:
            self.app.call_later(self.appliance.show_author, hit.author, hit.role, hit.source.format)

    def action_source(self) -> None:
        if (hit := self._marked_hit) is None:
            return
        if hit.source.path is None:
            self.notify("This message did not come from a file.", timeout=3)
            return
        file = source_file(hit.source.path)
        if not file.exists():
            self.notify(f"The file {one_line(str(file))} no longer exists.", severity="warning")
        elif not open_file(file):
            self.notify(f"The file is {one_line(str(file))}.", title="No program opens files here", markup=False)


def _read_messages(memory: Appliance, ids: Sequence[str]) -> list[Message]:
    return memory.overview.messages(ids)

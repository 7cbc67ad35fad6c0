"""A screen with hits that filters narrow: typed ones, the chips, and those that are chosen out of all."""

from __future__ import annotations

from functools import partial

from textual import on, work
from textual.reactive import var

from appliance.client import Appliance
from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters
from appliance_tui import filters
from appliance_tui.screens.hits_screen import HitsScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.undo import Change
from appliance_tui.widgets.search_line import FilterChips, SearchInput
from appliance_tui.workers import begin


class FilteredScreen(HitsScreen):
    """Hits of a search with filters. What a change of the filters leads to is a subclass's."""

    search_filters: var[SearchFilters] = var(SearchFilters())

    def _finished_filter(self) -> tuple[str, SearchFilters] | None:
        """The text without the filter at its end, and the filters with it; None if Enter finishes none."""
        line = self.query_one(SearchInput)
        if not line.has_focus or filters.partial_filter(line.value) is None:
            return None
        remaining, search_filters = extract_filters(line.value, self.search_filters, NO_CURSOR)
        return None if remaining == line.value else (remaining, search_filters)

    def _finish_filter(self) -> bool:
        """Apply the filter at the end of the search line; False if there is none."""
        if (finished := self._finished_filter()) is None:
            return False
        line = self.query_one(SearchInput)
        line.value, self.search_filters = finished
        line.cursor_position = len(line.value)
        return True

    @on(FilterChips.Dropped)
    def _remove_filter(self, event: FilterChips.Dropped) -> None:
        self.search_filters = self.search_filters.without_filter(*event.filter)

    @on(SearchInput.DeleteAtStart)
    def _remove_last_filter(self) -> None:
        if pairs := list(self.search_filters.pairs()):
            self.search_filters = self.search_filters.without_filter(*pairs[-1])

    def action_clear_filters(self) -> None:
        """Clear all filters; as any change, it is said and can be taken back."""
        if before := self.search_filters:
            self.search_filters = SearchFilters()
            begin(self, partial(self._say_cleared, before), "cleared")

    async def _say_cleared(self, before: SearchFilters) -> None:
        names = filters.described(before, self.appliance.names_by_id)

        def put_back(memory: Appliance) -> None:
            self.app.call_from_thread(setattr, self, "search_filters", before)

        await self.appliance.make_change(lambda memory: Change(f"Cleared {names}", f"Filters: {names}", put_back))

    @work(exclusive=True, group="filter")
    async def action_filter(self) -> None:
        with self.appliance.input_queue.held():
            choices = await self._load_filter_options()
        chosen = await self.app.push_screen_wait(
            PickerScreen(
                "Filter the search",
                filters.active_first(choices, self.search_filters, self.appliance.names_by_id),
                filters.parse_filter,
                "A person, source, tag, tool, file, …; or a date: 2024-03, until 2024",
                matches=filters.matches_words,
            )
        )
        if chosen is not None:
            self.search_filters = filters.choose_filter(self.search_filters, chosen)

    async def _load_filter_options(self) -> list[PickerOption]:
        load = partial(filters.filter_options, user=self.appliance.user)
        return await self.appliance.memory_worker.run_query(load)

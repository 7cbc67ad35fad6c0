"""Recall: search as you type. Hits can be read, explained, pinned and forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import DescendantFocus, Key, Paste
from textual.reactive import var
from textual.widgets import Input, Static

from appliance.errors import ApplianceError
from appliance.requests.typed_filters import SearchFilters, extract_filters
from appliance_tui import filters, search_notes
from appliance_tui.actions import Action, display_key, first_key
from appliance_tui.pending_hits import SearchRequest, acts_on_hits
from appliance_tui.query_history import QueryHistory
from appliance_tui.screens.filtered_screen import FilteredScreen
from appliance_tui.search_results import SearchResults, SearchSpec, read_page
from appliance_tui.undo import toggle_pins
from appliance_tui.widgets.first_run import FirstRunPanel
from appliance_tui.widgets.hit_preview import NEIGHBOURS, HitPreview
from appliance_tui.widgets.hits import HIT_LINES, HitList
from appliance_tui.widgets.search_line import FilterChips, SearchInput
from appliance_tui.widgets.start_page import StartPagePanel
from appliance_tui.workers import CoalescingRefresh, MemoryChanged, SerialWorker, begin, say_if_slow, show_errors

if TYPE_CHECKING:
    from appliance.types import HitOrder

TYPING_PAUSE_SECONDS = 0.015
"""Seconds without a key before a search: a held key repeats every 0.03, a quick typist types every 0.1."""

LINES_AROUND = 7
"""Lines of the screen above and below the list of hits."""

COUNT_DELAY_SECONDS = 0.4
"""Seconds after the hits before all of them are counted: that takes as long as a search, and delays no key then."""

NO_HIT = "No hit is listed."

PREVIEW_COLUMNS = 110
"""Columns from which the selected hit is shown beside the list."""


class SearchScreen(FilteredScreen):
    """The first screen."""

    CSS_PATH = "search.tcss"
    PLACE = "recall"
    SUBMITS = "recall.open"
    MAIN_LIST = f"StartPagePanel, {FilteredScreen.MAIN_LIST}"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (PREVIEW_COLUMNS, "-wide")]  # noqa: RUF012

    answered_query: var[str] = var("")
    """The text whose hits are listed."""
    sort: HitOrder = "score"

    def body(self) -> ComposeResult:
        yield SearchInput(id="query")
        yield FilterChips(id="chips")
        with Horizontal(id="results"):
            yield HitList()
            yield HitPreview()
        yield StartPagePanel()
        yield FirstRunPanel()
        yield Static(search_notes.empty_hint(()), id="note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._answered = self._request()
        self._history = QueryHistory()
        self._is_leaving = self._is_reading = False
        self._failure = ""
        self._people_filters = SearchFilters()
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self.query_one(SearchInput).focus()
        self._refresh_completions = CoalescingRefresh(self, self._load_completions)
        self.watch(self.app, "user", self._user_changed)
        self.watch(self.app, "name_keys", self._show_people)

    def _user_changed(self) -> None:
        if self.search_filters.user is not None:
            self.search_filters = self.search_filters.without_filter("user", self.search_filters.user)
        self._refresh_completions()
        self._show_parts()
        self._schedule_search()

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        line = event.input  # its value, not the event's: more may have been typed since
        text, cursor = line.value, line.cursor_position
        remaining, search_filters = extract_filters(text, self.search_filters, cursor)
        self._is_leaving = False
        self._show_parts()
        if remaining != text:
            before = extract_filters(text[:cursor], SearchFilters())[0]
            line.value = remaining  # posts another change
            line.cursor_position = len(before)
            self.search_filters = search_filters
            return
        self._history.note(self.appliance.active_user, text, self.search_filters)
        self.refresh_bindings()
        self._schedule_search()

    def watch_search_filters(self, search_filters: SearchFilters) -> None:
        if self.is_mounted:
            self.query_one(FilterChips).show(search_filters, self.appliance.names_by_id)
            self._show_parts()
            self._schedule_search()

    def _schedule_search(self) -> None:
        """Search again; an unfinished earlier search is cancelled."""
        begin(self, partial(self._search, self._request()), "search", exclusive=True)

    @property
    def submits(self) -> str:
        """As ``ListScreen``; an empty memory imports what is selected, or asks for a file."""
        first_run, typed = self.query_one(FirstRunPanel), self.query_one(SearchInput).value
        return first_run.submits(typed) if first_run.display else self.SUBMITS

    def _request(self) -> SearchRequest:
        return SearchRequest(self.query_one(SearchInput).value, self.search_filters, self.sort, self.appliance.user)

    def must_wait(self, event: Key) -> bool:
        """Whether a key acts on the hits, and those of the request as it stands are not there yet."""
        focused = self.focused
        if self._answered == self._request() or focused not in (self.query_one(SearchInput), self.query_one(HitList)):
            return False
        if event.key == "enter":
            return self._finished_filter() is None
        return acts_on_hits(self, event)

    def tell_of_wait(self, event: Key) -> None:
        """Say that a key waits for the hits."""
        self._show_note(f"Still searching. {display_key(event.key)} waits for the hits; another key takes its place.")

    async def _search(self, request: SearchRequest) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        query = request.text
        words = filters.without_partial_filter(query)
        if not words.strip() and not replace(self.search_filters, user=None):  # filters alone list what passes them
            self._show(None, request)
            return
        arguments = self.search_filters.search_arguments(self.appliance.user)
        spec = SearchSpec(words, arguments, self.sort, NEIGHBOURS)
        fit = (self.size.height - LINES_AROUND) // HIT_LINES
        with show_errors(partial(self._show_error, request)):
            with say_if_slow(self, lambda: self._show_note(search_notes.SEARCHING)):
                page = await self._queries.run_query(partial(read_page, spec=spec, fit=fit))
            results = SearchResults(spec)
            results.add(page)
            self._show(results, request)
            await self._show_pins(page.hits)
            if results.more and not results.total_is_exact:
                await asyncio.sleep(COUNT_DELAY_SECONDS)
                await results.count(self._queries.run_query)
                self._show_summary()

    def show_selection(self) -> None:
        self._show_summary()

    def _show(self, results: SearchResults | None, request: SearchRequest, failure: str = "") -> None:
        """Show what was found, or nothing: in a search without words and filters, and in one that failed."""
        hits = self.query_one(HitList)
        before = hits.results.spec if hits.results is not None else None
        if (
            results is None
            or before is None
            or (before.query, before.arguments) != (results.spec.query, results.spec.arguments)
        ):
            hits.clear_selection()  # what is selected would not be seen any more
        hits.show(results)
        self._failure = failure
        self._answered, self.answered_query = request, request.text
        self._show_summary()
        self._show_preview()
        self.appliance.input_queue.resume()

    def _show_summary(self) -> None:
        """How many hits there are, and what the search has to say; behind escape, what the next one does."""
        if self._is_leaving:
            self._show_note(
                search_notes.LEAVING + search_notes.KEPT_QUERY * bool(self.query_one(SearchInput).value.strip())
            )
            return
        results = self.query_one(HitList).results
        if results is None:
            hint = search_notes.empty_hint(self.query_one(SearchInput).completions)
            self._show_note(self._failure or filters.filter_note(self.answered_query) or hint)
            self.query_one(HitList).show_reason("")
            return
        parts = (
            self.selection_note(),
            search_notes.COMMANDS if self.query_one(HitList).has_focus else "",
            results.total_text(),
            "esc leads back to People" if self._is_from_people else "",
            search_notes.order_note(results.spec),
            filters.filter_note(self.answered_query),
            search_notes.id_note(self.answered_query, first_key("app.jump", self.app._keymap)),
            *results.notes,
        )
        self._show_note(" · ".join(filter(None, parts)))
        self.query_one(HitList).show_reason("" if results.hits else self._why_no_hits(results))

    def _why_no_hits(self, results: SearchResults) -> str:
        is_typing = self.query_one(SearchInput).has_focus
        sort_key = first_key("recall.sort", self.app._keymap)
        return search_notes.no_hits(results, self.search_filters, self.appliance.names_by_id, is_typing, sort_key)

    @on(DescendantFocus)
    def _focus_moved(self) -> None:
        """Say whether letters are commands now."""
        self._show_summary()

    def _show_error(self, request: SearchRequest, text: str) -> None:
        """Say why a search failed, in place of the hits of an earlier one."""
        self._show(None, request, text)

    @on(HitList.NearEnd)
    def _load_more(self) -> None:
        results = self.query_one(HitList).results
        if results is not None and results.more:
            begin(self, partial(self._load_page, results), "more")

    async def _load_page(self, results: SearchResults) -> None:
        before = len(results)
        with show_errors(self._show_note):
            if await results.load_more(self._queries.run_query) and self.query_one(HitList).results is results:
                self.query_one(HitList).extend()
                self._show_summary()
                await self._show_pins(results.hits[before:])

    def on_screen_resume(self) -> None:
        """Select the hit that was read last, and list those that were loaded meanwhile. Behind reading, what is typed
        replaces the query, which was answered; an arrow keeps it."""
        self._is_leaving = False
        if self._is_reading:
            self._is_reading = False
            if isinstance(line := self.focused, SearchInput):
                line.select_all()
        self.query_one(StartPagePanel).refresh_soon()
        hits = self.query_one(HitList)
        if hits.results is not None and hits.results.hits:
            hits.extend()
            hits.highlighted = hits.results.position
            self._show_summary()
            self._refresh_pins()
        elif hits.results is not None:  # what was imported meanwhile may be found
            self._schedule_search()

    def _show_people(self, people: Mapping[str, str]) -> None:
        self.query_one(HitList).show_people(people)
        self._show_preview()

    def action_sort(self) -> None:
        """Sort the other way, and say so: the list alone looks like the hits of another search."""
        self.sort = "time" if self.sort == "score" else "score"
        order, other = ("Newest", "the best") if self.sort == "time" else ("Best", "the newest")
        self.notify(f"{order} hits first; {first_key('recall.sort', self.app._keymap)} lists {other} first.", timeout=4)
        self._schedule_search()

    def _show_note(self, text: str) -> None:
        self.query_one("#note", Static).update(text)

    def on_memory_changed(self, message: MemoryChanged) -> None:
        self.query_one(StartPagePanel).refresh_soon()
        if message.kind in ("forgotten", "deleted"):
            self._history.forget()
        if message.kind in ("embedded", "ingested", "forgotten", "deleted"):
            if self.query_one(SearchInput).value or self.search_filters:
                self._schedule_search()
            if message.kind != "embedded":
                self._refresh_completions()
                self.drop_missing()
        elif message.kind in ("pinned", "undone"):
            self._refresh_pins()

    @on(HitList.OptionHighlighted)
    def _show_preview(self) -> None:
        hits = self.query_one(HitList)
        hit, results = hits.chosen, hits.results
        if results is not None and hits.highlighted is not None:
            results.position = hits.highlighted
        matches = results.matches.get(hit.message_id) if hit is not None and results is not None else None
        self.query_one(HitPreview).show(hit, matches, self.appliance.name_keys)
        self.refresh_bindings()

    @on(SearchInput.Move)
    def _move_mark(self, event: SearchInput.Move) -> None:
        if self.query_one(StartPagePanel).move(event.by):
            return
        if (first_run := self.query_one(FirstRunPanel)).display and event.by > 0:
            first_run.enter()
        elif self._history.is_shown or (event.by < 0 and not self.query_one(SearchInput).value):
            self._show_earlier_query(event.by)
        else:
            self.query_one(HitList).action_step(event.by)

    @on(SearchInput.Moved)
    def _move_on_start_page(self, event: SearchInput.Moved) -> None:
        page = self.query_one(StartPagePanel)
        if page.display:
            page.action_end(event.by > 0) if event.to_end else page.action_side(event.by)

    def available(self, id: str) -> bool:
        """As ``ListScreen``: what acts on a hit needs one."""
        if id == "line.up":
            return not self.query_one(SearchInput).value and self._history.has_queries(self.appliance.active_user)
        if id == "recall.clear":
            return bool(self.search_filters)
        if id in ("recall.type", "recall.search", "app.forget"):
            return not self.query_one(SearchInput).has_focus
        if id == "recall.unpin":
            return bool(self._pinned_entry)
        if id in ("line.leave", "recall.sort"):
            return bool(self.query_one("#results").display)
        if id == "recall.back":
            return bool(self.search_filters or self.query_one(SearchInput).value)
        if id == "line.down":
            return self.query_one(StartPagePanel).display or self._marked_hit is not None
        if id == "recall.open" and (start_page := self.query_one(StartPagePanel)).display:
            return start_page.chosen is not None
        return id == "recall.filter" or not id.startswith("recall.") or self._marked_hit is not None

    def why_not(self, id: str) -> str:
        """As ``ListScreen``: of an empty list. It speaks of letters itself."""
        is_empty = self.query_one("#results").display and self._marked_hit is None
        return NO_HIT if is_empty and id in ("recall.open", "recall.extend", "recall.extend_back") else ""

    def label(self, action: Action) -> str:
        """As ``ListScreen``; on the start page the first step selects."""
        page = self.query_one(StartPagePanel)
        is_first = action.id == "line.down" and page.display and page.marked is None
        return "Select" if is_first else super().label(action)

    @property
    def _pinned_entry(self) -> str:
        """The id of the pinned message that is selected on the start page, "" for none."""
        start_page = self.query_one(StartPagePanel)
        return start_page.pinned_id if start_page.display else ""

    async def _unpin(self, id: str) -> None:
        with self.appliance.report_errors():
            await self.appliance.make_change(partial(toggle_pins, ids=[id]))
            self.query_one(StartPagePanel).refresh_soon()

    def action_unpin(self) -> None:
        """Unpin the message that is selected on the start page."""
        if id := self._pinned_entry:
            begin(self, partial(self._unpin, id), "pin")

    def _show_earlier_query(self, by: int) -> None:
        """Put the query before the present one into the line, or the one after it."""
        query = self._history.step(self.appliance.active_user, by, self.search_filters)
        if query is not None:
            line = self.query_one(SearchInput)
            self.search_filters, line.value = query.filters, query.text
            line.cursor_position = len(query.text)

    @on(SearchInput.Exited)
    def _focus_list(self) -> None:
        """Letters become commands, also where nothing is listed: sort and filters may be why."""
        if self.query_one("#results").display:
            self.query_one(HitList).focus()

    @on(StartPagePanel.Loaded)
    def _show_parts(self) -> None:
        """Show the hits of query and filters; without any the start page, or of an empty memory how to begin."""
        start_page, line = self.query_one(StartPagePanel), self.query_one(SearchInput)
        is_searching = bool(line.value.strip() or self.search_filters)
        start_page.set_searching(is_searching)
        self.query_one(FirstRunPanel).set_shown(start_page.is_empty)
        self.query_one("#note").display = not start_page.is_empty
        results, first_run = self.query_one("#results"), self.query_one(FirstRunPanel)
        results.display = is_searching and not start_page.is_empty
        if not results.display and not first_run.has_focus_within:  # what is hidden takes no letters
            self.set_focus(line)
        self.refresh_bindings()

    @on(StartPagePanel.Searched)
    def _search_example(self, event: StartPagePanel.Searched) -> None:
        """Type an example, as a person does: a space behind a filter makes it a chip."""
        line = self.query_one(SearchInput)
        line.focus()
        line.value = event.query
        line.cursor_position = len(event.query)

    @on(HitList.OptionSelected)
    @on(Input.Submitted, "#query")
    def action_open(self) -> None:
        if self._finish_filter():
            return
        if (first_run := self.query_one(FirstRunPanel)).display:
            first_run.submit(self.query_one(SearchInput).value)
        elif (start_page := self.query_one(StartPagePanel)).display:
            start_page.action_select()
        elif (hit := self._marked_hit) is not None:
            self._history.add(self.appliance.active_user)
            self._is_reading = True
            self.appliance.read(hit.session_id, hit.message_id, self.query_one(HitList).results)
        else:
            self.notify(NO_HIT, timeout=3)

    def action_search(self) -> None:
        """Go to the line; from there, up is for earlier queries and down for the first entry of the start page."""
        self.query_one(StartPagePanel).marked = None
        self.query_one(SearchInput).focus()

    def action_type_on(self) -> None:
        """Go back to the line, where the cursor was."""
        self.query_one(SearchInput).take("")

    def on_paste(self, event: Paste) -> None:
        """A text that is pasted outside of lines is searched for."""
        self.query_one(SearchInput).take(event.text)

    def on_key(self, event: Key) -> None:
        """A key between two that lead back makes the second one the first again."""
        if self._is_leaving and event.key not in self.app._keymap.get("recall.back", "escape").split(","):
            self._is_leaving = False
            self._show_summary()

    def action_back(self) -> None:
        """Show the start page, at the second key in a row: one too many behind a dialog costs nothing."""
        line = self.query_one(SearchInput)
        if not (line.value or self.search_filters):
            self.query_one(StartPagePanel).marked = None
            return
        if self._is_from_people:
            self.search_filters = SearchFilters()
            self.appliance.action_go("people")
            return
        if not self._is_leaving:
            self._is_leaving = True
            self._show_summary()
            return
        self._is_leaving = False
        self._history.add(self.appliance.active_user)  # the note has said that it comes back
        line.value, self.search_filters, self.sort = "", SearchFilters(), "score"
        self._show_parts()

    def show_people_messages(self, ids: tuple[str, ...]) -> None:
        """List everything that some people wrote, whatever was searched for before; what is typed searches in it."""
        self.query_one(SearchInput).value = ""
        self.search_filters = self._people_filters = SearchFilters(authors=ids)
        self.query_one(SearchInput).focus()

    @property
    def _is_from_people(self) -> bool:
        """Whether the hits are still those that the People screen asked for, so that escape leads back there."""
        return (
            bool(self._people_filters)
            and not self.query_one(SearchInput).value
            and (self.search_filters == self._people_filters)
        )

    async def _load_completions(self) -> None:
        counts = await self.appliance.memory_worker.run_query(lambda memory: memory.overview.counts())
        if counts["messages"]:  # an empty memory shows the first-run panel at once
            await self.appliance.startup_done.wait()
        choices = await self._load_filter_options()
        self.query_one(SearchInput).completions = choices
        self._show_summary()
        with suppress(ApplianceError):  # only colours depend on it
            await self.appliance.refresh_name_keys()

"""Recall: search as you type. Hits can be read, explained, pinned and forgotten."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.reactive import var
from textual.widgets import Input, Static

from appliance.requests.typed_filters import SearchFilters, extract_filters
from appliance_tui import filters
from appliance_tui.frame import FrameScreen
from appliance_tui.path_input import open_file, source_file
from appliance_tui.screens.explanation import ExplanationScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.widgets.display_text import one_line, pluralize, query_terms, sanitize, time_of
from appliance_tui.widgets.first_run import FirstRunPanel
from appliance_tui.widgets.hits import HitList, highlight_terms
from appliance_tui.widgets.search_line import FilterChips, SearchInput
from appliance_tui.workers import CoalescingRefresh, MemoryChanged, SerialWorker, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Hit, Hits

TYPING_PAUSE_SECONDS = 0.015
"""Seconds without a key before a search: a held key repeats every 0.03, a quick typist types every 0.1."""

PREVIEW_CHARACTERS = 20_000
"""Characters of a message in the preview; the conversation shows all of them."""

EMPTY_HINT = "Type to search all messages. Filters: source:whatsapp  role:assistant  since:2024-03  user:ana"


class SearchScreen(FrameScreen):
    """The first screen."""

    CSS_PATH = "search.tcss"
    PLACE = "recall"

    search_filters: var[SearchFilters] = var(SearchFilters())
    answered_query: var[str] = var("")
    """The text whose hits are listed."""

    def body(self) -> ComposeResult:
        yield SearchInput(id="query")
        yield FilterChips(id="chips")
        with Horizontal(id="results"):
            yield HitList()
            with VerticalScroll(id="preview", can_focus=False):
                yield Static("", id="preview-text", markup=False)
        yield FirstRunPanel()
        yield Static(EMPTY_HINT, id="note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self.query_one(SearchInput).focus()
        self._refresh_completions = CoalescingRefresh(self, self._load_completions)
        self.watch(self.app, "user", self._user_changed)

    def _user_changed(self) -> None:
        self._refresh_completions()
        self._schedule_search()

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        line = event.input  # its value, not the event's: more may have been typed since
        text, cursor = line.value, line.cursor_position
        remaining, search_filters = extract_filters(text, self.search_filters, cursor)
        if remaining != text:
            before = extract_filters(text[:cursor], SearchFilters())[0]
            line.value = remaining  # posts another change
            line.cursor_position = len(before)
            self.search_filters = search_filters
            return
        self._schedule_search()

    def watch_search_filters(self, search_filters: SearchFilters) -> None:
        if self.is_mounted:
            self.query_one(FilterChips).show(search_filters)
            self._schedule_search()

    def _schedule_search(self) -> None:
        """Search again; an unfinished earlier search is cancelled."""
        begin(self, partial(self._search, self.query_one(SearchInput).value), "search", exclusive=True)

    async def _search(self, query: str) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        if not query.strip():
            self._show(None, query)
            return
        arguments = self.search_filters.search_arguments(self.appliance.user)
        with show_errors(self._show_note):
            hits = await self._queries.run_query(lambda memory: memory.search(query, **arguments))
            self._show(hits, query)
            ids = [hit.message_id for hit in hits]
            for message in await self._queries.run_query(lambda memory: memory.overview.messages(ids)):
                if message.pinned:
                    self.query_one(HitList).show_pinned(message.id, True)

    def _show(self, hits: Hits | None, query: str) -> None:
        self.query_one(HitList).show(hits or (), query_terms(query))
        self.answered_query = query
        if hits is None:
            self._show_note(EMPTY_HINT)
            return
        none = "No matches" if hits.found or not hits.total else "No good match"
        self._show_note(" · ".join([pluralize(len(hits), "hit") if hits else none, *hits.notes]))

    def _show_note(self, text: str) -> None:
        self.query_one("#note", Static).update(text)

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("embedded", "ingested", "forgotten", "deleted"):
            if self.query_one(SearchInput).value:
                self._schedule_search()
            if message.kind != "embedded":
                self._refresh_completions()

    @property
    def _marked_hit(self) -> Hit | None:
        return self.query_one(HitList).chosen

    @on(HitList.OptionHighlighted)
    def _show_preview(self) -> None:
        hit, text = self._marked_hit, self.query_one("#preview-text", Static)
        if hit is None:
            text.update("")
            return
        body = sanitize(hit.text[:PREVIEW_CHARACTERS]) + ("…" if len(hit.text) > PREVIEW_CHARACTERS else "")
        head = f"{one_line(hit.who)} · {time_of(hit)}"
        title = one_line(hit.session_title or hit.session_id)
        text.update(highlight_terms(f"{head}\n{title}\n\n{body}", query_terms(self.query_one(SearchInput).value)))

    @on(SearchInput.Move)
    def _move_mark(self, event: SearchInput.Move) -> None:
        hits = self.query_one(HitList)
        if event.by > 0:
            hits.action_cursor_down()
        else:
            hits.action_cursor_up()

    @on(SearchInput.Exited)
    def _focus_list(self) -> None:
        self.query_one(HitList).focus()

    @on(HitList.OptionSelected)
    @on(Input.Submitted, "#query")
    def action_open(self) -> None:
        if (hit := self._marked_hit) is not None:
            self.appliance.read(hit.session_id, hit.message_id)

    def action_search(self) -> None:
        self.query_one(SearchInput).focus()

    @on(FilterChips.Dropped)
    def _remove_filter(self, event: FilterChips.Dropped) -> None:
        self.search_filters = self.search_filters.without_filter(*event.filter)

    @on(SearchInput.DeleteAtStart)
    def _remove_last_filter(self) -> None:
        if pairs := list(self.search_filters.pairs()):
            self.search_filters = self.search_filters.without_filter(*pairs[-1])

    def action_clear_filters(self) -> None:
        self.search_filters = SearchFilters()

    @work(exclusive=True, group="filter")
    async def action_filter(self) -> None:
        with self.appliance.input_queue.held():
            choices = await self._load_filter_options()
        chosen = await self.app.push_screen_wait(
            PickerScreen("Filter the search", choices, filters.parse_filter, "A user, source or role; or since 2024-03")
        )
        if chosen is not None:
            self.search_filters = self.search_filters.with_filter(chosen.name, chosen.value)

    async def _load_filter_options(self) -> list[PickerOption]:
        user = self.appliance.user
        choices = await self.appliance.memory_worker.run_query(
            lambda memory: memory.overview.filter_choices(user_id=user)
        )
        return [
            PickerOption(name, value, pluralize(count, noun))
            for name, counts, noun in (
                ("source", choices.sources, "message"),
                ("role", choices.roles, "message"),
                ("user", choices.users, "conversation"),
            )
            for value, count in counts.items()
        ]

    async def _load_completions(self) -> None:
        counts = await self.appliance.memory_worker.run_query(lambda memory: memory.overview.counts())
        if counts["messages"]:  # an empty memory shows the first-run panel at once
            await self.appliance.startup_done.wait()
        choices = await self._load_filter_options()
        self.query_one(SearchInput).completions = choices
        is_empty = not any(choice.name == "source" for choice in choices)
        self.query_one(FirstRunPanel).set_shown(is_empty)
        self.query_one("#results").display = not is_empty

    def action_why(self) -> None:
        from appliance.types.reasons import reason

        if (hit := self._marked_hit) is not None:
            title, author = f"Why {hit.message_id} is hit {hit.rank}", one_line(hit.who)
            description = f"{reason(hit.why, hit.author)}\n\n{author}: {one_line(hit.snippet)}"
            self.app.push_screen(ExplanationScreen(title, description, hit.why, hit.score))

    @work(exclusive=True, group="why")
    async def action_why_not(self) -> None:
        """Explain why a message that the person names did not match."""
        from appliance.types.reasons import stage_text

        query = self.query_one(SearchInput).value
        arguments = self.search_filters.search_arguments(self.appliance.user)
        chosen = await self.app.push_screen_wait(
            PickerScreen("Why not this message?", (), _message_id_option, "The id of a message, such as m345")
        )
        if chosen is None or not query.strip():
            return

        def search(memory: Appliance) -> Hits:
            return memory.search(query, why_not=chosen.value, **arguments)

        with self.appliance.report_errors():
            explanation = (await self.appliance.memory_worker.run_query(search)).why_not
            if explanation is not None:
                title = stage_text(explanation)
                self.app.push_screen(ExplanationScreen(title, explanation.words, explanation.why, explanation.score))

    def action_copy(self) -> None:
        if (hit := self._marked_hit) is not None:
            self.app.copy_to_clipboard(hit.text)
            self.notify(f"Copied {pluralize(len(hit.text), 'character')}", timeout=2)

    @work(exclusive=True, group="pin")
    async def action_pin(self) -> None:
        if (hit := self._marked_hit) is None:
            return
        with self.appliance.report_errors():
            pinned = await self.appliance.toggle_pin(hit.message_id)
            self.query_one(HitList).show_pinned(hit.message_id, pinned)

    def action_forget(self) -> None:
        if (hit := self._marked_hit) is not None:
            self.appliance.forget(hit.message_id)

    def action_source(self) -> None:
        if (hit := self._marked_hit) is None:
            return
        if hit.source.path is None:
            self.notify("This message did not come from a file.", timeout=3)
            return
        file = source_file(hit.source.path)
        if not file.exists():
            self.notify(f"{one_line(str(file))} no longer exists", severity="warning")
        elif not open_file(file):
            self.notify(one_line(str(file)), title="No program to open files with")


def _message_id_option(text: str) -> list[PickerOption]:
    return [PickerOption("", text.strip(), "as typed")] if text.strip() else []

"""Reading a conversation of any length, with its summary, search, and actions on each message."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static

from appliance.errors import NotFound
from appliance_tui.actions import display_key
from appliance_tui.attached_files import open_attachment
from appliance_tui.branches import choose_branch
from appliance_tui.conversation_search import ConversationSearch, query_search, typed_search
from appliance_tui.destinations import DATE_EXAMPLES, first_day_since
from appliance_tui.screens.matches_screen import MatchesScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.undo import message_pins, toggle_pins
from appliance_tui.widgets.conversation_layout import ConversationLayout, build_layout, empty_layout
from appliance_tui.widgets.display_text import day, one_line, pluralize
from appliance_tui.widgets.hit_preview import found_passage
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.selectable_transcript import SelectableTranscript
from appliance_tui.widgets.summary_panel import SummaryPanel, message_links
from appliance_tui.widgets.transcript import TranscriptView
from appliance_tui.workers import MemoryChanged, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionInfo, Summary
    from appliance_tui.search_results import SearchResults

REFRESH_INTERVAL_SECONDS = 1.0
"""Seconds between two refreshes of the conversation at least, however much changes."""

GONE_NOTICE = "This conversation no longer exists."

BY_MEANING = "found by meaning"
"""Of a hit in which no word of the query stands."""

FOR_A_MESSAGE = ("pin", "copy", "forget", "attachments", "feedback")
"""Actions that need a message."""

FOR_A_MATCH = {"reading.next_found": 1, "reading.previous_found": -1}
"""Actions that lead to the next match or the previous one."""

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


class ConversationScreen(MatchesScreen):
    """One conversation."""

    CSS_PATH = "conversation.tcss"
    PLACE = "reading"
    MAIN_LIST = "TranscriptView"
    VERTICAL_BREAKPOINTS = [(0, "-low"), (30, "-high")]  # noqa: RUF012
    AUTO_FOCUS = "#transcript"
    BINDINGS: ClassVar = [
        Binding(str(key), f"quote({key})", show=False, id=f"reading.quote{key}") for key in range(1, 10)
    ]

    def __init__(
        self,
        session_id: str,
        message_id: str | None = None,
        results: SearchResults | None = None,
        day: str | None = None,
    ) -> None:
        """``results`` are those of the search whose hit is read; ``results.position`` is that hit."""
        super().__init__()
        self._results = results
        self.session_id = session_id
        self._target_message_id = message_id
        self._target_day = day
        self.info: SessionInfo | None = None
        self._refresh_pending = False
        self._is_shown = False
        self._is_gone = False
        self._is_loading = True

    def body(self) -> ComposeResult:
        yield Static("", id="reading-title", markup=False)
        with Container(id="reading-split"):
            yield SummaryPanel(id="summary")
            with Vertical(id="reading-text"):
                yield SelectableTranscript(id="transcript")
        yield QuestionLine(id="reading-ask")
        yield Static("Loading …", id="reading-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._user = self.appliance.active_user
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.transcript.lay_out())
        self.watch(self.app, "name_keys", self._show_people)
        self.watch(self.app, "user", self._leave_other_user, init=False)
        begin(self, self._load, "open")

    def _show_people(self, name_keys: Mapping[str, str]) -> None:
        self.transcript.name_keys, self.transcript.person_names = name_keys, self.appliance.person_names
        self.transcript.refresh()

    def must_wait(self, event: Key) -> bool:
        """Whether a key is for the conversation, or for the next match in it, and that is not there yet."""
        if isinstance(self.focused, Input):
            return False
        active = self.active_bindings.get(event.key)
        id = (active.binding.id or "") if active is not None else ""
        if self._is_loading:
            return id.startswith(("reading.", "list.")) and id != "reading.back"
        return id in FOR_A_MATCH and self.must_wait_for_match(FOR_A_MATCH[id])

    def tell_of_wait(self, event: Key) -> None:
        """Say that a key waits for the conversation, or for the next match."""
        key = display_key(event.key)
        what = "Loading the conversation" if self._is_loading else "Searching the conversation"
        self._show_note(f"{what} … {key} waits for it; another key takes its place.")

    def _end_loading(self, text: str = "") -> None:
        self._is_loading = False
        if text:
            self._show_note(text)
        self.appliance.input_queue.resume()

    async def _load(self) -> None:
        self._is_loading = True
        with show_errors(self._end_loading):
            self.info, summary, layout = await self.appliance.memory_worker.run_query(self._read_conversation)
            self.query_one(SummaryPanel).show(summary, self.appliance.summary_view)
            self._show_title()
            self.call_after_refresh(self._show_layout, layout)  # when the height of the summary is known

    def _show_layout(self, layout: ConversationLayout) -> None:
        self.transcript.show(layout, self._target_message_id)
        self._is_shown = True
        self._land()
        if self._target_day is not None:
            self.go_to_day(self._target_day)
        self._end_loading()
        if self._target_message_id is not None and self._target_message_id not in layout.index_by_id:
            self.notify(f"The message {one_line(self._target_message_id)} no longer exists.", markup=False)

    def _land(self) -> None:
        """Go to the passage of the hit that is read, and look for the query in the conversation."""
        layout = self.transcript.conversation_layout
        if self._results is None or layout is None:
            return
        hit = self._results.hits[self._results.position]
        matches = self._results.matches.get(hit.message_id)
        index = layout.index_by_id.get(hit.message_id)
        self._search_query(index)
        if index is not None:
            if self._search_in is not None and matches is not None and matches.words:
                self._add_matches([index], matches.words)
            self.transcript.land(index, found_passage(hit, matches))

    def _read_conversation(self, memory: Appliance) -> tuple[SessionInfo, Summary | None, ConversationLayout]:
        summaries = memory.summaries.list(session_id=self.session_id, level="session", limit=1)
        return (
            memory.sessions.info(self.session_id),
            next(iter(summaries), None),
            build_layout(memory.overview.outline(self.session_id)),
        )

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "summarised", "pinned", "missed", "undone"):
            self._schedule_refresh()

    def _leave_other_user(self) -> None:
        """Close a conversation of another user than the one that is shown now."""
        if self.is_current and self.appliance.active_user != self._user:
            self.dismiss()

    def on_screen_resume(self) -> None:
        self._leave_other_user()
        self._schedule_refresh()

    def _schedule_refresh(self) -> None:
        """Refresh the conversation soon, keeping the position."""
        if self._is_shown and not self._refresh_pending:
            self._refresh_pending = True
            begin(self, self._refresh_conversation, "renew")

    async def _refresh_conversation(self) -> None:
        previous = self.transcript.conversation_layout
        self._refresh_pending = False
        with show_errors(self._show_note):
            try:
                info, summary, layout = await self.appliance.memory_worker.run_query(self._read_conversation)
            except NotFound:
                self._is_gone = True
                self.transcript.show(empty_layout(self.session_id))
                return
            if previous is None or (info, layout.outline) != (self.info, previous.outline):
                self.info = info
                self._show_title()
                self._set_matches([])
                self.transcript.replace_layout(layout)
                self.transcript.keep_selected(layout.index_by_id)
                if self._search_in is not None:
                    self._begin_search(self._search_in, goes_to_first=False)
            if summary != self.query_one(SummaryPanel).summary:
                self.query_one(SummaryPanel).show(summary, self.appliance.summary_view)
                self._show_title()
            await asyncio.sleep(REFRESH_INTERVAL_SECONDS)

    def _show_title(self) -> None:
        info = self.info
        assert info is not None
        first, last = day(info.first_at), day(info.last_at)
        about = [
            one_line(info.format),
            pluralize(info.messages + info.shared, "message"),
            first if first == last else f"{first} – {last}",
            f"branch of {info.branch_of}" if info.branch_of else "",
            "summary folded, s shows it" if self.query_one(SummaryPanel).is_folded else "",
        ]
        self.query_one("#reading-title", Static).update(
            Content.assemble(
                ("★ " if info.pinned else "", "$warning"),
                (self.appliance.title_of(info.title or info.external_id), "bold $text-primary"),
                ("  " + " · ".join(filter(None, about)), "$foreground-muted"),
            )
        )

    def _show_note(self, text: str) -> None:
        self.query_one("#reading-note", Static).update(text)

    def targets_pinned(self) -> bool:
        """As ``ListScreen``."""
        layout, ids = self.transcript.conversation_layout, self.target_ids()
        indices = [layout.index_by_id.get(id) for id in ids] if layout is not None else []
        return bool(indices) and all(index is not None and self.transcript.is_pinned(index) for index in indices)

    def available(self, id: str) -> bool:
        """As ``ListScreen``: with the message, the summary and the search as they are."""
        action = id.removeprefix("reading.")
        if action in ("next_hit", "previous_hit"):
            return self._results is not None and self._results.total > 1
        if action in ("next_found", "previous_found"):
            return bool(self.hits)
        if action in ("summary", "quotes"):
            return self.query_one(SummaryPanel).summary is not None
        if action == "fold":
            return self.transcript.is_long
        return (
            action not in ("pin", "copy", "forget", "attachments", "feedback") or self.transcript.marked_id is not None
        )

    @on(TranscriptView.Moved)
    def _show_position(self) -> None:
        self.refresh_bindings()
        layout, mark = self.transcript.conversation_layout, self.transcript.mark
        if layout is None:
            return
        if not len(layout):
            self._show_note(GONE_NOTICE if self._is_gone else "No messages.")
            return
        sent_at = layout.outline.times[mark]
        parts = [f"message {mark + 1:,} of {len(layout):,}", day(sent_at) or "no date", layout.outline.ids[mark]]
        match_text = self._match_text(self._search_in, mark) if self._search_in is not None else ""
        if (results := self._results) is None:
            parts.append(match_text)
        else:  # how one goes on comes first: a narrow screen cuts the end
            if not self._is_loading:  # else it is at the hit that is being loaded
                results.reach(layout.outline.ids[mark])
            hit_text = results.position_text(layout.outline.ids[mark])
            parts = [f"{hit_text}  [ ]" if results.total > 1 else "", match_text, *parts]
        self._show_note(" · ".join(filter(None, (self.selection_note(), *parts))))

    def _match_text(self, search: ConversationSearch, mark: int) -> str:
        """As ``MatchesScreen``; of the hit that is read, without a word of the query in it, what it was found by."""
        text = super()._match_text(search, mark)
        if search.is_typed or mark in self.hits or not self._is_by_meaning(mark):
            return text
        return f"{BY_MEANING}, {text}" if self.hits or self._is_searching else BY_MEANING

    def _is_by_meaning(self, mark: int) -> bool:
        """Whether a message is that of the hit that was opened last, and its meaning led to it."""
        results, layout = self._results, self.transcript.conversation_layout
        if results is None or layout is None:
            return False
        hit = results.hits[results.position]
        rank = hit.why.get("legs", {}).get("dense", {}).get("rank")  # others have a score alone
        return layout.index_by_id.get(hit.message_id) == mark and rank is not None

    def show_selection(self) -> None:
        self._show_position()

    @on(TranscriptView.LoadFailed)
    def _show_error(self, event: TranscriptView.LoadFailed) -> None:
        self._show_note(event.text)

    def action_back(self) -> None:
        """End a search that was typed here, or close the conversation."""
        if self._search_in is None or not self._search_in.is_typed:
            self.dismiss()
            return
        self._end_search()
        self._search_query()
        self._show_position()

    def _search_query(self, start: int | None = None) -> None:
        """Look for the words of the query that led here; filters alone have none."""
        if self._results is not None and self._results.spec.query.strip():
            self._begin_search(query_search(self._results.spec.query), start=start)

    def action_hit(self, by: int) -> None:
        """Go to the next hit of the search (``by`` 1) or the previous one (-1); without a search, to a day."""
        if self._results is None:
            self.action_day(by)
            return
        if (layout := self.transcript.conversation_layout) is not None and len(layout):
            self._results.reach(layout.outline.ids[self.transcript.mark])  # the key before may just have led there
        self._is_loading = True  # the next key is for the hit
        begin(self, partial(self._go_to_hit, self._results, self._results.position + by), "hit", exclusive=True)

    async def _go_to_hit(self, results: SearchResults, position: int) -> None:
        is_elsewhere = False
        try:
            with self.appliance.report_errors():
                if position >= len(results) and results.more:
                    await results.load_more(self.appliance.memory_worker.run_query)
                if not 0 <= position < len(results):
                    self.notify("This is the last hit." if position > 0 else "This is the first hit.", timeout=2)
                    return
                results.position = position
                hit = results.hits[position]
                layout = self.transcript.conversation_layout
                if hit.session_id == self.session_id and layout is not None and hit.message_id in layout.index_by_id:
                    self._land()
                    self._show_position()
                else:
                    is_elsewhere = True
                    self.session_id, self._target_message_id, self._is_shown = hit.session_id, hit.message_id, False
                    begin(self, self._load, "open", exclusive=True)
        finally:
            if not is_elsewhere:
                self._end_loading()

    def action_day(self, by: int) -> None:
        if not self.transcript.jump_day(by):
            self.notify("This is the last day." if by > 0 else "This is the first day.", timeout=2)

    def action_fold(self) -> None:
        self.transcript.toggle_fold()

    def action_date(self) -> None:
        self.query_one(QuestionLine).ask("date", f"Go to: {DATE_EXAMPLES}", checked=True)

    def action_find(self) -> None:
        self.query_one(QuestionLine).ask("find", "Find in this conversation")

    @on(QuestionLine.Answered)
    def _question_answered(self, event: QuestionLine.Answered) -> None:
        text = event.text.strip()
        if event.about == "date":
            if _DATE.fullmatch(text):
                self.go_to_day(text)
            else:
                begin(self, partial(self._go_to_period, text), "date", exclusive=True)
        elif text:
            self._begin_search(typed_search(text), goes_to_first=True)

    async def _go_to_period(self, text: str) -> None:
        """Go to the beginning of a period, such as "last May"."""
        with self.appliance.report_errors():
            found = await self.appliance.memory_worker.run_query(
                lambda memory: first_day_since(memory, self.session_id, text)
            )
            if found is None:
                self.notify(f"No messages in {text} or later.", severity="warning", markup=False)
            else:
                self.go_to_day(found)

    def go_to_day(self, date: str) -> None:
        """Go to the first message of a day, a month or a year, else to the first one after it."""
        if (layout := self.transcript.conversation_layout) is not None:
            if (index := layout.first_on_or_after(date)) is None:
                self.notify(f"No messages in {date} or later.", severity="warning", markup=False)
            else:
                if (line := self.query_one(QuestionLine)).about == "date":
                    line.finish()
                self.transcript.jump(index)

    def action_summary(self) -> None:
        if self._require_summary() is not None:
            self.appliance.summary_view = self.query_one(SummaryPanel).next_view(self.has_class("-wide"))
            self._show_title()

    def _require_summary(self) -> Summary | None:
        """The summary; without one, a notification says so."""
        summary = self.query_one(SummaryPanel).summary
        if summary is None:
            self.notify("No summary yet.", timeout=3)
        return summary

    def action_quote(self, number: int) -> None:
        """Go to the message of a quote of the summary."""
        summary = self.query_one(SummaryPanel).summary
        quotes = message_links(summary) if summary is not None else []
        if 0 < number <= len(quotes):
            self.go_to_message(quotes[number - 1][0])

    def go_to_message(self, id: str) -> None:
        """Go to a message of this conversation, if it is still there."""
        layout = self.transcript.conversation_layout
        if layout is not None and (index := layout.index_by_id.get(id)) is not None:
            self.transcript.jump(index, 0.5)

    def action_quotes(self) -> None:
        if (summary := self._require_summary()) is None:
            return
        options = [PickerOption(str(number), text[:200]) for number, (_, text) in enumerate(message_links(summary), 1)]

        def go(chosen: PickerOption | None) -> None:
            if chosen is not None:
                self.action_quote(int(chosen.name))

        self.app.push_screen(PickerScreen("Go to a quoted message", options), go)

    @work(group="copy")
    async def action_copy(self) -> None:
        ids = [] if (marked := self.transcript.marked_id) is None else [marked]
        with self.appliance.report_errors():
            for message in await self.appliance.memory_worker.run_query(lambda memory: memory.overview.messages(ids)):
                self.app.copy_to_clipboard(message.text)
                self.notify(f"Copied {pluralize(len(message.text), 'character')}.", timeout=2)

    def action_pin(self) -> None:
        if ids := self.target_ids():
            begin(self, partial(self._pin, ids), "pin")

    async def _pin(self, ids: Sequence[str]) -> None:
        with self.appliance.report_errors():
            await self.appliance.make_change(partial(toggle_pins, ids=ids))
            pins = await self.appliance.memory_worker.run_query(partial(message_pins, ids=ids))
            for id, pinned in pins.items():
                self.transcript.set_pinned(id, bool(pinned))
            self.refresh_bindings()

    def action_forget(self) -> None:
        if ids := self.target_ids():
            self.appliance.forget(*ids)

    def action_tags(self) -> None:
        self.appliance.tag([self.session_id])

    def action_editor(self) -> None:
        """Read the selected messages in an editor, else the conversation, at the current message."""
        layout = self.transcript.conversation_layout
        if layout is None or not len(layout):
            return
        if len(self.selection):
            super().action_editor()
        else:
            self.appliance.read_in_editor([self.session_id], self.transcript.mark)

    @work(exclusive=True, group="attachments")
    async def action_attachments(self) -> None:
        """Open an attachment of the selected message, after a choice if there are several."""
        if (id := self.transcript.marked_id) is not None:
            with self.appliance.report_errors():
                await open_attachment(self.appliance, id)

    def action_files(self) -> None:
        """List the files of the conversation."""
        from appliance_tui.screens.attachments import AttachmentsScreen

        if self.info is not None:
            self.app.push_screen(AttachmentsScreen(self.info, self.go_to_message))

    def action_person(self) -> None:
        layout = self.transcript.conversation_layout
        if layout is not None and len(layout) and self.info is not None:
            who = layout.author(self.transcript.mark)
            self.app.call_later(self.appliance.show_author, *who, self.info.format)

    def action_raw(self) -> None:
        self.transcript.set_markdown(markdown=not self.transcript.markdown)

    @work(exclusive=True, group="branches")
    async def action_branches(self) -> None:
        if self.info is not None:
            with self.appliance.report_errors():
                await choose_branch(self.appliance, self.info)

"""Memory: facts about the person with their evidence, conflicts to review, summaries, pinned messages, and the blocks
of core memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static, Tab, Tabs

from appliance.errors import ApplianceError
from appliance.types.erasure import BLOCK_PREFIX
from appliance_tui import details
from appliance_tui.actions import Action
from appliance_tui.core_blocks import limit_block, protect_block, restore_block, version_options, write_block
from appliance_tui.details import DetailList, DetailPart
from appliance_tui.frame import tab_label
from appliance_tui.memory_listing import MemoryListing, load_details, load_listing, message_of
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.selecting import SelectingScreen
from appliance_tui.undo import Change, add_fact, decide_facts, toggle_pins
from appliance_tui.widgets.entries import (
    BlockEntry,
    Entry,
    FactEntry,
    GroupHead,
    SummaryEntry,
    block_key,
    entry_key,
    filter_entries,
    is_group_head,
    render_entry,
)  # fmt: skip
from appliance_tui.widgets.prompt_line import PromptLine
from appliance_tui.widgets.rows import RowList
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, error_text, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import CoreBlock, Fact, FactDecision, FactState, Level

VIEWS = ("facts", "review", "summaries", "pinned", "core")

STATES: tuple[FactState, ...] = ("held", "ended", "superseded", "rejected")
LEVELS: tuple[Level | None, ...] = (None, "session", "topic", "exchange", "procedure")

PAGE_SIZE = 500
"""Summaries that are loaded at once; the key for more loads as many again."""

DETAIL_PAUSE_SECONDS = 0.03
"""Seconds that the selection rests on an entry before its details are loaded."""

CHANGE_PAUSE_SECONDS = 0.5
"""Seconds after a change in the memory before the list is reloaded: an import makes many."""

NOUNS = {"facts": "fact", "review": "statement", "summaries": "summary", "pinned": "message", "core": "block"}
"""What the entries of a view are."""

FOR_ENTRY = ("open", "importance", "pin", "select", "extend", "extend_back", "export", "editor")
FOR_FACT, FOR_BLOCK = ("accept", "correct", "reject"), ("versions", "limit", "protect")
"""Actions that need an entry, a fact, or a block of core memory."""

EMPTY_HINTS = {
    "facts": "No facts. Chat, import conversations, or press n to add a fact.",
    "review": "Nothing to review.",
    "summaries": "No summaries of this level yet. They are made when a conversation has been quiet for a while.",
    "pinned": "No pinned messages. Press p on any message to pin it, so that it counts as important.",
    "core": "No blocks. They are short texts that every context has: press n to write one, such as persona.",
}


class MemoryScreen(SelectingScreen):
    """A list with five views, and the details of the selected entry."""

    CSS_PATH = "memory.tcss"
    PLACE = "memory"
    rows_pending = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012

    def body(self) -> ComposeResult:
        yield Tabs(*(Tab(tab_label(self.app, f"memory.{view}"), id=view) for view in VIEWS), id="views")
        with Horizontal(id="memory"):
            with Vertical(id="entries-pane"):
                rows = RowList[Entry](
                    partial(render_entry, name_of=self.appliance.name_of),
                    key=entry_key,
                    is_head=is_group_head,
                    id="entries",
                )
                rows.rows_selectable = True
                yield rows
            with Horizontal(id="about"):
                yield DetailList(id="conflicts")
                yield DetailList(id="detail")
        yield PromptLine(id="answer")
        yield Static("", id="memory-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._view = "facts"
        self._state: FactState = "held"
        self._level: Level | None = None
        self._limit = PAGE_SIZE
        self._filter = ""
        self._note = ""
        self._listing = MemoryListing((), "", 0)
        self._marks: dict[str, object] = {}
        self._list_queries = SerialWorker(self, self.appliance.memory_worker)
        self._detail_queries = SerialWorker(self, self.appliance.memory_worker)
        self.watch(self.app, "user", lambda user: self._load_others(), init=False)
        self._rows.focus()
        self._load()

    def on_screen_resume(self) -> None:
        self._load()  # the memory may have changed while another screen was shown

    def on_memory_changed(self, message: MemoryChanged) -> None:
        self._load(CHANGE_PAUSE_SECONDS)

    @property
    def _rows(self) -> RowList[Entry]:
        return self.query_one("#entries", RowList)

    def _load(self, pause: float = 0.0) -> None:
        """Load the list of the current view."""
        begin(self, partial(self._load_list, self._view, pause), "entries", exclusive=True)

    def _load_others(self) -> None:
        """Load a list of other entries than those that are shown."""
        self.rows_pending = True
        self._load()

    async def _load_list(self, view: str, pause: float) -> None:
        await asyncio.sleep(pause)
        user, state, level, limit = self.appliance.user, self._state, self._level, self._limit
        with show_errors(self._show_note):
            self._listing = await self._list_queries.run_query(
                lambda memory: load_listing(memory, view, user, state, level, limit)
            )
            self._show()
        self.rows_arrived()

    def _show(self) -> None:
        entries = filter_entries(self._listing.entries, self._filter)
        if (marked_key := self._marks.pop(self._view, None)) is not None:
            self._rows.show(entries, first=True)
            self._rows.mark(cast("str", marked_key))
        else:
            self._rows.show(entries)
        self._rows.keep_selected({entry_key(entry) for entry in self._listing.entries})
        review_count = self._listing.review_count
        self.query_one("#review", Tab).label = tab_label(self.app, "memory.review", review_count)
        count = sum(not isinstance(entry, GroupHead) for entry in entries)
        titles = {
            "facts": f"{details.state_label(self._state)} facts",
            "summaries": f"level {self._level}" if self._level else "all levels",
        }
        self.query_one("#entries-pane").border_title = " · ".join(
            [f"{'first ' * self._listing.more}{count:,}", *filter(None, [titles.get(self._view)])]
        )
        filter_note = f"filter: {self._filter}" if self._filter else ""
        self._rows.empty_text = "" if self._filter else EMPTY_HINTS[self._view]
        self._note = " · ".join(filter(None, [filter_note, self._listing.note]))
        self.show_selection()
        self.refresh_bindings()

    @property
    def selectable(self) -> RowList[Entry]:
        return self._rows

    def show_selection(self) -> None:
        self._show_note(" · ".join(filter(None, [self.selection_note(), self._note])))

    def _show_note(self, text: str) -> None:
        self.query_one("#memory-note", Static).update(text)

    @on(Tabs.TabActivated)
    def _switch_view(self, event: Tabs.TabActivated) -> None:
        view = event.tab.id or "facts"
        if view == self._view:
            return
        if (chosen := self._rows.chosen) is not None:
            self._marks[self._view] = entry_key(chosen)
        self._view = view
        self._rows.clear_selection()
        self.query_one("#conflicts").display = view == "review"
        self._rows.show(())
        self._load_others()

    def available(self, id: str) -> bool:
        """As ``ListScreen``: facts are accepted, corrected and rejected; messages are opened, pinned and forgotten."""
        match id:
            case "memory.accept" | "memory.reject":
                return isinstance(self._rows.chosen, FactEntry)
            case "memory.correct":
                return isinstance(self._rows.chosen, (FactEntry, BlockEntry))
            case "memory.versions" | "memory.limit" | "memory.protect":
                return isinstance(self._rows.chosen, BlockEntry)
            case "memory.editor":
                return self._rows.chosen is not None
            case "memory.select" | "memory.export":
                return self._view != "core" and self._rows.chosen is not None
            case "memory.forget" if isinstance(self._rows.chosen, BlockEntry):
                return True
            case "memory.open" | "memory.pin" | "memory.importance" | "memory.forget":
                return bool(self._marked_message_id())
            case "memory.which":
                return self._view in ("facts", "summaries")
            case "memory.clear":
                return bool(self._filter)
        return True

    def why_not(self, id: str) -> str:
        """As ``ListScreen``. Forgetting goes on to others without an entry."""
        name, entry = id.removeprefix("memory."), self._rows.chosen
        if self.rows_pending or name not in (*FOR_ENTRY, *FOR_FACT, *FOR_BLOCK):
            return ""
        if name in FOR_BLOCK and not isinstance(entry, BlockEntry):
            return "Select a block first (press 5 for core memory)."
        if name in FOR_FACT and self._view not in ("facts", "review"):
            return ""  # it says so itself
        return f"No {NOUNS[self._view]} is listed." if entry is None else ""

    def label(self, action: Action) -> str:
        """As ``ListScreen``; a block of core memory is changed in the editor."""
        if action.id == "memory.protect" and isinstance(entry := self._rows.chosen, BlockEntry):
            return "Assistants too" if entry.block.read_only else "Only you"
        return "Edit" if action.id == "memory.editor" and self._view == "core" else super().label(action)

    def targets_pinned(self) -> bool:
        """As ``ListScreen``."""
        ids = self._target_message_ids()
        return bool(ids) and self._listing.pinned.issuperset(ids)

    @on(RowList.Moved, "#entries")
    def _schedule_details(self) -> None:
        self.refresh_bindings()
        begin(self, partial(self._show_details, self._rows.chosen), "about", exclusive=True)

    async def _show_details(self, entry: Entry | None, importance_of: str = "") -> None:
        await asyncio.sleep(DETAIL_PAUSE_SECONDS)
        with_conflicts, app = self._view == "review", self.appliance  # the thread may run when the screen is gone
        try:
            conflicts, parts = await self._detail_queries.run_query(
                lambda memory: load_details(memory, entry, with_conflicts, importance_of, app)
            )
        except ApplianceError as error:  # the entry is gone
            conflicts, parts = [], [DetailPart(Content(error_text(error)))]
        self.query_one("#conflicts", DetailList).show(conflicts)
        self.query_one("#detail", DetailList).show(parts)

    def _marked_message_id(self) -> str:
        """The id of the selected message, or of the one that the selected entry comes from; "" without one."""
        if isinstance(self.focused, DetailList) and self.focused.message_id:
            return self.focused.message_id
        return message_of(self._rows.chosen)

    @property
    def _marked_fact(self) -> Fact | None:
        """The selected fact; without one, a notification says so."""
        if isinstance(entry := self._rows.chosen, FactEntry):
            return entry.fact
        self.notify("Select a fact first (press 1 for facts).", timeout=3)
        return None

    def _change_undoably(
        self, change: Callable[[Appliance], Change], on_done: Callable[[], None] = lambda: None
    ) -> None:
        """Make a change that can be taken back, and reload; ``on_done`` as for ``_change``."""

        async def run() -> None:
            with self.appliance.report_errors():
                made = await self.appliance.make_change(change)
                on_done()
                if made.added:
                    self._show_new_fact(made.added)
            self._load()

        begin(self, run, "change")

    def _show_new_fact(self, id: str) -> None:
        """Select a fact when the list is loaded, whatever was listed before: the next key is for it."""
        self._marks["facts"] = id
        self._state = "held"
        if self._view == "facts":
            self._filter = ""

    def _decide(self, decision: FactDecision) -> None:
        """Confirm or reject the selected facts, else the current one."""
        ids = [entry.fact.id for entry in self._selected_entries() if isinstance(entry, FactEntry)]
        if not ids and (fact := self._marked_fact) is not None:
            ids = [fact.id]
        if ids:
            self._change_undoably(partial(decide_facts, ids=ids, decision=decision, user=self.appliance.user))

    def action_accept(self) -> None:
        self._decide("confirm")

    def action_reject(self) -> None:
        self._decide("reject")

    def action_correct(self) -> None:
        if isinstance(entry := self._rows.chosen, BlockEntry):
            self._correct_block(entry.block)
        elif (fact := self._marked_fact) is not None:
            self.query_one(PromptLine).ask(f"correct {fact.id}", f"{fact.id} should be", fact.value)

    def _correct_block(self, block: CoreBlock) -> None:
        if "\n" in block.value:
            self.notify(f"{block.label} has several lines; e changes it in an editor.", timeout=4, markup=False)
            return
        limit = f"{block.label} (up to {block.limit:,} characters)"
        self.query_one(PromptLine).ask(f"block {block.revision} {block.label}", limit, block.value, extends=True)

    def action_limit(self) -> None:
        """Ask for the limit of a block."""
        if isinstance(entry := self._rows.chosen, BlockEntry):
            block = entry.block
            label = f"Most characters of {block.label} (has {len(block.value):,})"
            self.query_one(PromptLine).ask(f"limit {block.revision} {block.label}", label, str(block.limit))

    def action_protect(self) -> None:
        """Let only the person change a block, or assistants too."""
        if isinstance(entry := self._rows.chosen, BlockEntry):
            label, revision = entry.block.label, entry.block.revision
            self._change_undoably(partial(protect_block, label=label, user=self.appliance.user, revision=revision))

    def show_block(self, label: str) -> None:
        """Show the blocks of core memory, and select one."""
        self._marks["core"] = block_key(label)
        if self._view == "core":
            self._load()
        else:
            self.action_view("core")

    def _show_new_block(self, label: str) -> None:
        """Select a block when the list is loaded: the next key is for it."""
        self.query_one(PromptLine).finish()
        self._marks["core"] = block_key(label)

    def action_versions(self) -> None:
        """Choose a text that the block had, and give it back to it."""
        if isinstance(entry := self._rows.chosen, BlockEntry):
            begin(self, partial(self._choose_version, entry.block), "versions", exclusive=True)

    async def _choose_version(self, block: CoreBlock) -> None:
        user = self.appliance.user
        with self.appliance.report_errors():
            with self.appliance.input_queue.held():
                history = await self._detail_queries.run_query(
                    lambda memory: memory.core.history(block.label, user_id=user)
                )
            options = version_options(history)
            if not options:
                self.notify(f"{block.label} has no earlier text.", timeout=3, markup=False)
                return
            chosen = await self.app.push_screen_wait(PickerScreen(f"Which text {block.label} gets again", options))
        if chosen is not None:
            self._change_undoably(partial(restore_block, label=block.label, number=int(chosen.value), user=user))

    def action_editor(self) -> None:
        """Read the entries in an editor; a block of core memory is changed there."""
        if isinstance(entry := self._rows.chosen, BlockEntry):
            begin(self, partial(self._edit_block, entry.block.label), "editor", exclusive=True)
        elif self._view != "core":
            super().action_editor()

    async def _edit_block(self, label: str) -> None:
        from appliance_tui.editing import edit_block

        await edit_block(self.appliance, label)
        self._load()

    def action_add(self) -> None:
        if self._view == "core":
            self.query_one(PromptLine).ask("begin", "New block", "", "person = Has lived in Munich since March 2024.")
            return
        self.query_one(PromptLine).ask("add", "Add", "", "I live in Berlin   or   shoe size = 43")

    def action_filter(self) -> None:
        self.query_one(PromptLine).ask("filter", "Filter", self._filter)

    def action_clear(self) -> None:
        self._filter = ""
        self._show()

    @on(PromptLine.Changed)
    def _filter_changed(self, event: PromptLine.Changed) -> None:
        if event.purpose == "filter":
            self._filter = event.text
            self._show()

    @on(PromptLine.Closed)
    def _prompt_closed(self, event: PromptLine.Closed) -> None:
        self._rows.focus()

    @on(PromptLine.Submitted)
    def _prompt_submitted(self, event: PromptLine.Submitted) -> None:
        prompt_line, user, text = self.query_one(PromptLine), self.appliance.user, event.text.strip()
        verb, _, id = event.purpose.partition(" ")
        if verb == "filter":
            prompt_line.close()
        elif not text:
            self.notify("The line is empty. Type a value, or press esc.", timeout=3)
        elif verb == "correct":
            correct = partial(decide_facts, ids=[id], decision="correct", user=user, value=text)
            self._change_undoably(correct, prompt_line.finish)
        elif verb == "block":
            revision, _, label = id.partition(" ")
            write = partial(write_block, label=label, value=text, user=user, revision=int(revision))
            self._change_undoably(write, prompt_line.finish)
        elif verb == "limit":
            revision, _, label = id.partition(" ")
            limit = partial(limit_block, label=label, typed=text, user=user, revision=int(revision))
            self._change_undoably(limit, prompt_line.finish)
        elif verb == "begin":
            label, _, value = (part.strip() for part in text.partition("="))
            write = partial(write_block, label=label, value=value, user=user, revision=0)
            self._change_undoably(write, partial(self._show_new_block, label))
        else:
            self._change_undoably(partial(add_fact, text=text, user=user), prompt_line.finish)

    def _target_message_ids(self) -> tuple[str, ...]:
        """The messages that an action is for: of the selected entries, else of the current one."""
        if len(self.selection):
            return tuple(dict.fromkeys(filter(None, map(message_of, self._selected_entries()))))
        current = self._marked_message_id()
        return (current,) if current else ()

    def _selected_entries(self) -> list[Entry]:
        return [entry for entry in self._listing.entries if entry_key(entry) in self.selection]

    def export_ids(self) -> Sequence[str]:
        """The messages; of summaries, the conversations."""
        entries = self._selected_entries() or [entry for entry in (self._rows.chosen,) if entry is not None]
        if self._view == "summaries":
            sessions = [entry.summary.session_id for entry in entries if isinstance(entry, SummaryEntry)]
            return list(dict.fromkeys(sessions))
        return self._target_message_ids()

    def action_pin(self) -> None:
        if ids := self._target_message_ids():
            self._change_undoably(partial(toggle_pins, ids=ids))

    def action_forget(self) -> None:
        if isinstance(entry := self._rows.chosen, BlockEntry):
            self.appliance.forget(BLOCK_PREFIX + entry.block.label)
        else:
            self.appliance.forget(*self._target_message_ids())

    def action_view(self, view: str) -> None:
        self.rows_pending |= view != self._view  # which the tab says a moment later
        self.query_one(Tabs).active = view
        self._rows.focus()

    def action_which(self) -> None:
        """Show the next state of facts, or the next level of summaries."""
        if self._view == "facts":
            self._state = STATES[(STATES.index(self._state) + 1) % len(STATES)]
        elif self._view == "summaries":
            self._level = LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)]
        self._load_others()

    def action_more(self) -> None:
        self._limit += PAGE_SIZE
        self._load()

    def action_importance(self) -> None:
        if id := self._marked_message_id():
            begin(self, partial(self._show_details, self._rows.chosen, id), "about", exclusive=True)

    @on(RowList.Opened, "#entries")
    @on(DetailList.OptionSelected)
    def action_open(self) -> None:
        if id := self._marked_message_id():
            begin(self, partial(self._open_message, id), "open", exclusive=True)

    async def _open_message(self, id: str) -> None:
        with self.appliance.report_errors():
            message = await self.appliance.memory_worker.run_query(lambda memory: memory.message(id))
            self.appliance.read(message.session_id, message.id)

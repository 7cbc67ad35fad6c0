"""Context: what an assistant would get for a message of the user, its sources and its tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input, Static

from appliance_tui.budget_shares import PRESETS, SHARE_STEP, Shares, adjust_share, next_budget, preset_shares
from appliance_tui.context_changes import ContextChange, compare_contexts
from appliance_tui.feedback import ask_worth
from appliance_tui.frame import FrameScreen
from appliance_tui.screens.session_picker import SessionChoice
from appliance_tui.widgets.display_text import one_line, pluralize
from appliance_tui.widgets.layers import (
    NO_CHANGE,
    DroppedEntry,
    DroppedGroup,
    LayerEntry,
    LayerHead,
    LayerRow,
    RemovedEntry,
    is_plain_line,
    layer_rows,
    render_row,
    row_key,
)
from appliance_tui.widgets.prompt_view import GUTTER, LAYER_COLOURS, PromptView, prompt_lines
from appliance_tui.widgets.rows import MUTED, RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.workers import MemoryChanged, SerialWorker, begin, say_if_slow, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Context, Message

TYPING_PAUSE_SECONDS = 0.05
"""Seconds without a key before the context is built."""

CHANGE_PAUSE_SECONDS = 0.5
"""Seconds after a change in the memory before the context is built: an import makes many."""

MAX_DROPPED_TEXTS = 500
"""Left-out messages that are shown with their text, as many as the memory returns at once."""

CHANGE_SECONDS = 6.0
"""Seconds for which is marked what came in and dropped out: long enough to read some lines."""

MAX_EXAMPLE_CHARACTERS = 48
"""Characters of a conversation's title in an example."""

MAX_EXAMPLE_SESSIONS = 20
"""The latest conversations in which a title is looked for."""

LAYER_MEANINGS = {
    "core": "core memory: short notes that every context has",
    "profile": "what the memory knows about you",
    "retrieved": "messages of earlier conversations that match",
    "summary": "the current conversation so far, in short",
    "recent": "its latest turns, word for word",
}
"""What each layer has, in the order of the prompt."""


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """The options of a context. They are defaults until they are ``ready``: read from the settings."""

    preset: str = "assistant"
    shares: Shares = field(default_factory=lambda: PRESETS["assistant"])
    budget: int = 8_000
    session: str = ""
    title: str = ""
    ready: bool = False


GATHERING = "Gathering the context …"


class MessageInput(SearchInput):
    """An input for a message. The right arrow on the empty line takes the ``example``."""

    example: var[str] = var("")

    def watch_example(self, example: str) -> None:
        self.placeholder = f"For example: {example}" if example else "A message of yours"

    def action_cursor_right(self, select: bool = False) -> None:
        """As Input; on the empty line it takes the example."""
        if self.value or not self.example:
            super().action_cursor_right(select)
        else:
            self.insert_text_at_cursor(self.example)


class ContextScreen(FrameScreen):
    """The prompt on the left, its layers on the right."""

    CSS_PATH = "context.tcss"
    PLACE = "context"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012

    options: var[ContextOptions] = var(ContextOptions())
    answered_query: var[str] = var("")
    """The text whose context is shown."""

    def body(self) -> ComposeResult:
        yield MessageInput(id="context-query")
        yield Static("", id="context-options", markup=False)
        with Horizontal(id="context"):
            yield PromptView(id="prompt")
            yield Static(GATHERING, id="context-empty", markup=False)
            with Vertical(id="layers-pane"):
                yield RowList[LayerRow](
                    partial(render_row, name_of=self.appliance.name_of), key=row_key, is_head=is_plain_line, id="layers"
                )
        yield Static("", id="context-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._queries = SerialWorker(self, self.appliance.memory_worker)
        self._shown_context: Context | None = None
        self._shown_session = ""
        self._left_out: Mapping[str, Message] = {}
        self._change = NO_CHANGE
        self._change_timer: Timer | None = None
        self._open_reasons: set[str] = set()
        self.query_one("#layers-pane").border_title = "Layers"
        self.query_one(PromptView).display = False  # until there is a context
        self.watch(self.app, "user", lambda user: self._schedule_build(), init=False)
        self.query_one(SearchInput).focus()
        self._schedule_build()

    def on_screen_resume(self) -> None:
        if self._shown_context is not None:  # the memory may have changed while another screen was shown
            self._schedule_build()

    @on(Input.Changed, "#context-query")
    def _query_changed(self) -> None:
        self._schedule_build()

    def watch_options(self, previous: ContextOptions, current: ContextOptions) -> None:
        if self.is_mounted and previous.ready:
            self._schedule_build()

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("embedded", "ingested", "forgotten", "deleted", "summarised", "undone"):
            self._schedule_build(CHANGE_PAUSE_SECONDS)

    def _schedule_build(self, pause: float = TYPING_PAUSE_SECONDS) -> None:
        """Build the context again; an unfinished earlier one is cancelled."""
        query = self.query_one(SearchInput).value
        begin(self, partial(self._build_context, query, pause), "context", exclusive=True)

    async def _build_context(self, query: str, pause: float) -> None:
        await asyncio.sleep(pause)
        options, user, width = self.options, self.appliance.user, self._prompt_width
        with show_errors(self._show_note):
            with say_if_slow(self, lambda: self._show_note(GATHERING)):
                answer = await self._queries.run_query(lambda memory: _load_answer(memory, query, options, user, width))
            self._show(answer, width)

    @property
    def _prompt_width(self) -> int:
        """Cells of a line of the prompt, also while the explanation stands in its place."""
        view = self.query_one(PromptView)
        return view.text_width if view.display else max(1, self.query_one("#context-empty").size.width - GUTTER)

    def _show(self, answer: _ContextAnswer, width: int) -> None:
        context, options, previous = answer.context, answer.options, self._shown_context
        is_same_message = previous is not None and (previous.query, self._shown_session) == (
            context.query,
            options.session,
        )
        self._shown_context, self._shown_session, self._left_out = context, options.session, answer.left_out
        if not self.options.ready:
            self.set_reactive(ContextScreen.options, options)
        self._show_options(context)
        layer_notes: dict[str, str] = {}
        for layer in context.layers:
            tokens = pluralize(layer.tokens, "token")
            share = options.shares.get(layer.name)
            layer_notes[layer.name] = tokens if share is None else f"{tokens}, share {int(context.budget * share):,}"
        self.query_one(PromptView).show(answer.lines, width, layer_notes)
        self._show_empty_state(context, answer.example)
        if previous is None or not is_same_message:
            self._show_change(NO_CHANGE)
        elif change := compare_contexts(previous, context):
            self._show_change(change)
        else:
            self._show_rows()  # what is marked stays for its moment
        self.answered_query = context.query

    def _show_change(self, change: ContextChange) -> None:
        """Mark for a moment what came in and dropped out."""
        if self._change_timer is not None:
            self._change_timer.stop()
        self._change = change
        self._change_timer = self.set_timer(CHANGE_SECONDS, self._end_change) if change else None
        self.query_one(PromptView).mark_added(change.added.keys())
        self._show_rows()

    def _end_change(self) -> None:
        self._show_change(NO_CHANGE)

    def _show_rows(self) -> None:
        """Show the layers of the context, and what there is to say about it."""
        if (context := self._shown_context) is None:
            return
        shares = self.options.shares
        if not context.query.strip():
            context = replace(context, notes=())  # "No memory matches" is no news before anything is typed
        self._rows.show(list(layer_rows(context, shares, self._left_out, self._change, self._open_reasons)))
        self._mark_in_prompt()
        included = sum(len(layer.items) for layer in context.layers)
        notes = [f"{included} included, {len(context.dropped)} left out", self._change.text]
        notes += map(one_line, context.notes)
        self._show_note(" · ".join(filter(None, notes)))

    def _show_empty_state(self, context: Context, example: str) -> None:
        """Explain the screen in place of the prompt while there is no message and no conversation goes on."""
        is_empty = not context.query.strip() and not self.options.session
        self.query_one(MessageInput).example = example
        self.query_one(PromptView).display = not is_empty
        explanation = self.query_one("#context-empty", Static)
        explanation.display = is_empty
        if is_empty:
            explanation.update(_explanation(context, example))

    def _show_options(self, context: Context) -> None:
        options = self.options
        is_changed = dict(options.shares) != dict(PRESETS[options.preset])
        self.query_one("#context-options", Static).update(
            Content.assemble(
                (" preset ", MUTED),
                (options.preset + (", changed" if is_changed else ""), "bold"),
                ("   budget ", MUTED),
                (f"{options.budget:,}", "bold"),
                ("   conversation ", MUTED),
                (f"{options.session} {one_line(options.title)[:40]}" if options.session else "none", "bold"),
            )
        )

    def _show_note(self, text: str) -> None:
        self.query_one("#context-note", Static).update(text)

    @on(PromptView.WrapRequested)
    def _schedule_rewrap(self) -> None:
        """Break the prompt for the new width, on a thread because it may be long."""
        begin(self, self._rewrap, "wrap", exclusive=True)

    async def _rewrap(self) -> None:
        context, view = self._shown_context, self.query_one(PromptView)
        if context is None:
            return
        width = view.text_width
        wrapped = await asyncio.to_thread(prompt_lines, context.text, width)
        if context is self._shown_context:
            view.show(wrapped, width, view.layer_notes)
            self._mark_in_prompt()

    @property
    def _rows(self) -> RowList[LayerRow]:
        return self.query_one("#layers", RowList)

    def available(self, id: str) -> bool:
        """As ``ListScreen``: with the selected row and the shares as they are."""
        match id:
            case "context.say":
                return not self.query_one(SearchInput).has_focus
            case "context.more" | "context.less":
                return isinstance(self._rows.chosen, (LayerHead, LayerEntry))
            case "context.open":
                return isinstance(self._rows.chosen, (LayerEntry, DroppedEntry))
            case "context.feedback":
                return isinstance(self._rows.chosen, LayerEntry) and self._rows.chosen.layer == "retrieved"
            case "context.reset":
                return dict(self.options.shares) != dict(PRESETS[self.options.preset])
            case "context.copy":
                return self._shown_context is not None and bool(self._shown_context.text)
        return super().available(id)

    @on(RowList.Moved, "#layers")
    def _mark_in_prompt(self) -> None:
        self.refresh_bindings()
        match self._rows.chosen:
            case LayerHead(name):
                self.query_one(PromptView).mark(name, "")
            case LayerEntry(layer, item):
                self.query_one(PromptView).mark(layer, item.message_id)
            case _:
                self.query_one(PromptView).mark("", "")

    @on(SearchInput.Move)
    def _move_mark(self, event: SearchInput.Move) -> None:
        self._rows.action_step(event.by)

    @on(Input.Submitted, "#context-query")
    @on(SearchInput.Exited)
    def _focus_rows(self) -> None:
        self._rows.focus()

    def action_say(self) -> None:
        self.query_one(SearchInput).focus()

    def action_share(self, direction: int) -> None:
        """Give the selected layer a larger (1) or smaller (-1) share; the others divide the rest."""
        match self._rows.chosen:
            case LayerHead(layer) | LayerEntry(layer) if layer in self.options.shares:
                shares = adjust_share(self.options.shares, layer, direction * SHARE_STEP)
                self.options = replace(self.options, shares=shares)
            case _:
                self.notify("Select a layer or one of its items first.", timeout=3)

    def action_budget(self, larger: bool) -> None:
        self.options = replace(self.options, budget=next_budget(self.options.budget, larger))

    def action_preset(self) -> None:
        names = list(PRESETS)
        preset = names[(names.index(self.options.preset) + 1) % len(names)]
        self.options = replace(self.options, preset=preset, shares=PRESETS[preset])

    def action_reset(self) -> None:
        self.options = replace(self.options, shares=PRESETS[self.options.preset])

    def action_session(self) -> None:
        from appliance_tui.screens.session_picker import SessionPickerScreen

        def choose(chosen: SessionChoice | None) -> None:
            if chosen is not None:
                self.options = replace(self.options, session=chosen.id, title=chosen.title if chosen.id else "")

        self.app.push_screen(SessionPickerScreen(), choose)

    def action_feedback(self) -> None:
        """Say what the selected memory was worth: contexts then prefer it, or give it less room."""
        match self._rows.chosen:
            case LayerEntry("retrieved", item):
                begin(self, partial(self._ask_worth, item.message_id), "feedback", exclusive=True)
            case _:
                self.notify("Select one of the retrieved memories first.", timeout=3)

    async def _ask_worth(self, id: str) -> None:
        if await ask_worth(self.appliance, [id]):
            self._schedule_build()

    def action_copy(self) -> None:
        """Copy the whole prompt, without the screen's line breaks."""
        if self._shown_context is not None and self._shown_context.text:
            self.app.copy_to_clipboard(self._shown_context.text)
            self.notify(f"Copied {pluralize(self._shown_context.tokens, 'token')}.", timeout=3)

    @on(RowList.Opened, "#layers")
    def action_open(self) -> None:
        """Open the selected message in its conversation; for a fact or a summary, its latest source; a block of core
        memory on the Memory screen. A reason unfolds to what was left out for it, or folds."""
        match self._rows.chosen:
            case DroppedGroup(reason):
                self._open_reasons ^= {reason}
                self._show_rows()
            case RemovedEntry(removed):
                self._schedule_open([removed.item.message_id])
            case LayerEntry("core", item):
                self.app.call_later(self.appliance.show_block, item.message_id.partition(":")[2])
            case LayerEntry(_, item):
                self._schedule_open([item.message_id, *map(str, list(item.why.get("messages", ()))[::-1])])
            case DroppedEntry(dropped):
                self._schedule_open([dropped.message_id])

    def _schedule_open(self, ids: list[str]) -> None:
        begin(self, partial(self._open_message, ids), "open", exclusive=True)

    async def _open_message(self, ids: list[str]) -> None:
        with self.appliance.report_errors():
            message = await self.appliance.memory_worker.run_query(lambda memory: _source_message(memory, ids))
            if message is None:
                self.notify("No evidence: you entered this fact.", timeout=3)
            else:
                self.appliance.read(message.session_id, message.id)


@dataclass(frozen=True, slots=True)
class _ContextAnswer:
    context: Context
    options: ContextOptions
    left_out: dict[str, Message]
    lines: list[Any]
    example: str


def _load_answer(
    memory: Appliance, query: str, options: ContextOptions, user: str | None, width: int
) -> _ContextAnswer:
    """Build a context, and prepare what is slow to show."""
    if not options.ready:
        settings = memory.settings.context
        options = ContextOptions(
            settings.preset,
            preset_shares(settings.preset, {str(k): v for k, v in settings.shares.items()}),
            settings.budget,
            ready=True,
        )
    context = memory.context(
        query,
        session_id=options.session or None,
        user_id=user,
        budget=options.budget,
        shares=options.shares,
        preset=options.preset,
        counted=False,
    )
    ids = [dropped.message_id for dropped in context.dropped[:MAX_DROPPED_TEXTS]]
    left_out = {message.id: message for message in memory.overview.messages(ids)} if ids else {}
    example = "" if query.strip() else _example(memory, user)
    return _ContextAnswer(context, options, left_out, prompt_lines(context.text, width), example)


def _example(memory: Appliance, user: str | None) -> str:
    """A message that the memory has something for: a question about the latest conversation with a title."""
    latest = memory.sessions.list(user_id=user, hidden=False, limit=MAX_EXAMPLE_SESSIONS)
    title = next((one_line(info.title) for info in latest if info.title and info.messages), "")
    if not title or title.endswith("?"):
        return title
    short = title if len(title) <= MAX_EXAMPLE_CHARACTERS else f"{title[:MAX_EXAMPLE_CHARACTERS].rstrip()}…"
    return f"What did we say about “{short}”?"


def _explanation(context: Context, example: str) -> Content:
    """What the screen shows, in a memory that has something and in an empty one: in seven lines of a small terminal."""
    lines = [Content("Type a message as to an assistant: here is the prompt that it gets.")]
    if example:
        lines.append(Content.styled("→ takes the example above.", MUTED))
    else:
        lines.append(Content.styled("The memory has no conversation yet. F5 imports some.", MUTED))
    facts = next((len(layer.items) for layer in context.layers if layer.name == "profile"), 0)
    for layer, meaning in LAYER_MEANINGS.items():
        colour, now = LAYER_COLOURS[layer], f" ({pluralize(facts, 'fact')} now)" if layer == "profile" else ""
        lines.append(Content.assemble(("▌ ", colour), (f"{layer:<11}", f"bold {colour}"), meaning, (now, MUTED)))
    return Content("\n").join(lines)


def _source_message(memory: Appliance, ids: list[str]) -> Message | None:
    """The first message of some ids, else the first source of a summary or the latest evidence of a fact."""
    messages = [id for id in ids if id.startswith("m")]
    for id in ids:
        if not messages and id.startswith("sum"):
            messages = [memory.summaries.get(id).first_id]
        elif not messages and id.startswith("f"):
            messages = [quote.message_id for quote in memory.facts.get(id).evidence[-1:]]
    return memory.message(messages[0]) if messages else None

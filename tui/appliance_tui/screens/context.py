"""Context: what an assistant would be told for what the user would say, where it is from, and what it costs."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.screens.present import Chosen
from appliance_tui.sharing import PRESETS, STEP, Shares, moved, shares_of, stepped
from appliance_tui.widgets.layers import Head, LayerRow, Left, One, drawn, is_head, key, rows
from appliance_tui.widgets.prompt import PromptView, lines
from appliance_tui.widgets.rows import MUTED, Rows
from appliance_tui.widgets.search_line import SearchLine
from appliance_tui.widgets.words import one_line
from appliance_tui.working import OneAtATime, begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Context, Message

PAUSE = 0.05
"""Seconds without a key before the context is made anew."""

SETTLES = 0.5
"""The same for changes in the memory, of which an import makes many."""

WORDS_OF = 500
"""So many of what was left out are shown with their words, as many as the memory gives at once."""

EMPTY = "Type what the user would say: below is what an assistant is told with it, layer by layer."


@dataclass(frozen=True, slots=True)
class Asked:
    """What a context is asked for with; what the settings say until ``ready``."""

    preset: str = "assistant"
    shares: Shares = field(default_factory=lambda: PRESETS["assistant"])
    budget: int = 8_000
    session: str = ""
    title: str = ""
    ready: bool = False


class ContextScreen(Frame):
    """The prompt on the left, its layers on the right."""

    CSS_PATH = "context.tcss"
    PLACE = "context"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012

    asked: var[Asked] = var(Asked())

    def body(self) -> ComposeResult:
        line = SearchLine(id="said")
        line.placeholder = "What the user would say"
        yield line
        yield Static("", id="asked", markup=False)
        with Horizontal(id="context"):
            yield PromptView(id="prompt")
            with Vertical(id="layers-pane"):
                yield Rows[LayerRow](drawn, key=key, heads=is_head, id="layers")
        yield Static(EMPTY, id="context-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._questions = OneAtATime(self, self.appliance.link)
        self._shown: Context | None = None
        self.query_one("#layers-pane").border_title = "Layers"
        self.watch(self.app, "user", lambda user: self._look(), init=False)
        self.query_one(SearchLine).focus()
        self._look()

    def on_screen_resume(self) -> None:
        if self._shown is not None:  # something may have changed while another screen was looked at
            self._look()

    # --- asking ---------------------------------------------------------------------------------------

    @on(Input.Changed, "#said")
    def _typed(self) -> None:
        self._look()

    def watch_asked(self, before: Asked, now: Asked) -> None:
        if self.is_mounted and before.ready:
            self._look()

    def on_happened(self, message: Happened) -> None:
        if message.kind in ("embedded", "ingested", "forgotten", "deleted", "summarised"):
            self._look(SETTLES)

    def _look(self, pause: float = PAUSE) -> None:
        """Make the context anew; an earlier one that is not there yet is not waited for."""
        query = self.query_one(SearchLine).value
        begin(self, partial(self._make, query, pause), "context", anew=True)

    async def _make(self, query: str, pause: float) -> None:
        from appliance.errors import ApplianceError

        await asyncio.sleep(pause)
        asked, user, width = self.asked, self.appliance.user, self.query_one(PromptView).room
        try:
            answer = await self._questions.ask(lambda memory: _answer(memory, query, asked, user, width))
        except ApplianceError as error:
            self._say(". ".join(filter(None, [str(error), error.hint])))
            return
        self._show(answer)

    # --- showing --------------------------------------------------------------------------------------

    def _show(self, answer: _Answer) -> None:
        context, asked = answer.context, answer.asked
        self._shown = context
        if not self.asked.ready:
            self.set_reactive(ContextScreen.asked, asked)
        self._say_asked(context)
        told: dict[str, str] = {
            layer.name: f"{layer.tokens:,} of {int(context.budget * asked.shares[layer.name]):,}"
            for layer in context.layers
        }
        self.query_one(PromptView).show(answer.lines, told)
        self._rows.show(rows(context, asked.shares, answer.left_out))
        self._mark()
        known = sum(len(layer.items) for layer in context.layers)
        left = len(context.dropped)
        self._say(
            " · ".join(
                [
                    *([] if context.query.strip() else [EMPTY]),
                    f"{known} in, {left} left out",
                    *map(one_line, context.notes),
                ]
            )
        )

    def _say_asked(self, context: Context) -> None:
        asked = self.asked
        own = dict(asked.shares) != dict(PRESETS[asked.preset])
        self.query_one("#asked", Static).update(
            Content.assemble(
                (" preset ", MUTED),
                (asked.preset + (", changed" if own else ""), "bold"),
                ("   budget ", MUTED),
                (f"{asked.budget:,}", "bold"),
                ("   conversation ", MUTED),
                (f"{asked.session} {one_line(asked.title)[:40]}" if asked.session else "none", "bold"),
                (f"   tokens of {context.encoding}", MUTED),
            )
        )

    def _say(self, words: str) -> None:
        self.query_one("#context-note", Static).update(words)

    @on(PromptView.Wrap)
    def _wrap(self) -> None:
        """The window is another: the prompt is broken anew, on a thread, for it may be long."""
        begin(self, self._wrapped, "wrap", anew=True)

    async def _wrapped(self) -> None:
        context, view = self._shown, self.query_one(PromptView)
        if context is None:
            return
        found = await asyncio.to_thread(lines, context.text, view.room)
        if context is self._shown:
            view.show(found, view.told)
            self._mark()

    @property
    def _rows(self) -> Rows[LayerRow]:
        return self.query_one("#layers", Rows)

    @on(Rows.Moved, "#layers")
    def _mark(self) -> None:
        match self._rows.chosen:
            case Head(name):
                self.query_one(PromptView).mark(name, "")
            case One(layer, item):
                self.query_one(PromptView).mark(layer, item.message_id)

    @on(SearchLine.Move)
    def _moved(self, event: SearchLine.Move) -> None:
        self._rows.action_step(event.by)

    @on(Input.Submitted, "#said")
    @on(SearchLine.Left)
    def _to_rows(self) -> None:
        self._rows.focus()

    # --- actions --------------------------------------------------------------------------------------

    def action_say(self) -> None:
        """Go to the line in which one types."""
        self.query_one(SearchLine).focus()

    def action_share(self, way: int) -> None:
        """Give the marked layer more of the budget, or less; the others share what is left."""
        match self._rows.chosen:
            case Head(layer) | One(layer, _):
                shares = moved(self.asked.shares, layer, way * STEP)
                self.asked = replace(self.asked, shares=shares)
            case _:
                self.notify("Mark a layer, or something in it: its share is changed then.", timeout=3)

    def action_budget(self, up: bool) -> None:
        """A larger or a smaller budget."""
        self.asked = replace(self.asked, budget=stepped(self.asked.budget, up))

    def action_preset(self) -> None:
        """Share the budget out as the next preset does."""
        names = list(PRESETS)
        preset = names[(names.index(self.asked.preset) + 1) % len(names)]
        self.asked = replace(self.asked, preset=preset, shares=PRESETS[preset])

    def action_reset(self) -> None:
        """The shares of the preset again, without what was changed."""
        self.asked = replace(self.asked, shares=PRESETS[self.asked.preset])

    def action_session(self) -> None:
        """Choose the conversation that goes on."""
        from appliance_tui.screens.present import Present

        def choose(chosen: Chosen | None) -> None:
            if chosen is not None:
                self.asked = replace(self.asked, session=chosen.id, title=chosen.title if chosen.id else "")

        self.app.push_screen(Present(), choose)

    def action_copy(self) -> None:
        """Copy the whole prompt, as it is and not as it is broken here."""
        if self._shown is not None and self._shown.text:
            self.app.copy_to_clipboard(self._shown.text)
            self.notify(f"Copied the prompt: {self._shown.tokens:,} tokens", timeout=3)

    @on(Rows.Opened, "#layers")
    def action_open(self) -> None:
        """Open the marked message in its conversation; of a fact or a summary the message that it is from."""
        match self._rows.chosen:
            case One(_, item):
                self._open([item.message_id, *map(str, list(item.why.get("messages", ()))[::-1])])
            case Left(dropped, _):
                self._open([dropped.message_id])

    def _open(self, ids: list[str]) -> None:
        begin(self, partial(self._opened, ids), "open", anew=True)

    async def _opened(self, ids: list[str]) -> None:
        from appliance.errors import ApplianceError

        try:
            found = await self.appliance.link.ask(lambda memory: _message(memory, ids))
        except ApplianceError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        if found is None:
            self.notify("No message says it: it is your own word.", timeout=3)
        else:
            self.appliance.read(found.session_id, found.id)


# --- on a thread ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Answer:
    context: Context
    asked: Asked
    left_out: dict[str, Message]
    lines: list[Any]


def _answer(memory: Appliance, query: str, asked: Asked, user: str | None, width: int) -> _Answer:
    """A context, with what the screen shows of it that takes its time."""
    if not asked.ready:
        here = memory.settings.context
        asked = Asked(
            here.preset,
            shares_of(here.preset, {str(k): v for k, v in here.shares.items()}),
            here.budget,
            ready=True,
        )
    context = memory.context(
        query,
        session_id=asked.session or None,
        user_id=user,
        budget=asked.budget,
        shares=asked.shares,
        preset=asked.preset,
        counted=False,
    )
    ids = [one.message_id for one in context.dropped[:WORDS_OF]]
    left_out = {one.id: one for one in memory.browsing.messages(ids)} if ids else {}
    return _Answer(context, asked, left_out, lines(context.text, width))


def _message(memory: Appliance, ids: list[str]) -> Message | None:
    """The first message of some ids: of a fact or a summary, its latest; None where nothing was said."""
    messages = [id for id in ids if id.startswith("m")]
    for id in ids:
        if not messages and id.startswith("sum"):
            messages = [memory.summaries.get(id).first_id]
        elif not messages and id.startswith("f"):
            messages = [quote.message_id for quote in memory.facts.get(id).evidence[-1:]]
    return memory.message(messages[0]) if messages else None

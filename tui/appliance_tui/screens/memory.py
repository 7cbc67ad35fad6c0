"""Memory: what is known of the person and from where, what waits for their word, summaries, and what is pinned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static, Tab, Tabs

from appliance_tui import about
from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.widgets.answer import Answer
from appliance_tui.widgets.detail import Detail, Part
from appliance_tui.widgets.entries import (
    Entry,
    Group,
    Known,
    Pin,
    Told,
    drawn,
    is_group,
    key,
    narrowed,
    of_facts,
    of_summaries,
)  # fmt: skip
from appliance_tui.widgets.rows import Rows
from appliance_tui.widgets.words import one_line
from appliance_tui.working import OneAtATime, begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Fact, FactState, Level, Message

VIEWS = {"facts": "Facts", "review": "Review", "summaries": "Summaries", "pinned": "Pinned"}

STATES: tuple[FactState, ...] = ("held", "ended", "superseded", "rejected")
LEVELS: tuple[Level | None, ...] = (None, "session", "topic", "exchange", "procedure")

PAGE = 500
"""Summaries that are read at once; the key for more reads as many again."""

AT_ONCE = 500
"""Messages that the memory gives at once."""

PAUSE = 0.03
"""Seconds that the mark rests on something before it is read up."""

SETTLES = 0.5
"""The same for changes in the memory, of which an import makes many."""

NOTHING = {
    "facts": "Nothing is known like that. Talk, import what was said, or press n and say something yourself.",
    "review": "Nothing waits for you: nothing that was said contradicts what holds.",
    "summaries": "No summaries of that kind yet. They are made when a conversation has been silent for a while.",
    "pinned": "Nothing is pinned. p pins a message wherever one is marked, so that it counts as important.",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a view lists, and what there is to say of it."""

    entries: Sequence[Entry]
    note: str
    waiting: int


class MemoryScreen(Frame):
    """One list, which shows one of four views, and what is known of the marked entry beside it."""

    CSS_PATH = "memory.tcss"
    PLACE = "memory"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012

    def body(self) -> ComposeResult:
        yield Tabs(*(Tab(name, id=view) for view, name in VIEWS.items()), id="views")
        with Horizontal(id="memory"):
            with Vertical(id="entries-pane"):
                yield Rows[Entry](drawn, key=key, heads=is_group, id="entries")
            with Horizontal(id="about"):
                yield Detail(id="rivals")
                yield Detail(id="detail")
        yield Answer(id="answer")
        yield Static("", id="memory-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self._view = "facts"
        self._state: FactState = "held"
        self._level: Level | None = None
        self._limit = PAGE
        self._filter = ""
        self._loaded = Loaded((), "", 0)
        self._places: dict[str, object] = {}
        self._lists = OneAtATime(self, self.appliance.link)
        self._details = OneAtATime(self, self.appliance.link)
        self.watch(self.app, "user", lambda user: self._load(), init=False)
        self._rows.focus()
        self._load()

    def on_screen_resume(self) -> None:
        self._load()  # something may have changed while another screen was looked at

    def on_happened(self, message: Happened) -> None:
        self._load(SETTLES)

    @property
    def _rows(self) -> Rows[Entry]:
        return self.query_one("#entries", Rows)

    # --- the list -------------------------------------------------------------------------------------

    def _load(self, pause: float = 0.0) -> None:
        """Read the present view's list anew."""
        begin(self, partial(self._list, self._view, pause), "entries", anew=True)

    async def _list(self, view: str, pause: float) -> None:
        from appliance.errors import ApplianceError

        await asyncio.sleep(pause)
        user, state, level, limit = self.appliance.user, self._state, self._level, self._limit
        try:
            loaded = await self._lists.ask(lambda memory: _loaded(memory, view, user, state, level, limit))
        except ApplianceError as error:
            self._say(str(error))
            return
        self._loaded = loaded
        self._show()

    def _show(self) -> None:
        entries = narrowed(self._loaded.entries, self._filter)
        if (place := self._places.pop(self._view, None)) is not None:
            self._rows.show(entries, first=True)
            self._rows.mark(cast("str", place))
        else:
            self._rows.show(entries)
        waiting = self._loaded.waiting
        self.query_one("#review", Tab).label = Content(f"Review {waiting:,}" if waiting else "Review")
        which = {
            "facts": f"what is {self._state}",
            "summaries": f"{self._level or 'all'} levels" if self._level is None else f"level {self._level}",
        }.get(self._view, "")
        count = sum(not isinstance(one, Group) for one in entries)
        self.query_one("#entries-pane").border_title = " · ".join(filter(None, [f"{count:,}", which]))
        narrow = f"only with {self._filter!r}" if self._filter else ""
        nothing = NOTHING[self._view] if not entries and not self._filter else ""
        self._say(" · ".join(filter(None, [nothing, narrow, self._loaded.note])))

    def _say(self, words: str) -> None:
        self.query_one("#memory-note", Static).update(words)

    @on(Tabs.TabActivated)
    def _another_view(self, event: Tabs.TabActivated) -> None:
        view = event.tab.id or "facts"
        if view == self._view:
            return
        if (chosen := self._rows.chosen) is not None:
            self._places[self._view] = key(chosen)
        self._view = view
        self.query_one("#rivals").display = view == "review"
        self._rows.show(())
        self._load()

    # --- what is known of the marked one --------------------------------------------------------------

    @on(Rows.Moved, "#entries")
    def _read_up(self) -> None:
        begin(self, partial(self._tell, self._rows.chosen), "about", anew=True)

    async def _tell(self, entry: Entry | None, importance_of: str = "") -> None:
        from appliance.errors import ApplianceError

        await asyncio.sleep(PAUSE)
        contested = self._view == "review"
        try:
            rivals, parts = await self._details.ask(
                lambda memory: _about(memory, entry, contested, importance_of)
            )
        except ApplianceError as error:  # it went meanwhile
            rivals, parts = [], [Part(Content(str(error)))]
        self.query_one("#rivals", Detail).show(rivals)
        self.query_one("#detail", Detail).show(parts)

    def _message(self) -> str:
        """The id of the message that is marked, or that the marked entry is from; "" without one."""
        if isinstance(self.focused, Detail) and self.focused.message:
            return self.focused.message
        match self._rows.chosen:
            case Known(fact):
                return fact.evidence[-1].message_id if fact.evidence else ""
            case Told(summary, _):
                return summary.first_id
            case Pin(message):
                return message.id
        return ""

    @property
    def _fact(self) -> Fact | None:
        """The marked fact; a word to the person where none is."""
        if isinstance(entry := self._rows.chosen, Known):
            return entry.fact
        self.notify("Mark a fact first (1 shows them).", timeout=3)
        return None

    # --- changing -------------------------------------------------------------------------------------

    def _do(self, work: Callable[[Appliance], str], done: Callable[[], None] = lambda: None) -> None:
        """Change something, say what it came to, and look anew. ``done`` is called when it worked."""

        async def run() -> None:
            from appliance.errors import ApplianceError

            try:
                said = await self.appliance.link.do(work)
            except ApplianceError as error:
                words = ". ".join(filter(None, [str(error), error.hint]))
                self.notify(words, severity="error", markup=False)
            else:
                done()
                self.notify(said, timeout=3, markup=False)
            self._load()

        begin(self, run, "change")

    def action_accept(self) -> None:
        """Say that the marked fact is so."""
        if (fact := self._fact) is not None:
            id, user = fact.id, self.appliance.user
            self._do(lambda memory: _became(memory.facts.confirm(id, user_id=user)))

    def action_reject(self) -> None:
        """Say that the marked fact is not so."""
        if (fact := self._fact) is not None:
            id, user = fact.id, self.appliance.user
            self._do(lambda memory: _became(memory.facts.reject(id, user_id=user)))

    def action_correct(self) -> None:
        """Say what the marked fact should have been."""
        if (fact := self._fact) is not None:
            self._ask(f"correct {fact.id}", f"{fact.id} should be", fact.value)

    def action_add(self) -> None:
        """Say something oneself."""
        self._ask("add", "Say it", "", "I live in Berlin   or   shoe size = 43")

    def action_filter(self) -> None:
        """Show only what holds some words."""
        self._ask("filter", "Only with", self._filter)

    def _ask(self, purpose: str, label: str, value: str, example: str = "") -> None:
        self.query_one(Answer).ask(purpose, label, value, example)

    @on(Answer.Typed)
    def _typed(self, event: Answer.Typed) -> None:
        if event.purpose == "filter":
            self._filter = event.text
            self._show()

    @on(Answer.Left)
    def _left(self, event: Answer.Left) -> None:
        self._rows.focus()

    @on(Answer.Given)
    def _answered(self, event: Answer.Given) -> None:
        answer, user, text = self.query_one(Answer), self.appliance.user, event.text.strip()
        verb, _, id = event.purpose.partition(" ")
        if verb == "filter":
            answer.close()
        elif not text:
            self.notify("Nothing is typed yet.", timeout=3)
        elif verb == "correct":
            self._do(lambda memory: _became(memory.facts.correct(id, text, user_id=user)), answer.done)
        else:
            self._do(lambda memory: _added(memory, text, user), answer.done)

    def action_pin(self) -> None:
        """Pin the marked message, or let it go again."""
        if id := self._message():
            self._do(lambda memory: _pinned(memory, id))

    def action_forget(self) -> None:
        """Erase the marked message, or what is named then."""
        id = self._message()
        self.appliance.forget(*([id] if id else []))

    # --- looking --------------------------------------------------------------------------------------

    def action_view(self, view: str) -> None:
        """Look at another of the views."""
        self.query_one(Tabs).active = view
        self._rows.focus()

    def action_which(self) -> None:
        """The next state of facts, or the next level of summaries."""
        if self._view == "facts":
            self._state = STATES[(STATES.index(self._state) + 1) % len(STATES)]
        elif self._view == "summaries":
            self._level = LEVELS[(LEVELS.index(self._level) + 1) % len(LEVELS)]
        self._load()

    def action_more(self) -> None:
        """Read more of the summaries."""
        self._limit += PAGE
        self._load()

    def action_importance(self) -> None:
        """Show what the importance of the marked message is made of."""
        if id := self._message():
            begin(self, partial(self._tell, self._rows.chosen, id), "about", anew=True)

    @on(Rows.Opened, "#entries")
    @on(Detail.OptionSelected)
    def action_open(self) -> None:
        """Open the marked message, or the one that the marked entry is from."""
        if id := self._message():
            begin(self, partial(self._open, id), "open", anew=True)

    async def _open(self, id: str) -> None:
        from appliance.errors import ApplianceError

        try:
            message = await self.appliance.link.ask(lambda memory: memory.message(id))
        except ApplianceError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.appliance.read(message.session_id, message.id)


# --- on a thread ------------------------------------------------------------------------------------------


def _loaded(
    memory: Appliance, view: str, user: str | None, state: FactState, level: Level | None, limit: int
) -> Loaded:
    waiting = memory.facts.review(user)
    note = ""
    entries: Iterable[Entry]
    if view == "facts":
        entries = of_facts(
            memory.facts.profile(user) if state == "held" else memory.facts.list(user, state=state)
        )
    elif view == "review":
        entries = of_facts(waiting)
    elif view == "summaries":
        found = memory.summaries.list(user_id=user, level=level, limit=limit)
        titles = {id: memory.sessions.info(id).title or "" for id in {one.session_id for one in found}}
        entries = of_summaries(found, titles)
        note = f"the first {limit:,}, + reads more" if len(found) == limit else ""
    else:
        whose = memory.settings.user if user is None else user
        entries = map(Pin, memory.keeping.pinned(whose))
    pending = memory.facts.pending()
    unread = f"{pending:,} messages still to be read for facts" if pending and view == "facts" else ""
    return Loaded(list(entries), " · ".join(filter(None, [note, unread])), len(waiting))


def _about(
    memory: Appliance, entry: Entry | None, contested: bool, importance_of: str
) -> tuple[list[Part], list[Part]]:
    """What stands in the two columns on the right: what an entry contradicts, and the entry."""
    if importance_of:
        message = memory.message(importance_of)
        return [], list(about.of_message(message, memory.keeping.importance(message.id)))
    match entry:
        case Known(fact):
            history = memory.facts.history(fact.id)
            if not contested:
                return [], list(about.of_fact(fact, history, _messages(memory, [fact])))
            held = [one for one in history if one.state == "held"]
            messages = _messages(memory, [fact, *held])
            return list(about.of_rivals(held, messages)), list(about.of_waiting(fact, messages))
        case Told(summary, title):
            ids = list(dict.fromkeys(quote.message_id for quote in summary.quotes))[:AT_ONCE]
            said = {one.id: one for one in memory.browsing.messages(ids)}
            return [], list(about.of_summary(summary, title, said))
        case Pin(message):
            return [], list(about.of_message(message, memory.keeping.importance(message.id)))
    return [], []


def _messages(memory: Appliance, facts: Sequence[Fact]) -> dict[str, Message]:
    """The messages that facts are from."""
    ids = dict.fromkeys(quote.message_id for fact in facts for quote in about.evidence(fact))
    return {one.id: one for one in memory.browsing.messages(list(ids)[:AT_ONCE])}


def _became(fact: Fact) -> str:
    return f"{fact.id} {fact.state}: {one_line(fact.text)}"


def _added(memory: Appliance, text: str, user: str | None) -> str:
    name, equals, value = (part.strip() for part in text.partition("="))
    if equals and name and value:
        found = memory.facts.add(attribute=name, value=value, user_id=user)
    else:
        found = memory.facts.add(text, user_id=user)
    return "\n".join(map(_became, found))


def _pinned(memory: Appliance, id: str) -> str:
    if memory.message(id).pinned:
        memory.keeping.unpin(id)
        return f"{id} is not pinned any more"
    memory.keeping.pin(id)
    return f"{id} is pinned"

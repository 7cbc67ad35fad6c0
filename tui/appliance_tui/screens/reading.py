"""A conversation, read: all of it, however long, with its summary on top and every message at hand."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, insort
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widgets import Static

from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.screens.choosing import Choice, Choosing
from appliance_tui.widgets.asking import AskLine
from appliance_tui.widgets.gist import Gist, links
from appliance_tui.widgets.talk import Talk, talk
from appliance_tui.widgets.transcript import Transcript
from appliance_tui.widgets.words import day, one_line
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import SessionInfo, Summary

READ_AT_ONCE = 250
"""Messages that are looked through for one answer: others ask the memory, too."""

RENEWED_EVERY = 1.0
"""Seconds between two looks at what has become of the conversation, however much happens."""

GONE = "This conversation is not there any more."

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")


class Reading(Frame):
    """One conversation."""

    CSS_PATH = "reading.tcss"
    PLACE = "reading"
    AUTO_FOCUS = "#transcript"
    BINDINGS: ClassVar = [
        Binding(str(key), f"quote({key})", show=False, id=f"reading.quote{key}") for key in range(1, 10)
    ]

    def __init__(self, session_id: str, message_id: str | None = None) -> None:
        super().__init__()
        self.session_id = session_id
        self._at = message_id
        self.info: SessionInfo | None = None
        self.hits: list[int] = []
        self._looking = False
        self._stale = False
        self._shown = False
        self._gone = False

    def body(self) -> ComposeResult:
        yield Static("", id="reading-title", markup=False)
        with Container(id="reading-split"):
            yield Gist(id="gist")
            with Vertical(id="reading-text"):
                yield Transcript(id="transcript")
        yield AskLine(id="reading-ask")
        yield Static("Reading …", id="reading-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.app.theme_changed_signal.subscribe(self, lambda theme: self.transcript.restyle())
        begin(self, self._open, "open")

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    # --- the memory -----------------------------------------------------------------------------------

    async def _open(self) -> None:
        from appliance.errors import ApplianceError

        try:
            self.info, summary, found = await self.appliance.link.ask(self._look)
        except ApplianceError as error:
            self._say(str(error))
            return
        self._title()
        self.query_one(Gist).show(summary)
        self.call_after_refresh(self._begin, found)  # when it is known how much room the summary leaves

    def _begin(self, found: Talk) -> None:
        self.transcript.show(found, self._at)
        self._shown = True
        if self._at is not None and self._at not in found.places:
            self.notify(f"The message {one_line(self._at)} is not there any more.", markup=False)

    def _look(self, memory: Appliance) -> tuple[SessionInfo, Summary | None, Talk]:
        summaries = memory.summaries.list(session_id=self.session_id, level="session", limit=1)
        return (
            memory.sessions.info(self.session_id),
            next(iter(summaries), None),
            talk(memory.browsing.outline(self.session_id)),
        )

    def on_happened(self, message: Happened) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "summarised", "missed"):
            self._renew()

    def on_screen_resume(self) -> None:
        self._renew()

    def _renew(self) -> None:
        """Look what has become of the conversation, soon, and without losing the place."""
        if self._shown and not self._stale:
            self._stale = True
            begin(self, self._renewed, "renew")

    async def _renewed(self) -> None:
        from appliance.errors import ApplianceError, NotFound

        before = self.transcript.talk
        self._stale = False
        try:
            info, summary, found = await self.appliance.link.ask(self._look)
        except NotFound:
            self._gone = True
            self.transcript.show(talk_of_nothing(self.session_id))
            return
        except ApplianceError as error:
            self._say(str(error))
            return
        if before is None or (info, found.outline) != (self.info, before.outline):
            self.info = info
            self._title()
            self.hits = []
            self.transcript.renew(found)
        if summary != self.query_one(Gist).summary:
            self.query_one(Gist).show(summary)
        await asyncio.sleep(RENEWED_EVERY)

    # --- what is said ---------------------------------------------------------------------------------

    def _title(self) -> None:
        info = self.info
        assert info is not None
        first, last = day(info.first_at), day(info.last_at)
        count = info.messages + info.shared
        about = [
            one_line(info.format),
            f"{count:,} message{'' if count == 1 else 's'}",
            first if first == last else f"{first} – {last}",
            f"branch of {info.branch_of}" if info.branch_of else "",
        ]
        self.query_one("#reading-title", Static).update(
            Content.assemble(
                ("★ " if info.pinned else "", "$warning"),
                (one_line(info.title or info.external_id), "bold $text-primary"),
                ("  " + " · ".join(part for part in about if part), "$foreground-muted"),
            )
        )

    def _say(self, words: str) -> None:
        self.query_one("#reading-note", Static).update(words)

    @on(Transcript.Moved)
    def _tell_place(self) -> None:
        found, mark = self.transcript.talk, self.transcript.mark
        if found is None:
            return
        if not len(found):
            self._say(GONE if self._gone else "Nothing was said here.")
            return
        said = found.outline.times[mark]
        parts = [f"{mark + 1:,} of {len(found):,}", day(said) or "no date", found.outline.ids[mark]]
        if self.transcript.found is not None:
            parts.append(self._tell_found(mark))
        self._say(" · ".join(parts))

    def _tell_found(self, mark: int) -> str:
        assert self.transcript.found is not None
        words = f"“{one_line(_words(self.transcript.found))}”"
        looking = ", still looking …" if self._looking else ""
        if not self.hits:
            return f"{words} {'…' if self._looking else 'stands nowhere here'}"
        place = bisect_left(self.hits, mark)
        here = place < len(self.hits) and self.hits[place] == mark
        which = f"{place + 1} of {len(self.hits):,}" if here else f"in {len(self.hits):,}"
        return f"{words} {which}{looking}  n next, N before"

    @on(Transcript.Trouble)
    def _tell_trouble(self, event: Transcript.Trouble) -> None:
        self._say(event.words)

    # --- moved about ----------------------------------------------------------------------------------

    def action_back(self) -> None:
        """Back; first out of what was looked for."""
        if self.transcript.found is not None:
            self.workers.cancel_group(self, "find")
            self.transcript.found, self.hits, self._looking = None, [], False
            self.transcript.refresh()
            self._tell_place()
        else:
            self.dismiss()

    def action_move(self, by: int) -> None:
        self.transcript.move(by)

    def action_page(self, by: int) -> None:
        self.transcript.page(by)

    def action_first(self) -> None:
        self.transcript.jump(0)

    def action_last(self) -> None:
        if self.transcript.talk is not None:
            self.transcript.jump(len(self.transcript.talk) - 1, 1.0)

    def action_day(self, by: int) -> None:
        if not self.transcript.day(by):
            self.notify("There is no later day." if by > 0 else "There is no earlier day.", timeout=2)

    def action_fold(self) -> None:
        self.transcript.toggle_fold()

    def action_date(self) -> None:
        self.query_one(AskLine).ask("date", "Go to: 2024, 2024-03 or 2024-03-09")

    def action_find(self) -> None:
        self.query_one(AskLine).ask("find", "Find in this conversation")

    @on(AskLine.Answered)
    def _answered(self, event: AskLine.Answered) -> None:
        text = event.text.strip()
        if event.about == "date":
            self._go_to(text)
        elif text:
            self._find(text)

    def _go_to(self, date: str) -> None:
        found = self.transcript.talk
        if not _DATE.fullmatch(date):
            self.notify("A date is a year, a month or a day: 2024, 2024-03, 2024-03-09.", severity="warning")
        elif found is not None:
            place = found.first_at(date)
            if place is None:
                self.notify(f"Nothing was said in {date} or later.", severity="warning", markup=False)
            else:
                self.transcript.jump(place)

    # --- looked for -----------------------------------------------------------------------------------

    def _find(self, words: str) -> None:
        self.transcript.found = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
        self.hits = []
        self.transcript.refresh()
        begin(self, self._found, "find", anew=True)

    async def _found(self) -> None:
        """Look through the conversation from the marked message on, and from its beginning to there."""
        from appliance.errors import ApplianceError

        there, pattern, mark = self.transcript.talk, self.transcript.found, self.transcript.mark
        if there is None or pattern is None:
            return
        self._looking = True
        ids = there.outline.ids
        starts = [*range(mark, len(ids), READ_AT_ONCE), *range(0, mark, READ_AT_ONCE)]
        try:
            for start in starts:
                end = min(start + READ_AT_ONCE, len(ids) if start >= mark else mark)
                page = ids[start:end]
                stand = await self.appliance.link.ask(
                    lambda memory, page=page: [  # type: ignore[misc]
                        one.id for one in memory.browsing.messages(page) if pattern.search(one.text)
                    ]
                )
                if self.transcript.talk is not there:  # it has changed: look again in what it is now
                    self._find(_words(pattern))
                    return
                first = not self.hits
                for id in stand:
                    insort(self.hits, there.places[id])
                if first and stand:
                    self.transcript.seek(there.places[stand[0]])
                self._tell_place()
        except ApplianceError as error:
            self._say(str(error))
        finally:
            self._looking = False
        self._tell_place()

    def action_found(self, by: int) -> None:
        """To the next place of what was looked for, round the end to the beginning."""
        if self.transcript.found is None:
            self.action_find()
        elif self.hits:
            mark = self.transcript.mark
            place = bisect_left(self.hits, mark + 1) if by > 0 else bisect_left(self.hits, mark) - 1
            self.transcript.seek(self.hits[place % len(self.hits)])
        elif not self._looking:
            self._find(_words(self.transcript.found))

    # --- the summary ----------------------------------------------------------------------------------

    def action_summary(self) -> None:
        gist = self.query_one(Gist)
        if gist.summary is None:
            self.notify("There is no summary of it yet.", timeout=3)
        else:
            gist.toggle()

    def action_quote(self, number: int) -> None:
        """To the message of a line of the summary."""
        gist, there = self.query_one(Gist), self.transcript.talk
        quotes = links(gist.summary) if gist.summary is not None else []
        if 0 < number <= len(quotes) and there is not None:
            place = there.places.get(quotes[number - 1][0])
            if place is not None:
                self.transcript.jump(place, 0.5)

    def action_quotes(self) -> None:
        gist = self.query_one(Gist)
        if gist.summary is None:
            self.notify("There is no summary of it yet.", timeout=3)
            return
        choices = [Choice(str(number), text[:200]) for number, (_, text) in enumerate(links(gist.summary), 1)]

        def go(chosen: Choice | None) -> None:
            if chosen is not None:
                self.action_quote(int(chosen.name))

        self.app.push_screen(Choosing("Go to what the summary is from", choices), go)

    # --- one message ----------------------------------------------------------------------------------

    def action_copy(self) -> None:
        if (id := self.transcript.current) is not None:
            begin(self, partial(self._copy, id), "copy")

    async def _copy(self, id: str) -> None:
        with self.appliance.telling():
            for message in await self.appliance.link.ask(lambda memory: memory.browsing.messages([id])):
                self.app.copy_to_clipboard(message.text)
                self.notify(f"Copied: {len(message.text):,} characters", timeout=2)

    def action_pin(self) -> None:
        if (id := self.transcript.current) is not None:
            pinned = self.transcript.is_pinned(self.transcript.mark)
            begin(self, partial(self._pin, id, not pinned), "pin")

    async def _pin(self, id: str, pinned: bool) -> None:
        with self.appliance.telling():
            done = await self.appliance.link.do(lambda memory: memory.pin(id) if pinned else memory.unpin(id))
            self.transcript.note_pinned(id, done.pinned)
            self.notify("Pinned" if done.pinned else "Not pinned any more", timeout=2)

    def action_forget(self) -> None:
        if (id := self.transcript.current) is not None:
            self.appliance.forget(id)

    def action_raw(self) -> None:
        self.transcript.show_as(markdown=not self.transcript.markdown)

    # --- branches -------------------------------------------------------------------------------------

    def action_branches(self) -> None:
        if self.info is not None:
            begin(self, partial(self._branches, self.info), "branches", anew=True)

    async def _branches(self, info: SessionInfo) -> None:
        with self.appliance.telling():
            await self._choose(info, await self.appliance.link.ask(lambda memory: _family(memory, info)))

    async def _choose(self, info: SessionInfo, family: list[SessionInfo]) -> None:
        if not family:
            self.notify("It has no branches, and is none.", timeout=3)
            return
        choices = [
            Choice(
                "it left" if one.id == info.branch_of else "branch",
                one_line(one.title or one.external_id),
                f"{one.id} · {one.messages:,} of its own · {day(one.last_at)}",
            )
            for one in family
        ]
        chosen = await self.app.push_screen_wait(Choosing("Branches", choices))
        if chosen is not None:
            one = family[choices.index(chosen)]
            at = one.branch_at if one.branch_of == info.id else info.branch_at
            self.appliance.read(one.id, at)


def _family(memory: Appliance, info: SessionInfo) -> list[SessionInfo]:
    """What a conversation branched from, and its branches."""
    parents = [memory.sessions.info(info.branch_of)] if info.branch_of else []
    begun = memory.sessions.list(user_id=info.user_id, namespace=info.namespace, sources=("local",))
    return [*parents, *(one for one in begun if one.branch_of == info.id)]


def talk_of_nothing(session_id: str) -> Talk:
    """A conversation without messages."""
    from appliance.types import Outline

    return talk(Outline(session_id))


def _words(pattern: re.Pattern[str]) -> str:
    return re.sub(r"\\(.)", r"\1", pattern.pattern.replace(r"\s+", " "))

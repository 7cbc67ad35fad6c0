"""Conversations: listed in the order that one wants, branches under what they left, looked into, read and tended."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from appliance_tui.frame import Frame
from appliance_tui.messages import Happened
from appliance_tui.screens.choosing import Choice, Choosing
from appliance_tui.widgets.asking import AskLine
from appliance_tui.widgets.session_list import SessionList, about
from appliance_tui.widgets.words import minute, one_line, shown
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.server.client import Appliance
    from appliance.types import Choices, Message, SessionInfo

PAGE = 100
"""Conversations that are listed at once: two screens of a large terminal, in some milliseconds."""

SORTS = {
    "active": "last message",
    "created": "beginning here",
    "title": "title",
    "messages": "length",
    "importance": "importance",
}
"""What the memory sorts conversations by, in words."""

PREVIEWED = 6
"""Messages at the beginning that stand beside the list."""

CHARACTERS = 600
"""Characters of each of them."""

PREVIEW_AFTER = 0.12
"""Seconds that a conversation is marked before it is looked into: who moves on does not want it."""

PREVIEWS_KEPT = 32

RENEWED_EVERY = 1.0
"""Seconds between two looks at what has become of the list, however much happens."""

SPEAKERS = 8
"""Names of those who said most."""

EMPTY = "No conversations yet: 'appliance ingest PATH' reads an export, 'appliance demo' shows what there could be."


@dataclass(frozen=True, slots=True)
class View:
    """What is listed, and in which order."""

    sort: str = "active"
    reverse: bool = False
    title: str = ""
    source: str | None = None
    pinned: bool = False

    @property
    def narrowed(self) -> bool:
        """Whether it is a part of all."""
        return bool(self.title or self.source or self.pinned)

    def asked(self, user: str | None) -> dict[str, Any]:
        """As the memory takes it."""
        return {
            "user_id": user,
            "sort": self.sort,
            "reverse": self.reverse,
            "title": self.title,
            "sources": (self.source,) if self.source else (),
            "pinned": True if self.pinned else None,
        }


@dataclass(slots=True)
class Listed:
    """The conversations of a view as far as they were asked for; ``past`` are those that branches of them left."""

    infos: list[SessionInfo] = field(default_factory=list)
    past: list[SessionInfo] = field(default_factory=list)
    next: str | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """What stands beside the list: who speaks, what it is about, how it begins."""

    speakers: Sequence[tuple[str, int]]
    summary: str
    first: Sequence[Message]


class Conversations(Frame):
    """The list of conversations."""

    CSS_PATH = "conversations.tcss"
    PLACE = "conversations"
    AUTO_FOCUS = "#sessions"

    view: var[View] = var(View())

    def body(self) -> ComposeResult:
        yield Static("", id="sessions-view", markup=False)
        with Horizontal(id="sessions-split"):
            yield SessionList(id="sessions")
            with VerticalScroll(id="sessions-preview", can_focus=False):
                yield Static("", id="sessions-text", markup=False)
        yield AskLine(id="sessions-ask")
        yield Static("", id="sessions-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.listed = Listed()
        self._previews: OrderedDict[tuple[str, int, str | None], Preview] = OrderedDict()
        self._stale = False
        self._more = False
        self._loaded = False
        self._before = ""
        self.watch(self.app, "user", self._begin, init=False)
        self._begin()

    @property
    def sessions(self) -> SessionList:
        return self.query_one(SessionList)

    # --- the list -------------------------------------------------------------------------------------

    def watch_view(self) -> None:
        if self.is_mounted:
            self._begin()

    def _begin(self) -> None:
        """List anew from the beginning."""
        self._tell_view()
        begin(self, partial(self._list, keep=False), "list", anew=True)

    async def _list(self, *, keep: bool) -> None:
        from appliance.errors import ApplianceError

        view, user = self.view, self.appliance.user
        many = max(PAGE, len(self.listed.infos)) if keep else PAGE
        try:
            found = await self.appliance.link.ask(lambda memory: page(memory, view, user, many, Listed()))
        except ApplianceError as error:
            self._say(str(error))
            return
        self.listed = found
        self._show(keep=keep)

    async def _list_more(self) -> None:
        from appliance.errors import ApplianceError

        view, user, before = self.view, self.appliance.user, self.listed
        try:
            found = await self.appliance.link.ask(lambda memory: page(memory, view, user, PAGE, before))
        except ApplianceError as error:
            self._say(str(error))
            return
        finally:
            self._more = False
        if self.listed is before:
            self.listed = found
            self._show(keep=True)

    def _show(self, *, keep: bool) -> None:
        self._loaded = True
        self.sessions.show([*self.listed.infos, *self.listed.past], keep=keep)
        count = len(self.listed.infos)
        if not count:
            self._say("No conversation is like that: x shows all." if self.view.narrowed else EMPTY)
        else:
            more = ", more as you scroll" if self.listed.next else ""
            self._say(f"{count:,} conversation{'' if count == 1 else 's'}{more}")

    @on(SessionList.NearEnd)
    def _near_end(self) -> None:
        if self.listed.next is not None and not self._more:
            self._more = True
            begin(self, self._list_more, "more")

    def on_happened(self, message: Happened) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "summarised", "missed"):
            self._renew()

    def on_screen_resume(self) -> None:
        if self._loaded:
            self._renew()

    def _renew(self) -> None:
        """Look what has become of the list, soon, the mark and the place kept."""
        if not self._stale:
            self._stale = True
            begin(self, self._renewed, "renew")

    async def _renewed(self) -> None:
        self._stale = False
        self._previews.clear()
        await self._list(keep=True)
        await asyncio.sleep(RENEWED_EVERY)

    def _say(self, words: str) -> None:
        self.query_one("#sessions-note", Static).update(words)

    def _tell_view(self) -> None:
        view = self.view
        parts = [f"by {SORTS[view.sort]}{', from the other end' if view.reverse else ''}"]
        parts += [f"source: {one_line(view.source)}"] if view.source else []
        parts += ["★ pinned only"] if view.pinned else []
        parts += [f"titles with “{one_line(view.title)}”"] if view.title else []
        self.query_one("#sessions-view", Static).update(
            Content.assemble(
                ("Conversations ", "bold $text-primary"), (" · ".join(parts), "$foreground-muted")
            )
        )

    # --- beside the list ------------------------------------------------------------------------------

    @on(SessionList.Marked)
    def _look_into(self) -> None:
        if self.query_one("#sessions-preview").display:
            begin(self, partial(self._preview, self.sessions.marked), "preview", anew=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self._look_into)

    async def _preview(self, info: SessionInfo | None) -> None:
        from appliance.errors import ApplianceError

        if info is None:
            self._show_preview(Content(""))
            return
        key = (info.id, info.messages, info.last_at)
        if key not in self._previews:
            await asyncio.sleep(PREVIEW_AFTER)
            try:
                self._previews[key] = await self.appliance.link.ask(lambda memory: preview(memory, info.id))
            except ApplianceError as error:
                self._show_preview(Content(str(error)))
                return
            while len(self._previews) > PREVIEWS_KEPT:
                self._previews.popitem(last=False)
        self._show_preview(previewed(info, self._previews[key]))

    def _show_preview(self, content: Content) -> None:
        self.query_one("#sessions-text", Static).update(content)
        self.query_one("#sessions-preview").scroll_home(animate=False)

    # --- actions --------------------------------------------------------------------------------------

    @on(SessionList.Chosen)
    def action_read(self) -> None:
        if (info := self.sessions.marked) is not None:
            self.appliance.read(info.id)

    def action_move(self, by: int) -> None:
        self.sessions.move(by)

    def action_page(self, by: int) -> None:
        self.sessions.move(by * self.sessions.page)

    def action_first(self) -> None:
        self.sessions.move(-len(self.sessions.rows))

    def action_last(self) -> None:
        self.sessions.move(len(self.sessions.rows))

    def action_sort(self) -> None:
        names = list(SORTS)
        self.view = replace(self.view, sort=names[(names.index(self.view.sort) + 1) % len(names)])

    def action_reverse(self) -> None:
        self.view = replace(self.view, reverse=not self.view.reverse)

    def action_pinned(self) -> None:
        self.view = replace(self.view, pinned=not self.view.pinned)

    def action_clear(self) -> None:
        self.view = replace(self.view, title="", source=None, pinned=False)

    def action_source(self) -> None:
        begin(self, self._choose_source, "source", anew=True)

    async def _choose_source(self) -> None:
        user = self.appliance.user
        with self.appliance.telling():
            choices = await self.appliance.link.ask(lambda memory: memory.browsing.choices(user_id=user))
            await self._narrow(choices)

    async def _narrow(self, choices: Choices) -> None:
        offered = [Choice("", name, f"{count:,} messages") for name, count in choices.sources.items()]
        chosen = await self.app.push_screen_wait(Choosing("Only of one source", offered))
        if chosen is not None:
            self.view = replace(self.view, source=chosen.value)

    def action_title(self) -> None:
        self._before = self.view.title
        self.query_one(AskLine).ask("title", "Words of the title", self.view.title)

    @on(Input.Changed, "#sessions-ask")
    def _typed(self, event: Input.Changed) -> None:
        line = self.query_one(AskLine)
        if line.display and line.about == "title":
            self.view = replace(self.view, title=event.value.strip())

    def action_rename(self) -> None:
        if (info := self.sessions.marked) is not None:
            self.query_one(AskLine).ask(f"rename {info.id}", "Its title", one_line(info.title or ""))

    @on(AskLine.Answered)
    def _answered(self, event: AskLine.Answered) -> None:
        what, _, id = event.about.partition(" ")
        if what == "rename":
            begin(
                self, partial(self._change, lambda memory: memory.sessions.get(id).rename(event.text)), "do"
            )

    @on(AskLine.Left)
    def _left(self, event: AskLine.Left) -> None:
        if event.about == "title":
            self.view = replace(self.view, title=self._before)

    def action_pin(self) -> None:
        if (info := self.sessions.marked) is None:
            return

        def pin(memory: Appliance) -> None:
            session = memory.sessions.get(info.id)
            session.unpin() if info.pinned else session.pin()

        begin(self, partial(self._change, pin, "Not pinned any more" if info.pinned else "Pinned"), "do")

    def action_forget(self) -> None:
        if (info := self.sessions.marked) is not None:
            self.appliance.forget(info.id)

    async def _change(self, work: Callable[[Appliance], None], said: str = "") -> None:
        with self.appliance.telling():
            await self.appliance.link.do(work)
            if said:
                self.notify(said, timeout=2)
            await self._list(keep=True)


# --- asked of the memory, on threads ----------------------------------------------------------------------


def page(memory: Appliance, view: View, user: str | None, many: int, before: Listed) -> Listed:
    """The conversations behind those that are listed. All of them are shown with what they branched from; of a part of
    all only what belongs to it."""
    found = memory.sessions.list(**view.asked(user), limit=many, after=before.next)
    infos = [*before.infos, *found]
    past = {one.id: one for one in before.past}
    if not view.narrowed:
        known = {one.id for one in infos} | set(past)
        for info in found:
            parent = info.branch_of
            while parent is not None and parent not in known:
                past[parent] = memory.sessions.info(parent)
                known.add(parent)
                parent = past[parent].branch_of
    listed = {one.id for one in infos}
    return Listed(infos, [one for id, one in past.items() if id not in listed], found.next)


def preview(memory: Appliance, id: str) -> Preview:
    """A conversation's speakers, summary and first messages."""
    outline = memory.browsing.outline(id)
    names = Counter(author or role for author, role in zip(outline.authors, outline.roles, strict=True))
    summary = next(iter(memory.summaries.list(session_id=id, level="session", limit=1)), None)
    first = memory.browsing.messages(outline.ids[:PREVIEWED])
    return Preview(names.most_common(SPEAKERS), summary.text if summary else "", first)


def previewed(info: SessionInfo, preview: Preview) -> Content:
    """A preview in words."""
    parts = [
        Content.assemble(
            ("★ " if info.pinned else "", "$warning"),
            (one_line(info.title or info.external_id), "bold $text-primary"),
        ),
        Content.assemble((f"{one_line(info.format)}{about(info)} · {info.id}", "$foreground-muted")),
        Content.assemble(
            *(
                part
                for name, count in preview.speakers
                for part in ((one_line(name)[:40], "bold"), (f" {count:,}   ", "$foreground-muted"))
            )
        ),
    ]
    if preview.summary:
        parts += [
            Content(""),
            Content.assemble(("Summary", "bold $text-accent")),
            Content(shown(preview.summary)),
        ]
    for message in preview.first:
        text = shown(message.text[:CHARACTERS]).strip()
        who = one_line(message.author or message.role)[:40]
        parts += [
            Content(""),
            Content.assemble((who, "bold"), (f"  {minute(message.timestamp)}", "$foreground-muted")),
            Content(text + ("…" if len(message.text) > CHARACTERS else "")),
        ]
    return Content("\n").join(parts)

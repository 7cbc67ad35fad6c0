"""Conversations: a sorted and filtered list with branches, a preview, and changes to a conversation."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.reactive import var
from textual.widgets import Input, Static

from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.selecting import SelectingScreen
from appliance_tui.undo import Change, rename_session, replace_tags, toggle_session_pins
from appliance_tui.widgets.display_text import one_line, pluralize, sanitize, time_of
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.session_list import SessionList, session_details
from appliance_tui.workers import MemoryChanged, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import SessionInfo
    from appliance_tui.app import ApplianceApp

PAGE_SIZE = 100
"""Conversations that are loaded at once: two screens of a large terminal, in some milliseconds."""

MAX_SEARCHED = 2_000
"""Conversations that are loaded at most for the selected one to be among them."""

SORT_LABELS = {
    "active": "last message",
    "started": "start",
    "title": "title",
    "messages": "length",
    "importance": "importance",
}
"""The sort orders of the memory, with their labels."""

PREVIEW_MESSAGES = 6
"""First messages of a conversation in the preview."""

PREVIEW_CHARACTERS = 600
"""Characters of each message in the preview."""

PREVIEW_DELAY_SECONDS = 0.12
"""Seconds that the selection rests on a conversation before its preview is loaded."""

MAX_CACHED_PREVIEWS = 32

REFRESH_INTERVAL_SECONDS = 1.0
"""Seconds between two refreshes of the list at least, however much changes."""

MAX_AUTHORS = 8
"""Authors in the preview, those with most messages."""

FOR_CURRENT = ("read", "rename", "select", "extend", "extend_back")
FOR_SELECTED = ("pin", "forget", "export", "editor", "tags")
"""Actions for the current conversation, and those for the selected ones."""

EMPTY_HINT = "No conversations yet. 'appliance ingest PATH' imports an export; F9 shows sample chats."


@dataclass(frozen=True, slots=True)
class ConversationView:
    """Filters and order of the list."""

    sort: str = "active"
    reverse: bool = False
    title: str = ""
    source: str | None = None
    tag: str | None = None
    pinned: bool = False
    hidden: bool = False
    """Whether conversations in which only tools and systems wrote are listed too."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.title or self.source or self.tag or self.pinned)

    def list_arguments(self, user: str | None) -> dict[str, Any]:
        """The view as arguments of ``sessions.list``."""
        return {
            "user_id": user,
            "sort": self.sort,
            "reverse": self.reverse,
            "title": self.title,
            "sources": (self.source,) if self.source else (),
            "tags": (self.tag,) if self.tag else (),
            "pinned": True if self.pinned else None,
            "hidden": self.hidden,
        }


@dataclass(slots=True)
class ConversationListing:
    """The conversations of a view that are loaded. ``ancestors`` are parents of branches among them."""

    sessions: list[SessionInfo] = field(default_factory=list)
    ancestors: list[SessionInfo] = field(default_factory=list)
    next_cursor: str | None = None


class ConversationsScreen(SelectingScreen):
    """The list of conversations and a preview."""

    CSS_PATH = "conversations.tcss"
    PLACE = "conversations"
    MAIN_LIST = "SessionList"
    AUTO_FOCUS = "#sessions"

    rows_pending = True

    view: var[ConversationView] = var(ConversationView())

    def body(self) -> ComposeResult:
        yield Static("", id="sessions-view", markup=False)
        with Horizontal(id="sessions-split"):
            yield SessionList(id="sessions")
            with VerticalScroll(id="sessions-preview", can_focus=False):
                yield Static("", id="sessions-text", markup=False)
        yield QuestionLine(id="sessions-ask")
        yield Static("", id="sessions-note", markup=False)

    def on_mount(self) -> None:
        super().on_mount()
        self.listing = ConversationListing()
        self._previews: OrderedDict[tuple[object, ...], Content] = OrderedDict()
        self._refresh_pending = False
        self._loading_more = False
        self._previous_title = ""
        self.watch(self.app, "user", self._user_changed, init=False)
        self.watch(self.app, "name_keys", self._names_changed, init=False)
        self._reload()

    @property
    def sessions(self) -> SessionList:
        return self.query_one(SessionList)

    @property
    def selectable(self) -> SessionList:
        return self.sessions

    def watch_view(self, before: ConversationView, view: ConversationView) -> None:
        if self.is_mounted:
            if replace(before, sort=view.sort, reverse=view.reverse) != view:
                self.sessions.clear_selection()  # what is selected might not be seen any more
            self._reload(keep_mark=before.is_filtered and not view.is_filtered)

    def _user_changed(self) -> None:
        self.sessions.clear_selection()
        self._reload()

    def _names_changed(self) -> None:
        self._previews.clear()
        self.sessions.refresh()
        self._preview_marked()

    def _reload(self, *, keep_mark: bool = False) -> None:
        """Load the list from its start; ``keep_mark`` as far as the selected conversation, which stays selected."""
        self._show_view()
        self.rows_pending = True
        begin(self, partial(self._load_list, keep_mark=keep_mark, finds_mark=keep_mark), "list", exclusive=True)

    async def _load_list(self, *, keep_mark: bool, finds_mark: bool = False) -> None:
        view, user = self.view, self.appliance.user
        limit = max(PAGE_SIZE, len(self.listing.sessions)) if keep_mark else PAGE_SIZE
        marked = self.sessions.marked.id if finds_mark and self.sessions.marked is not None else None

        def load(memory: Appliance) -> ConversationListing:
            listing = load_page(memory, view, user, limit, ConversationListing())
            while (
                marked is not None
                and listing.next_cursor is not None
                and len(listing.sessions) < MAX_SEARCHED
                and all(info.id != marked for info in (*listing.sessions, *listing.ancestors))
            ):
                listing = load_page(memory, view, user, PAGE_SIZE, listing)
            return listing

        with show_errors(self._show_note):
            listing = await self.appliance.memory_worker.run_query(load)
            if (view, user) != (self.view, self.appliance.user):
                return  # another list is wanted, and being loaded
            self.listing = listing
            self._show(keep_mark=keep_mark)
        self.rows_arrived()

    async def _load_more(self) -> None:
        view, user, previous = self.view, self.appliance.user, self.listing
        try:
            with show_errors(self._show_note):
                listing = await self.appliance.memory_worker.run_query(
                    lambda memory: load_page(memory, view, user, PAGE_SIZE, previous)
                )
                if self.listing is previous:
                    self.listing = listing
                    self._show(keep_mark=True)
        finally:
            self._loading_more = False

    def _show(self, *, keep_mark: bool) -> None:
        self.sessions.show([*self.listing.sessions, *self.listing.ancestors], keep_mark=keep_mark)
        self.show_selection()

    def show_selection(self) -> None:
        """Say how many conversations there are, and how many are selected."""
        count = len(self.listing.sessions)
        if not count:
            self._show_note(self._why_none())
        else:
            listed = pluralize(count, "conversation")
            note = self.selection_note()
            text = f"The first {listed}, more as you scroll" if self.listing.next_cursor else listed
            self._show_note(f"{note} · " * bool(note) + text)

    def _why_none(self) -> str:
        """Why no conversation is listed, and what to do."""
        if self.view == replace(ConversationView(), pinned=True, sort=self.view.sort, reverse=self.view.reverse):
            return "No conversation is pinned. X lists all; p pins the selected one."
        return "No conversations match. Press X to clear the filters." if self.view.is_filtered else EMPTY_HINT

    @on(SessionList.NearEnd)
    def _near_end(self) -> None:
        if self.listing.next_cursor is not None and not self._loading_more:
            self._loading_more = True
            begin(self, self._load_more, "more")

    def on_memory_changed(self, message: MemoryChanged) -> None:
        if message.kind in ("ingested", "forgotten", "deleted", "summarised", "pinned", "missed", "undone"):
            self._schedule_refresh()
            self.drop_missing()

    def on_screen_resume(self) -> None:
        if not self.rows_pending:
            self._schedule_refresh()

    def _schedule_refresh(self) -> None:
        """Refresh the list soon, keeping selection and position."""
        if not self._refresh_pending:
            self._refresh_pending = True
            begin(self, self._refresh_list, "renew")

    async def _refresh_list(self) -> None:
        self._refresh_pending = False
        self._previews.clear()
        await self._load_list(keep_mark=True)
        await asyncio.sleep(REFRESH_INTERVAL_SECONDS)

    def _show_note(self, text: str) -> None:
        self.query_one("#sessions-note", Static).update(text)

    def _show_view(self) -> None:
        view = self.view
        parts = [f"by {SORT_LABELS[view.sort]}{', reversed' if view.reverse else ''}"]
        parts += [f"source: {one_line(view.source)}"] if view.source else []
        parts += [f"tag: {one_line(view.tag)}"] if view.tag else []
        parts += ["★ pinned"] if view.pinned else []
        parts += ["also of tools alone"] if view.hidden else []
        parts += [f"title: “{one_line(view.title)}”"] if view.title else []
        self.query_one("#sessions-view", Static).update(
            Content.assemble(("Conversations ", "bold $text-primary"), (" · ".join(parts), "$foreground-muted"))
        )

    def available(self, id: str) -> bool:
        """As ``ListScreen``: what acts on a conversation needs one."""
        if id == "conversations.clear":
            return self.view.is_filtered
        return not self._lacks_row(id)

    def why_not(self, id: str) -> str:
        """As ``ListScreen``."""
        return "No conversation is listed." if not self.rows_pending and self._lacks_row(id) else ""

    def _lacks_row(self, id: str) -> bool:
        """Whether an action is for a conversation, and there is none."""
        name = id.removeprefix("conversations.")
        if name in FOR_SELECTED:
            return not self.target_ids()
        return name in FOR_CURRENT and self.sessions.marked is None

    def targets_pinned(self) -> bool:
        """As ``ListScreen``."""
        pinned = {row.info.id for row in self.sessions.rows if row.info.pinned}
        return bool(self.target_ids()) and pinned.issuperset(self.target_ids())

    @on(SessionList.Marked)
    def _preview_marked(self) -> None:
        self.refresh_bindings()
        if self.query_one("#sessions-preview").display:
            begin(self, partial(self._load_preview, self.sessions.marked), "preview", exclusive=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self._preview_marked)

    async def _load_preview(self, info: SessionInfo | None) -> None:
        if info is None:
            self._show_preview("")
            return
        with show_errors(self._show_preview):
            key = (info.id, info.messages, info.last_at, info.title, info.pinned)
            if key not in self._previews:
                await asyncio.sleep(PREVIEW_DELAY_SECONDS)
                app = self.appliance  # the thread may run when the screen is gone
                self._previews[key] = await app.memory_worker.run_query(lambda memory: load_preview(memory, info, app))
                while len(self._previews) > MAX_CACHED_PREVIEWS:
                    self._previews.popitem(last=False)
            self._show_preview(self._previews[key])

    def _show_preview(self, content: str | Content) -> None:
        self.query_one("#sessions-text", Static).update(content)
        self.query_one("#sessions-preview").scroll_home(animate=False)

    @on(SessionList.Chosen)
    def action_read(self) -> None:
        if (info := self.sessions.marked) is not None:
            self.appliance.read(info.id)

    def action_sort(self) -> None:
        names = list(SORT_LABELS)
        self.view = replace(self.view, sort=names[(names.index(self.view.sort) + 1) % len(names)])

    def action_reverse(self) -> None:
        self.view = replace(self.view, reverse=not self.view.reverse)

    def action_pinned(self) -> None:
        self.view = replace(self.view, pinned=not self.view.pinned)

    def action_clear(self) -> None:
        self.view = replace(self.view, title="", source=None, tag=None, pinned=False)

    @work(exclusive=True, group="source")
    async def action_source(self) -> None:
        user = self.appliance.user
        with self.appliance.report_errors():
            with self.appliance.input_queue.held():
                choices, tags = await self.appliance.memory_worker.run_query(
                    lambda memory: (memory.overview.filter_choices(user_id=user), memory.sessions.tags(user_id=user))
                )
            sources = choices.sources.items()
            options = [PickerOption("source", name, pluralize(count, "message")) for name, count in sources]
            options += [PickerOption("tag", one.tag, pluralize(one.sessions, "conversation")) for one in tags]
            turned = "leave out" if self.view.hidden else "list too"
            options.append(PickerOption(turned, "conversations in which only tools and systems wrote"))
            chosen = await self.app.push_screen_wait(PickerScreen("Filter by source or tag", options))
            if chosen is None:
                return
            if chosen is options[-1]:
                self.view = replace(self.view, hidden=not self.view.hidden)
            elif chosen.name == "tag":
                self.view = replace(self.view, tag=chosen.value)
            else:
                self.view = replace(self.view, source=chosen.value)

    def action_title(self) -> None:
        self._previous_title = self.view.title
        self.query_one(QuestionLine).ask("title", "Words of the title", self.view.title)

    @on(Input.Changed, "#sessions-ask")
    def _title_changed(self, event: Input.Changed) -> None:
        line = self.query_one(QuestionLine)
        if line.display and line.about == "title":
            self.view = replace(self.view, title=event.value.strip())

    def action_rename(self) -> None:
        if (info := self.sessions.marked) is not None:
            self.query_one(QuestionLine).ask(f"rename {info.id}", "New title", one_line(info.title or ""))

    def action_tags(self) -> None:
        """Change the tags of the conversation; of several, give or take one."""
        if len(self.selection):
            self.appliance.tag(self.target_ids())
        elif (info := self.sessions.marked) is not None:
            tags = ", ".join(map(one_line, editable_tags(info)))
            self.query_one(QuestionLine).ask(f"tags {info.id}", "Tags, separated by commas", tags, extends=True)

    def action_calendar(self) -> None:
        values = self.view.list_arguments(None)
        self.appliance.show_calendar(sources=values["sources"], tags=values["tags"])

    def action_attachments(self) -> None:
        from appliance_tui.screens.attachments import AttachmentsScreen

        self.app.push_screen(AttachmentsScreen(self.sessions.marked))

    @on(QuestionLine.Answered)
    def _rename_answered(self, event: QuestionLine.Answered) -> None:
        purpose, _, id = event.about.partition(" ")
        if purpose == "tags":
            begin(self, partial(self._change, partial(_change_tags, id=id, text=event.text)), "do")
        if purpose == "rename":
            begin(self, partial(self._change, partial(rename_session, id=id, title=event.text)), "do")

    @on(QuestionLine.Cancelled)
    def _restore_title(self, event: QuestionLine.Cancelled) -> None:
        if event.about == "title":
            self.view = replace(self.view, title=self._previous_title)

    def action_pin(self) -> None:
        if ids := self.target_ids():
            begin(self, partial(self._change, partial(toggle_session_pins, ids=ids)), "do")

    def action_forget(self) -> None:
        if ids := self.target_ids():
            self.appliance.forget(*ids)

    async def _change(self, change: Callable[[Appliance], Change]) -> None:
        with self.appliance.report_errors():
            await self.appliance.make_change(change)
            await self._load_list(keep_mark=True)


def load_page(
    memory: Appliance, view: ConversationView, user: str | None, limit: int, previous: ConversationListing
) -> ConversationListing:
    """Load the next conversations of a view, without filters also the ancestors of branches."""
    page = memory.sessions.list(**view.list_arguments(user), limit=limit, after=previous.next_cursor)
    infos = [*previous.sessions, *page]
    ancestors = {info.id: info for info in previous.ancestors}
    if not view.is_filtered:
        known = {info.id for info in infos} | set(ancestors)
        for info in page:
            parent = info.branch_of
            while parent is not None and parent not in known:
                ancestors[parent] = memory.sessions.info(parent)
                known.add(parent)
                parent = ancestors[parent].branch_of
    listed = {info.id for info in infos}
    return ConversationListing(infos, [info for id, info in ancestors.items() if id not in listed], page.next)


def editable_tags(info: SessionInfo) -> list[str]:
    """The tags of a conversation that a line with commas between them can name."""
    return [tag for tag in info.tags if "," not in tag]


def _change_tags(memory: Appliance, id: str, text: str) -> Change:
    """Give a conversation the tags of a text, which commas separate, in place of those that a line can name."""
    wanted = list(filter(None, map(str.strip, text.split(","))))
    return replace_tags(memory, id, wanted, editable_tags(memory.sessions.info(id)))


def load_preview(memory: Appliance, info: SessionInfo, app: ApplianceApp) -> Content:
    """Title, authors with message counts, summary and first messages of a conversation, with the names of ``app``."""
    outline = memory.overview.outline(info.id)
    authors = Counter(author or role for author, role in zip(outline.authors, outline.roles, strict=True))
    lines = [
        Content.assemble(
            ("★ " if info.pinned else "", "$warning"),
            (app.title_of(info.title or info.external_id), "bold $text-primary"),
        ),
        Content.styled(f"{one_line(info.format)}{session_details(info)} · {info.id}", "$foreground-muted"),
        Content.assemble(
            *(
                part
                for name, count in authors.most_common(MAX_AUTHORS)
                for part in ((app.name_of(name)[:40], "bold"), (f" {count:,}   ", "$foreground-muted"))
            )
        ),
    ]
    for summary in memory.summaries.list(session_id=info.id, level="session", limit=1):
        lines += [Content(""), Content.styled("Summary", "bold $text-accent"), Content(sanitize(summary.text))]
    for message in memory.overview.messages(outline.ids[:PREVIEW_MESSAGES]):
        author = app.name_of(message.who)[:40]
        text = sanitize(message.text[:PREVIEW_CHARACTERS]).strip()
        lines += [
            Content(""),
            Content.assemble((author, "bold"), (f"  {time_of(message)}", "$foreground-muted")),
            Content(text + ("…" if len(message.text) > PREVIEW_CHARACTERS else "")),
        ]
    return Content("\n").join(lines)

"""The app: its screens, the user whose memory is shown, themes, status and errors."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import BindingType
from textual.events import Event as TerminalEvent
from textual.events import Key, Paste
from textual.notifications import Notify
from textual.reactive import var
from textual.widget import AwaitMount

from appliance.errors import ApplianceError
from appliance.requests.typed_filters import SearchFilters
from appliance_tui.actions import SCREENS, ActionProvider, bindings
from appliance_tui.author_colours import author_key, name_keys, person_names, title_with_names
from appliance_tui.changes import Changes
from appliance_tui.editor import remove_leftovers
from appliance_tui.error_handling import ErrorHandlingApp
from appliance_tui.ingestion import ImportQueue
from appliance_tui.input_queue import InputHandled, InputQueue
from appliance_tui.lazy_screens import lazy_screen
from appliance_tui.namesakes import names_apart
from appliance_tui.path_input import on_one_line, parse_paths
from appliance_tui.screens.search import SearchScreen
from appliance_tui.terminal_keys import terminal_driver
from appliance_tui.themes import THEMES, initial_theme, line_filters, no_color
from appliance_tui.toasts import drop_older_notices, drop_read_notices
from appliance_tui.undo import Change
from appliance_tui.upgrades import FileStates, program_files
from appliance_tui.widgets.display_text import one_line, pluralize
from appliance_tui.workers import ImportProgressed, MemoryChanged, MemoryOpener, MemoryWorker, begin, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Event
    from appliance_tui.destinations import Destination
    from appliance_tui.running_erasure import RunningErasure
    from appliance_tui.screens.conversation import ConversationScreen
    from appliance_tui.search_results import SearchResults
    from appliance_tui.widgets.summary_panel import SummaryView

DAEMON_LOST_MESSAGE = (
    "The daemon has stopped. What you typed is kept; the screen continues when the daemon is back ('appliance serve')."
)

STARTUP_DELAY_SECONDS = 0.7
"""Seconds between the opening of the memory and background queries: people begin to type at once, and the first search
opens the index."""


class ApplianceApp(ErrorHandlingApp):
    """The terminal UI of a memory."""

    TITLE = "Memory appliance"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app")]
    COMMANDS: ClassVar = {ActionProvider}
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {
        "recall": SearchScreen,
        "conversations": lazy_screen("conversations", "ConversationsScreen"),
        "context": lazy_screen("context", "ContextScreen"),
        "memory": lazy_screen("memory", "MemoryScreen"),
        "inbox": lazy_screen("inbox", "InboxScreen"),
        "vitals": lazy_screen("status", "StatusScreen"),
        "people": lazy_screen("people", "PeopleScreen"),
    }
    DEFAULT_MODE = "recall"

    user: var[str | None] = var(None)
    """Whose memory is shown; None for the user of the settings."""
    status_text: var[str] = var("")
    """The counts in the bar."""
    banner: var[str] = var("")
    erasure: var[RunningErasure | None] = var["RunningErasure | None"](None)
    """The erasure that is running, and its outcome until it is shown."""
    name_keys: var[Mapping[str, str]] = var[Mapping[str, str]](dict)
    """What stands for a person, by each of the names, so that all of them have one colour."""
    names_by_id: var[Mapping[str, str]] = var[Mapping[str, str]](dict)
    """The names of people by their ids."""
    histories_left = 0  # of those that an empty memory found on this machine, which are neither imported nor watched
    summary_view: SummaryView = "lines"
    """How summaries are shown beside conversations, the next ones too."""

    def __init__(
        self,
        open: MemoryOpener,
        *,
        theme: str = "",
        keys: Mapping[str, str] | None = None,
        motion: bool = True,
        owner: str = "me",
    ):
        """
        Args:
            open: opens the memory; called on a thread when the first frame is drawn.
            keys: keys by action id, in place of the defaults.
            owner: the user of the settings.
        """
        super().__init__(driver_class=terminal_driver())
        self.no_color = no_color()
        self._filters = line_filters(self._filters)
        self.owner = owner
        self.person_names: Mapping[str, str] = {}
        """The names of people by what else they write under, as ``author_colours.person_names`` gives them."""
        self.failure: ApplianceError | None = None
        self._open = open
        self._first_frame_drawn = threading.Event()
        self.startup_done = asyncio.Event()
        """Set when background queries may begin."""
        self.memory_worker = MemoryWorker(
            self._open_after_first_frame, partial(self.show_banner, DAEMON_LOST_MESSAGE), partial(self.show_banner, "")
        )
        self.import_queue = ImportQueue(self)
        self.changes = Changes(self)
        self.input_queue = InputQueue(self, self._forward_input, self._forward_text)
        self.mode_before = SCREENS[0]
        """The screen of the bar before the present one."""
        self.unsaved_blocks: dict[tuple[str, str], Path] = {}
        """What was written to blocks of core memory and could not be stored, in files, by user and label."""
        self.knows_editor = False  # the first press of its key only says what it opens, and how to come back
        self._unsubscribe: Callable[[], None] | None = None
        self.program_at_start: FileStates = {}
        for known_theme in THEMES:
            self.register_theme(known_theme)
        self.theme = initial_theme(theme)
        if not motion:
            self.animation_level = "none"
        if keys:
            self.set_keymap(dict(keys))

    @property
    def active_user(self) -> str:
        """The name of the user whose memory is shown."""
        return self.user or self.owner

    def on_mount(self) -> None:
        self.app_resume_signal.subscribe(self, self._draw_all)
        begin(self, self._start)

    def _draw_all(self, _: object) -> None:
        """Draw the whole screen: after a suspension the terminal's is empty."""
        self.refresh(layout=True)

    def mark_drawn(self) -> None:
        self._first_frame_drawn.set()

    def _open_after_first_frame(self) -> Appliance:
        """Open the memory after the first frame, which loading the modules would delay."""
        self._first_frame_drawn.wait()
        return self._open()

    async def _start(self) -> None:
        try:
            await self.memory_worker.run_query(self._subscribe)
            with suppress(ApplianceError):  # a search reports an index that can't be opened
                await self.memory_worker.run_query(lambda memory: memory.warm_up())
            await asyncio.sleep(STARTUP_DELAY_SECONDS)
            self.startup_done.set()
            await self.refresh_status_text()
            await self.memory_worker.run_query(self.import_queue.watch)
            await asyncio.to_thread(remove_leftovers)
            self.program_at_start = await asyncio.to_thread(program_files)
        except ApplianceError as error:
            self.failure = error  # reported by ``main.run`` after the screen is closed
            self.exit(return_code=error.exit_code)

    def _subscribe(self, memory: Appliance) -> None:
        self._unsubscribe = memory.events.listen(self._relay_memory_event)

    def _relay_memory_event(self, event: Event) -> None:
        self.import_queue.handle_memory_event(event.kind, event.detail)
        self.post_message(MemoryChanged(event.kind, event.detail))

    async def on_memory_changed(self, message: MemoryChanged) -> None:
        """Pass the change on to the screens."""
        if message.kind == "forgotten":
            self.changes.stack.clear_after_erasure()
        for screen in self.screen_stack:
            screen.post_message(MemoryChanged(message.kind, message.detail))
        begin(self, self.refresh_status_text, "status", exclusive=True)

    def on_import_progressed(self, message: ImportProgressed) -> None:
        if self._screen_stack:
            self.screen.post_message(ImportProgressed())

    def watch_user(self) -> None:
        if self.status_text:  # else the memory is not open yet
            begin(self, self.refresh_status_text, "status", exclusive=True)

    async def refresh_status_text(self) -> None:
        """Update the counts in the bar: the user's messages, and what is left to index."""
        user = self.active_user
        counts = await self.memory_worker.run_query(lambda memory: memory.overview.counts(user))
        pending_text = f", {counts['pending']:,} being indexed" if counts["pending"] else ""
        self.status_text = f"{pluralize(counts['messages'], 'message')}{pending_text}"

    async def refresh_name_keys(self) -> None:
        """Read the names of people again."""
        user = self.user
        people = await self.memory_worker.run_query(lambda memory: memory.people.list(user_id=user))
        self.names_by_id = names_apart(people)
        self.person_names, self.name_keys = person_names(people), name_keys(people)

    def name_of(self, author: str) -> str:
        """An author as a person knows them: by name, also where a number, an address or an id wrote; on one line."""
        return one_line(self.person_names.get(author_key(author), author))

    def title_of(self, title: str) -> str:
        """The title of a conversation on one line, with names in place of numbers and addresses."""
        return one_line(title_with_names(title, self.person_names))

    def report_errors(self) -> AbstractContextManager[None]:
        """Notify of an error of the memory that the block raises."""
        return show_errors(self.notify_error)

    async def make_change(self, change: Callable[[Appliance], Change]) -> Change:
        """Make a change that can be taken back, and say so.

        Raises:
            ApplianceError: as the memory says.
        """
        return await self.changes.make(change)

    def check_hint(self) -> None:
        """As ``list_keys.HasHint``."""
        self.changes.check_hint()

    def action_undo(self) -> None:
        """Take back the latest change of this screen."""
        begin(self, self.changes.undo, "undo")

    def show_banner(self, text: str) -> None:
        """Show a line below the bar, or none. Call it on another thread."""
        self.call_from_thread(setattr, self, "banner", text)

    async def on_unmount(self) -> None:
        if self._unsubscribe is not None:
            await asyncio.to_thread(self._unsubscribe)
        self.import_queue.close()
        self._first_frame_drawn.set()
        await asyncio.to_thread(self.memory_worker.close)

    def on_notify(self, event: Notify) -> None:
        """Show a notice in place of those before it."""
        drop_older_notices(self, event.notification)

    async def on_event(self, event: TerminalEvent) -> None:
        """As App.on_event, but keys and pastes wait until those before them are handled."""
        if isinstance(event, (Key, Paste)) and not event.is_forwarded:
            drop_read_notices(self)
            await self.input_queue.put(event)
        else:
            await super().on_event(event)

    def on_input_handled(self, marker: InputHandled) -> None:
        self.input_queue.handled(marker)

    async def _forward_input(self, event: TerminalEvent) -> None:
        """Offer to import pasted paths (terminals paste what is dropped on them); else as App.on_event."""
        # The import dialog takes a pasted path as text.
        if isinstance(event, Paste) and getattr(self.screen, "PLACE", "") != "offer":
            paths = await asyncio.to_thread(parse_paths, event.text)
            if paths:
                self.offer_import(*paths)
                return
            event = Paste(on_one_line(event.text))
        await super().on_event(event)

    async def _forward_text(self, text: str) -> None:
        """Put what was typed into the focused line; unlike what is pasted, it is no path to import."""
        await super().on_event(Paste(text))

    def offer_import(self, *paths: Path) -> None:
        """Offer to import files; ask for a path if there is none."""
        from appliance_tui.screens.import_preview import ImportPreviewScreen

        self.push_screen(ImportPreviewScreen(paths))

    async def action_quit(self) -> None:
        """Quit; while an erasure runs, when it is done, because closing the memory waits for it on an empty screen.
        While an import runs, only when asked twice."""
        if self.erasure is not None and not self.erasure.has_ended:
            self.erasure = replace(self.erasure, quits=True)
            self.notify("The erasure is still running. The screen closes when it is done.", timeout=10)
        elif not self.import_queue.ask_before_quit():
            self.exit()

    async def action_demo(self) -> None:
        """Switch to the sample chats, which belong to another user, or back."""
        from appliance_tui.widgets.first_run import DEMO_USER, show_demo

        if self.user == DEMO_USER:
            self.user = None
            self.notify("Showing your own memory.", timeout=4)
        else:
            begin(self, partial(show_demo, self), "demo", exclusive=True)

    def action_watch_found(self) -> None:
        """Watch and read the histories that the panel of an empty memory lists."""
        from appliance_tui.widgets.first_run import watch_found

        begin(self, partial(watch_found, self), "discover", exclusive=True)

    def switch_mode(self, mode: str) -> AwaitMount:
        """As App.switch_mode; escape may lead back from the other screen."""
        if mode != self.current_mode and self.current_mode in SCREENS:
            self.mode_before = self.current_mode
        return super().switch_mode(mode)

    def action_go(self, name: str) -> None:
        """Switch to a screen; each keeps its state. On the screen itself, close what is open above it."""
        if name != self.current_mode:
            self.switch_mode(name)
        else:
            while len(self.screen_stack) > 1:
                self.pop_screen()

    def read(
        self,
        session_id: str,
        message_id: str | None = None,
        results: SearchResults | None = None,
        day: str | None = None,
    ) -> None:
        """Open a conversation, at a message or a day if one is given; with ``results``, at the hit that is their
        position."""
        from appliance_tui.screens.conversation import ConversationScreen

        self.push_screen(ConversationScreen(session_id, message_id, results, day))

    def action_jump(self) -> None:
        """Ask where to go, and go there."""
        from appliance_tui.screens.jump import JumpScreen

        self.push_screen(JumpScreen(getattr(self.screen, "session_id", None)), self._go_to)

    def _go_to(self, destination: Destination | None) -> None:
        if destination is None:
            return
        if destination.kind == "screen":
            self.action_calendar() if destination.target == "calendar" else self.action_go(destination.target)
        elif destination.kind == "person":
            self.call_later(self.search_people, destination.target)
        elif destination.target == getattr(self.screen, "session_id", None) and destination.day is not None:
            cast("ConversationScreen", self.screen).go_to_day(destination.day)
        else:
            self.read(destination.target, destination.message_id, day=destination.day)

    def action_switch_user(self) -> None:
        """Choose the user whose memory is shown."""
        begin(self, self._choose_user, "user", exclusive=True)

    async def _choose_user(self) -> None:
        from appliance_tui.screens.picker import PickerOption, PickerScreen

        with self.report_errors():
            with self.input_queue.held():
                choices = await self.memory_worker.run_query(lambda memory: memory.overview.filter_choices())
            users = {self.owner: 0, **choices.users}
            options = [
                PickerOption("", user, pluralize(count, "conversation") + (" · shown now" * (user == self.active_user)))
                for user, count in users.items()
            ]

            def new_user(text: str) -> list[PickerOption]:
                name = text.strip()
                question = f"There is no user {name} yet. Enter again begins an empty memory for a new user."
                return [PickerOption("new user", name, question=question)] if name and name not in users else []

            chosen = await self.push_screen_wait(PickerScreen("Whose memory", options, new_user))
            if chosen is not None:
                self.user = None if chosen.value == self.owner else chosen.value

    async def search_people(self, *ids: str) -> None:
        """List all messages of some people in Recall, in place of what was searched for. From a screen, let the app
        call it: it closes conversations that are open above Recall."""
        await self._go_to_first("recall")
        if isinstance(screen := self.screen, SearchScreen):
            screen.show_people_messages(ids)

    async def _go_to_first(self, name: str) -> None:
        """Switch to a screen of the bar, and close what is open above it."""
        if name != self.current_mode:
            await self.switch_mode(name)
        while len(self.screen_stack) > 1:
            await self.pop_screen()

    async def show_author(self, name: str | None, role: str, source: str) -> None:
        """Show the person who is the author of a message. Without a name, a user's message is the person's own."""
        from appliance_tui.screens.people import AuthorReference, PeopleScreen

        if role != "user":
            self.notify(f"{one_line(name or role)} is not a person.", timeout=3, markup=False)
            return
        await self._go_to_first("people")
        if isinstance(self.screen, PeopleScreen):
            self.screen.find_author(AuthorReference(name, source))

    async def show_block(self, label: str) -> None:
        """Show a block of core memory."""
        from appliance_tui.screens.memory import MemoryScreen

        await self._go_to_first("memory")
        if isinstance(self.screen, MemoryScreen):
            self.screen.show_block(label)

    def action_calendar(self) -> None:
        """Show the calendar of all messages; from Recall, of those that pass its filters."""
        filters = self.screen.search_filters if isinstance(self.screen, SearchScreen) else SearchFilters()
        self.show_calendar(authors=filters.authors, sources=filters.sources, tags=filters.tags)

    def show_calendar(self, **filters: Sequence[str]) -> None:
        """Show the calendar of the messages that pass filters: ``authors`` (ids of people), ``sources``, ``tags``."""
        from appliance_tui.calendar_days import CalendarFilters
        from appliance_tui.screens.calendar import CalendarScreen

        if not isinstance(self.screen, CalendarScreen):
            self.push_screen(CalendarScreen(CalendarFilters.of(filters)))

    def forget(self, *ids: str) -> None:
        """Preview the erasure of messages or conversations, and erase them when the person confirms."""
        from appliance_tui.screens.forget import ForgetScreen

        self.push_screen(ForgetScreen(ids))

    def tag(self, session_ids: Sequence[str]) -> None:
        """Ask for a tag and give it to conversations, or take it from them."""
        from appliance_tui.tagging import choose_tags

        if session_ids:
            begin(self, partial(choose_tags, self, tuple(dict.fromkeys(session_ids))), "tags", exclusive=True)

    def read_in_editor(self, ids: Sequence[str], at: int | None = None) -> None:
        """Read messages and conversations in an editor; ``at`` is the index of a message of the only conversation."""
        from appliance_tui.editing import read_in_editor

        begin(self, partial(read_in_editor, self, tuple(ids), at), "editor", exclusive=True)

    def action_forget(self) -> None:
        """Open the dialog to forget messages, or show the erasure that is running."""
        self.forget()

    def action_help(self) -> None:
        """Show the help from the current screen on; close it if it is shown."""
        from appliance_tui.screens.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss()
        else:
            self.push_screen(HelpScreen(getattr(self.screen, "PLACE", "app")))

    def action_command_palette(self) -> None:
        """As App; the palette shows its keys."""
        from appliance_tui.screens.palette import PaletteScreen

        if not isinstance(self.screen, PaletteScreen):
            self.push_screen(PaletteScreen(id="--command-palette", placeholder="Type the name of an action"))

    def action_next_theme(self) -> None:
        names = [*(theme.name for theme in THEMES), THEMES[0].name]
        self.theme = names[names.index(self.theme) + 1] if self.theme in names else names[0]
        self.notify(f"Theme: {self.theme}", timeout=2)

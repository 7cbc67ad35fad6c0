"""The frame of the screen: which screens there are, whose memory is looked at, themes, and what everybody is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import App
from textual.binding import BindingType
from textual.css.query import NoMatches
from textual.events import Event as TerminalEvent
from textual.events import Paste
from textual.reactive import var
from textual.screen import Screen
from textual.worker import WorkerFailed

from appliance_tui.actions import bindings
from appliance_tui.intake import Intake
from appliance_tui.link import Link, Open
from appliance_tui.messages import Happened, Read
from appliance_tui.palette import Palette
from appliance_tui.paths_given import paths_in
from appliance_tui.screens.recall import Recall
from appliance_tui.themes import THEMES, starting_theme
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance.errors import ApplianceError
    from appliance.server.client import Appliance
    from appliance.types import Event

T = TypeVar("T")

LOST = "The daemon is gone. What you typed is kept; this goes on as soon as it is back ('appliance serve')."


SETTLES = 0.7
"""Seconds after the memory is open until what nobody asked for begins: whoever opened it types already, and the first
search opens the index."""


def _screen(module: str, name: str) -> Callable[[], Screen[None]]:
    """A screen that is loaded when it is first looked at: the first one is to be there at once."""

    def load() -> Screen[None]:
        from importlib import import_module

        made: Screen[None] = getattr(import_module(f"appliance_tui.screens.{module}"), name)()
        return made

    return load


class ApplianceApp(App[None]):
    """The memory on a screen. ``open`` opens it, on a thread, when the first frame stands."""

    TITLE = "Memory appliance"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("app")]
    COMMANDS: ClassVar = {Palette}
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar = {
        "recall": Recall,
        "conversations": _screen("conversations", "Conversations"),
        "context": _screen("context", "ContextScreen"),
        "memory": _screen("memory", "MemoryScreen"),
        "inbox": _screen("inbox", "Inbox"),
        "vitals": _screen("vitals", "Vitals"),
    }
    DEFAULT_MODE = "recall"

    user: var[str | None] = var(None)
    """Whose memory is looked at; None for that of the settings."""
    told: var[str] = var("")
    """What the bar says of the memory."""
    banner: var[str] = var("")

    def __init__(
        self,
        open: Open,
        *,
        theme: str = "",
        keys: Mapping[str, str] | None = None,
        motion: bool = True,
        owner: str = "me",
    ):
        """``owner`` is the user of the settings."""
        super().__init__()
        self.owner = owner
        self.failure: ApplianceError | None = None
        self._open = open
        self._is_shown = threading.Event()
        self.settled = asyncio.Event()
        """What nobody asked for may be asked for from now on."""
        self.link = Link(self._open_shown, self._say_lost, self._say_back)
        self.intake = Intake(self)
        self._ends_listening: Callable[[], None] | None = None
        for one in THEMES:
            self.register_theme(one)
        self.theme = starting_theme(theme)
        if not motion:
            self.animation_level = "none"
        if keys:
            self.set_keymap(dict(keys))

    @property
    def whose(self) -> str:
        """The user whose memory is looked at, as the bar names them."""
        return self.user or self.owner

    # --- the memory -----------------------------------------------------------------------------------

    def on_mount(self) -> None:
        begin(self, self._begin)

    def shown(self) -> None:
        """A screen has been drawn."""
        self._is_shown.set()

    def _open_shown(self) -> Appliance:
        """Open the memory, once the first frame stands: loading its modules would hold that up."""
        self._is_shown.wait()
        return self._open()

    async def _begin(self) -> None:
        from appliance.errors import ApplianceError

        try:
            await self.link.ask(self._listen)
            with suppress(ApplianceError):  # an index that can't be opened: whoever searches is told
                await self.link.ask(lambda memory: memory.get_ready())
            await asyncio.sleep(SETTLES)
            self.settled.set()
            await self.refresh_told()
            await self.link.ask(self.intake.watch)
        except ApplianceError as error:
            self.failure = error  # which whoever started this tells, when the screen is gone
            self.exit(return_code=error.exit_code)

    def _handle_exception(self, error: Exception) -> None:
        """As App's; what the memory refuses is told in words wherever it was asked, and ends nothing."""
        from appliance.errors import ApplianceError

        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and not self.is_running:
            return  # an answer that came when its screen was being taken down
        if not isinstance(cause, ApplianceError):
            super()._handle_exception(error)
        elif self.link.is_open:  # else the screen ends, and with that error
            words = f"{cause}\n{cause.hint}" if cause.hint else str(cause)
            self.notify(words, severity="error", markup=False)

    def _listen(self, memory: Appliance) -> None:
        self._ends_listening = memory.events.listen(self._happened)

    def _happened(self, event: Event) -> None:
        self.intake.heard(event.kind, event.detail)
        self.post_message(Happened(event.kind, event.detail))

    async def on_happened(self, message: Happened) -> None:
        """Something changed in the memory: the screens that show it look again."""
        for screen in self.screen_stack:
            screen.post_message(Happened(message.kind, message.detail))
        begin(self, self.refresh_told, "told", anew=True)

    def on_read(self, message: Read) -> None:
        """Reading files has got on."""
        if self._screen_stack:
            self.screen.post_message(Read())

    async def refresh_told(self) -> None:
        """Say anew how much there is."""
        counts = await self.link.ask(lambda memory: memory.browsing.counts())
        waits = f", {counts['pending']:,} being indexed" if counts["pending"] else ""
        self.told = f"{counts['messages']:,} messages{waits}"

    @contextmanager
    def telling(self) -> Iterator[None]:
        """What the memory refuses within is told to the person."""
        from appliance.errors import ApplianceError

        try:
            yield
        except ApplianceError as error:
            self.notify(str(error), severity="error", markup=False)

    async def toggle_pin(self, message_id: str) -> bool:
        """Pin a message, or let it go again; whether it is pinned now.

        Raises:
            ApplianceError: as the memory says.
        """

        def toggle(memory: Appliance) -> bool:
            message = memory.message(message_id)
            return (memory.unpin if message.pinned else memory.pin)(message.id).pinned

        return await self.link.do(toggle)

    def _say_lost(self) -> None:
        self.call_from_thread(setattr, self, "banner", LOST)

    def _say_back(self) -> None:
        self.call_from_thread(setattr, self, "banner", "")

    async def on_unmount(self) -> None:
        if self._ends_listening is not None:
            await asyncio.to_thread(self._ends_listening)
        self.intake.close()
        self._is_shown.set()
        await asyncio.to_thread(self.link.close)

    # --- files ----------------------------------------------------------------------------------------

    async def on_event(self, event: TerminalEvent) -> None:
        """As App.on_event; paths that are pasted (a terminal pastes what is dropped on it) are offered to be read."""
        if isinstance(event, Paste) and not event.is_forwarded and self._takes_files:
            paths = await asyncio.to_thread(paths_in, event.text)
            if paths:
                self.offer(*paths)
                return
        await super().on_event(event)

    @property
    def _takes_files(self) -> bool:
        """Whether nobody is being asked for a path now, who takes what is pasted as it is."""
        return getattr(self.screen, "PLACE", "") != "offer"

    def offer(self, *paths: Path) -> None:
        """Ask whether files are to be read; which ones, if none is named."""
        from appliance_tui.screens.offer import Offer

        self.push_screen(Offer(paths))

    async def action_demo(self) -> None:
        """Look at sample chats, which are another user's; or at one's own again."""
        from appliance_tui.widgets.welcome import DEMO, show_demo

        if self.user == DEMO:
            self.user = None
            self.notify("This is your own memory again.", timeout=4)
        else:
            begin(self, partial(show_demo, self), "demo", anew=True)

    # --- actions --------------------------------------------------------------------------------------

    def action_go(self, name: str) -> None:
        """Look at another screen; each stays as it was left."""
        if name != self.current_mode:
            self.switch_mode(name)

    def read(self, session_id: str, message_id: str | None = None) -> None:
        """Read a conversation, at one of its messages if that is named."""
        from appliance_tui.screens.reading import Reading

        self.push_screen(Reading(session_id, message_id))

    def forget(self, *ids: str) -> None:
        """Erase messages or whole conversations for good, once the person has seen what goes and has said yes."""
        from appliance_tui.screens.forgetting import Forgetting

        self.push_screen(Forgetting(ids))

    def action_help(self) -> None:
        from appliance_tui.screens.help import Help

        self.push_screen(Help())

    def action_next_theme(self) -> None:
        names = [one.name for one in THEMES]
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]
        self.notify(f"Theme: {self.theme}", timeout=2)

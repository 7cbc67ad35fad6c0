"""Changes to the memory and what takes them back, one after the other in the order in which they were asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from textual.binding import Binding
from textual.keys import REPLACED_KEYS, key_to_character
from textual.notifications import Notification, Notify

from appliance.errors import ApplianceError
from appliance_tui.actions import SHORT_PLACES
from appliance_tui.undo import Change, UndoStack
from appliance_tui.workers import MemoryChanged, error_text, show_errors

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance_tui.app import ApplianceApp

T = TypeVar("T")

NOTICE_SECONDS = 4


class Changes:
    """Makes changes and takes them back.

    A change takes its place when it is asked for: what takes back the latest one waits for it. It is made and can be
    taken back although the screen that asks for it is closed meanwhile.
    """

    def __init__(self, app: ApplianceApp) -> None:
        self.stack = UndoStack()
        self._app = app
        self._turn = asyncio.Lock()  # it lets those in that wait in the order in which they came
        self._tasks: set[asyncio.Task[object]] = set()
        self._notice: Notification | None = None
        self._notice_of: Change | None = None

    async def in_turn(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do some work after all that was asked for before it. Work that has begun to wait is done in any case."""

        async def run() -> T:
            async with self._turn:
                return await work()

        task = asyncio.ensure_future(run())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(self._report)  # who asked for it is gone
            raise

    def _report(self, task: asyncio.Task[object]) -> None:
        if not task.cancelled() and isinstance(error := task.exception(), ApplianceError):
            self._app.notify_error(error_text(error))

    async def make(self, change: Callable[[Appliance], Change]) -> Change:
        """Make a change that can be taken back, and say so.

        Raises:
            ApplianceError: as the memory says.
        """
        screen = self._app.screen if self._app._screen_stack else None
        return await self.in_turn(partial(self._make, change, SHORT_PLACES.get(getattr(screen, "PLACE", ""), "")))

    async def _make(self, change: Callable[[Appliance], Change], place: str) -> Change:
        made = replace(await self._app.memory_worker.run_command(change), place=place)
        self.stack.push(made)
        self._drop_hint()  # the key is for this one now
        hint = f"  ({self._key_label} undoes it)" if self.key_undoes else ""
        self._notice, self._notice_of = Notification(f"{made.done}{hint}", timeout=NOTICE_SECONDS, markup=False), made
        self._app._on_notify(Notify(self._notice))  # at once: the next key may change where the hint is true
        self._refresh_footer()
        return made

    async def undo(self) -> None:
        """Take back the latest change, and say so."""
        await self.in_turn(self._undo)

    async def _undo(self) -> None:
        app = self._app
        if (change := self.stack.pop()) is None:
            app.notify(self.stack.empty_text, timeout=NOTICE_SECONDS)
            return
        if change is self._notice_of:
            self._drop_hint(says_what_was_done=False)
        with show_errors(lambda text: app.notify(text, title="Not undone", severity="warning", markup=False)):
            await app.memory_worker.run_command(change.undo)
            title = f"Undone in {change.place}" if change.place else "Undone"
            app.notify(change.undone, title=title, timeout=NOTICE_SECONDS, markup=False)
        app.post_message(MemoryChanged("undone"))
        self._refresh_footer()

    def _refresh_footer(self) -> None:
        if self._app._screen_stack:  # else the app is ending
            self._app.screen.refresh_bindings()

    # --- what the notice says ----------------------------------------------------------------------------

    @property
    def key_undoes(self) -> bool:
        """Whether the key takes something back where the focus is: on a line it is a letter, in a dialog nothing."""
        app = self._app
        if not len(self.stack) or not app._screen_stack:
            return False
        active = app.screen.active_bindings.get(self._key)
        if active is None or not active.enabled or active.binding.id != "app.undo":
            return False
        character = key_to_character(REPLACED_KEYS.get(self._key, self._key))
        return app.focused is None or not app.focused.check_consume_key(self._key, character)

    @property
    def _key(self) -> str:
        return self._app._keymap.get("app.undo", "u").partition(",")[0]

    @property
    def _key_label(self) -> str:
        return self._app.get_key_display(Binding(self._key, ""))

    def check_hint(self) -> None:
        """Take the hint out of the notice where it has become untrue: the focus has moved, or another screen is
        shown."""
        if self._notice is not None and not self.key_undoes:
            self._drop_hint()

    def _drop_hint(self, *, says_what_was_done: bool = True) -> None:
        """End the notice; the rest of its time it says only what was done, if that still holds."""
        notice, change, self._notice, self._notice_of = self._notice, self._notice_of, None, None
        if notice is None or change is None or notice not in self._app._notifications or notice.has_expired:
            return
        left = notice.time_left
        self._app._unnotify(notice)
        if says_what_was_done and notice.message != change.done and left > 0:
            self._app.notify(change.done, timeout=left, markup=False)

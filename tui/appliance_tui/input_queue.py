"""Keys and pastes, one at a time: each goes to the widget that the one before left the focus on.

Textual forwards a key to the focused widget before the keys in front of it have had their effect. In a burst such as
"/dog", the letters then reach the list, where each is a command, and not the line that "/" moves the focus to.

Letters that wait for the same line reach it as one text: of what a terminal pastes key by key, and of a key that is
held, all that came meanwhile costs one search and one frame.

A key that acts on what is still being loaded, such as the hits of a query, waits for it, with all keys behind it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from textual.app import App
from textual.dom import DOMNode
from textual.events import Event, Key
from textual.message import Message
from textual.widgets import Input

MIN_ROUNDS = 2
"""Times that a marker follows a key from the focused widget up to the app. The first comes after the action of the key,
the second after what the action posts to the focused widget."""

MAX_ROUNDS = 8
"""Rounds after which the next key is forwarded although the focus still moves."""

CHECK_SECONDS = 0.2
"""Seconds between two checks that the widget with the marker still exists: a widget that is removed loses it."""

MAX_WAIT_SECONDS = 5.0
"""Seconds that a key waits for a widget that handles nothing; then keys are forwarded as Textual does it."""

LONG_WAIT_SECONDS = 1.0
"""Seconds that a key waits for what it acts on before the person is told. Keys that came until then were typed ahead;
the next one takes the place of all that wait."""


class InputHandled(Message):
    """The marker behind a key or a paste. It bubbles as they do, so at the app it says that they are handled."""

    def __init__(self, round: int, target: DOMNode) -> None:
        super().__init__()
        self.round = round
        self.target = target


@runtime_checkable
class WaitingScreen(Protocol):
    """A screen whose keys may act on what is still being loaded. It calls ``InputQueue.resume`` when that is there."""

    def must_wait(self, event: Key) -> bool:
        """Whether a key acts on what is still being loaded."""

    def tell_of_wait(self, event: Key) -> None:
        """Say that a key waits: it has done so for ``LONG_WAIT_SECONDS``."""


@runtime_checkable
class IgnoringScreen(Protocol):
    """A screen that some keys do nothing on."""

    def ignores(self, event: Key) -> bool:
        """Whether a key does nothing."""


class InputQueue:
    """Forwards keys and pastes in order.

    Args:
        forward: forwards an event to the focused widget.
        forward_text: forwards a text that was typed, key by key.
    """

    def __init__(
        self, app: App[Any], forward: Callable[[Event], Awaitable[None]], forward_text: Callable[[str], Awaitable[None]]
    ) -> None:
        self._app = app
        self._forward = forward
        self._forward_text = forward_text
        self._long_wait: asyncio.TimerHandle | None = None
        self._waits_long = False
        self._waiting: deque[Event] = deque()
        self._marker: InputHandled | None = None
        self._settled_target: DOMNode | None = None
        self._holds = 0
        self._watchdog: asyncio.TimerHandle | None = None

    async def put(self, event: Event) -> None:
        """Forward an event now, or after those that wait. After a long wait it takes their place; escape only drops
        them."""
        if self._waits_long:
            self._waiting.clear()
            self._end_wait()
            if isinstance(event, Key) and event.key == "escape":
                return
        self._waiting.append(event)
        await self._continue()

    @property
    def is_busy(self) -> bool:
        """Whether something typed is not handled yet."""
        return self._marker is not None or bool(self._waiting)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep what is typed until the block ends: it is meant for the dialog that the block prepares."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._app.call_later(self._continue)

    def resume(self) -> None:
        """Look again whether the next event must wait."""
        if self._long_wait is not None:
            self._app.call_later(self._continue)

    def handled(self, marker: InputHandled) -> None:
        """Take a marker that has arrived at the app."""
        if marker is not self._marker:
            return
        self._stop_watchdog()
        target = self._target()
        if marker.round < MIN_ROUNDS or (target is not marker.target and marker.round < MAX_ROUNDS):
            self._send_marker(marker.round + 1)
            return
        # A change of the focus that is already requested comes first: it waits in the app's own queue.
        self._app.call_later(self._next_after, marker)

    async def _next_after(self, marker: InputHandled) -> None:
        if marker is not self._marker:
            return
        if self._target() is not marker.target and marker.round < MAX_ROUNDS:
            self._send_marker(marker.round + 1)
            return
        self._marker = None
        self._settled_target = self._target()
        await self._continue()

    async def _continue(self) -> None:
        """Forward the next event unless another is being handled."""
        if self._marker is not None or self._holds or not self._waiting:
            return
        if self._target() is self._settled_target:
            if self._must_wait(self._waiting[0]):
                return
            self._end_wait()
            if text := self._take_text():
                await self._forward_text(text)
            elif not self._is_ignored(event := self._waiting.popleft()):
                await self._forward(event)
        # Else something besides a key has moved the focus or opened a screen, which may still be mounting.
        self._send_marker(1)

    def _take_text(self) -> str:
        """Take the keys that the focused line has as text, from the first on; "" for less than two."""
        line = self._app.focused
        if not isinstance(line, Input):
            return ""
        characters: list[str] = []
        for event in self._waiting:
            if not isinstance(event, Key) or not event.character or not event.is_printable:
                break
            if not line.check_consume_key(event.key, event.character) or self._is_ignored(event):
                break
            characters.append(event.character)
        if len(characters) < 2:
            return ""
        for _ in characters:
            self._waiting.popleft()
        return "".join(characters)

    def _is_ignored(self, event: Event) -> bool:
        screen = self._app.screen
        return isinstance(event, Key) and isinstance(screen, IgnoringScreen) and screen.ignores(event)

    def _must_wait(self, event: Event) -> bool:
        screen = self._app.screen
        if not isinstance(event, Key) or not isinstance(screen, WaitingScreen) or not screen.must_wait(event):
            return False

        def tell() -> None:
            if event in self._waiting and screen.is_current:
                self._waits_long = True
                screen.tell_of_wait(event)

        if self._long_wait is None:
            self._long_wait = asyncio.get_running_loop().call_later(LONG_WAIT_SECONDS, tell)
        return True

    def _end_wait(self) -> None:
        if self._long_wait is not None:
            self._long_wait.cancel()
            self._long_wait, self._waits_long = None, False

    def _target(self) -> DOMNode:
        if not self._app._screen_stack:  # the app is ending
            return self._app
        return self._app.focused or self._app.screen

    def _send_marker(self, round: int) -> None:
        target = self._target()
        marker = self._marker = InputHandled(round, target)
        self._watch_marker(marker, asyncio.get_running_loop().time() + MAX_WAIT_SECONDS)
        if not target.post_message(marker):
            self._app.call_later(self.handled, marker)

    def _watch_marker(self, marker: InputHandled, end: float) -> None:
        loop = asyncio.get_running_loop()

        def check() -> None:
            if marker is not self._marker:
                return
            if marker.target.is_attached and loop.time() < end:
                self._watchdog = loop.call_later(CHECK_SECONDS, check)
            else:
                self._app.call_later(self._next_after, marker)

        self._watchdog = loop.call_later(CHECK_SECONDS, check)

    def _stop_watchdog(self) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

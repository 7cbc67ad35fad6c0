"""Work of the screen that waits for the memory: begun beside what is shown, the latest of a group, one at a time, or
looked at again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from textual.dom import DOMNode
    from textual.screen import Screen

    from appliance.server.client import Appliance
    from appliance_tui.link import Link

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, None]]


def begin(node: DOMNode, work: Work, group: str = "default", *, anew: bool = False) -> None:
    """Begin some work of a widget, a screen or the app; ``anew`` breaks off what its group does. It is called when its
    turn comes, so that what was broken off before it began leaves nothing behind."""
    node.run_worker(cast("Any", work), group=group, exclusive=anew)


class OneAtATime:
    """Questions to the memory for a screen, one after the other: the memory can't break off one, and two would only
    hold each other up."""

    def __init__(self, screen: Screen[Any], link: Link) -> None:
        self._screen = screen
        self._link = link
        self._turn = asyncio.Lock()

    async def ask(self, question: Callable[[Appliance], T]) -> T:
        """What the memory answers.

        Raises:
            ApplianceError: as the memory says.
            CancelledError: the screen is gone meanwhile, and nobody waits for it any more.
        """
        async with self._turn:
            task = asyncio.ensure_future(self._link.ask(question))
            try:
                answer = await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.wait([task])
                raise
        if not (self._screen.is_attached and self._screen.children):
            raise asyncio.CancelledError
        return answer


class Looking:
    """Asks now, and once more after that if it was wanted meanwhile: a flood of changes becomes a few questions, the
    last of them after the last change."""

    def __init__(self, node: DOMNode, ask: Work) -> None:
        self._node = node
        self._ask = ask
        self._wanted = self._under_way = False

    def __call__(self) -> None:
        self._wanted = True
        if not self._under_way:
            self._under_way = True
            begin(self._node, self._look, "look")

    async def _look(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                await self._ask()
        finally:
            self._under_way = False

"""Work of which only the latest counts: what was asked before it and has no answer yet is not waited for."""

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


def latest(node: DOMNode, group: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Begin a piece of work of a group; what is under way there is broken off. It is called when its turn comes, so
    that one that never comes to it leaves nothing behind."""
    node.run_worker(cast("Any", work), exclusive=True, group=group)


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

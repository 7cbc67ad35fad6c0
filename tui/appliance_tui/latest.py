"""Work of which only the latest counts: what was asked before it and has no answer yet is not waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from textual.dom import DOMNode

    from appliance.server.client import Appliance
    from appliance_tui.link import Link

T = TypeVar("T")


def latest(node: DOMNode, group: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Begin a piece of work of a group; what is under way there is broken off. It is called when its turn comes, so
    that one that never comes to it leaves nothing behind."""
    node.run_worker(cast("Any", work), exclusive=True, group=group)


class OneAtATime:
    """Questions to the memory, one after the other: it can't break off one, and two would only hold each other up."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._turn = asyncio.Lock()

    async def ask(self, question: Callable[[Appliance], T]) -> T:
        """What the memory answers.

        Raises:
            ApplianceError: as the memory says.
        """
        async with self._turn:
            task = asyncio.ensure_future(self._link.ask(question))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                await asyncio.wait([task])
                raise

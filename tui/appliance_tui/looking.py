"""Looking again whenever something has changed, however often it does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from textual.dom import DOMNode
from textual.worker import Worker


def start(
    node: DOMNode,
    function: Callable[..., Coroutine[Any, Any, None]],
    *given: object,
    group: str = "default",
    exclusive: bool = False,
) -> None:
    """Call a function in a worker of a node; ``exclusive`` puts it in the place of others of the group.

    A coroutine that is given to a worker itself is lost, with a warning, where another takes the worker's place before
    it has begun.
    """

    async def work() -> None:
        await function(*given)

    _: Worker[None] = node.run_worker(work, group=group, exclusive=exclusive)


class Looking:
    """Asks now, and once more after that if it was wanted meanwhile: a flood of changes becomes a few questions, the
    last of them after the last change."""

    def __init__(self, node: DOMNode, ask: Callable[[], Awaitable[None]]) -> None:
        self._node = node
        self._ask = ask
        self._wanted = self._under_way = False

    def __call__(self) -> None:
        self._wanted = True
        if not self._under_way:
            self._under_way = True
            start(self._node, self._look, group="look")

    async def _look(self) -> None:
        try:
            while self._wanted:
                self._wanted = False
                await self._ask()
        finally:
            self._under_way = False

"""Work of the screen that waits for the memory: beside what is shown, by groups of which each does one thing."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from textual.dom import DOMNode

Work = Callable[[], Coroutine[Any, Any, None]]


def begin(node: DOMNode, work: Work, group: str, *, anew: bool = False) -> None:
    """Begin some work of a widget or a screen; ``anew`` breaks off what its group does. What was broken off before it
    began leaves nothing behind: it is called when its turn comes."""
    node.run_worker(work, group=group, exclusive=anew)  # type: ignore[arg-type]

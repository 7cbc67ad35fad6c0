"""The line that a path is typed in, with the rest of a file's name as one types."""

from __future__ import annotations

import asyncio

from textual.suggester import Suggester
from textual.widgets import Input

from appliance_tui.paths_given import completed


class _Names(Suggester):
    """Completes the names of files; looks each time, because files come and go."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(completed, value)


class PathLine(Input):
    """A path as it is typed."""

    def __init__(self, *, id: str) -> None:
        super().__init__(placeholder="~/Downloads/export.zip", id=id, suggester=_Names(), compact=True)

"""An input for the path of a file."""

from __future__ import annotations

import asyncio

from textual.suggester import Suggester
from textual.widgets import Input

from appliance_tui.path_input import complete_path


class _FileNameSuggester(Suggester):
    """Completes file names; without a cache, because files come and go."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(complete_path, value)


class PathInput(Input):
    """An input for a path, with completion."""

    def __init__(self, placeholder: str = "", *, id: str) -> None:
        super().__init__(placeholder=placeholder, id=id, suggester=_FileNameSuggester(), compact=True)

    async def complete(self) -> None:
        """Complete the last name of the path, if a file or folder begins so."""
        typed = self.value
        completed = await asyncio.to_thread(complete_path, typed)
        if completed is not None and self.value == typed:
            self.value = completed
            self.cursor_position = len(completed)

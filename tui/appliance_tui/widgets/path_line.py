"""An input for the path of a file."""

from __future__ import annotations

import asyncio

from textual.suggester import Suggester
from textual.widgets import Input

from appliance_tui.path_input import complete_common, complete_path, matching_names


class _FileNameSuggester(Suggester):
    """Completes file names; without a cache, because files come and go."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(complete_path, value)


class PathInput(Input):
    """An input for a path, with completion. What would complete it is set apart from what is typed without colours
    too."""

    DEFAULT_CSS = "PathInput > .input--suggestion { text-style: italic; }"

    def __init__(self, placeholder: str = "", *, id: str) -> None:
        super().__init__(placeholder=placeholder, id=id, suggester=_FileNameSuggester(), compact=True)

    async def complete(self) -> list[str]:
        """Complete the last name of the path, as far as all files and folders that begin so agree; return the names
        among which the person has to choose then, none if there is one alone."""
        typed = self.value
        completed = await asyncio.to_thread(complete_common, typed)
        names = await asyncio.to_thread(matching_names, completed)
        if self.value != typed:
            return []
        self.value = completed
        self.cursor_position = len(completed)
        return names if len(names) > 1 else []

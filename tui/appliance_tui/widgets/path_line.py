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

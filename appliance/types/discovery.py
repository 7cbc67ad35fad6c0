"""What a discovery finds: histories of other programs and exports on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FoundHistory:
    """A history on this machine.

    Attributes:
        tool: The program: "Claude Code", "ChatGPT export".
        format: The format of most of its files; None if none could be read.
        path: The folder or file to watch.
        conversations: How many it holds; None if that is not known.
        first, last: The times of the first and the last message, ISO 8601; None without times.
        bytes: The size of its files.
        watched: Whether it lies in a watched folder.
        estimated: Whether the time did not suffice to read all of it: then ``conversations`` is projected from the part
            that was read, and the span is that of this part.
        problem: Why it can't be read; empty if it can.
        hint: What to do about the problem.
        watch_path: What to watch so that later exports are read, too: the folder of downloads for what lies in it, else
            ``path``.
    """

    tool: str
    format: str | None
    path: str
    conversations: int | None
    first: str | None
    last: str | None
    bytes: int
    watched: bool
    estimated: bool = False
    problem: str = ""
    hint: str = ""
    watch_path: str = ""


@dataclass(frozen=True, slots=True)
class Discovery:
    """The histories that were found, the programs' own first; ``notes`` say what was not looked at."""

    found: tuple[FoundHistory, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[FoundHistory]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


OnDiscovered = Callable[[str, int, int], None]
"""Called with the path of the history that is counted next, how many have been counted, and how many are left."""

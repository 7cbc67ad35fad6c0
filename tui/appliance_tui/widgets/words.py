"""Words as a screen can show them: without what would move its cursor, names by whoever wrote them, terms marked."""

from __future__ import annotations

import os
import re
from collections.abc import Collection

from rich.cells import cell_len, set_cell_size

# Control characters, but for tabs and line ends; marks that turn the direction of all that follows on the line.
_UNSHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_WORD = re.compile(r"\w+")

ALIKE = 5
"""Letters that a word and a term have in common at their beginning to be marked: "allergic" marks "allergies"."""


def shown(text: str) -> str:
    """A text without what a terminal would act upon: an export may hold anything."""
    return _UNSHOWN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).expandtabs(4)


def one_line(text: str) -> str:
    """A text on one line, as ``shown``."""
    return " ".join(shown(text).split())


def fitted(text: str, width: int) -> str:
    """A text on one line in exactly so many cells, with an ellipsis where it was cut: wide letters take two."""
    line = one_line(text)
    return (
        set_cell_size(line, width)
        if cell_len(line) <= width
        else set_cell_size(line, max(0, width - 1)) + "…"
    )


def from_home(path: str) -> str:
    """A path with "~" for the person's own folder."""
    own = os.path.expanduser("~")
    return "~" + path[len(own) :] if path.startswith(own + os.sep) else path


def terms(query: str) -> frozenset[str]:
    """What is marked for a query: the beginnings of its words."""
    return frozenset(word.casefold()[:ALIKE] for word in _WORD.findall(query) if len(word) > 2)


def marked(text: str, wanted: Collection[str]) -> list[tuple[int, int]]:
    """Where words of a text begin and end that begin as one of the terms."""
    return [
        found.span()
        for found in _WORD.finditer(text)
        if wanted and found.group().casefold()[:ALIKE] in wanted
    ]


def day(timestamp: str | None) -> str:
    """The day of an ISO 8601 time; "" without one."""
    return (timestamp or "")[:10]


def minute(timestamp: str | None) -> str:
    """Day and minute of an ISO 8601 time; "" without one."""
    return (timestamp or "")[:16].replace("T", " ")

"""Search filters as they are typed into a query, on the screen and on the command line: ``user:ana source:slack
author:ben with:mum has:image tag:trip file:plan.md since:2024-03``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from appliance.lazy_dataclasses import dataclass

NO_CURSOR = -1
"""The position of the cursor in a text that is finished."""

FILTER_NAMES = (
    "user", "source", "author", "with", "role", "has", "tag", "tool", "file", "entity", "topic", "since", "until"
)  # fmt: skip

_FIELDS = {
    "source": "sources", "author": "authors", "with": "participants", "role": "roles", "has": "has", "tag": "tags",
    "tool": "tools", "file": "files", "entity": "entities", "topic": "topics",
}  # fmt: skip
"""The filters that may be given several times."""

_TOKEN = re.compile(rf'(?:^|(?<=\s))({"|".join(FILTER_NAMES)}):("[^"]+"(?=\s|$)|"[^"]+$|[^\s"]\S*)')
"""A filter; a value in quotation marks goes on to the end of the text where the second one is missing."""

_FILTER_LIKE = re.compile(r"(?:^|(?<=\s))([^\W\d_]{2,12}):(?!/)(\S*)")
"""A word with a colon, which may be meant as a filter; no address such as https://example.org."""

_OTHER_NAMES = {
    "from": "author", "by": "author", "sender": "author", "to": "with", "after": "since", "before": "until",
    "label": "tag", "format": "source", "path": "file", "person": "author",
}  # fmt: skip
"""What other programs call the filters."""

_LIKE_ENOUGH = 0.75
"""The least likeness (``difflib``) of a misspelt name: one letter of four may be another one, or in another place."""

_YEAR_OR_MONTH = re.compile(r"(?!0000)\d{4}(?:-(?:0[1-9]|1[0-2]))?")


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The filters of a search. ``user`` None stands for the caller's; ``since`` and ``until`` are as typed."""

    user: str | None = None
    sources: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    participants: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    tools: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != SearchFilters()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name and value of each filter."""
        if self.user is not None:
            yield "user", self.user
        for name, field in _FIELDS.items():
            yield from ((name, value) for value in getattr(self, field))
        yield from ((name, date) for name, date in (("since", self.since), ("until", self.until)) if date)

    def with_filter(self, name: str, value: str) -> SearchFilters:
        """These filters with one more; a second user or time replaces the first."""
        change: dict[str, Any] = {name: value}
        if field := _FIELDS.get(name):
            change = {field: tuple(dict.fromkeys((*getattr(self, field), value)))}
        return replace(self, **change)

    def without_filter(self, name: str, value: str) -> SearchFilters:
        """These filters without one of them."""
        change: dict[str, Any] = {name: None}
        if field := _FIELDS.get(name):
            change = {field: tuple(kept for kept in getattr(self, field) if kept != value)}
        return replace(self, **change)

    def search_arguments(self, user: str | None) -> dict[str, Any]:
        """The filters as arguments of a search. ``user`` is whose memory it is unless they name one."""
        return {
            "user_id": user if self.user is None else self.user,
            "sources": list(self.sources) or None,
            "authors": list(self.authors) or None,
            "participants": list(self.participants) or None,
            "roles": list(self.roles) or None,
            "has": list(self.has) or None,
            "tags": list(self.tags) or None,
            "tools": list(self.tools) or None,
            "files": list(self.files) or None,
            "entities": list(self.entities) or None,
            "topics": list(self.topics) or None,
            "since": since_date(self.since),
            "until": until_date(self.until),
        }


def extract_filters(text: str, filters: SearchFilters, cursor: int | None = None) -> tuple[str, SearchFilters]:
    """Take the filters out of a typed text, but for the one at the cursor, which may be unfinished.

    Args:
        text: What was typed.
        filters: The filters so far.
        cursor: The position of the cursor, or ``NO_CURSOR``; by default the end of the text.

    Returns:
        The rest of the text, and ``filters`` with those of the text.
    """
    end, cursor = 0, len(text) if cursor is None else cursor
    remaining: list[str] = []
    for match in _TOKEN.finditer(text):
        if match.start() <= cursor <= match.end():
            continue
        filters = filters.with_filter(match[1], match[2].strip('"'))
        remaining.append(text[end : match.start()])
        end = match.end() + 1
    return "".join([*remaining, text[end:]]), filters


def filter_notes(text: str) -> list[str]:
    """Notes on what looks like a filter in a finished text and is none, so that it is searched for as words: a filter
    without a value ("tool:"), and a name that is nearly that of a filter ("fil:main.go", "from:ana")."""
    notes = []
    for match in _FILTER_LIKE.finditer(text):
        name, value = match[1], match[2]
        if name in FILTER_NAMES and not value.strip('"'):
            following = text[match.end() :].split(maxsplit=1)[:1]
            hint = f" Write {name}:{following[0]} without a blank." if following and not value else ""
            notes.append(f"The filter '{name}:' has no value and was searched for as a word.{hint}")
        elif name not in FILTER_NAMES and value and (meant := _meant_filter(name.casefold())):
            notes.append(f"There is no filter '{name}:'; it was searched for as words. Did you mean {meant}:{value}?")
    return notes


def _meant_filter(name: str) -> str | None:
    """The filter that a name may be meant for. A misspelt one begins like it."""
    if name in FILTER_NAMES or name in _OTHER_NAMES:
        return _OTHER_NAMES.get(name, name)
    from difflib import get_close_matches

    alike = get_close_matches(name, FILTER_NAMES, cutoff=_LIKE_ENOUGH)
    return next((one for one in alike if sorted(one[:2]) == sorted(name[:2]) or one[0] == name[0]), None)


def since_date(text: str | None) -> str | None:
    """A year or a month as its first day; anything else as it is."""
    if text is None or not _YEAR_OR_MONTH.fullmatch(text):
        return text
    return f"{text}-01-01" if len(text) == 4 else f"{text}-01"


def until_date(text: str | None) -> str | None:
    """A year or a month as its last day; anything else as it is."""
    if text is None or not _YEAR_OR_MONTH.fullmatch(text):
        return text
    if len(text) == 4:
        return f"{text}-12-31"
    year, _, month = text.partition("-")
    from calendar import monthrange

    return f"{text}-{monthrange(int(year), int(month))[1]:02}"

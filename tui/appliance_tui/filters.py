"""Search filters as they are typed: ``user:ana source:slack author:ben has:image tag:trip since:2024-03``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from appliance_tui.screens.picker import PickerOption

FILTER_NAMES = ("user", "source", "author", "role", "has", "tag", "since", "until")

_FIELDS = {"source": "sources", "author": "authors", "role": "roles", "has": "has", "tag": "tags"}
"""The filters that may be given several times."""

_TOKEN = re.compile(rf'(?:^|(?<=\s))({"|".join(FILTER_NAMES)}):("[^"]*"|\S+)(?=\s|$)')


@dataclass(frozen=True, slots=True)
class SearchFilters:
    """The filters of a search. ``user`` None stands for the screen's; ``since`` and ``until`` are as typed."""

    user: str | None = None
    sources: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    has: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None

    def __bool__(self) -> bool:
        return self != SearchFilters()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Name and value of each filter."""
        if self.user is not None:
            yield "user", self.user
        yield from (("source", source) for source in self.sources)
        yield from (("author", author) for author in self.authors)
        yield from (("role", role) for role in self.roles)
        yield from (("has", part) for part in self.has)
        yield from (("tag", tag) for tag in self.tags)
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
        """The filters as arguments of a search. ``user`` is the screen's."""
        return {
            "user_id": user if self.user is None else self.user,
            "sources": list(self.sources) or None,
            "authors": list(self.authors) or None,
            "roles": list(self.roles) or None,
            "has": list(self.has) or None,
            "tags": list(self.tags) or None,
            "since": since_date(self.since),
            "until": until_date(self.until),
        }


def extract_filters(text: str, filters: SearchFilters, cursor: int | None = None) -> tuple[str, SearchFilters]:
    """Take the filters out of a typed text, but for the one at the cursor, which may be unfinished.

    Args:
        text: What was typed.
        filters: The filters so far.
        cursor: The position of the cursor; by default the end of the text.

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


def partial_filter(text: str) -> tuple[str, str] | None:
    """Name and start of the value of an unfinished filter at the end of a text."""
    match = re.search(rf'(?:^|\s)({"|".join(FILTER_NAMES)}):("?[^\s"]*)$', text)
    return (match[1], match[2].lstrip('"')) if match else None


def parse_filter(text: str) -> list[PickerOption]:
    """A text that is a filter, as an option: "since 2024-03", "until:2024", "source:slack"."""
    match = re.fullmatch(rf"({'|'.join(FILTER_NAMES)})[:\s]\s*(\S+)", text.strip())
    return [PickerOption(match[1], match[2], "as typed")] if match else []


def since_date(text: str | None) -> str | None:
    """A year or a month as its first day; anything else as it is."""
    return text if text is None or len(text) > 7 else f"{text}-01-01" if len(text) == 4 else f"{text}-01"


def until_date(text: str | None) -> str | None:
    """A year or a month as its last day; anything else as it is."""
    if text is None or len(text) > 7:
        return text
    if len(text) == 4:
        return f"{text}-12-31"
    year, _, month = text.partition("-")
    if not (year.isdigit() and month.isdigit() and 1 <= int(month) <= 12):
        return text
    from calendar import monthrange

    return f"{text}-{monthrange(int(year), int(month))[1]:02}"

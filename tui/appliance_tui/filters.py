"""What a search is narrowed to, as it is typed: ``user:ana source:slack role:assistant since:2024-03 until:2024``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from appliance_tui.screens.choosing import Choice

NAMES = ("user", "source", "role", "since", "until")
"""What can be named before a colon."""

ROLES = ("user", "assistant", "tool", "system")

_TOKEN = re.compile(rf'(?:^|(?<=\s))({"|".join(NAMES)}):("[^"]*"|\S+)(?=\s|$)')


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The filters of a search: ``user`` None for that of the screen; ``since`` and ``until`` as they were typed."""

    user: str | None = None
    sources: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None

    def __bool__(self) -> bool:
        return self != Narrowed()

    def chips(self) -> Iterator[tuple[str, str]]:
        """Name and value of each filter."""
        if self.user is not None:
            yield "user", self.user
        yield from (("source", one) for one in self.sources)
        yield from (("role", one) for one in self.roles)
        if self.since:
            yield "since", self.since
        if self.until:
            yield "until", self.until

    def plus(self, name: str, value: str) -> Narrowed:
        """With one filter more; of users and times there is one, of sources and roles any number."""
        match name:
            case "source":
                return replace(self, sources=tuple(dict.fromkeys((*self.sources, value))))
            case "role":
                return replace(self, roles=tuple(dict.fromkeys((*self.roles, value))))
            case "user":
                return replace(self, user=value)
            case "since":
                return replace(self, since=value)
            case "until":
                return replace(self, until=value)
        raise ValueError(name)

    def without(self, name: str, value: str) -> Narrowed:
        """Without one of the filters."""
        match name:
            case "source":
                return replace(self, sources=tuple(one for one in self.sources if one != value))
            case "role":
                return replace(self, roles=tuple(one for one in self.roles if one != value))
            case "user":
                return replace(self, user=None)
            case "since":
                return replace(self, since=None)
            case "until":
                return replace(self, until=None)
        raise ValueError(name)

    def asked(self, user: str | None) -> dict[str, Any]:
        """The filters by the names that a search takes; ``user`` is that of the screen."""
        return {
            "user_id": user if self.user is None else self.user,
            "sources": list(self.sources) or None,
            "roles": list(self.roles) or None,
            "since": since_of(self.since),
            "until": until_of(self.until),
        }


def taken(text: str, narrowed: Narrowed) -> tuple[str, Narrowed]:
    """What is left of a typed text, and the filters with those that stood in it complete: behind the last one there
    must be a space, for it may be typed on."""
    end = 0
    kept: list[str] = []
    for found in _TOKEN.finditer(text):
        if found.end() == len(text):
            break
        narrowed = narrowed.plus(found[1], found[2].strip('"'))
        kept.append(text[end : found.start()])
        end = found.end() + 1
    return "".join([*kept, text[end:]]), narrowed


def ending(text: str) -> tuple[str, str] | None:
    """Name and beginning of the filter that is being typed at the end of a text, if one is."""
    found = re.search(rf'(?:^|\s)({"|".join(NAMES)}):("?[^\s"]*)$', text)
    return (found[1], found[2].lstrip('"')) if found else None


def typed(text: str) -> list[Choice]:
    """The filter that a text is, if it is one: "since 2024-03", "until:2024", "source:slack"."""
    found = re.fullmatch(rf"({'|'.join(NAMES)})[:\s]\s*(\S+)", text.strip())
    return [Choice(found[1], found[2], "as typed")] if found else []


def since_of(text: str | None) -> str | None:
    """A year or a month as its first day; a day or a moment as it is."""
    return text if text is None or len(text) > 7 else f"{text}-01-01" if len(text) == 4 else f"{text}-01"


def until_of(text: str | None) -> str | None:
    """A year or a month as its last day; a day or a moment as it is."""
    if text is None or len(text) > 7:
        return text
    if len(text) == 4:
        return f"{text}-12-31"
    year, _, month = text.partition("-")
    if not (year.isdigit() and month.isdigit() and 1 <= int(month) <= 12):
        return text
    from calendar import monthrange

    return f"{text}-{monthrange(int(year), int(month))[1]:02}"

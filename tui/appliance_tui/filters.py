"""Filters that are being typed: the unfinished one at the end of the search line, and one typed into the picker."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import TYPE_CHECKING

from appliance.errors import ApplianceError
from appliance.requests.typed_filters import FILTER_NAMES, SearchFilters, since_date
from appliance.timestamps import parse_bound
from appliance_tui.namesakes import differences
from appliance_tui.screens.picker import PickerOption
from appliance_tui.widgets.display_text import one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Person

_PARTIAL = re.compile(rf'(?:^|\s)({"|".join(FILTER_NAMES)}):("[^"]*"?|[^\s"]*)$')

_LIKE_A_FILTER = re.compile(r"(?:^|(?<=\s))([A-Za-z]{2,20}):(?!//)(\S?)")

_MEANT = {
    "from": "author", "by": "author", "sender": "author", "who": "author", "person": "author",
    "people": "author", "to": "with", "chat": "with", "in": "source",
    "app": "source", "format": "source", "label": "tag", "after": "since", "before": "until", "type": "has",
    "is": "has", "path": "file", "about": "topic", "subject": "topic", "name": "entity", "command": "tool",
}  # fmt: skip
"""The filter that is meant by a name that other programs use."""

CLOSE_ENOUGH = 0.75
"""How alike a misspelt name is to that of a filter, at least."""


def partial_filter(text: str) -> tuple[str, str] | None:
    """Name and start of the value of an unfinished filter at the end of a text."""
    match = _PARTIAL.search(text)
    return (match[1], match[2].strip('"')) if match else None


def without_partial_filter(text: str) -> str:
    """A text without the unfinished filter at its end, which is no words to search for."""
    return _PARTIAL.sub("", text)


def filter_note(text: str) -> str:
    """What the person should know about the filters of a text: one that is not applied yet, or that there is none of
    its name; "" if all is well."""
    if (partial := partial_filter(text)) is not None:
        name, part = partial
        return f"{name}:{part} is not applied yet: space or enter" if part else ""
    for match in _LIKE_A_FILTER.finditer(text):
        name = match[1].lower()
        close = _MEANT.get(name) or next(iter(get_close_matches(name, FILTER_NAMES, 1, CLOSE_ENOUGH)), None)
        if name == "title":
            return "There is no filter 'title'. Conversations (F2) filters titles."
        if name not in FILTER_NAMES and (close is not None or match[2]):
            meant = f"; did you mean {close}:?" if close is not None else "; it is searched as words."
            return f"There is no filter '{match[1]}'{meant}"
    return ""


ON = "on"
"""What a filter is called that leaves a period: since it and until it."""


def parse_filter(text: str) -> list[PickerOption]:
    """A text that is a filter, as an option: "since 2024-03", "source:slack"; of a date alone, what it may
    bound."""
    typed = text.strip()
    match = re.fullmatch(
        rf"({'|'.join((*FILTER_NAMES, ON))})[:\s]\s*(\S+|(?<=since[:\s]).+|(?<=until[:\s]).+|(?<=on[:\s]).+)", typed
    )
    if match:
        return [PickerOption(match[1], match[2], "as typed")]
    if not _is_date(typed):
        return []
    return [PickerOption("since", typed), PickerOption("until", typed), PickerOption(ON, typed, "that time alone")]


def _is_date(text: str) -> bool:
    """Whether a text names a time; a word alone may as well be a name."""
    if not re.search(r"\d", text):
        return False
    try:
        parse_bound(since_date(text), end=False)
    except ApplianceError:
        return False
    return True


ACTIVE = "active; enter drops it"


def choose_filter(filters: SearchFilters, chosen: PickerOption) -> SearchFilters:
    """The filters with one more, or without one that was listed as active."""
    name, value = chosen.name, chosen.value
    if name == ON:
        return filters.with_filter("since", value).with_filter("until", value)
    return filters.without_filter(name, value) if chosen.note == ACTIVE else filters.with_filter(name, value)


def active_first(
    options: Sequence[PickerOption], filters: SearchFilters, names: Mapping[str, str]
) -> list[PickerOption]:
    """The options with those that are active on top; ``names`` are those of people by their ids."""
    active = [
        PickerOption(name, value, ACTIVE, names.get(value, "") if name in ("author", "with") else "")
        for name, value in filters.pairs()
    ]
    known = {(option.name, option.value) for option in active}
    return [*active, *(option for option in options if (option.name, option.value) not in known)]


def described(filters: SearchFilters, names: Mapping[str, str]) -> str:
    """Filters as they are typed, with the names of people, who are known by their ids, on one line."""
    return one_line("  ".join(f"{name}:{names.get(value, value)}" for name, value in filters.pairs()))


def matches_words(option: PickerOption, text: str) -> bool:
    """Whether an option has all words of a text, in another word for its filter too: "person" is an author."""
    others = " ".join(word for word, meant in _MEANT.items() if meant == option.name)
    return all(part in f"{option.label} {others}".casefold() for part in text.casefold().split())


def filter_options(memory: Appliance, user: str | None) -> list[PickerOption]:
    """The filters that a search may have, with how much each leaves. Call it on a thread.

    Raises:
        ApplianceError: as the memory says.
    """
    choices = memory.overview.filter_choices(user_id=user)
    # By id: a name is also part of other people's names.
    people = memory.people.list(user)
    differs = differences(people)
    authors = [
        PickerOption("author", person.id, _author_note(person, differs.get(person.id, "")), person.name)
        for person in people
        if person.messages
    ]
    tags = {one.tag: one.sessions for one in memory.sessions.tags(user_id=user)}
    counted = [
        [PickerOption(name, value, pluralize(count, noun)) for value, count in counts.items()]
        for name, counts, noun in (
            ("source", choices.sources, "message"),
            ("role", choices.roles, "message"),
            ("tag", tags, "conversation"),
            ("tool", choices.tools, "message"),
            ("file", choices.files, "message"),
            ("user", choices.users, "conversation"),
        )
    ]
    return [*chain(*counted[:2]), *authors, *chain(*counted[2:])]


def _author_note(person: Person, differs: str) -> str:
    """How much a person wrote, and what differs from others of the name."""
    return " · ".join(filter(None, [pluralize(person.messages, "message"), differs]))

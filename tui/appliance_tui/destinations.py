"""Where one can go by typing: screens, conversations, people, days and messages that match."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from appliance.errors import NotFound, UsageError
from appliance_tui.actions import ACTIONS, SCREENS, display_keys
from appliance_tui.widgets.display_text import day, minute, one_line, pluralize

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import PeopleList, SessionInfo

MAX_OF_A_KIND = 20
"""Conversations, people and days that are offered; a more precise text finds the others."""

TITLE_CHARACTERS = 60

DATE_EXAMPLES = "2024-03, 9 March 2024 or last May"
"""What a line that asks for a date takes, and what it advises where it was not understood."""

ID_PATTERN = re.compile(r"[ms][1-9]\d*", re.IGNORECASE)
"""The id of a message or a conversation."""

_SCREEN_ACTIONS = {action.id.removeprefix("app."): action for action in ACTIONS if action.place == "app"}


@dataclass(frozen=True, slots=True)
class Destination:
    """Where one can go. ``target`` is the name of a screen, the id of a conversation, or the name of a person (the
    id, where others have the same name);
    ``message_id`` and ``day`` say where in the conversation."""

    kind: Literal["screen", "conversation", "person", "day", "message"]
    name: str
    note: str
    target: str
    message_id: str | None = None
    day: str | None = None


def find_destinations(memory: Appliance, typed: str, user: str | None, reading: str | None) -> list[Destination]:
    """What matches a text, the most precise first; screens and the latest conversations for an empty one.

    Args:
        reading: The conversation that is being read: a date is offered in it first.
    """
    typed = typed.strip()
    if not typed:
        return [*_screens(""), *_calendar(""), *_conversations(memory, "", user)]
    return [
        *_by_id(memory, typed, user),
        *_days(memory, typed, user, reading),
        *_screens(typed),
        *_calendar(typed),
        *_people(memory.people.list(user_id=user), typed),
        *_conversations(memory, typed, user),
    ]


def first_day_since(memory: Appliance, session_id: str, text: str) -> str | None:
    """The first day of a conversation on or after a date or the beginning of a period, such as "last May"; None if it
    has no messages from then on.

    Raises:
        UsageError: The text names no time.
    """
    try:
        rows = memory.statistics(("day",), session_id=session_id, since=text).rows
    except UsageError as error:
        raise UsageError(f"Invalid date {text!r}.", hint=f"Use {DATE_EXAMPLES}.") from error
    return min((row.keys[0] for row in rows if row.keys[0]), default=None)


def _by_id(memory: Appliance, typed: str, user: str | None) -> Iterator[Destination]:
    id = typed.lower()
    if not ID_PATTERN.fullmatch(id):
        return
    with suppress(NotFound):
        message = memory.message(id) if id.startswith("m") else None
        info = memory.sessions.info(message.session_id if message is not None else id)
        if info.user_id != (user or memory.settings.user):
            return
        if message is None:
            yield _conversation(info)
        else:
            where = " · ".join(filter(None, (minute(message.timestamp), one_line(info.title or ""))))
            name = f"{one_line(message.who)}: {one_line(message.text[:200])}"
            yield Destination("message", name[:TITLE_CHARACTERS], where, info.id, message.id)


def _screens(typed: str) -> Iterator[Destination]:
    for name in SCREENS:
        action = _SCREEN_ACTIONS[name]
        if action.name.casefold().startswith(typed.casefold()):
            yield Destination("screen", action.name, f"{action.keys.upper()} · {action.help}", name)


def _calendar(typed: str) -> Iterator[Destination]:
    action = _SCREEN_ACTIONS["calendar"]
    if action.name.casefold().startswith(typed.casefold()):
        yield Destination("screen", action.name, f"{display_keys(action, {})} · {action.help}", "calendar")


def _conversations(memory: Appliance, typed: str, user: str | None) -> Iterator[Destination]:
    yield from map(_conversation, memory.sessions.list(user_id=user, title=typed, limit=MAX_OF_A_KIND))


def _conversation(info: SessionInfo) -> Destination:
    note = f"{pluralize(info.messages, 'message')} · {info.format} · {day(info.last_at)}"
    return Destination("conversation", one_line(info.title or info.external_id)[:TITLE_CHARACTERS], note, info.id)


def _people(people: PeopleList, typed: str) -> Iterator[Destination]:
    words = typed.casefold().split()
    named = Counter(person.name.casefold() for person in people)
    found = 0
    for person in people:
        names = " ".join([person.name, *(identity.value for identity in person.identities)]).casefold()
        if found < MAX_OF_A_KIND and all(word in names for word in words):
            found += 1
            note = f"{pluralize(person.messages, 'message')} · {pluralize(person.sessions, 'conversation')}"
            target = person.name if named[person.name.casefold()] == 1 else person.id
            yield Destination("person", one_line(person.name)[:TITLE_CHARACTERS], note, target)


def _days(memory: Appliance, typed: str, user: str | None, reading: str | None) -> Iterator[Destination]:
    with suppress(UsageError):
        rows = memory.statistics(("day", "session"), user_id=user, since=typed, until=typed).rows
        dated = [row for row in rows if row.keys[0]]
        for row in sorted(dated, key=lambda row: (row.keys[1] != reading, row.keys))[:MAX_OF_A_KIND]:
            date, session_id = row.keys
            title = memory.sessions.info(session_id).title or session_id
            where = "in this conversation" if session_id == reading else one_line(title)[:TITLE_CHARACTERS]
            yield Destination("day", date, f"{where} · {pluralize(row.messages, 'message')}", session_id, day=date)

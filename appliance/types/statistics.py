"""Counts of messages over time, and what was said at a time."""

from __future__ import annotations

from typing import Literal

from appliance.lazy_dataclasses import dataclass
from appliance.types.stored import Message, SessionInfo

StatisticsUnit = Literal["year", "month", "day", "weekday", "hour", "author", "role", "source", "session", "tag"]


@dataclass(frozen=True, slots=True)
class StatisticsRow:
    """The counts of one group: ``keys`` has a value for each unit, "" where messages have none."""

    keys: tuple[str, ...]
    messages: int
    sessions: int
    characters: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of messages by one or two units, in the order of the keys. Of persons, sources, sessions and tags, those
    with the most messages come first. Authors are people, "me" where it is not known who that is, and assistants by
    their source ("ChatGPT (assistant)").

    Attributes:
        by: The units.
        rows: The counts of each group.
        messages: How many messages there are in all, each counted once.
        attachments: How many attachments these have.
        notes: One for each name of an author that several people have, or none.
    """

    by: tuple[StatisticsUnit, ...]
    rows: tuple[StatisticsRow, ...]
    messages: int
    attachments: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Anniversary:
    """What was said in a session on a day of an earlier year: ``messages`` are the first of ``count``."""

    day: str
    session: SessionInfo
    messages: tuple[Message, ...]
    count: int


@dataclass(frozen=True, slots=True)
class SessionDay:
    """What was said in a session on one day: ``messages`` are the first of ``count``. ``first`` and ``last`` are the
    times of the first and the last of them, ISO 8601."""

    session: SessionInfo
    messages: tuple[Message, ...]
    count: int
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class TimelineMonth:
    """A month ("2026-02", "" for messages without a time), its counts, and its most important messages."""

    month: str
    messages: int
    sessions: int
    top: tuple[Message, ...]

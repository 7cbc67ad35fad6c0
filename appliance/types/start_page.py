"""The start page: what is worth a look before anything is searched for."""

from __future__ import annotations

from appliance.lazy_dataclasses import dataclass
from appliance.types.statistics import Anniversary
from appliance.types.stored import Message, SessionInfo


@dataclass(frozen=True, slots=True)
class RecentSession:
    """A session and its last conversational message, None if it has none."""

    session: SessionInfo
    last: Message | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """What waits for the person.

    Attributes:
        contradictions: Statements that contradict a fact and that only the person can settle.
        proposals: Pairs of people who may be one.
        files_read: Files of watched folders that were read since the beginning of yesterday.
        files_failed: Files of watched folders that could not be read, or not completely.
        archived_soon: Sessions of which messages become old enough for the archive within a week.
        archived_soon_count: How many of these sessions there are; ``archived_soon`` has the latest.
        imports: Imports that were begun and broken off.
    """

    contradictions: int = 0
    proposals: int = 0
    files_read: int = 0
    files_failed: int = 0
    archived_soon: tuple[SessionInfo, ...] = ()
    archived_soon_count: int = 0
    imports: int = 0


@dataclass(frozen=True, slots=True)
class StartPage:
    """What is worth a look before anything is searched for.

    Attributes:
        sessions: How many sessions there are.
        since: The day of the first message (ISO 8601), None without one.
        recent: The sessions with the latest messages, the latest first.
        on_this_day: What was said on this day of earlier years, the latest year first; of each session and year the
            most important message.
        pinned: The latest pinned messages.
        pinned_count: How many messages are pinned.
        waiting: What waits for the person.
        examples: Queries about the person's own people and topics, as they are typed.
    """

    sessions: int
    since: str | None
    recent: tuple[RecentSession, ...]
    on_this_day: tuple[Anniversary, ...]
    pinned: tuple[Message, ...]
    pinned_count: int
    waiting: Waiting
    examples: tuple[str, ...]

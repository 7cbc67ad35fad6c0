"""What the archive reports of itself."""

from __future__ import annotations

from appliance.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArchivedMessage:
    """A message that was or would be archived, and the reason."""

    message_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class ArchiveReport:
    """The result of a run: of ``considered`` messages outside of the archive, how many were archived (or would be) and
    how many kept. The bytes are those of the database, the index and the archive index; in a dry run ``bytes_after`` is
    the same as before. ``messages`` are listed by a dry run only."""

    considered: int
    archived: int
    kept: int
    bytes_before: int
    bytes_after: int
    messages: tuple[ArchivedMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """After how many days the messages of a session (by id) or of a source may be archived; None for never."""

    days: int | None
    session_id: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class ArchiveStatus:
    """What is archived, what is due, and by which policy.

    Attributes:
        archived: The archived messages.
        due: The messages that a run would archive now.
        text_bytes: The size of the archived texts, compressed, with their dictionaries.
        index_bytes: The size of the archive index.
        automatic: Whether messages are archived in the background.
        days: After how many days.
        importance: Below which importance.
        rules: Sessions and sources with days of their own.
    """

    archived: int
    due: int
    text_bytes: int
    index_bytes: int
    automatic: bool
    days: int
    importance: float
    rules: tuple[RetentionRule, ...] = ()

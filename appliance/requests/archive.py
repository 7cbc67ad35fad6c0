"""Requests that move messages into the archive and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import ArchiveReport, ArchiveStatus, Message, RetentionRule


@dataclass(frozen=True, slots=True)
class RunArchiveRequest(Request[ArchiveReport]):
    """Archive the messages that are old, unimportant, not pinned, not recalled, and in no active session.

    The settings say how old and how unimportant, and rules for sessions and sources say otherwise. Nothing is lost:
    archived messages are read and exported as before, and ``search(include_archived=True)`` finds them.

    Args:
        dry_run: Change nothing; the report lists the messages and the reason for each.
        days: After how many days, in place of the setting; rules for sessions and sources stay in force.
        importance: Below which importance, in place of the setting.

    Raises:
        UsageError: A number is out of range.
        ModelUnavailable: The serving model can't be loaded.
    """

    name: ClassVar[str] = "archive.run"
    long_running: ClassVar[bool] = True

    _: KW_ONLY
    dry_run: bool = False
    days: int | None = None
    importance: float | None = None


@dataclass(frozen=True, slots=True)
class ArchiveStatusRequest(Request[ArchiveStatus]):
    """Report what is archived, what is due, and by which policy."""

    name: ClassVar[str] = "archive.status"


@dataclass(frozen=True, slots=True)
class ListArchivedRequest(Request[list[Message]]):
    """List archived messages of a user, the latest first.

    Args:
        limit: The most messages.
        offset: How many to skip.
        user_id: Whose memory; by default the configured user's.
        namespace: The namespace within that memory.
    """

    name: ClassVar[str] = "archive.list"

    _: KW_ONLY
    limit: int = 100
    offset: int = 0
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class RestoreArchivedRequest(Request[int]):
    """Bring archived messages back into the full text and the index. Returns how many came back.

    Args:
        references: Ids of messages and sessions.
        everything: All archived messages, if nothing is named.

    Raises:
        UsageError: Nothing is named.
        NotFound: There is no such message or session.
    """

    name: ClassVar[str] = "archive.restore"

    references: Sequence[str] = ()
    _: KW_ONLY
    everything: bool = False


@dataclass(frozen=True, slots=True)
class SetRetentionRequest(Request[RetentionRule | None]):
    """Give a session or a source (a format) days of its own, after which its messages may be archived. Returns the
    rule, or None if it was removed.

    Args:
        session_id: The session's id or external id.
        source: The format ("whatsapp").
        days: After how many days; None for never.
        remove: Remove the rule: the settings decide again.

    Raises:
        UsageError: Not exactly one of session and source is named, there is no such format, or the days are negative.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "archive.set_retention"

    _: KW_ONLY
    session_id: str | None = None
    source: str | None = None
    days: int | None = None
    remove: bool = False

"""Requests about summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import Level, Summary, SummaryHit


@dataclass(frozen=True, slots=True)
class ListSummariesRequest(Request[Sequence[Summary]]):
    """List summaries: those of the last active session first, and in a session the whole before its parts.

    Args:
        session_id: Only this session's.
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        level: Only this level: exchange, topic, session or procedure.
        limit: The most summaries; None for all.

    Raises:
        NotFound: No such session.
        UsageError: No such level.
    """

    name: ClassVar[str] = "summaries.list"

    _: KW_ONLY
    session_id: str | None = None
    user_id: str | None = None
    namespace: str = ""
    level: Level | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class SummaryRequest(Request[Summary]):
    """Read one summary.

    Args:
        id: Its id ("sum7").

    Raises:
        NotFound: There is none.
    """

    name: ClassVar[str] = "summaries.get"

    id: str


@dataclass(frozen=True, slots=True)
class SearchSummariesRequest(Request[Sequence[SummaryHit]]):
    """Find the summaries that answer a query best, by meaning and by words. Of several that cover the same messages
    only the best is returned. A session that shares nothing is searched only if ``session_id`` names it.

    Args:
        query: What is looked for.
        limit: The most hits.
        user_id: Whose memory is searched; by default the configured user's.
        namespace: The namespace within that memory.
        agent_id: Only sessions in which this agent takes part.
        session_id: Only this session.
        level: Only this level: exchange, topic, session or procedure.

    Raises:
        NotFound: No such session.
        UsageError: No such level, or a limit below 1.
    """

    name: ClassVar[str] = "summaries.search"

    query: str
    _: KW_ONLY
    limit: int = 10
    user_id: str | None = None
    namespace: str = ""
    agent_id: str | None = None
    session_id: str | None = None
    level: Level | None = None


@dataclass(frozen=True, slots=True)
class PendingSummariesRequest(Request[int]):
    """Count the sessions that wait for summaries."""

    name: ClassVar[str] = "summaries.pending"


@dataclass(frozen=True, slots=True)
class SummaryStateRequest(Request[Mapping[str, int | str | None]]):
    """Report how summarising is going: how many sessions are ``due``, the ``model`` that writes (None without one),
    and in ``fallback`` why it did not write the latest summary that it should have."""

    name: ClassVar[str] = "summaries.state"


@dataclass(frozen=True, slots=True)
class MakeSummariesRequest(Request[Sequence[Summary]]):
    """Summarise a session now, whether it is due or not, and return its summaries. Summaries that another writer made
    are written again.

    Args:
        session_id: The session.

    Raises:
        NotFound: No such session.
    """

    name: ClassVar[str] = "summaries.make"
    repeatable: ClassVar[bool] = False
    long_running: ClassVar[bool] = True

    session_id: str


@dataclass(frozen=True, slots=True)
class RunSummariesRequest(Request[int]):
    """Summarise the sessions that are due, the last active first. Returns how many were summarised.

    Args:
        max_seconds: Begin no further session after so many seconds: 0 for one session, None for all that are due.
    """

    name: ClassVar[str] = "summaries.run_pending"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    long_running: ClassVar[bool] = True

    max_seconds: float | None = None

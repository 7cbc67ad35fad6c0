"""The JSON shapes that the command line prints and HTTP answers with: the same values, built at one place.

The functions give what is encoded; the frozen dataclasses beside them say in the OpenAPI document what that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from appliance import __version__
from appliance.types import (
    Fact,
    FileStatus,
    Hit,
    Level,
    Message,
    Mode,
    Quote,
    SessionInfo,
    Summary,
    WhyNot,
)

if TYPE_CHECKING:
    from appliance.types import Context, Doomed, FileReport, Hits, IngestReport, Problem, SummaryHit

COUNTS = ("conversations", "messages", "new", "updated", "duplicates")
"""What is counted of each file that is read, and of all together."""

NOT_YET_KEPT = ("archived",)
"""Counts that the shape of a status has and this version has nothing of."""


# --- found ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummaryFound:
    """A found summary: the summary with its rank and its reasons."""

    rank: int
    score: float
    session_title: str | None
    why: Mapping[str, float]
    id: str
    session_id: str
    level: Level
    text: str
    quotes: tuple[Quote, ...]
    made_by: str
    first_id: str
    last_id: str
    messages: int
    since: str | None
    until: str | None
    made_at: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Hits, best first, with what the search has to say about itself."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    took_ms: float
    notes: tuple[str, ...]
    times: tuple[str, ...]
    summaries: tuple[SummaryFound, ...]
    why_not: WhyNot | None = None


def shape(hits: Hits) -> dict[str, Any]:
    """A search, as ``SearchAnswer`` describes it."""
    return {
        "query": hits.query,
        "mode": hits.mode,
        "hits": list(hits),
        "took_ms": hits.took_ms,
        "notes": list(hits.notes),
        "times": list(hits.times),
        "summaries": [summary_shape(found) for found in hits.summaries],
        **({"why_not": hits.why_not} if hits.why_not else {}),
    }


def summary_shape(found: SummaryHit) -> dict[str, Any]:
    """A found summary, as ``SummaryFound`` describes it."""
    built: dict[str, Any] = msgspec.to_builtins(found)
    summary = built.pop("summary")
    return {**built, **summary}


def context_shape(context: Context) -> dict[str, Any]:
    """A context as JSON has it."""
    built: dict[str, Any] = msgspec.to_builtins(context)
    return built


# --- listed -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionsPage:
    """A page of sessions; ``next`` is the ``after`` of the page behind it, null behind the last."""

    sessions: tuple[SessionInfo, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """A page of a session's messages; ``next`` is the ``after`` of the page behind it, null behind the last."""

    messages: tuple[Message, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FactsAnswer:
    """Facts. ``pending`` is how many messages of the whole memory wait to be read for facts; null where that is not
    for who asks."""

    facts: tuple[Fact, ...]
    pending: int | None = None


@dataclass(frozen=True, slots=True)
class SummariesAnswer:
    """Summaries, those of the last active session first."""

    summaries: tuple[Summary, ...]


@dataclass(frozen=True, slots=True)
class SummariesFound:
    """The summaries that say most of what was asked for, best first."""

    query: str
    summaries: tuple[SummaryFound, ...]


# --- taken in ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something in a file that could not be read, or is worth knowing, and where."""

    where: str
    message: str


@dataclass(frozen=True, slots=True)
class FileRead:
    """What became of one file. Counts are messages, but for ``conversations``."""

    path: str
    format: str | None
    status: FileStatus
    conversations: int
    messages: int
    new: int
    updated: int
    duplicates: int
    errors: tuple[Trouble, ...]
    notes: tuple[Trouble, ...]


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts of all files together, and of the chunks that they made. ``embedded`` and ``pending`` are of the
    whole memory: null where that is not for who asks."""

    conversations: int
    messages: int
    new: int
    updated: int
    duplicates: int
    chunks: int
    embedded: int | None
    pending: int | None


@dataclass(frozen=True, slots=True)
class IngestAnswer:
    """What an ingest did."""

    files: tuple[FileRead, ...]
    totals: Totals
    seconds: float


def ingest_shape(report: IngestReport) -> dict[str, Any]:
    """An ingest, as ``IngestAnswer`` describes it."""
    return {
        "files": [file_shape(file) for file in report.files],
        "totals": {
            **{count: report.total(count) for count in COUNTS},
            "chunks": report.chunks,
            "embedded": report.embedded,
            "pending": report.pending,
        },
        "seconds": report.seconds,
    }


def file_shape(file: FileReport) -> dict[str, Any]:
    """What became of one file, as ``FileRead`` describes it."""
    return {
        "path": file.path,
        "format": file.format,
        "status": file.status,
        **{count: getattr(file, count) for count in COUNTS},
        "errors": _places(file.errors),
        "notes": _places(file.notes),
    }


def _places(problems: Sequence[Problem]) -> list[dict[str, str]]:
    return [{"where": problem.where, "message": problem.message} for problem in problems]


# --- forgotten --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Erasable:
    """What would be erased: ids of messages and of whole sessions, characters, messages by format, facts, and files
    outside that hold it and are left alone."""

    messages: tuple[str, ...]
    sessions: tuple[str, ...]
    characters: int
    formats: Mapping[str, int]
    files: tuple[str, ...]
    facts: int


def doomed_shape(doomed: Doomed) -> dict[str, Any]:
    """What would be forgotten, as ``Erasable`` describes it."""
    shape = {
        **asdict(doomed),
        "messages": [f"m{key}" for key in doomed.messages],
        "sessions": [f"s{key}" for key in doomed.sessions],
    }
    del shape["touched"], shape["all_of"]
    return shape


# --- how it is --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is."""

    sources: int
    sessions: int
    messages: int
    chunks: int
    embedded: int
    pending: int
    variants: int
    summaries: int
    archived: int
    facts: int


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model that serves; without a ``generation`` nothing has been stored yet."""

    name: str
    dimension: int | None
    generation: int | None


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """How the memory is, as its owner sees it."""

    version: str
    home: str
    counts: Counts
    model: Model
    disk_bytes: Mapping[str, int]
    daemon: Mapping[str, Any] | None
    health: str
    files: Mapping[str, Any]
    summaries: Mapping[str, Any]
    facts: Mapping[str, Any]
    latency: Mapping[str, Any]
    queues: Mapping[str, Any]
    memory: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class ScopedStatus:
    """How the memory is, as far as it is for the bearer of a token with a fixed scope: whose memory the token opens,
    and whether all is well."""

    version: str
    health: str
    name: str
    user_id: str
    namespace: str
    read_only: bool


def status_shape(facts: Mapping[str, Any], home: str) -> dict[str, Any]:
    """A status, as ``StatusAnswer`` describes it. ``home`` is the folder as text."""
    counts = dict(facts["counts"])
    known = counts.pop("facts")
    return {
        "version": __version__,
        "home": home,
        "counts": {**counts, **{name: counts.get(name, 0) for name in NOT_YET_KEPT}, "facts": known},
        "model": facts["model"],
        "disk_bytes": facts["disk_bytes"],
        "daemon": facts.get("daemon"),
        "health": facts["health"],
        "files": facts["files"],
        "summaries": facts["summaries"],
        "facts": facts["facts"],
        "latency": facts["latency"],
        "queues": facts["queues"],
        "memory": facts["memory"],
    }

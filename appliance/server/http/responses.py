"""The JSON shapes that the command line prints and HTTP answers with.

The functions build the values; the dataclasses describe them in the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from appliance import __version__
from appliance.types import Fact, FileStatus, Hit, Level, Message, Mode, Person, Quote, SessionInfo, Summary, WhyNot

if TYPE_CHECKING:
    from appliance.types import Context, FileReport, Hits, IngestReport, InputProblem, SummaryHit

FILE_COUNT_FIELDS = (
    "conversations", "messages", "new", "updated", "duplicates", "documents", "pages", "kept",
)  # fmt: skip
"""The counts of each ingested file, and of all together."""


# --- search ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummaryHitAnswer:
    """A summary with its rank, score and reasons."""

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
    """Hits in their order, with notes about the search. ``total`` counts all of them, or some of them if it is not
    exact, and ``likely`` those that are likely to be what was asked for; ``more`` says that ``offset`` leads to others.
    ``found`` is false if nothing is a good match: then there are no hits, unless ``min_score`` was given, and ``total``
    counts the weak ones that ``min_score`` 0 would give."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]
    total: int
    total_is_exact: bool
    likely: int
    more: bool
    found: bool
    took_ms: float
    notes: tuple[str, ...]
    times: tuple[str, ...]
    summaries: tuple[SummaryHitAnswer, ...]
    why_not: WhyNot | None = None


def search_shape(hits: Hits) -> dict[str, Any]:
    """A search, as ``SearchAnswer`` describes it."""
    return {
        "query": hits.query,
        "mode": hits.mode,
        "hits": list(hits),
        "total": hits.total,
        "total_is_exact": hits.total_is_exact,
        "likely": hits.likely,
        "more": hits.more,
        "found": hits.found,
        "took_ms": hits.took_ms,
        "notes": list(hits.notes),
        "times": list(hits.times),
        "summaries": [summary_shape(found) for found in hits.summaries],
        **({"why_not": hits.why_not} if hits.why_not else {}),
    }


def summary_shape(hit: SummaryHit) -> dict[str, Any]:
    """A summary hit, as ``SummaryHitAnswer`` describes it."""
    built: dict[str, Any] = msgspec.to_builtins(hit)
    summary = built.pop("summary")
    return {**built, **summary}


def context_shape(context: Context) -> dict[str, Any]:
    """A context as JSON."""
    built: dict[str, Any] = msgspec.to_builtins(context)
    return built


# --- lists -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionsAnswer:
    """A page of sessions; ``next`` is the ``after`` of the next page, null on the last."""

    sessions: tuple[SessionInfo, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class MessagesAnswer:
    """A page of a session's messages; ``next`` is the ``after`` of the next page, null on the last."""

    messages: tuple[Message, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class FactsAnswer:
    """Facts. ``pending`` counts the messages of the whole memory not yet read for facts; only the owner sees it."""

    facts: tuple[Fact, ...]
    pending: int | None = None


@dataclass(frozen=True, slots=True)
class MeAnswer:
    """The person whose memory it is; null if it is not known."""

    me: Person | None


@dataclass(frozen=True, slots=True)
class SummariesAnswer:
    """Summaries, last active session first."""

    summaries: tuple[Summary, ...]


@dataclass(frozen=True, slots=True)
class SummarySearchAnswer:
    """The summaries that match a query best, best first."""

    query: str
    summaries: tuple[SummaryHitAnswer, ...]


# --- ingestion ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileProblemAnswer:
    """A problem in a file, or a note about it, and its place."""

    where: str
    message: str


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """The result for one file. Counts are of messages, except ``conversations``, the attached ``documents`` whose text
    was read with their ``pages``, and the attachments of which copies were ``kept``. ``read_with`` is the file with
    which one without messages of its own was read, or to whose messages it is attached."""

    path: str
    format: str | None
    status: FileStatus
    conversations: int
    messages: int
    new: int
    updated: int
    duplicates: int
    documents: int
    pages: int
    kept: int
    errors: tuple[FileProblemAnswer, ...]
    notes: tuple[FileProblemAnswer, ...]
    read_with: str


@dataclass(frozen=True, slots=True)
class IngestTotals:
    """The counts of all files together, and of their chunks. ``embedded`` and ``pending`` are of the whole memory; only
    the owner sees them."""

    conversations: int
    messages: int
    new: int
    updated: int
    duplicates: int
    documents: int
    pages: int
    kept: int
    chunks: int
    embedded: int | None
    pending: int | None


@dataclass(frozen=True, slots=True)
class IngestAnswer:
    """The result of an ingest. ``pending_reason`` says why chunks wait, if an embedding API failed; only the owner sees
    it. ``stopped`` says why it ended early, if the disk has no room."""

    files: tuple[FileAnswer, ...]
    totals: IngestTotals
    seconds: float
    pending_reason: str | None
    stopped: str = ""


def ingest_shape(report: IngestReport) -> dict[str, Any]:
    """An ingest, as ``IngestAnswer`` describes it."""
    return {
        "files": [file_shape(file) for file in report.files],
        "totals": {
            **{count: report.total(count) for count in FILE_COUNT_FIELDS},
            "chunks": report.chunks,
            "embedded": report.embedded,
            "pending": report.pending,
        },
        "seconds": report.seconds,
        "pending_reason": report.pending_reason,
        "stopped": report.stopped,
    }


def file_shape(file: FileReport) -> dict[str, Any]:
    """The result for one file, as ``FileAnswer`` describes it."""
    return {
        "path": file.path,
        "format": file.format,
        "status": file.status,
        **{count: getattr(file, count) for count in FILE_COUNT_FIELDS},
        "errors": _problem_shapes(file.errors),
        "notes": _problem_shapes(file.notes),
        "read_with": file.read_with,
    }


def _problem_shapes(problems: Sequence[InputProblem]) -> list[dict[str, str]]:
    return [{"where": problem.where, "message": problem.message} for problem in problems]


# --- status --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Counts of the memory."""

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
class StatusModel:
    """The embedding model in use; ``generation`` is null until something is stored."""

    name: str
    dimension: int | None
    generation: int | None


@dataclass(frozen=True, slots=True)
class StatusGeneration:
    """One set of vectors: ``active`` (it serves), ``kept`` after a change of the model, or ``building``.
    ``messages`` have chunks in it; ``complete_at`` is until when a kept one has every message."""

    id: int
    model: str
    dimension: int
    state: str
    chunks: int
    pending: int
    disk_bytes: int
    complete_at: str | None
    messages: int


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The state of the memory, as its owner sees it. ``health`` is "ok" or the first of the ``troubles``;
    ``unchecked_tables`` are those of the database that were too large to be checked for damage by then. ``network``
    lists the parts that send data beyond this machine, with their addresses, and ``loopback`` those that ask a server
    on it; ``api`` has the tokens that an embedding API was sent, the cap on them, and why it failed last;
    ``chunked_otherwise`` counts the messages that were split under other settings. ``profile`` names the machine
    profile, the setting that chose it, and how the vectors of the memory and of new generations are stored; ``power``
    says whether the machine runs on its battery, its percent, and whether heavy work is paused. ``settings_changed``
    names the settings that were changed after this process began, and that it does not follow."""

    version: str
    home: str
    counts: StatusCounts
    model: StatusModel
    disk_bytes: Mapping[str, int]
    daemon: Mapping[str, Any] | None
    health: str
    owner: Mapping[str, Any] | None
    files: Mapping[str, Any]
    summaries: Mapping[str, Any]
    facts: Mapping[str, Any]
    latency: Mapping[str, Any]
    queues: Mapping[str, Any]
    recall: Mapping[str, Any]
    memory: Mapping[str, int] | None
    apparent_bytes: Mapping[str, int]
    backup: Mapping[str, Any] | None
    generations: Sequence[StatusGeneration]
    index: Mapping[str, Any] | None
    network: Sequence[Mapping[str, str]]
    api: Mapping[str, Any] | None
    loopback: Sequence[Mapping[str, str]]
    troubles: Sequence[str]
    chunked_otherwise: Mapping[str, Any] | None
    unchecked_tables: Sequence[str]
    profile: Mapping[str, Any]
    power: Mapping[str, Any]
    settings_changed: Sequence[str]


@dataclass(frozen=True, slots=True)
class ScopedStatus:
    """The state of the memory for a token with a fixed scope: the health, and the token's own scope."""

    version: str
    health: str
    name: str
    user_id: str
    namespace: str
    read_only: bool


def status_shape(status: Mapping[str, Any], home: str) -> dict[str, Any]:
    """A status, as ``StatusAnswer`` describes it. ``home`` is the folder as text."""
    counts = dict(status["counts"])
    facts_count = counts.pop("facts")
    return {
        "version": __version__,
        "home": home,
        "counts": {**counts, "facts": facts_count},
        "model": status["model"],
        "disk_bytes": status["disk_bytes"],
        "daemon": status.get("daemon"),
        **{
            name: status[name]
            for name in (
                "health",
                "owner",
                "files",
                "summaries",
                "facts",
                "latency",
                "queues",
                "recall",
                "memory",
                "apparent_bytes",
                "backup",
                "generations",
                "index",
                "network",
                "api",
                "loopback",
                "troubles",
                "chunked_otherwise",
                "unchecked_tables",
                "profile",
                "power",
                "settings_changed",
            )
        },
    }

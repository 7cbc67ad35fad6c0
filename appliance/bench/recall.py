"""Measures retrieval through the public API, as a user would call it.

Each conversation goes into a home of its own in a temporary folder, which one ingest fills for all systems.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from appliance.bench.material import Conversation, Question
from appliance.bench.measures import DEEPEST, DEPTHS, by_message, by_session, mean, percentile
from appliance.bench.systems import SYSTEMS, ask, grounds
from appliance.config import load
from appliance.engine import Engine
from appliance.errors import InputError, UsageError
from appliance.paths import Home, create_home, write_small_file
from appliance.types import Hits
from appliance_models import Embedder

OnStep = Callable[[str, int, int], None]
"""Told what is being done in which conversation, how much of it is done and how much there is (0: unknown)."""

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class Row:
    """One question answered by one system: its category, its measures and how long the search took (s)."""

    kind: str
    figures: Mapping[str, float]
    seconds: float


@dataclass(slots=True)
class Outcome:
    """What a run has measured so far. ``unknown`` are questions that cite a message which is not there: they
    count, and what they cite is missed. ``same`` are messages that came twice under one id. ``notes`` is what
    searches said of themselves, and how many did."""

    conversations: int = 0
    messages: int = 0
    questions: int = 0
    unknown: int = 0
    same: int = 0
    rows: dict[str, list[Row]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)

    def figures(self, system: str) -> dict[str, object]:
        """A system's measures over all questions and by category, and its times in milliseconds."""
        rows = self.rows[system]
        kinds = sorted({row.kind for row in rows})
        return {
            "overall": _means(rows),
            "by_category": {kind: _means([row for row in rows if row.kind == kind]) for kind in kinds},
            "latency_ms": latency([row.seconds for row in rows]),
        }


def run(
    conversations: Iterable[Conversation],
    systems: Sequence[str] = SYSTEMS,
    *,
    depths: Sequence[int] = DEPTHS,
    embedder: Embedder | None = None,
    settings: Path | None = None,
    on_step: OnStep = lambda what, done, total: None,
) -> Outcome:
    """Ask every question of every system.

    ``embedder`` is used in place of the configured model: one that is loaded serves all conversations.
    ``settings`` is a config.toml for the homes, where a system is a profile of the person's own.

    Raises:
        InputError: a conversation can't be taken in.
        UsageError: the settings name a server for the index, which a benchmark must not fill.
    """
    outcome = Outcome(rows={system: [] for system in systems})
    for conversation in conversations:
        if not conversation.questions:
            continue
        with tempfile.TemporaryDirectory(prefix="appliance-bench-") as folder:
            _one(conversation, Path(folder), outcome, systems, depths, embedder, settings, on_step)
    return outcome


def _one(
    conversation: Conversation,
    folder: Path,
    outcome: Outcome,
    systems: Sequence[str],
    depths: Sequence[int],
    embedder: Embedder | None,
    settings: Path | None,
    on_step: OnStep,
) -> None:
    home = folder / "home"
    if settings is not None:
        write_small_file(create_home(Home(home)).config, settings.read_bytes())
    if load(Home(home)).index.url:
        raise UsageError(
            "a benchmark's messages don't belong on the server that index.url names",
            hint="measure without APPLIANCE_INDEX_URL, and profiles of your own in a home without index.url",
        )
    path, ids = write(conversation, folder)
    with Engine.open(home, worker=False, embedder=embedder, purpose="a benchmark") as memory:
        taken = memory.ingest(
            path,
            format="native",
            on_file=lambda _, messages: on_step(f"{conversation.name}: reading", messages, len(ids)),
            on_embedded=lambda done, waits: on_step(f"{conversation.name}: embedding", done, done + waits),
        )
        problems = [problem for file in taken.files for problem in file.errors]
        if problems:
            raise InputError(
                problems[0].message, where=f"{conversation.name}, message of {problems[0].where}"
            )
        outcome.conversations += 1
        outcome.messages += taken.total("new")
        outcome.same += taken.total("messages") - taken.total("new")
        for number, question in enumerate(conversation.questions):
            on_step(f"{conversation.name}: asking", number, len(conversation.questions))
            outcome.questions += 1
            outcome.unknown += not question.relevant <= ids
            # Each question begins with another system: who comes second finds the caches warm.
            turn = number % len(systems)
            for system in (*systems[turn:], *systems[:turn]):
                began = time.perf_counter()
                hits = ask(memory, system, question.text, max(*depths, DEEPEST), as_of=question.asked_at)
                seconds = time.perf_counter() - began
                outcome.rows[system].append(Row(question.kind, measured(hits, question, depths), seconds))
                outcome.notes.update(grounds(system, hits))


def measured(hits: Hits, question: Question, depths: Sequence[int] = DEPTHS) -> dict[str, float]:
    """The measures of one question that the set allows. A hit counts as the message that it shows,
    and not as what is folded under it."""
    figures: dict[str, float] = {}
    if question.relevant:
        figures |= by_message([hit.external_id for hit in hits], question.relevant, depths)
    if question.sessions is not None:
        figures |= by_session([hit.external_session_id for hit in hits], question.sessions)
    return figures


def write(conversation: Conversation, folder: Path) -> tuple[Path, frozenset[str]]:
    """A conversation as a file of native JSONL, and the ids of its messages."""
    path = folder / "conversation.jsonl"
    ids = set()
    with path.open("wb") as file:
        for record in conversation.records:
            ids.add(record["message_id"])
            file.write(msgspec.json.encode(record) + b"\n")
    return path, frozenset(ids)


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles of wall times, in milliseconds; empty where nothing was asked."""
    if not seconds:
        return {}
    return {name: round(percentile(seconds, share) * 1000, 1) for name, share in PERCENTILES.items()}


def _means(rows: Sequence[Row]) -> dict[str, float]:
    return {"questions": len(rows), **mean(row.figures for row in rows)}

"""Measures retrieval on data sets through the public API.

Each conversation is ingested once, for all systems, into its own home in a temporary folder.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from pathlib import Path

import msgspec

from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion
from appliance.bench.ir_metrics import (
    MAX_DEPTH,
    RECALL_DEPTHS,
    auroc,
    mean,
    message_measures,
    percentile,
    session_measures,
)
from appliance.bench.systems import SYSTEMS, note_kinds, search
from appliance.client import Appliance
from appliance.config import load
from appliance.errors import InputError, UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.paths import Home, create_home, write_file_atomically
from appliance.types import Hits
from appliance_models import Embedder

OnStep = Callable[[str, int, int], None]
"""Called with the current step and conversation, how much is done, and how much there is (0 if unknown)."""

OTHER_MEMORY = "asked of another memory"
"""The category of questions that belong to the conversation before."""

MAX_FOREIGN_QUESTIONS = 100

PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one question for one system: its category, its measures, the seconds of the search, and how sure it
    was of its best hit."""

    kind: str
    figures: Mapping[str, float]
    seconds: float
    best_hit: BestHit


@dataclass(frozen=True, slots=True)
class BestHit:
    """The score of the best hit of a question, and whether it counts as found."""

    score: float
    found: bool


@dataclass(slots=True)
class RecallReport:
    """The results of a run so far.

    Attributes:
        conversations: Conversations with questions.
        messages: Ingested messages.
        questions: Questions.
        unknown_citations: Questions that cite a message that does not exist. They count, with that message missed.
        duplicate_ids: Messages whose id occurred before.
        rows: The results by system.
        unanswerable: The best hits of questions that the memory does not answer, by system and category.
        notes: The notes of the searches, with their number.
    """

    conversations: int = 0
    messages: int = 0
    questions: int = 0
    unknown_citations: int = 0
    duplicate_ids: int = 0
    rows: dict[str, list[QuestionResult]] = field(default_factory=dict)
    unanswerable: dict[str, dict[str, list[BestHit]]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)

    def figures(self, system: str) -> dict[str, object]:
        """A system's measures over all questions and by category, and its latency in milliseconds."""
        rows = self.rows[system]
        kinds = sorted({row.kind for row in rows})
        return {
            "overall": _means(rows),
            "by_category": {kind: _means([row for row in rows if row.kind == kind]) for kind in kinds},
            "latency_ms": latency([row.seconds for row in rows]),
            "found": self._found([row.best_hit for row in rows], self.unanswerable.get(system, {})),
        }

    @staticmethod
    def _found(answerable: Sequence[BestHit], unanswerable: Mapping[str, Sequence[BestHit]]) -> dict[str, object]:
        """The share of questions for which something was found, with an answer and without, and how well the score of
        the best hit tells them apart (AUROC): over all, and for each kind of those without an answer."""
        right = [one.score for one in answerable]
        wrong = {kind: [one.score for one in hits] for kind, hits in sorted(unanswerable.items()) if hits}
        return {
            "answerable": _share_found(answerable),
            "unanswerable": {kind: _share_found(unanswerable[kind]) for kind in wrong},
            "auroc": {
                kind: auroc(right, scores)
                for kind, scores in {"overall": list(chain.from_iterable(wrong.values())), **wrong}.items()
                if right and scores
            },
        }


def run(
    conversations: Iterable[BenchmarkCorpus],
    systems: Sequence[str] = SYSTEMS,
    *,
    depths: Sequence[int] = RECALL_DEPTHS,
    embedder: Embedder | None = None,
    settings: Path | None = None,
    on_step: OnStep = lambda what, done, total: None,
) -> RecallReport:
    """Run every question on every system.

    Args:
        conversations: The conversations with their questions.
        systems: Names of scoring profiles.
        depths: The depths of recall.
        embedder: Replaces the configured model, so that it is loaded only once.
        settings: A config.toml for the homes, needed if a system is a configured profile.
        on_step: Called with the progress.

    Raises:
        InputError: A conversation can't be ingested.
        UsageError: The settings name an index server, which a benchmark must not fill.
    """
    outcome = RecallReport(rows={system: [] for system in systems}, unanswerable={system: {} for system in systems})
    others: tuple[BenchmarkQuestion, ...] = ()
    for conversation in conversations:
        if not conversation.questions and not conversation.unanswerable:
            continue
        # What is asked of the conversation before it: this one has no answer.
        foreign = [replace(question, kind=OTHER_MEMORY, asked_at=None) for question in others[:MAX_FOREIGN_QUESTIONS]]
        others = conversation.questions
        conversation = replace(conversation, unanswerable=(*conversation.unanswerable, *foreign))
        with tempfile.TemporaryDirectory(prefix="appliance-bench-") as folder:
            _run_conversation(conversation, Path(folder), outcome, systems, depths, embedder, settings, on_step)
    return outcome


def _run_conversation(
    conversation: BenchmarkCorpus,
    folder: Path,
    outcome: RecallReport,
    systems: Sequence[str],
    depths: Sequence[int],
    embedder: Embedder | None,
    settings: Path | None,
    on_step: OnStep,
) -> None:
    home = folder / "home"
    if settings is not None:
        write_file_atomically(create_home(Home(home)).config, settings.read_bytes())
    if load(Home(home)).index.url:
        raise UsageError(
            "A benchmark can't use the server in index.url: its messages don't belong there.",
            hint="Unset APPLIANCE_INDEX_URL, and measure your own profiles in a home without index.url.",
        )
    path, ids = write_jsonl(conversation, folder)
    with Appliance.open(home, worker=False, embedder=embedder, purpose="a benchmark") as memory:
        report = memory.ingest(
            path,
            format="native",
            on_file=lambda _, messages: on_step(f"{conversation.name}: reading", messages, len(ids)),
            on_embedded=lambda done, pending: on_step(f"{conversation.name}: embedding", done, done + pending),
        )
        problems = [problem for file in report.files for problem in file.errors]
        if problems:
            raise InputError(problems[0].message, where=f"{conversation.name}, message of {problems[0].where}")
        outcome.conversations += 1
        outcome.messages += report.total("new")
        outcome.duplicate_ids += report.total("messages") - report.total("new")
        for number, question in enumerate(conversation.questions):
            on_step(f"{conversation.name}: asking", number, len(conversation.questions))
            outcome.questions += 1
            outcome.unknown_citations += not question.relevant <= ids
            # Each question begins with another system, because the second one finds warm caches.
            rotation = number % len(systems)
            for system in (*systems[rotation:], *systems[:rotation]):
                started = time.perf_counter()
                hits = search(memory, system, question.text, max(*depths, MAX_DEPTH), as_of=question.asked_at)
                seconds = time.perf_counter() - started
                outcome.rows[system].append(
                    QuestionResult(question.kind, question_measures(hits, question, depths), seconds, _best_hit(hits))
                )
                outcome.notes.update(note_kinds(system, hits))
        for number, question in enumerate(conversation.unanswerable):
            on_step(f"{conversation.name}: asking what has no answer", number, len(conversation.unanswerable))
            for system in systems:
                hits = search(memory, system, question.text, 1, as_of=question.asked_at)
                outcome.unanswerable[system].setdefault(question.kind, []).append(_best_hit(hits))


def _best_hit(hits: Hits) -> BestHit:
    return BestHit(hits[0].score if hits else 0.0, hits.found)


def _share_found(hits: Sequence[BestHit]) -> float:
    return sum(hit.found for hit in hits) / len(hits) if hits else 0.0


def question_measures(
    hits: Hits, question: BenchmarkQuestion, depths: Sequence[int] = RECALL_DEPTHS
) -> dict[str, float]:
    """The measures of one question that the data set allows. A hit counts as the message that it shows, not as the
    variants folded under it."""
    figures: dict[str, float] = {}
    if question.relevant:
        figures |= message_measures([hit.external_id for hit in hits], question.relevant, depths)
    if question.sessions is not None:
        figures |= session_measures([hit.external_session_id for hit in hits], question.sessions)
    return figures


def write_jsonl(conversation: BenchmarkCorpus, folder: Path) -> tuple[Path, frozenset[str]]:
    """Write a conversation as native JSONL. Returns the file and the ids of its messages."""
    path = folder / "conversation.jsonl"
    ids = set()
    with path.open("wb") as file:
        for record in conversation.records:
            ids.add(record["message_id"])
            file.write(msgspec.json.encode(record) + b"\n")
    return path, frozenset(ids)


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """Percentiles of wall times, in milliseconds; empty without any times."""
    if not seconds:
        return {}
    return {name: round(percentile(seconds, share) * 1000, 1) for name, share in PERCENTILES.items()}


def _means(rows: Sequence[QuestionResult]) -> dict[str, float]:
    return {"questions": len(rows), **mean(row.figures for row in rows)}

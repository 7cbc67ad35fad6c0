"""Measures retrieval on a person's own history, and compares it with the previous run on the same questions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from appliance import __version__, timestamps
from appliance.bench import history, known_items
from appliance.bench.ir_metrics import MAX_DEPTH, mean, message_measures
from appliance.bench.known_items import KINDS, KnownItemQuestion
from appliance.bench.recall import latency
from appliance.bench.systems import SYSTEMS, available_profiles, note_kinds, reads_vectors, search
from appliance.bench.tokenization import normalize_text
from appliance.client import Appliance
from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.types import Hits

DEFAULT_QUESTIONS = 60
"""A third of each kind. They run in seconds, and are enough to show a difference of 0.1 in recall."""

EXTRA_HITS = 10
"""Hits beyond ``MAX_DEPTH``, because hits that only repeat the question are removed."""

Ranks = Mapping[str, int | None]
"""The rank of each question's answer by the question's name, from 1; None beyond ``MAX_DEPTH``."""

OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class HistoryRun:
    """A run.

    Attributes:
        run: The run as it is stored.
        figures: Its figures by system.
        gone: How many stored questions are no longer valid.
        notes: The notes of the searches, with their number.
        before: The comparison with the previous run; None if there is none.
    """

    run: dict[str, Any]
    figures: Mapping[str, Mapping[str, Any]]
    gone: int
    notes: Mapping[str, int]
    before: dict[str, Any] | None


def run(
    memory: Appliance,
    *,
    user: str | None = None,
    questions: int = DEFAULT_QUESTIONS,
    systems: Sequence[str] = SYSTEMS,
    generations: Sequence[int] = (),
    on_step: OnStep = lambda what, done, total: None,
) -> HistoryRun:
    """Run known-item questions about one user's messages, and store the figures in the home.

    Waiting chunks are embedded first, so that every system searches all messages.

    Args:
        memory: The memory.
        user: Whose messages.
        questions: How many questions.
        systems: The scoring profiles.
        generations: The generations of vectors that each profile is measured with, side by side; the serving one if
            there are none. A profile that reads no vectors is measured once.
        on_step: Called with what is being done, how much of it is done, and how much there is.

    Raises:
        UsageError: No question can be made from the messages.
        StoreCorrupt: The stored questions can't be read.
        NotFound: There is no such generation.
    """
    for number in generations or (None,):
        memory.embed_pending(lambda done, left: on_step("embedding", done, done + left), generation=number)
    folder = memory.home.bench_of(memory.settings.user if user is None else user)
    on_step("looking for questions", 0, 0)
    items = history.load_items(folder)
    previous = [one for item in items if (one := known_items.build_question(memory, item)) is not None]
    counts_by_kind = {kind: (questions + 2 - number_of_kind) // 3 for number_of_kind, kind in enumerate(KINDS)}
    selected = known_items.select_questions(memory, user, previous, counts_by_kind)
    if not selected:
        raise UsageError(
            "No question can be made from this history.",
            hint="It needs messages of a dozen words, or questions with answers.",
        )
    names = {one.item.name for one in selected}
    gone = sum(item.name not in names for item in items)
    history.save_items(folder, [one.item for one in selected])
    ordered = [
        one for kind in KINDS for one in [one for one in selected if one.item.kind == kind][: counts_by_kind[kind]]
    ]
    profiles = available_profiles(memory.settings)
    compared = _compared_systems(systems, generations, {one for one in systems if reads_vectors(profiles[one])})
    ranks: dict[str, dict[str, int | None]] = {name: {} for name in compared}
    times: dict[str, list[float]] = {name: [] for name in compared}
    notes: Counter[str] = Counter()
    for number, one in enumerate(ordered):
        on_step("asking", number, len(ordered))
        rotation = number % len(compared)  # because the second system finds warm caches
        for name in [*compared][rotation:] + [*compared][:rotation]:
            system, generation = compared[name]
            started = time.perf_counter()
            hits = search(memory, system, one.query, MAX_DEPTH + EXTRA_HITS, user=user, generation=generation)
            times[name].append(time.perf_counter() - started)
            ranks[name][one.item.name] = answer_rank(hits, one)
            notes.update(note_kinds(name, hits))
    status = memory.status()
    models = {one["id"]: one["model"] for one in status["generations"]}
    measured = {number: models[number] for number in dict.fromkeys(generations)}
    now: dict[str, Any] = {
        "time": timestamps.iso_from_microseconds(timestamps.now()),
        "version": __version__,
        "model": _model_text(measured) or status["model"]["name"],
        "generations": [{"id": number, "model": model} for number, model in measured.items()],
        "messages": sum(info.messages for info in memory.sessions.list(user_id=user)),
        "questions": len(ordered),
        "latency_ms": {name: latency(times[name]) for name in compared},
        "figures": {name: measures_by_kind(ranks[name]) for name in compared},
        "ranks": ranks,
    }
    last = history.last_run(folder)
    history.add_run(folder, now)
    return HistoryRun(now, now["figures"], gone, notes, compare_runs(last, now) if last else None)


def _model_text(measured: Mapping[int, str]) -> str:
    """ "bge (generation 1) and e5 (generation 2)"; empty without generations."""
    return " and ".join(f"{model} (generation {number})" for number, model in measured.items())


def _compared_systems(
    systems: Sequence[str], generations: Sequence[int], reading_vectors: Collection[str]
) -> dict[str, tuple[str, int | None]]:
    """What is compared, by name: each profile that reads vectors with each generation, the others once."""
    compared: dict[str, tuple[str, int | None]] = {}
    for system in systems:
        if generations and system in reading_vectors:
            compared |= {f"{system}, generation {number}": (system, number) for number in generations}
        else:
            compared[system] = (system, None)
    return compared


def answer_rank(hits: Hits, known_question: KnownItemQuestion) -> int | None:
    """The rank of the answer, of a copy of it or of the hit that it is folded under, not counting hits that only repeat
    the question."""
    answer, question_text = (
        normalize_text(known_question.answer),
        normalize_text(known_question.question_text) if known_question.question_text else None,
    )
    position = 0
    for hit in hits:
        stands_for = {hit.message_id, *hit.why.get("variants", ())}
        text = normalize_text(hit.text)
        if known_question.item.message in stands_for or text == answer:
            return position + 1 if position < MAX_DEPTH else None
        position += not (known_question.item.asked in stands_for or text == question_text)
    return None


def measures_by_kind(ranks: Ranks) -> dict[str, dict[str, float]]:
    """The measures over all questions and by kind. Each question has one answer, whose rank determines them."""
    ranks_by_kind = {"overall": list(ranks.values())}
    for name, place in ranks.items():
        ranks_by_kind.setdefault(name.partition(" ")[0], []).append(place)
    places = [str(place) for place in range(1, MAX_DEPTH + 1)]
    return {
        kind: {"questions": len(found), **mean(message_measures(places, {str(place)}) for place in found)}
        for kind, found in ranks_by_kind.items()
    }


def compare_runs(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """The previous run, and the figures of both runs over the questions that they share."""
    systems: dict[str, Any] = {}
    same: set[str] = set()
    for system, ranks in now["ranks"].items():
        old = before["ranks"].get(system, {})
        shared = [name for name in ranks if name in old]
        same |= set(shared)
        if shared:
            systems[system] = {
                "before": measures_by_kind({name: old[name] for name in shared}),
                "now": measures_by_kind({name: ranks[name] for name in shared}),
            }
    before_fields = {name: before.get(name) for name in ("time", "version", "model", "messages")}
    return {**before_fields, "same_questions": len(same), "systems": systems}

"""Measures retrieval on a person's own history, and compares with the run before on the same questions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from appliance import __version__, moments
from appliance.bench import kept, known_items
from appliance.bench.known_items import KINDS, Posed
from appliance.bench.measures import DEEPEST, by_message, mean
from appliance.bench.recall import latency
from appliance.bench.systems import SYSTEMS, ask, grounds
from appliance.bench.wording import folded
from appliance.engine import Engine
from appliance.errors import UsageError
from appliance.types import Hits

QUESTIONS = 60
"""A third of each kind: asked in seconds, and a difference of a tenth in recall shows."""

SPARE_HITS = 10
"""Hits beyond the deepest that counts, since those that only repeat a question are taken out."""

Ranks = Mapping[str, int | None]
"""By a question's name the place at which its answer was found, from 1; None beyond the deepest that counts."""

OnStep = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Measured:
    """A run: as it is kept (``run``), its figures by system, what became of kept questions, and the run before."""

    run: dict[str, Any]
    figures: Mapping[str, Mapping[str, Any]]
    gone: int
    notes: Mapping[str, int]
    before: dict[str, Any] | None


def run(
    memory: Engine,
    *,
    user: str | None = None,
    questions: int = QUESTIONS,
    systems: Sequence[str] = SYSTEMS,
    on_step: OnStep = lambda what, done, total: None,
) -> Measured:
    """Ask about one user's messages what they are known to answer, and keep the figures in the home.

    What waits for its vector is embedded first, so that no system is short of messages.

    Raises:
        UsageError: no question can be made from what is there.
        StoreCorrupt: the kept questions can't be read.
    """
    memory.embed_pending(lambda done, waits: on_step("embedding", done, done + waits))
    folder = memory.home.bench_of(memory.settings.user if user is None else user)
    on_step("looking for questions", 0, 0)
    items = kept.items(folder)
    posed = [one for item in items if (one := known_items.pose(memory, item)) is not None]
    wanted = {kind: (questions + 2 - place) // 3 for place, kind in enumerate(KINDS)}
    found = known_items.make(memory, user, posed, wanted)
    if not found:
        raise UsageError(
            "no question can be made from this history",
            hint="it takes messages of a dozen words, or questions that were answered",
        )
    names = {one.item.name for one in found}
    gone = sum(item.name not in names for item in items)
    kept.keep(folder, [one.item for one in found])
    asked = [one for kind in KINDS for one in [one for one in found if one.item.kind == kind][: wanted[kind]]]
    ranks: dict[str, dict[str, int | None]] = {system: {} for system in systems}
    times: dict[str, list[float]] = {system: [] for system in systems}
    notes: Counter[str] = Counter()
    for number, one in enumerate(asked):
        on_step("asking", number, len(asked))
        turn = number % len(systems)  # who comes second finds the caches warm
        for system in (*systems[turn:], *systems[:turn]):
            began = time.perf_counter()
            hits = ask(memory, system, one.query, DEEPEST + SPARE_HITS, user=user)
            times[system].append(time.perf_counter() - began)
            ranks[system][one.item.name] = rank(hits, one)
            notes.update(grounds(system, hits))
    status = memory.status()
    now: dict[str, Any] = {
        "time": moments.iso_of(moments.now()),
        "version": __version__,
        "model": status["model"]["name"],
        "messages": sum(info.messages for info in memory.sessions.list(user_id=user)),
        "questions": len(asked),
        "latency_ms": {system: latency(times[system]) for system in systems},
        "figures": {system: by_kind(ranks[system]) for system in systems},
        "ranks": ranks,
    }
    last = kept.last_run(folder)
    kept.add_run(folder, now)
    return Measured(now, now["figures"], gone, notes, compared(last, now) if last else None)


def rank(hits: Hits, posed: Posed) -> int | None:
    """The place of the answer, of a copy of it or of the hit that it is folded under, counted without what only
    repeats the question."""
    answer, repeated = folded(posed.answer), folded(posed.asked) if posed.asked else None
    place = 0
    for hit in hits:
        stands_for = {hit.message_id, *hit.why.get("folded", ())}
        text = folded(hit.text)
        if posed.item.message in stands_for or text == answer:
            return place + 1 if place < DEEPEST else None
        place += not (posed.item.asked in stands_for or text == repeated)
    return None


def by_kind(ranks: Ranks) -> dict[str, dict[str, float]]:
    """The measures over all questions and of each kind. A question has one answer, so that its place says all."""
    every = {"overall": list(ranks.values())}
    for name, place in ranks.items():
        every.setdefault(name.partition(" ")[0], []).append(place)
    places = [str(place) for place in range(1, DEEPEST + 1)]
    return {
        kind: {"questions": len(found), **mean(by_message(places, {str(place)}) for place in found)}
        for kind, found in every.items()
    }


def compared(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    """What the run before was, and both runs' figures over the questions that both asked."""
    systems: dict[str, Any] = {}
    same: set[str] = set()
    for system, ranks in now["ranks"].items():
        old = before["ranks"].get(system, {})
        shared = [name for name in ranks if name in old]
        same |= set(shared)
        if shared:
            systems[system] = {
                "before": by_kind({name: old[name] for name in shared}),
                "now": by_kind({name: ranks[name] for name in shared}),
            }
    told = {name: before.get(name) for name in ("time", "version", "model", "messages")}
    return {**told, "same_questions": len(same), "systems": systems}

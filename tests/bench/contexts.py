"""How long a context takes beyond its search, in a large home.

    python -m tests.bench.contexts --home DIR [--user me] [--budget 4000] [--questions 200] [--texts FILE]

The home is one that ``tests.bench.scale`` has built (its ``alone``, 100,000 chunks and one user). Opening brings its
schema up to date, and a session of forty turns is added: give a copy. Searches and the rest are timed in the same
calls; a search for a context asks for as many hits as its budget holds, beside which an ordinary search for ten is
timed. Target: p95 of the rest at most 60 ms. "cpu" is the time of this process alone, whatever else the machine does.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from appliance import Appliance
from appliance.context import layers, memory_selection
from appliance.store import importance, messages, neighbours
from tests.bench import material, measure

TARGET_MS = 60.0
TURNS = 40
WARM_UP = 5
PARTS = (
    (layers, "build"),
    (memory_selection, "select_memories"),
    (neighbours, "adjacent_messages"),
    (importance, "get"),
    (messages, "of_session"),
)


def run(home: Path, user: str, budget: int, queries: list[str]) -> measure.Document:
    embedder = material.ProjectionEmbedder()
    embedder.learn(queries)
    with Appliance.open(home, create=False, embedder=embedder, worker=False) as memory:
        session = memory.sessions.create(title="Bench", user_id=user)
        for number in range(TURNS):
            session.add("user" if number % 2 == 0 else "assistant", f"turn {number} about the harbour and its keeper")
        memory.embed_pending()
        searching: list[tuple[float, float]] = []
        plain = memory.search

        def timed(*given: Any, **named: Any) -> Any:
            began, worked = time.perf_counter(), time.process_time()
            try:
                return plain(*given, **named)
            finally:
                searching.append((time.perf_counter() - began, time.process_time() - worked))

        memory.search = timed  # type: ignore[method-assign]
        rest, rest_cpu, searches, ordinary, tokens = [], [], [], [], []
        watch = measure.Stopwatch()
        for number, query in enumerate([*queries[:WARM_UP], *queries]):
            searching.clear()
            began, worked = time.perf_counter(), time.process_time()
            context = memory.context(query, session_id=session.id, user_id=user, budget=budget)
            whole, whole_cpu = time.perf_counter() - began, time.process_time() - worked
            if number >= WARM_UP:
                searches.append(sum(wall for wall, _ in searching))
                rest.append(whole - searches[-1])
                rest_cpu.append(whole_cpu - sum(cpu for _, cpu in searching))
                ordinary.append(measure.seconds(lambda query=query: plain(query, user_id=user)))  # type: ignore[misc]
                tokens.append(context.tokens)
        with watch.watching(*PARTS):
            began = time.perf_counter()
            for query in queries:
                memory.context(query, session_id=session.id, user_id=user, budget=budget)
            total = time.perf_counter() - began
        return {
            "benchmark": "contexts",
            "machine": measure.machine(),
            "chunks": memory.status()["counts"]["chunks"],
            "budget": budget,
            "tokens": {"mean": round(sum(tokens) / len(tokens)), "most": max(tokens)},
            "search_for_context_ms": measure.percentiles(searches),
            "search_for_ten_ms": measure.percentiles(ordinary),
            "context_beyond_search_ms": measure.percentiles(rest),
            "context_beyond_search_cpu_ms": measure.percentiles(rest_cpu),
            "target_ms_p95": TARGET_MS,
            "where": {
                label: {"ms_a_context": round(1000 * part["seconds"] / len(queries), 3), "share": part["share"]}
                for label, part in watch.share_of(total).items()
            },
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--user", default="me")
    parser.add_argument("--budget", type=int, default=4_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--texts", type=Path)
    given = parser.parse_args()
    asked = material.questions(material.texts(given.texts)[0], given.questions, given.texts)
    measure.show(run(given.home, given.user, given.budget, asked))

"""One phase of one store, in a process of its own: ``build`` or ``search``. Prints a JSON document."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.bench import measure
from tests.bench.peers import corpus
from tests.bench.peers.corpus import NEAREST, Corpus
from tests.bench.peers.stores import STORES, Search, Store

WARM_UP = 3
SECONDS_AT_MOST = 120.0
"""A store that needs seconds for a search is asked fewer times."""

# The scores of equal vectors differ in their last bits.
_TOLERANCE = 1e-5


def build(store: Store, made: Corpus, folder: Path) -> measure.Document:
    """Store all points, from an empty folder to a closed store."""
    began, began_work = time.perf_counter(), time.process_time()
    store.build(folder, made.vectors, made.payload)
    taken, worked = time.perf_counter() - began, time.process_time() - began_work
    return {
        "version": store.version(),
        "note": store.note,
        "build_a_second": round(len(made.vectors) / taken),
        "build_cpu_a_second": round(len(made.vectors) / worked),
    }


def search(store: Store, made: Corpus, folder: Path) -> measure.Document:
    """Open the store, and search all points and those of one user."""
    began = time.perf_counter()
    opened = store.open(folder)
    ready = time.perf_counter()
    opened.search(made.queries[0], None)
    first = time.perf_counter()
    found: measure.Document = {"open_s": round(ready - began, 3), "first_search_s": round(first - ready, 3)}
    for number in range(WARM_UP):
        opened.search(made.queries[number], made.users[number])
    for name, filtered in (("search", False), ("filtered", True)):
        found |= _searches(name, opened.search, made, filtered)
    found["rss_anon_mb"] = measure.rss_anon_mb()
    opened.close()
    return found


def _searches(name: str, search: Search, made: Corpus, filtered: bool) -> measure.Document:
    taken, worked, recalls = [], [], []
    limit = time.perf_counter() + SECONDS_AT_MOST
    for number, user in enumerate(made.users):
        began, began_work = time.perf_counter(), time.process_time()
        ids = search(made.queries[number], user if filtered else None)
        taken.append(time.perf_counter() - began)
        worked.append(time.process_time() - began_work)
        recalls.append(_recall(made, number, ids, filtered))
        if time.perf_counter() > limit:
            break
    return {
        f"{name}_ms": measure.percentiles(taken),
        f"{name}_cpu_ms": measure.percentiles(worked),
        f"{name}_recall_at_10": round(sum(recalls) / len(recalls), 4),
    }


def _recall(made: Corpus, number: int, ids: list[int], filtered: bool) -> float:
    """The share of the ten that are at least as near as the tenth, and belong to the user."""
    needed = (made.nearest_of_user if filtered else made.nearest)[number] - _TOLERANCE
    right = 0
    for id in set(ids):
        if filtered and made.payload[id - 1].user != made.users[number]:
            continue
        right += bool(made.vectors[id - 1] @ made.queries[number] >= needed)
    return min(1.0, right / NEAREST)


def main() -> None:
    phase, name, made, folder = sys.argv[1:]
    work = {"build": build, "search": search}[phase]
    measure.show(work(STORES[name], corpus.read(Path(made)), Path(folder)))


if __name__ == "__main__":
    main()

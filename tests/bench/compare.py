"""Searches by two versions of the program in turns: what a change gains, on a machine that others use too.

    python -m tests.bench.compare --other TREE --homes HOME COPY [--queries 200] [--rounds 2] [--model NAME]

``--other`` is a checkout of the other version, such as a git worktree. Each version owns a home of
``tests.bench.scale`` (``--home`` keeps them), so the second is a copy of the first. Both are open at once, each in a
process of its own, and answer each query one after the other; who begins changes with each query. Times are by the
clock and by the processor (of all threads); the answers are compared, too. With ``--model`` each query is also
embedded by that model, for the time that it takes. ``--opening`` measures opening and the first search instead, each
in fresh processes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from appliance import Appliance
from appliance_models import EmbeddedQuery
from tests.bench import material, measure

WARM_UP = 5


@dataclass
class Version:
    """One version of the program: its checkout, and the home that its process owns."""

    name: str
    tree: Path
    home: Path

    def start(self, *options: str) -> subprocess.Popen[str]:
        """A process of this version that runs this module (the text of this version's, whatever the other has)."""
        paths = [str(path) for path in (self.tree, self.tree / "models", self.tree / "tui")]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
        return subprocess.Popen(
            [sys.executable, "-P", __file__, "--home", str(self.home), *options],
            env=kept | {"PYTHONPATH": os.pathsep.join(paths)},
            cwd=self.tree,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )


def compare_searches(versions: Sequence[Version], queries: int, rounds: int, options: Sequence[str]) -> dict[str, Any]:
    """Each query by both versions in turns, ``rounds`` times; the answers of the first round are compared."""
    processes = [version.start("--serve", "--queries", str(queries), *options) for version in versions]
    figures: dict[str, dict[str, list[float]]] = {
        version.name: {"wall": [], "cpu": [], "least": [float("inf")] * queries} for version in versions
    }
    different = 0
    try:
        opened = [json.loads(_ask(process, "")) for process in processes]
        for turn in range(rounds):
            for number in range(queries):
                answers: dict[str, Any] = {}
                order = list(zip(versions, processes, strict=True))
                for version, process in order if (number + turn) % 2 else order[::-1]:
                    answer = answers[version.name] = json.loads(_ask(process, str(number)))
                    of_version = figures[version.name]
                    of_version["wall"].append(answer["wall"])
                    of_version["cpu"].append(answer["cpu"])
                    of_version["least"][number] = min(of_version["least"][number], answer["cpu"])
                if turn == 0:
                    different += len({answer["hits"] for answer in answers.values()}) > 1
    finally:
        for process in processes:
            process.communicate()
    return {
        "different_answers": different,
        **{
            version.name: {
                "wall_ms": measure.percentiles(figures[version.name]["wall"]),
                "cpu_ms": measure.percentiles(figures[version.name]["cpu"]),
                "least_cpu_ms": measure.percentiles(figures[version.name]["least"]),
                **of_opening,
            }
            for version, of_opening in zip(versions, opened, strict=True)
        },
    }


def _ask(process: subprocess.Popen[str], line: str) -> str:
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline()


def compare_openings(versions: Sequence[Version], rounds: int, options: Sequence[str]) -> dict[str, Any]:
    """Opening, first and second search of both versions in turns, in fresh processes."""
    found: dict[str, list[dict[str, float]]] = {version.name: [] for version in versions}
    for turn in range(rounds):
        for version in versions if turn % 2 else versions[::-1]:
            out, _ = version.start("--open-once", *options).communicate()
            found[version.name].append(json.loads(out))
    return {
        name: {
            figure: {
                "median": round(median(one[figure] for one in runs), 3),
                "min": round(min(one[figure] for one in runs), 3),
            }
            for figure in runs[0]
        }
        for name, runs in found.items()
    }


# --- in a process of its own ------------------------------------------------------------------------------


class EmbedderWithModel(material.ProjectionEmbedder):
    """The stand-in of the benchmarks, which lets a real model embed each query too, for its time."""

    def __init__(self, model: str) -> None:
        import appliance_models

        super().__init__()
        self._model: Any = appliance_models.load(model, ())
        self._model.embed_query_with_tokens("warm")

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        self._model.embed_query_with_tokens(text)
        return super().embed_query_with_tokens(text)


def _embedder(model: str | None) -> material.ProjectionEmbedder:
    return EmbedderWithModel(model) if model else material.ProjectionEmbedder()


def _questions(count: int) -> list[str]:
    return material.questions(material.texts()[0], count)


def serve(home: Path, count: int, user: str, model: str | None) -> None:
    """Answer the queries whose numbers come line by line."""
    queries = _questions(count)
    embedder = _embedder(model)
    if not model:
        embedder.learn(queries)
    began, began_cpu = time.perf_counter(), time.process_time()
    with Appliance.open(home, create=False, embedder=embedder, worker=False) as memory:
        memory.search("What about the weekend?", user_id=user)
        opened = {"opened_wall_s": time.perf_counter() - began, "opened_cpu_s": time.process_time() - began_cpu}
        sys.stdin.readline()
        for number in range(WARM_UP):
            memory.search(f"What did we say about the weekend and {number} others?", user_id=user)
        print(json.dumps({**opened, "rss_anon_mb": measure.rss_anon_mb()}), flush=True)
        for line in sys.stdin:
            query = queries[int(line)]
            began, began_cpu = time.perf_counter(), time.process_time()
            hits = memory.search(query, user_id=user)
            wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
            print(json.dumps({"wall": wall, "cpu": cpu, "hits": _digest(hits)}), flush=True)


def _digest(hits: Any) -> str:
    said = [(hit.message_id, hit.score, hit.snippet, hit.why) for hit in hits]
    return hashlib.blake2b(repr((said, hits.notes, hits.total, hits.found)).encode(), digest_size=16).hexdigest()


def open_once(home: Path, user: str) -> None:
    """From nothing to the first two answers."""
    queries = _questions(2)
    embedder = material.ProjectionEmbedder()
    embedder.learn(queries)
    times = [(time.perf_counter(), time.process_time())]

    def tick() -> None:
        times.append((time.perf_counter(), time.process_time()))

    memory = Appliance.open(home, create=False, embedder=embedder, worker=False)
    for query in queries:
        memory.search(query, user_id=user)
        tick()
    anonymous = measure.rss_anon_mb() or 0.0
    began, began_cpu = time.perf_counter(), time.process_time()
    memory.close()
    closed = {"close_s": time.perf_counter() - began, "close_cpu_s": time.process_time() - began_cpu}
    (start, start_cpu), (first, first_cpu), (second, second_cpu) = times
    document = {
        "first_search_s": first - start,
        "first_search_cpu_s": first_cpu - start_cpu,
        "second_search_s": second - first,
        "second_search_cpu_s": second_cpu - first_cpu,
        "rss_anon_mb": anonymous,
        **closed,
    }
    print(json.dumps(document))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", type=Path, help="a checkout of the other version")
    parser.add_argument("--homes", type=Path, nargs=2, help="this version's home, and the other's")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--user", default="me")
    parser.add_argument("--model", help="also embed each query with this model")
    parser.add_argument("--opening", action="store_true", help="measure opening and the first searches")
    # What the processes are told.
    parser.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--open-once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.home, options.queries, options.user, options.model)
        return
    if options.open_once:
        open_once(options.home, options.user)
        return
    own, others = options.homes
    versions = [Version("this", measure.ROOT, own), Version("other", options.other.resolve(), others)]
    given = ["--user", options.user]
    if options.opening:
        found = compare_openings(versions, options.rounds, given)
    else:
        given += ["--model", options.model] if options.model else []
        found = compare_searches(versions, options.queries, options.rounds, given)
    measure.show({"benchmark": "compare", "machine": measure.machine(), **found})


if __name__ == "__main__":
    main()

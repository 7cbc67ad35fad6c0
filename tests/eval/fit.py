"""Fits the ranker's weights listwise, and says how they carry over to conversations they have not seen.

    python -m tests.eval.fit [--homes DIR]

The loss is the cross-entropy of a softmax over a question's candidates against its cited messages (ListNet,
Cao et al. 2007, top-one form), plus a small L2. Held-out figures are leave-one-conversation-out within a
set, and fitted on one set and measured on the other. ``--homes`` keeps the ingested homes for another run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import mean
from appliance.bench.recall import write_jsonl
from appliance.retrieval.candidates import Candidates
from appliance.retrieval.legs import find_candidates, parse_query
from appliance.retrieval.ranking import best_first, rank, score
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.retrieval.search_query import query_time
from appliance.retrieval.second_stage import SECOND_STAGE_DEPTH
from appliance.retrieval.weights import EVIDENCE
from appliance.store import messages
from appliance.types import Filters, Scope
from tests.engines import engine_of
from tests.eval.runner import SETS

WEIGHTS = EVIDENCE.weights or {}
UNFITTED = {"quoted", "file", "period", "title", "max_sim"}
"""The sets have nothing in quotation marks, no titles, few files, and no question for a time alone; their memories
have token vectors, without which ``max_sim`` has no part."""
NAMES = tuple(name for name in WEIGHTS if name not in UNFITTED)
BALANCE = 3.0
"""What a BEAM question counts in the joint fit against one of LoCoMo: it has a fifth as many."""


@dataclass(frozen=True)
class Case:
    """One question: the features of its best candidates (candidates, features), which of them are cited, how
    many messages are cited in all, and recall@10 of each leg by itself."""

    set: str
    conversation: str
    values: NDArray[np.float64]
    cited: NDArray[np.float64]
    wanted: int
    alone: Mapping[str, float]


def home_of(conversation: BenchmarkCorpus, homes: Path) -> Path:
    """The home that a conversation has been read into, now or before."""
    home = homes / conversation.name
    if not home.exists():
        with Appliance.open(home, worker=False) as memory:
            memory.ingest(write_jsonl(conversation, homes)[0])
    return home


def collect(set_name: str, conversation: BenchmarkCorpus, homes: Path) -> list[Case]:
    with (
        Appliance.open(home_of(conversation, homes), worker=False) as memory,
        engine_of(memory)._index_service.search_resources(dense=True) as resources,
    ):
        assert resources is not None
        cases = []
        for question in conversation.questions:
            search_query = SearchQuery(
                question.text, Filters(Scope("me")), EVIDENCE, EVIDENCE.legs, "hybrid", query_time(None)
            )
            parsed = parse_query(resources, search_query, [])
            candidates = find_candidates(resources, parsed, [])
            ranking = rank(resources, parsed, candidates)
            # As it is served: only what the first ranking likes best is ranked by these weights.
            best = best_first(score(ranking.values, EVIDENCE.first_stage), candidates.messages)[:SECOND_STAGE_DEPTH]
            keys = candidates.messages[best].tolist()
            rows = messages.get(resources.db, keys)
            values = np.column_stack([ranking.values[name][best] for name in NAMES])
            cited = np.array([float(rows[key].external_id in question.relevant) for key in keys])
            alone = {leg: _alone(resources, candidates, leg, question.relevant) for leg in candidates.scores}
            cases.append(Case(set_name, conversation.name, values, cited, len(question.relevant), alone))
    return cases


def fit(cases: Sequence[Case], steps: int = 600) -> NDArray[np.float64]:
    """Adam on the listwise loss, from equal weights."""
    usable = [case for case in cases if case.cited.any()]
    deepest = max(len(case.cited) for case in usable)
    values = np.zeros((len(usable), deepest, len(NAMES)))
    absent = np.full((len(usable), deepest), -np.inf)
    target = np.zeros((len(usable), deepest))
    for row, case in enumerate(usable):
        values[row, : len(case.cited)] = case.values
        absent[row, : len(case.cited)] = 0.0
        target[row, : len(case.cited)] = case.cited / case.cited.sum()
    share = np.array([BALANCE if case.set == "beam" else 1.0 for case in usable])
    share /= share.sum()
    weights = np.ones(len(NAMES))
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, steps + 1):
        scores = values @ weights + absent
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = 1e-3 * weights + np.einsum("q,qn,qnf->f", share, chances - target, values, optimize=True)
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        weights -= 0.15 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
    return weights


def _alone(resources: SearchResources, candidates: Candidates, leg: str, evidence: frozenset[str]) -> float:
    best = best_first(np.nan_to_num(candidates.scores[leg], nan=-np.inf), candidates.messages)[:10]
    rows = messages.get(resources.db, candidates.messages[best].tolist())
    return len(evidence & {row.external_id for row in rows.values()}) / len(evidence)


def measured(case: Case, weights: NDArray[np.float64]) -> dict[str, float]:
    cited = case.cited[np.argsort(-(case.values @ weights), kind="stable")]
    first = 1 / (int(cited.argmax()) + 1) if cited.any() else 0.0
    recalls = {f"recall@{depth}": float(cited[:depth].sum()) / case.wanted for depth in (5, 10)}
    return {**recalls, "mrr": first}


def by_one(cases: Sequence[Case], weights: NDArray[np.float64]) -> dict[str, float]:
    return mean([measured(case, weights) for case in cases])


def held_out(cases: Sequence[Case], of: str) -> dict[str, float]:
    """Each conversation of a set measured by weights that never saw it, fitted on all others of ``cases``."""
    rows: list[dict[str, float]] = []
    for name in sorted({case.conversation for case in cases if case.set == of}):
        weights = fit([case for case in cases if case.conversation != name])
        rows += [measured(case, weights) for case in cases if case.conversation == name]
    return mean(rows)


def report(cases: Sequence[Case]) -> dict[str, object]:
    by_set = {name: [case for case in cases if case.set == name] for name in SETS}
    joint, alone = fit(cases), {name: fit(own) for name, own in by_set.items()}
    shipped = np.array([WEIGHTS[name] for name in NAMES])
    return {
        "weights": dict(zip(NAMES, joint.round(2).tolist(), strict=True)),
        "weights by set": {n: dict(zip(NAMES, w.round(2).tolist(), strict=True)) for n, w in alone.items()},
        "sets": {
            name: {
                "recall@10 of a leg alone": mean([case.alone for case in own]),
                "recall of the first ranking at the depth of the closer look": mean(
                    [{"recall": float(case.cited.sum()) / case.wanted} for case in own]
                )["recall"],
                "shipped weights": by_one(own, shipped),
                "joint fit": by_one(own, joint),
                "held out, joint fit without the conversation": held_out(cases, name),
                "held out, fitted on the set's other conversations": held_out(own, name),
                **{f"fitted on {other}": by_one(own, w) for other, w in alone.items() if other != name},
                "held out, joint fit, without a feature": {
                    feature: held_out(_without(cases, feature), name) for feature in NAMES
                },
            }
            for name, own in by_set.items()
        },
    }


def _without(cases: Sequence[Case], feature: str) -> list[Case]:
    kept = np.array([float(name != feature) for name in NAMES])
    return [replace(case, values=case.values * kept) for case in cases]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = given.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        cases = [
            c for name, load in SETS.items() for conversation in load() for c in collect(name, conversation, homes)
        ]
    print(json.dumps(report(cases), indent=1))


if __name__ == "__main__":
    main()

"""What a floor for each memory of a context takes away: tokens, and messages that answer.

    python -m tests.eval.worth [--homes DIR] [--first LOCOMO BEAM]

The hits behind each context (``context.worth.least_score``) fill budgets of 500 to 8,000 tokens, the best first and
whole, with each of some floors. A floor is named by the least score at 1,000 tokens; it falls with the square of the
budget. Each fold chooses the highest floor that keeps ``KEPT`` of the evidence of the other conversations at every
budget, and is measured on the conversation that is left out. Questions without an answer are as in
``tests.eval.floors``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import fmean

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.context import memory_selection, worth
from appliance.retrieval.weights import BALANCED
from appliance.types import Hits
from tests.eval.confidence import queries
from tests.eval.contexts import COUNTER
from tests.eval.fit import home_of
from tests.eval.floors import GENERAL
from tests.eval.runner import SETS

KEPT = 0.98
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
FLOORS = (0.0, 0.005, worth.FLOOR, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08)
EVERY = 8
"""Of the questions asked of another memory, one in so many is asked."""
HEAD_TOKENS = 8
"""About what the id and the author of a memory take."""

Choice = tuple[float, int]
"""A floor and a budget."""


@dataclass(frozen=True)
class Row:
    """A query: for each floor and budget the tokens of its memories, and the share of the evidence among them (None
    without an answer)."""

    conversation: str
    kind: str
    tokens: Mapping[Choice, int]
    evidence: Mapping[Choice, float] | None


def row_of(conversation: str, kind: str, hits: Hits, cited: Sequence[str] | None) -> Row:
    values = worth.scores(hits.hits)
    points = {hit.message_id: memory_selection._score_without_quotes(hit) for hit in hits}
    best = max(points.values(), default=0.0)
    likely = [
        hit for hit in hits if hits.supports_context and points[hit.message_id] >= memory_selection.MIN_RELEVANCE * best
    ]
    sizes = {hit.message_id: COUNTER.count(hit.text) + HEAD_TOKENS for hit in likely}
    tokens: dict[Choice, int] = {}
    evidence: dict[Choice, float] = {}
    for floor in FLOORS:
        for budget in BUDGETS:
            least = min(worth.MAX_FLOOR, floor * (worth.FLOOR_BUDGET / budget) ** 2)
            spent, shown = 0, set()
            for hit in likely:
                if values[hit.message_id] >= least and spent + sizes[hit.message_id] <= budget:
                    spent += sizes[hit.message_id]
                    shown.add(hit.external_id)
            tokens[floor, budget] = spent
            if cited is not None:
                evidence[floor, budget] = fmean(one in shown for one in cited)
    return Row(conversation, kind, tokens, None if cited is None else evidence)


def rows(corpora: Sequence[tuple[str, BenchmarkCorpus]], homes: Path) -> Iterator[Row]:
    asked = list(queries(corpora))
    for place, (set_name, corpus) in enumerate(corpora):
        cited = {question.text: sorted(question.relevant) for question in corpus.questions}
        own = [one[1:] for one in asked if one[0] == place]
        others = [one for one in own if one[1].startswith(("asked of", "words of"))]
        wanted = [one for one in own if one not in others and one[1] != "words"] + others[::EVERY]
        wanted += [("general", "general knowledge", text, False) for text in GENERAL]
        with Appliance.open(home_of(corpus, homes), worker=False) as memory:
            for _, kind, text, answerable in wanted:
                hits = memory.search(
                    text,
                    limit=memory_selection.hits_needed(BUDGETS[-2]),
                    profile=BALANCED.name,
                    per_session=0,
                    variants=False,
                    min_score=0,
                )
                name = set_name if answerable else kind
                yield row_of(corpus.name, name, hits, cited[text] if answerable else None)


def kept(of: Sequence[Row], choice: Choice) -> float:
    """The share of the evidence without a floor that still stands with one."""
    without = sum(one.evidence[0.0, choice[1]] for one in of if one.evidence is not None)
    return sum(one.evidence[choice] for one in of if one.evidence is not None) / without


def figures(found: Sequence[Row]) -> dict[str, object]:
    answerable = [one for one in found if one.evidence is not None]
    sets = dict.fromkeys(one.kind for one in answerable)
    folds = {}
    for name in dict.fromkeys(one.conversation for one in found):
        others = [[one for one in answerable if one.kind == kind and one.conversation != name] for kind in sets]
        floor = max(
            floor
            for floor in FLOORS
            if all(kept(of, (floor, budget)) >= KEPT for of in others if of for budget in BUDGETS)
        )
        own = [one for one in answerable if one.conversation == name]
        folds[name] = {"floor": floor, "kept": {budget: round(kept(own, (floor, budget)), 4) for budget in BUDGETS}}
    return {
        "tokens": {
            kind: {
                budget: {
                    floor: round(fmean(one.tokens[floor, budget] for one in found if one.kind == kind))
                    for floor in FLOORS
                }
                for budget in BUDGETS
            }
            for kind in dict.fromkeys(one.kind for one in found)
        },
        "evidence kept": {
            kind: {
                budget: {
                    floor: round(kept([one for one in answerable if one.kind == kind], (floor, budget)), 4)
                    for floor in FLOORS
                }
                for budget in BUDGETS
            }
            for kind in sets
        },
        "chosen on the others, kept of the one left out": folds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--first", type=int, nargs=2, metavar=("LOCOMO", "BEAM"), default=(None, None))
    given = parser.parse_args()
    first = dict(zip(SETS, given.first, strict=True))
    corpora = [(name, corpus) for name, load in SETS.items() for corpus in islice(load(), first[name])]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(figures(list(rows(corpora, given.homes or Path(folder)))), indent=1))


if __name__ == "__main__":
    main()

"""What each leg and each group of features is worth: recall with it left out, the other weights as they ship.

    python -m tests.eval.ablations [--homes DIR]

``tests.eval.fit`` leaves out one feature at a time and fits the others anew; here nothing is fitted, because a
person who switches a leg off fits nothing either. ``--homes`` keeps the ingested homes for another run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import mean, message_measures
from appliance.retrieval.legs import find_candidates, parse_query
from appliance.retrieval.ranking import rank
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.retrieval.search_query import query_time
from appliance.retrieval.weights import EVIDENCE, LEGS, ScoringProfile
from appliance.store import messages
from appliance.types import Filters, Scope
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

SHOWN = 10

GROUPS: Mapping[str, tuple[str, ...]] = {
    "meaning": ("dense", "neighbour_dense", "session"),
    "words": ("own", "window", "phrase"),
    "words one by one": ("token_match", "token_match_near", "max_sim", "idf_mass"),
    "who said it": ("author", "named", "user_authored"),
    "times": ("time", "dated"),
    "question before it": ("replies",),
}
"""Features that speak of the same thing."""


def without_features(names: tuple[str, ...]) -> ScoringProfile:
    first = {name: weight for name, weight in EVIDENCE.first_stage.items() if name not in names}
    weights = {name: weight for name, weight in (EVIDENCE.weights or {}).items() if name not in names}
    return replace(EVIDENCE, first_stage=first, weights=weights)


def variants() -> Iterator[tuple[str, ScoringProfile]]:
    yield "all", EVIDENCE
    for leg in LEGS:
        yield f"without the leg {leg}", replace(EVIDENCE, legs=EVIDENCE.legs - {leg})
    for group, names in GROUPS.items():
        yield f"without {group} ({', '.join(names)})", without_features(names)
    yield "without the closer look", replace(EVIDENCE, weights=None)


def run(conversation: BenchmarkCorpus, homes: Path) -> Iterator[tuple[str, dict[str, float]]]:
    """The measures of each question in each variant."""
    with (
        Appliance.open(home_of(conversation, homes), worker=False) as memory,
        engine_of(memory)._index_service.search_resources(dense=True) as resources,
    ):
        assert resources is not None
        for question in conversation.questions:
            for name, profile in variants():
                yield name, message_measures(ranked(resources, question.text, profile), question.relevant)


def ranked(resources: SearchResources, question: str, profile: ScoringProfile) -> list[str]:
    search_query = SearchQuery(question, Filters(Scope("me")), profile, profile.legs, "hybrid", query_time(None))
    parsed = parse_query(resources, search_query, [])
    candidates = find_candidates(resources, parsed, [])
    best = candidates.messages[rank(resources, parsed, candidates).order[:SHOWN]].tolist()
    rows = messages.get(resources.db, best)
    return [rows[key].external_id for key in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    given = parser.parse_args()
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        homes = given.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        for set_name, load in SETS.items():
            for conversation in load():
                for name, row in run(conversation, homes):
                    found.setdefault(name, {}).setdefault(set_name, []).append(row)
    figures = {
        name: {
            set_name: {
                measure: value for measure, value in mean(rows).items() if measure in ("recall@5", "recall@10", "mrr")
            }
            for set_name, rows in by_set.items()
        }
        for name, by_set in found.items()
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()

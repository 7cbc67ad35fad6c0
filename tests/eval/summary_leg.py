"""Whether summaries help to find messages: the messages that well-matching summaries quote, or cover, proposed as
candidates, and given so much more score.

    python -m tests.eval.summary_leg [--homes DIR]

``--homes`` keeps the ingested homes for another run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import mean, message_measures
from appliance.retrieval import legs, summary_search
from appliance.retrieval.candidates import LEG_POOL_SIZE, from_index
from appliance.retrieval.ranking import best_first, rank
from appliance.retrieval.resources import ParsedQuery, SearchQuery, SearchResources
from appliance.retrieval.search_query import query_time
from appliance.retrieval.weights import EVIDENCE
from appliance.store import chunks, messages
from appliance.types import LEVELS, Filters, Scope
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

SHOWN = 10
MATCHING = 5
"""How many summaries propose what they quote."""

WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Times a summary's score (0 to 1); a hit's score goes to some twenty."""


def run(conversation: BenchmarkCorpus, homes: Path) -> Iterator[tuple[str, dict[str, float]]]:
    with Appliance.open(home_of(conversation, homes), worker=False) as memory:
        memory.run_pending_jobs()
        with engine_of(memory)._index_service.search_resources(dense=True) as resources:
            assert resources is not None
            for question in conversation.questions:
                search_query = SearchQuery(
                    question.text, Filters(Scope("me")), EVIDENCE, EVIDENCE.legs, "hybrid", query_time(None)
                )
                parsed = legs.parse_query(resources, search_query, [])
                for name, best, pool in variants(resources, parsed):
                    said = messages.get(resources.db, [*best, *pool])
                    row = message_measures([said[key].external_id for key in best], question.relevant)
                    found = {said[key].external_id for key in pool}
                    row["among the candidates"] = len(found & question.relevant) / len(question.relevant)
                    yield name, row


def variants(resources: SearchResources, parsed: ParsedQuery) -> Iterator[tuple[str, list[int], list[int]]]:
    """The best messages and all candidates: as it ships, with proposals, and with weights beside."""
    quoted = weighed(resources, parsed)
    plain = legs.find_candidates(resources, parsed, [])
    yield "as it ships", *ranked(resources, parsed, plain, {}, 0.0)
    pieces = chunks.chunks_of(resources.db, resources.generation, sorted(quoted))
    order = sorted(quoted, key=lambda key: -quoted[key])[:LEG_POOL_SIZE]
    also = {"summary": [chunk for key in order for chunk in pieces.get(key, ())]}
    assert resources.index is not None
    also |= legs._propose_narrowed(resources, resources.index, parsed)
    more = from_index(resources.db, resources.index, parsed.leg_queries, parsed.query.filters, also)
    more = replace(more, quoted=plain.quote_matches)
    yield "proposed", *ranked(resources, parsed, more, {}, 0.0)
    for weight in WEIGHTS:
        yield f"proposed, weight {weight}", *ranked(resources, parsed, more, quoted, weight)


def weighed(resources: SearchResources, parsed: ParsedQuery) -> dict[int, float]:
    """The messages that the best summaries quote, each with the score of the best of these."""
    filters = replace(parsed.query.filters, levels=LEVELS)
    found: dict[int, float] = {}
    for hit in summary_search.search(resources, parsed.query.text, filters, MATCHING):
        for quote in hit.summary.quotes:
            key = int(quote.message_id[1:])
            found[key] = max(found.get(key, 0.0), hit.score)
    return found


def ranked(
    resources: SearchResources, parsed: ParsedQuery, candidates: object, quoted: Mapping[int, float], weight: float
) -> tuple[list[int], list[int]]:
    ranking = rank(resources, parsed, candidates)  # type: ignore[arg-type]
    keys = candidates.messages  # type: ignore[attr-defined]
    more = np.array([weight * quoted.get(key, 0.0) for key in keys.tolist()])
    order = best_first(ranking.scores + more, keys)
    return keys[order[:SHOWN]].tolist(), keys.tolist()


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
                measure: value
                for measure, value in mean(rows).items()
                if measure in ("recall@5", "recall@10", "mrr", "among the candidates")
            }
            for set_name, rows in by_set.items()
        }
        for name, by_set in found.items()
    }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()

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
from appliance.bench.material import Conversation
from appliance.bench.measures import by_message, mean
from appliance.recall import gists, legs
from appliance.recall.candidates import POOL, from_index
from appliance.recall.rank import best_first, rank
from appliance.recall.shelf import Asked, Shelf, Wish
from appliance.recall.weights import EVIDENCE
from appliance.recall.wish import moment
from appliance.store import chunks, messages
from appliance.types import LEVELS, Filters, Scope
from tests.eval.fit import home_of
from tests.eval.runner import SETS

SHOWN = 10
MATCHING = 5
"""How many summaries propose what they quote."""

WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Times a summary's score (0 to 1); a hit's score goes to some twenty."""


def run(conversation: Conversation, homes: Path) -> Iterator[tuple[str, dict[str, float]]]:
    with Appliance.open(home_of(conversation, homes), worker=False) as memory:
        memory.tend()
        with memory._serving.shelf(dense=True) as shelf:
            assert shelf is not None
            for question in conversation.questions:
                wished = Wish(
                    question.text, Filters(Scope("me")), EVIDENCE, EVIDENCE.legs, "hybrid", moment(None)
                )
                asked = legs.understand(shelf, wished, [])
                for name, best, pool in variants(shelf, asked):
                    said = messages.get(shelf.db, [*best, *pool])
                    row = by_message([said[key].external_id for key in best], question.relevant)
                    found = {said[key].external_id for key in pool}
                    row["among the candidates"] = len(found & question.relevant) / len(question.relevant)
                    yield name, row


def variants(shelf: Shelf, asked: Asked) -> Iterator[tuple[str, list[int], list[int]]]:
    """The best messages and all candidates: as it ships, with proposals, and with weights beside."""
    quoted = weighed(shelf, asked)
    plain = legs.find(shelf, asked, [])
    yield "as it ships", *ranked(shelf, asked, plain, {}, 0.0)
    pieces = chunks.chunks_of(shelf.db, shelf.generation, sorted(quoted))
    order = sorted(quoted, key=lambda key: -quoted[key])[:POOL]
    also = {"gist": [chunk for key in order for chunk in pieces.get(key, ())]}
    assert shelf.index is not None
    also |= legs._pointed(shelf, shelf.index, asked)
    more = from_index(shelf.db, shelf.index, asked.legs, asked.wish.filters, also)
    more = replace(more, quoted=plain.quoted)
    yield "proposed", *ranked(shelf, asked, more, {}, 0.0)
    for weight in WEIGHTS:
        yield f"proposed, weight {weight}", *ranked(shelf, asked, more, quoted, weight)


def weighed(shelf: Shelf, asked: Asked) -> dict[int, float]:
    """The messages that the best summaries quote, each with the score of the best of these."""
    filters = replace(asked.wish.filters, levels=LEVELS)
    found: dict[int, float] = {}
    for hit in gists.search(shelf, asked.wish.text, filters, MATCHING):
        for quote in hit.summary.quotes:
            key = int(quote.message_id[1:])
            found[key] = max(found.get(key, 0.0), hit.score)
    return found


def ranked(
    shelf: Shelf, asked: Asked, candidates: object, quoted: Mapping[int, float], weight: float
) -> tuple[list[int], list[int]]:
    ranking = rank(shelf, asked, candidates)  # type: ignore[arg-type]
    keys = candidates.messages  # type: ignore[attr-defined]
    more = np.array([weight * quoted.get(key, 0.0) for key in keys.tolist()])
    order = best_first(ranking.scores + more, keys)
    return keys[order[:SHOWN]].tolist(), keys.tolist()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
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

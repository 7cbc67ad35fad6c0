"""What feedback changes in retrieval: the evidence of half of the questions is marked, and all are asked again.

    python -m tests.eval.feedback [--homes DIR] [--shares 0.05 0.15 …] [--conversations conv-42 conv-43]

Every second question of a conversation is of the marked half. Its cited messages get feedback as a person or an
assistant would give it after the answer; ``mistaken`` marks the best hit that is not cited instead. Then the ranking of
contexts (``balanced``) is measured before and after, for

    marked     the same questions, as asked and reworded: content words alone, in the opposite order
    others     the questions of the other half that cite no marked message: they must not fall by more than ``BOUND``
    sharing    those of the other half that cite a marked message

``recall@40`` has all that the second stage ranks: what it loses there, feedback would have hidden. ``--shares``
measures other shares of feedback in the profile, ``--conversations`` some conversations alone; ``--homes`` keeps the
ingested homes for another run.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion
from appliance.bench.ir_metrics import mean
from appliance.retrieval.candidates import Candidates
from appliance.retrieval.legs import find_candidates, parse_query
from appliance.retrieval.ranking import rank
from appliance.retrieval.resources import ParsedQuery, SearchQuery
from appliance.retrieval.search_query import query_time
from appliance.retrieval.weights import BALANCED, FEEDBACK_SHARE, ScoringProfile, weight_of_share
from appliance.store import feedback, lexical
from appliance.timestamps import now
from appliance.types import FeedbackKind, Filters, Scope
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

BOUND = 0.02
"""How much recall@10 of questions may fall whose evidence has no feedback."""

DEPTHS = (5, 10, 40)

SCENARIOS: Mapping[str, FeedbackKind] = {"helpful": "helpful", "used": "used", "wrong": "wrong", "mistaken": "helpful"}
"""The feedback of each scenario."""


@dataclass(frozen=True)
class Case:
    """A question in one of its wordings, with all that a search finds for it before it ranks."""

    question: BenchmarkQuestion
    is_marked: bool
    is_reworded: bool
    parsed: ParsedQuery
    candidates: Candidates


@dataclass(frozen=True)
class Outcome:
    """The cited messages' places among the hits of a question, by a ranking."""

    group: str
    figures: Mapping[str, float]


def reworded(question: str) -> str:
    """The content words of a question alone, in the opposite order."""
    return " ".join(reversed(lexical.query_words(question)))


def collect(memory: Appliance, conversation: BenchmarkCorpus) -> list[Case]:
    cases = []
    with engine_of(memory)._index_service.search_resources(dense=True) as resources:
        assert resources is not None
        for number, question in enumerate(conversation.questions):
            for text in (question.text, reworded(question.text)) if number % 2 == 0 else (question.text,):
                query = SearchQuery(text, Filters(Scope("me")), BALANCED, BALANCED.legs, "hybrid", query_time(None))
                parsed = parse_query(resources, query, [])
                found = find_candidates(resources, parsed, [])
                cases.append(Case(question, number % 2 == 0, text != question.text, parsed, found))
    return cases


def rankings(memory: Appliance, cases: Sequence[Case], profile: ScoringProfile, names: Names) -> list[list[str]]:
    """The external ids of each case's candidates, best first."""
    with engine_of(memory)._index_service.search_resources(dense=True) as resources:
        assert resources is not None
        found = []
        for case in cases:
            parsed = replace(case.parsed, query=replace(case.parsed.query, profile=profile))
            ranking = rank(resources, parsed, case.candidates)
            found.append([names[key] for key in case.candidates.messages[ranking.order].tolist()])
        return found


Names = Mapping[int, str]
"""The external ids of messages by key."""


def marks(scenario: str, cases: Sequence[Case], before: Sequence[Sequence[str]]) -> set[str]:
    """The messages that get feedback in a scenario."""
    chosen = [(case, hits) for case, hits in zip(cases, before, strict=True) if case.is_marked and not case.is_reworded]
    if scenario != "mistaken":
        return {id for case, _ in chosen for id in case.question.relevant}
    best_uncited = (next((id for id in hits if id not in case.question.relevant), None) for case, hits in chosen)
    return {id for id in best_uncited if id is not None}


def figures(case: Case, hits: Sequence[str]) -> dict[str, float]:
    relevant = case.question.relevant
    places = [place for place, id in enumerate(hits, 1) if id in relevant]
    recalls = {f"recall@{depth}": sum(place <= depth for place in places) / len(relevant) for depth in DEPTHS}
    return {**recalls, "mrr": 1 / places[0] if places else 0.0}


def group(case: Case, marked: set[str]) -> str:
    if case.is_marked:
        return "marked, reworded" if case.is_reworded else "marked"
    return "sharing" if case.question.relevant & marked else "others"


def outcomes(
    memory: Appliance, conversation: BenchmarkCorpus, shares: Sequence[float]
) -> Iterator[tuple[str, float, Outcome, Outcome]]:
    """Each scenario and share, and each case's outcome before and after."""
    database = engine_of(memory)._database
    names: Names = dict(database.read().execute("SELECT id, external_id FROM message"))
    keys = {id: key for key, id in names.items()}
    cases = collect(memory, conversation)
    before = rankings(memory, cases, BALANCED, names)
    for scenario, kind in SCENARIOS.items():
        marked = marks(scenario, cases, before)
        with database.write() as tx:
            for id in marked & keys.keys():  # some questions cite what the set lacks
                feedback.add(tx, keys[id], kind, now())
        for share in shares:
            weights = {**(BALANCED.weights or {}), "feedback": weight_of_share(share)}
            after = rankings(memory, cases, replace(BALANCED, weights=weights), names)
            for case, hits_before, hits_after in zip(cases, before, after, strict=True):
                name = group(case, marked)
                one, two = (Outcome(name, figures(case, hits)) for hits in (hits_before, hits_after))
                yield scenario, share, one, two
        with database.write() as tx:
            tx.execute("DELETE FROM feedback")


def report(rows: Sequence[tuple[str, float, Outcome, Outcome]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key in sorted({(scenario, share) for scenario, share, _, _ in rows}):
        own = [(one, two) for scenario, share, one, two in rows if (scenario, share) == key]
        groups: dict[str, object] = {}
        for name in sorted({one.group for one, _ in own}):
            pairs = [(one.figures, two.figures) for one, two in own if one.group == name]
            before, after = (mean([pair[place] for pair in pairs]) for place in (0, 1))
            groups[name] = {"questions": len(pairs)} | {
                figure: [round(before[figure], 4), round(after[figure], 4)] for figure in before
            }
            if name == "others":
                groups["others within the bound"] = before["recall@10"] - after["recall@10"] <= BOUND
        found[f"{key[0]}, share {key[1]:g}"] = groups
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--shares", type=float, nargs="*", default=[FEEDBACK_SHARE])
    parser.add_argument("--conversations", nargs="*")
    given = parser.parse_args()
    rows: dict[str, list[tuple[str, float, Outcome, Outcome]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        homes = given.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        for set_name, load in SETS.items():
            for conversation in load():
                if given.conversations and conversation.name not in given.conversations:
                    continue
                with Appliance.open(home_of(conversation, homes), worker=False) as memory:
                    rows.setdefault(set_name, []).extend(outcomes(memory, conversation, given.shares))
    print(json.dumps({"bound": BOUND, **{name: report(own) for name, own in rows.items()}}, indent=1))


if __name__ == "__main__":
    main()

"""Fits the confidence of hits, and says how it carries over to conversations that it has not seen.

    python -m tests.eval.confidence [--homes DIR]

Answerable are the questions of LoCoMo and BEAM, and one to three words of a message as a person types them.
Unanswerable are LoCoMo's category 5, and the questions and words of the other conversations. All questions are judged
a second time as if none of their words occurred: people ask in other words than the answers, these sets hardly do. The
groups of questions (people, assistants, words, other words) have the same weight, and so have both halves of each.

Figures are held out by conversation: AUROC, and which share of each kind counts as found at ``MIN_CONFIDENCE``.
``--homes`` keeps the ingested homes for another run.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.bench.ir_metrics import auroc
from appliance.retrieval import confidence, pipeline
from appliance.retrieval.confidence import BY_WORDS, CALIBRATIONS, MIN_CONFIDENCE
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.retrieval.search_query import query_time
from appliance.retrieval.weights import EVIDENCE
from appliance.store import lexical
from appliance.types import Filters, Scope
from appliance_models import DEFAULT_MODEL
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

FIXED = "by_others"
REWORDED = "other words"
RENAMED = "asked of another memory, with names of this one"
"""Questions about people of this memory that only another one answers. They are measured, and not fitted on."""

L2 = 1e-4
NEWTON_STEPS = 60
KEYWORD_QUERIES = 60
FOREIGN_KEYWORDS, FOREIGN_QUESTIONS = 8, {"locomo": 16, "beam": 8}


@dataclass(frozen=True)
class Judged:
    """One query with the evidence of its best hits."""

    conversation: str
    group: str
    kind: str
    answerable: bool
    evidence: Mapping[str, float]


def queries(corpora: Sequence[tuple[str, BenchmarkCorpus]]) -> Iterator[tuple[int, str, str, str, bool]]:
    """Conversation, group, kind, text and answerability of each query."""
    chance = random.Random(7)
    keywords = [list(_keywords(corpus, chance)) for _, corpus in corpora]
    for place, (set_name, corpus) in enumerate(corpora):
        for question in corpus.questions:
            yield place, set_name, "answerable", question.text, True
        for question in corpus.unanswerable:
            yield place, set_name, f"category {question.kind}", question.text, False
        for text in keywords[place]:
            yield place, "words", "words", text, True
        known = {lexical.stem(word) for one in corpus.records for word in lexical.query_words(one["content"])}
        for other, (other_set, other_corpus) in enumerate(corpora):
            if other == place:
                continue
            for question in chance.sample(other_corpus.questions, FOREIGN_QUESTIONS[other_set]):
                yield place, set_name, f"asked of another memory ({other_set})", question.text, False
                renamed = _with_names(question.text, _names(other_corpus), _names(corpus))
                if renamed != question.text:
                    yield place, set_name, RENAMED, renamed, False
            for text in chance.sample(keywords[other], FOREIGN_KEYWORDS):
                if any(lexical.stem(word) not in known for word in text.split()):
                    yield place, "words", "words of another memory", text, False


def _names(corpus: BenchmarkCorpus) -> list[str]:
    """The first names of those who speak."""
    return list(dict.fromkeys(one["author"].split()[0] for one in corpus.records if one.get("author")))


def _with_names(question: str, names: Sequence[str], others: Sequence[str]) -> str:
    """A question with other names in the place of those that it has."""
    for name, other in zip(names, others, strict=False):
        question = re.sub(rf"\b{re.escape(name)}\b", other, question)
    return question


def _keywords(corpus: BenchmarkCorpus, chance: random.Random) -> Iterator[str]:
    records = list(corpus.records)
    for record in chance.sample(records, min(KEYWORD_QUERIES, len(records))):
        words = [word for word in dict.fromkeys(lexical.query_words(record["content"][:1500])) if len(word) > 2]
        if len(words) >= 3:
            yield " ".join(sorted(chance.sample(words, chance.choice((1, 2, 2, 3))), key=words.index))


def collect(homes: Path) -> list[Judged]:
    corpora = [(name, corpus) for name, load in SETS.items() for corpus in load()]
    asked = list(queries(corpora))
    found = []
    for place, (_, corpus) in enumerate(corpora):
        with (
            Appliance.open(home_of(corpus, homes), worker=False) as memory,
            engine_of(memory)._index_service.search_resources(dense=True) as resources,
        ):
            assert resources is not None
            for _, group, kind, text, answerable in (one for one in asked if one[0] == place):
                if evidence := evidence_of(resources, text):
                    found.append(Judged(corpus.name, group, kind, answerable, evidence))
                    if group != "words" and kind != RENAMED:
                        reworded = {**evidence, "own_words": 0.0, "near_words": 0.0, "alone": evidence["dense"]}
                        found.append(Judged(corpus.name, REWORDED, f"{kind} ({group})", answerable, reworded))
    return found


def evidence_of(resources: SearchResources, text: str) -> Mapping[str, float]:
    """The evidence of a query; none if its words were found verbatim, which needs no judgement."""
    query = SearchQuery(text, Filters(Scope("me")), EVIDENCE, EVIDENCE.legs, "hybrid", query_time(None))
    search = pipeline._rank(resources, query)
    rows = confidence._answers(search.parsed, search.candidates, search.ranking, search.selection)
    if not len(rows) or search.ranking.values["quoted"][rows[0]]:
        return {}
    return confidence.gather_evidence(resources, search.parsed, search.candidates, search.ranking, rows)


def fit(rows: Sequence[Judged], shape: Mapping[str, float]) -> dict[str, float]:
    """Logistic regression by Newton's method; the weight of ``by_others`` stays as it is."""
    rows = [one for one in rows if one.kind != RENAMED]
    names = [name for name in shape if name != FIXED]
    values, wanted = _matrix(rows, names), np.array([one.answerable for one in rows], np.float64)
    offset = shape[FIXED] * _matrix(rows, [FIXED])[:, 0]
    sizes = Counter((one.group, one.answerable) for one in rows)
    share = np.array([1 / sizes[one.group, one.answerable] / len(sizes) for one in rows])
    weights = np.zeros(len(names))
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(values @ weights + offset, -30, 30)))
        slope = values.T @ (share * (likely - wanted)) + L2 * weights
        curve = (values * (share * likely * (1 - likely))[:, None]).T @ values + L2 * np.eye(len(names))
        weights -= np.linalg.solve(curve, slope)
    return {**dict(zip(names, weights.tolist(), strict=True)), FIXED: shape[FIXED]}


def _matrix(rows: Sequence[Judged], names: Sequence[str]) -> NDArray[np.float64]:
    return np.array([[one.evidence.get(name, 1.0) for name in names] for one in rows])


def held_out(rows: Sequence[Judged], shape: Mapping[str, float]) -> dict[str, object]:
    """The figures of every conversation with the weights of the others."""
    scores: dict[int, float] = {}
    for name in dict.fromkeys(one.conversation for one in rows):
        weights = fit([one for one in rows if one.conversation != name], shape)
        for number, one in enumerate(rows):
            if one.conversation == name:
                scores[number] = 1 / (1 + np.exp(-confidence._weigh(one.evidence, weights)))
    kinds = dict.fromkeys((one.group, one.kind, one.answerable) for one in rows)
    of = {key: [scores[n] for n, one in enumerate(rows) if (one.group, one.kind) == key[:2]] for key in kinds}
    questions = [key for key in kinds if key[0] in SETS]
    right = [score for key in questions if key[2] for score in of[key]]
    wrong = [score for key in questions if not key[2] and key[1] != RENAMED for score in of[key]]
    return {
        "auroc": {
            "questions": auroc(right, wrong),
            **{
                f"{group}, {kind}": auroc(
                    [score for key in kinds if key[0] == group and key[2] for score in of[key]], of[key]
                )
                for key in kinds
                if not key[2]
                for group, kind in [key[:2]]
            },
        },
        "found": {f"{key[0]}, {key[1]}": float(np.mean(np.array(of[key]) >= MIN_CONFIDENCE)) for key in kinds},
        "confidence that 98 % of the answerable reach": {
            group: float(np.quantile([score for key in kinds if key[0] == group and key[2] for score in of[key]], 0.02))
            for group in dict.fromkeys(key[0] for key in kinds)
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--homes", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        judged = collect(given.homes or Path(folder))
    print(
        json.dumps(
            {
                name: {"weights": fit(rows, shape), **held_out(rows, shape)}
                for name, shape, rows in (
                    ("with cosine", CALIBRATIONS[DEFAULT_MODEL].weights, judged),
                    ("by words", BY_WORDS, [one for one in judged if one.group != REWORDED]),
                )
            },
            indent=1,
        )
    )

"""What a context holds of noise when the memory has no answer, and what answerable questions lose at its floor.

    python -m tests.eval.floors [--budget 4000] [--homes DIR]

Before: the floor of a search (``MIN_CONFIDENCE``). After: ``MIN_CONTEXT_CONFIDENCE``, and nothing for a courtesy.
Noise is the tokens of the retrieved layer for questions without an answer: LoCoMo's category 5, questions and words of
the other conversations, and requests of general knowledge (``GENERAL``, written before any was tried). Evidence is the
share of the cited messages that stand in the context. A floor decides whether there are memories, not which ones, so
all floors are told from the same contexts. Each fold chooses the highest floor that keeps ``KEPT`` of the evidence of
the other conversations.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.context import builder
from appliance.languages.courtesies import is_courtesy
from appliance.retrieval import confidence
from appliance.retrieval.confidence import MIN_CONFIDENCE, MIN_CONTEXT_CONFIDENCE
from appliance.types import Context
from tests.eval.confidence import queries
from tests.eval.contexts import BUDGET, COUNTER, Talk, shown_by, stands, talk_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

KEPT = 0.98
FLOORS = (MIN_CONFIDENCE, MIN_CONTEXT_CONFIDENCE, 0.2, 0.25, 0.3, 0.4)
EVERY = 4
"""Of the questions asked of another memory, one in so many is asked."""

GENERAL = (
    "explain quantum chromodynamics",
    "what is the capital of Mongolia?",
    "write a python function that reverses a linked list",
    "how many people live in Indonesia?",
    'translate "good morning" into Finnish',
    "what is the boiling point of nitrogen?",
    "summarise the plot of Moby Dick",
    "who won the world cup in 1974?",
    "give me a recipe for sourdough bread",
    "how do I center a div in CSS?",
    "write a haiku about autumn",
    "what's the difference between TCP and UDP?",
    "explain the theory of evolution to a five year old",
    "convert 25 miles to kilometres",
    "what causes the northern lights?",
    "draft a cover letter for a data analyst job",
    "what are the side effects of ibuprofen?",
    "how does a heat pump work?",
    "list the planets by mass",
    "what is the meaning of the word perspicacious?",
    "Was ist die Hauptstadt von Peru?",
    "Erkläre mir die Relativitätstheorie",
    "Schreibe eine SQL-Abfrage, die doppelte Zeilen findet",
    "Wie hoch ist der Mount Everest?",
    "¿Cuál es la raíz cuadrada de 1764?",
    "Explícame la fotosíntesis",
    "hello",
    "thanks!",
    "ok, go on",
    "tell me a joke",
)


@dataclass(frozen=True)
class Row:
    """A query with the score of its best memory, the tokens of its memories, and what stands of its evidence (None
    without an answer)."""

    conversation: str
    kind: str
    text: str
    score: float
    tokens: int
    evidence: float | None

    def reaches(self, floor: float) -> bool:
        return self.score >= floor and (floor == MIN_CONFIDENCE or not is_courtesy(self.text))


def row_of(conversation: str, kind: str, text: str, context: Context, talk: Talk, cited: Sequence[str] | None) -> Row:
    retrieved = next(layer for layer in context.layers if layer.name == "retrieved")
    scores = [float(item.why["score"]) for item in retrieved.items if isinstance(item.why.get("score"), float)]
    shown, evidence = shown_by(context), None
    if cited is not None:
        found = [one in talk.by_external and stands(context.text, shown, talk.by_external[one]) for one in cited]
        evidence = fmean(found)
    return Row(conversation, kind, text, max(scores, default=0.0), retrieved.tokens if retrieved.items else 0, evidence)


def rows(corpora: Sequence[tuple[str, BenchmarkCorpus]], homes: Path, budget: int) -> Iterator[Row]:
    asked = list(queries(corpora))
    for place, (set_name, corpus) in enumerate(corpora):
        cited = {question.text: sorted(question.relevant) for question in corpus.questions}
        own = [one[1:] for one in asked if one[0] == place]
        others = [one for one in own if one[1].startswith(("asked of", "words of"))]
        wanted = [one for one in own if one not in others and one[1] != "words"] + others[::EVERY]
        wanted += [("general", "general knowledge", text, False) for text in GENERAL]
        with Appliance.open(home_of(corpus, homes), worker=False) as memory:
            memory.run_pending_jobs()
            talk = talk_of(memory)
            for _, kind, text, answerable in wanted:
                context = memory.context(text, budget=budget, encoding=COUNTER.name, counted=False)
                name = f"{set_name}, answerable" if answerable else kind
                yield row_of(corpus.name, name, text, context, talk, cited[text] if answerable else None)


def kept(of: Sequence[Row], floor: float) -> float:
    """The share of the evidence that stands in the contexts at the lowest floor, and still does at this one."""
    return sum((one.evidence or 0) * one.reaches(floor) for one in of) / sum(one.evidence or 0 for one in of)


def figures(found: Sequence[Row]) -> dict[str, object]:
    kinds = dict.fromkeys(one.kind for one in found)
    by = {kind: [one for one in found if one.kind == kind] for kind in kinds}
    answerable = {kind: of for kind, of in by.items() if of[0].evidence is not None}
    folds = {}
    for name in dict.fromkeys(one.conversation for one in found):
        others = {kind: [one for one in of if one.conversation != name] for kind, of in answerable.items()}
        floor = max(floor for floor in FLOORS if all(kept(of, floor) >= KEPT for of in others.values()))
        own = [one for of in answerable.values() for one in of if one.conversation == name]
        folds[name] = {"floor": floor, "kept": round(kept(own, floor), 4)}
    return {
        "tokens of noise by floor": {
            kind: {"questions": len(of)}
            | {str(floor): round(fmean(one.tokens * one.reaches(floor) for one in of)) for floor in FLOORS}
            for kind, of in by.items()
            if kind not in answerable
        },
        "evidence kept by floor": {
            kind: {"questions": len(of), "evidence": round(fmean(one.evidence or 0 for one in of), 4)}
            | {str(floor): round(kept(of, floor), 4) for floor in FLOORS}
            for kind, of in answerable.items()
        },
        "chosen on the others, kept of the one left out": folds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=int, default=BUDGET)
    parser.add_argument("--homes", type=Path)
    given = parser.parse_args()
    corpora = [(name, corpus) for name, load in SETS.items() for corpus in load()]
    confidence.MIN_CONTEXT_CONFIDENCE = MIN_CONFIDENCE
    builder.is_courtesy = lambda text: False
    with tempfile.TemporaryDirectory() as folder:
        found = list(rows(corpora, given.homes or Path(folder), given.budget))
    print(json.dumps({"budget": given.budget, "floor": MIN_CONTEXT_CONFIDENCE, **figures(found)}, indent=1))


if __name__ == "__main__":
    main()

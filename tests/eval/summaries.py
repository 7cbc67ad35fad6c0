"""What summaries of the same length keep, by the way their sentences are chosen; prints JSON.

python -m tests.eval.summaries [locomo|beam|topics]

Every way fills the same number of words a session: those of the set's own summary (LoCoMo), or 300 (BEAM). ``cited``
is the share of the turns that questions cite of which a sentence was chosen. For LoCoMo also, in words that are no
stop words: ``answers``, the share of the words that a cited turn has in common with the answer; ``facts``, the share of
the words of an observation that its own turns show in the summary. ``rouge 1`` and ``rouge 2`` are the recall of the
set's summary. ``random`` is the mean of five draws.

``topics`` lays LoCoMo's sessions end to end without their times, and finds where one ends by what is said. The figures
are WindowDiff (Pevzner and Hearst 2002; 0 is perfect) and how many places were found for each that is there.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.bench.datasets import BenchmarkCorpus
from appliance.languages import STOP_WORDS
from appliance.memory.extractive import ConversationAnalysis, analyze, message_vectors, selection, topics
from appliance.store.lexical import stem
from appliance.types import Message
from appliance_models import load, load_lexicon
from tests.eval.datasets import FOLDER, beam, locomo

BEAM_WORDS = 300
DRAWS = 5
CENTRAL = 0.1
"""What closeness to the mean adds, where it does."""
_WORD = re.compile(r"\w+")
_LINE_ID = re.compile(r"D\d+:\d+")
_UNANSWERABLE = 5

Vectors = NDArray[np.float32]
Way = Callable[[ConversationAnalysis, Vectors], Iterable[int]]
"""Indices of sentences, the one to be taken first at the front; the vectors are the model's."""


@dataclass(frozen=True)
class Case:
    """A session; ``gold`` its summary, ``facts`` (words, turns) and ``answers`` (words, turn) of LoCoMo."""

    reading: ConversationAnalysis
    model: Vectors
    cited: frozenset[str]
    gold: str | None
    facts: Sequence[tuple[frozenset[str], frozenset[str]]]
    answers: Sequence[tuple[frozenset[str], str]]


def words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def telling(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS and len(word) > 1)


# --- what there is to summarise -----------------------------------------------------------------------


def sessions(conversation: BenchmarkCorpus) -> Iterator[tuple[str, list[Message]]]:
    found: dict[str, list[Message]] = {}
    for record in conversation.records:
        id, session, role = record["message_id"], record["session_id"], record["role"]
        author, said_at = record.get("author"), record.get("timestamp")
        own = found.setdefault(session, [])
        own.append(Message(id, session, id, role, author, said_at, record["content"], None, {}))
    yield from found.items()


def cases(which: str) -> Iterator[Case]:
    embed = load_lexicon().vectors
    model = load() if which == "locomo" else None
    raw = {one["sample_id"]: one for one in json.loads((FOLDER / "locomo_dev.json").read_bytes())}
    for conversation in locomo() if which == "locomo" else beam():
        cited = frozenset(id for question in conversation.questions for id in question.relevant)
        for session, messages in sessions(conversation):
            reading = analyze(messages, embed)
            if not reading.sentences:
                continue
            own = frozenset(message.id for message in messages)
            case = Case(reading, reading.vectors, cited & own, None, (), ())
            if model is not None:
                texts = [reading.text(one) for one in reading.sentences]
                number = session.rpartition("-")[2]
                case = _judged(replace(case, model=model.embed_passages(texts)), raw[conversation.name], number)
            yield case


def _judged(case: Case, sample: dict[str, Any], number: str) -> Case:
    texts = {message.id: message.text for message in case.reading.messages}
    names = frozenset(stem(word) for one in case.reading.messages for word in words(one.author or ""))
    observed = sample["observation"].get(f"session_{number}_observation", {})
    facts = [
        (telling(text) - names, frozenset(_LINE_ID.findall(str(ids))))
        for person in observed.values()
        for text, ids in person
    ]
    answers = [
        (common, id)
        for question in sample["qa"]
        if question["category"] != _UNANSWERABLE
        for id in _LINE_ID.findall(" ".join(question["evidence"]))
        if id in texts and (common := (telling(str(question["answer"])) - names) & telling(texts[id]))
    ]
    return replace(case, gold=sample["session_summary"][f"session_{number}_summary"], facts=facts, answers=answers)


# --- ways to choose -----------------------------------------------------------------------------------


def lead(reading: ConversationAnalysis, _: Vectors) -> Iterable[int]:
    return range(len(reading.sentences))


def longest(reading: ConversationAnalysis, _: Vectors) -> Iterable[int]:
    return sorted(range(len(reading.sentences)), key=lambda i: -reading.sentences[i].word_count)


def centrality(reading: ConversationAnalysis, vectors: Vectors) -> Iterable[int]:
    """By closeness to the mean, and diverse."""
    centre = vectors.mean(axis=0)
    return _diverse((vectors @ centre / np.linalg.norm(centre)).astype(np.float64), vectors)


def lexrank(reading: ConversationAnalysis, vectors: Vectors) -> Iterable[int]:
    """By the sentences that are alike, and those alike to them (Erkan and Radev 2004), and diverse."""
    alike = np.maximum(vectors @ vectors.T - 0.1, 0.0)
    np.fill_diagonal(alike, 0.0)
    moves = alike / np.maximum(alike.sum(axis=1, keepdims=True), 1e-9)
    rank = np.full(len(vectors), 1 / len(vectors))
    for _ in range(50):
        rank = 0.15 / len(vectors) + 0.85 * (moves.T @ rank)
    return _diverse(rank / rank.max(), vectors)


def _diverse(scores: NDArray[np.float64], vectors: Vectors, loss: float = 0.5) -> Iterator[int]:
    left, alike = scores.copy(), np.zeros(len(scores))
    for _ in scores:
        best = int(np.argmax(left - loss * alike))
        yield best
        left[best] = -np.inf
        alike = np.maximum(alike, vectors @ vectors[best])


def ours(reading: ConversationAnalysis, _: Vectors) -> Iterable[int]:
    return selection.select_diverse(reading, selection.score_sentences(reading))


def ours_without(part: str) -> Way:
    """Ours with one of its weights at nothing."""

    def way(reading: ConversationAnalysis, _: Vectors) -> Iterable[int]:
        kept = getattr(selection, part)
        setattr(selection, part, {} if isinstance(kept, dict) else 0.0)
        try:
            return list(selection.select_diverse(reading, selection.score_sentences(reading)))
        finally:
            setattr(selection, part, kept)

    return way


def ours_with_model(reading: ConversationAnalysis, model: Vectors) -> Iterable[int]:
    """Ours, with the model's vectors in place of the static ones, and closeness to the mean as one part more."""
    centre = model.mean(axis=0)
    central = model @ centre / np.linalg.norm(centre)
    lengths = np.array([max(1, one.word_count) for one in reading.sentences]) ** selection.LENGTH_EXPONENT
    return selection.select_diverse(
        replace(reading, vectors=model), selection.score_sentences(reading) + CENTRAL * central / lengths
    )


def static(way: Way) -> Way:
    return lambda reading, _: way(reading, reading.vectors)


WAYS: dict[str, Way] = {
    "lead": lead,
    "longest": longest,
    "centrality": static(centrality),
    "LexRank": static(lexrank),
    "ours": ours,
}
PARTS = (
    "CONTENT_WEIGHT",
    "TIME_WEIGHT",
    "NAME_WEIGHT",
    "SELF_REFERENCE_WEIGHT",
    "REPLY_WEIGHT",
    "CUE_WEIGHTS",
    "LENGTH_EXPONENT",
    "REDUNDANCY_PENALTY",
)
ASSISTED = ("USER_WEIGHT", "FIRST_SENTENCE_WEIGHT")


def ways(which: str) -> dict[str, Way]:
    if which == "beam":
        return WAYS | {f"ours without {part}": ours_without(part) for part in (*PARTS, *ASSISTED)}
    by_model: dict[str, Way] = {
        "centrality by the model": centrality,
        "LexRank by the model": lexrank,
        "ours and centrality by the model": ours_with_model,
    }
    return WAYS | by_model | {f"ours without {part}": ours_without(part) for part in PARTS}


# --- what they keep -----------------------------------------------------------------------------------


def filled(order: Iterable[int], case: Case) -> list[int]:
    """The sentences that have room, from the front of the order."""
    left = len(case.gold.split()) if case.gold else BEAM_WORDS
    chosen: list[int] = []
    for i in order:
        length = len(case.reading.text(case.reading.sentences[i]).split())
        if length <= left:
            chosen.append(i)
            left -= length
    return sorted(chosen)


def kept(order: Iterable[int], case: Case) -> Iterator[tuple[str, float]]:
    reading = case.reading
    chosen = [reading.sentences[i] for i in filled(order, case)]
    shown: dict[str, frozenset[str]] = {}
    for one in chosen:
        id = reading.messages[one.message].id
        shown[id] = shown.get(id, frozenset()) | telling(reading.text(one))
    yield from (("cited", float(id in shown)) for id in case.cited)
    for needed, id in case.answers:
        yield "answers", len(needed & shown.get(id, frozenset())) / len(needed)
    for needed, ids in case.facts:
        if needed:
            yield "facts", len(needed & frozenset().union(*(shown.get(id, ()) for id in ids))) / len(needed)
    if case.gold:
        gold, said = words(case.gold), words(" ".join(reading.text(one) for one in chosen))
        yield "rouge 1", _recall(gold, said, 1)
        yield "rouge 2", _recall(gold, said, 2)


def _recall(gold: Sequence[str], said: Sequence[str], n: int) -> float:
    wanted, found = (Counter(zip(*(text[i:] for i in range(n)), strict=False)) for text in (gold, said))
    return (wanted & found).total() / max(1, wanted.total())


def figures(orders: Callable[[Case], Iterable[Iterable[int]]], all_cases: Sequence[Case]) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for case in all_cases:
        for order in orders(case):
            for name, value in kept(order, case):
                found.setdefault(name, []).append(value)
    return {name: round(mean(values), 3) for name, values in found.items()}


# --- where topics end -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Talk:
    """Sessions end to end, without times; ``ends`` are where a new one begins."""

    messages: list[Message]
    static: Vectors
    model: Vectors
    ends: frozenset[int]


def talks() -> Iterator[Talk]:
    model = load()
    for conversation in locomo():
        own = [[replace(one, timestamp=None) for one in messages] for _, messages in sessions(conversation)]
        together = [message for messages in own for message in messages]
        reading = analyze(together, load_lexicon().vectors)
        vectors = model.embed_passages([message.text for message in together])
        ends = frozenset(accumulate(map(len, own[:-1])))
        yield Talk(together, message_vectors(reading), vectors, ends)


def window_diff(talk: Talk, found: Iterable[int]) -> float:
    """The share of windows, half a topic long, in which not as many topics end as do."""
    count = len(talk.messages)
    ends, wanted = (np.cumsum(np.bincount([*places, count])) for places in (found, talk.ends))
    half = round(count / (len(talk.ends) + 1) / 2)
    return float(np.mean((ends[half:] - ends[:-half]) != (wanted[half:] - wanted[:-half])))


def topic_figures() -> dict[str, object]:
    all_talks = list(talks())
    drawn = random.Random(0)
    length = mean(len(talk.messages) / (len(talk.ends) + 1) for talk in all_talks)
    ways: dict[str, Callable[[Talk], Iterable[int]]] = {
        "none": lambda talk: [],
        "evenly": lambda talk: range(round(length), len(talk.messages), round(length)),
        "random": lambda talk: drawn.sample(range(1, len(talk.messages)), len(talk.ends)),
        "ours": lambda talk: [start for start, _ in topics(talk.messages, talk.static)][1:],
        "ours by the model": lambda talk: [start for start, _ in topics(talk.messages, talk.model)][1:],
    }
    figures: dict[str, object] = {"set": "topics", "sessions": sum(len(talk.ends) + 1 for talk in all_talks)}
    for name, way in ways.items():
        found = [[*way(talk)] for talk in all_talks]
        figures[name] = {
            "WindowDiff": round(mean(map(window_diff, all_talks, found)), 3),
            "found": round(sum(map(len, found)) / sum(len(talk.ends) for talk in all_talks), 2),
        }
    return figures


def run(which: str) -> dict[str, object]:
    if which == "topics":
        return topic_figures()
    all_cases = list(cases(which))
    drawn = random.Random(0)

    def draws(case: Case) -> Iterator[list[int]]:
        for _ in range(DRAWS):
            yield drawn.sample(range(len(case.reading.sentences)), len(case.reading.sentences))

    return {
        "set": which,
        "sessions": len(all_cases),
        "sentences": sum(len(case.reading.sentences) for case in all_cases),
        "random": figures(draws, all_cases),
        **{
            name: figures(lambda case, way=way: [way(case.reading, case.model)], all_cases)  # type: ignore[misc]
            for name, way in ways(which).items()
        },
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", choices=("locomo", "beam", "topics"), nargs="?", default="locomo")
    print(json.dumps(run(parser.parse_args().set), indent=1))

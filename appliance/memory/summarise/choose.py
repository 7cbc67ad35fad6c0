"""Which sentences stand for all: those that say much of something in few words, each something else.

How much a sentence says is weighed by what showed on conversations with human summaries (docs/decisions/0013): words
that are no small words, times, names, what people say of themselves, what replies to a question. What is most like all
the others says least, because people agree about what is general: centrality is no part of it. Diversity is maximal
marginal relevance (Carbonell and Goldstein 1998).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from appliance.memory.summarise.cues import Cue
from appliance.memory.summarise.reading import Reading, Sentence

Scores = NDArray[np.float64]

FEWEST_WORDS = 3
"""That say something; a sentence of fewer only makes sense where it was said."""

TELLING, TELLING_WORDS = 0.35, 16
"""What the words that say something add, and how many of them say as much as more would."""
TIMES, MOST_TIMES = 0.2, 3
NAMES, MOST_NAMES = 0.07, 2
OWN = 0.07
REPLIES = 0.05
"""A sentence of a message that follows a question."""
CUES: dict[Cue, float] = {
    "decided": 0.1, "solved": 0.1, "promised": 0.05, "open": 0.05, "concluded": 0.05, "problem": 0.03
}  # fmt: skip

PERSON = 0.3
"""What the person says where an assistant answers: nobody else knows it."""
FIRST = 0.1
"""There, a message's first sentence: what is wanted, or what the answer is."""

LEAST = 0.05
"""So much every sentence says, for being one."""
LENGTH = 0.4
"""The power of its words by which what a sentence says is divided: a summary has room for so many."""
ALIKE = 0.1
"""What a sentence that repeats a chosen one loses."""

MOST = 30
"""Sentences of a summary, at most."""


def how_many(sentences: int) -> int:
    """Sentences of a summary of so many: the square root, so that a day's talk is a page and not a book."""
    return max(1, min(MOST, round(math.sqrt(sentences)))) if sentences else 0


def scores(reading: Reading) -> Scores:
    """How much each sentence says for its length; -inf for what nobody would quote."""
    able = np.array([_able(reading, one) for one in reading.sentences], bool)
    found = np.full(len(able), -np.inf)
    if not able.any():
        return found
    said = np.array([_said(reading, one) for one in reading.sentences])
    words = np.array([max(one.words, 1) for one in reading.sentences])
    found[able] = (said + LEAST)[able] / words[able] ** LENGTH
    return found


def _able(reading: Reading, sentence: Sentence) -> bool:
    """Whether a sentence can be quoted by itself; what ends in a colon announces the next."""
    if sentence.empty or sentence.telling < FEWEST_WORDS:
        return False
    return not reading.messages[sentence.message].text.startswith((":", "："), sentence.end - 1)


def _said(reading: Reading, sentence: Sentence) -> float:
    value = TELLING * min(1.0, sentence.telling / TELLING_WORDS)
    value += TIMES * min(1.0, sentence.times / MOST_TIMES)
    value += NAMES * min(1.0, len(sentence.names) / MOST_NAMES)
    value += OWN * sentence.own
    value += REPLIES * (sentence.message > 0 and reading.asks[sentence.message - 1])
    value += max((CUES.get(cue, 0.0) for cue in sentence.cues), default=0.0)
    if reading.assisted:
        value += PERSON * (reading.messages[sentence.message].role == "user") + FIRST * sentence.first
    return value


def picked(reading: Reading, weighed: Scores) -> Iterator[int]:
    """Indices of sentences, the one that adds most first, until none is left."""
    left = weighed.copy()
    alike = np.zeros(len(left))
    while len(left):
        best = int(np.argmax(left - ALIKE * alike))
        if left[best] == -np.inf:
            return
        yield best
        left[best] = -np.inf
        np.maximum(alike, reading.vectors @ reading.vectors[best], out=alike)

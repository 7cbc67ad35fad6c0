"""Which sentences stand for all: those that the others are like, that say much and settle something, each
something else (maximal marginal relevance: Carbonell and Goldstein 1998)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from appliance.memory.summarise.reading import Reading, Sentence

FEWEST_WORDS = 3
FULL_WORDS = 14
"""A sentence of so many words says as much as a longer one."""

CUES = {"decided": 0.35, "solved": 0.3, "promised": 0.25, "open": 0.2, "concluded": 0.2, "problem": 0.1}
OTHERS = 0.3
"""What a sentence that is like the chosen ones loses, at most."""

PERSON = 0.35
"""What the person's own words have before the assistant's: they say what the assistant cannot know."""
EDGE = 0.1
"""What an assistant's first and last sentences have before its others: answer and conclusion."""
ASKS = -0.25
LENGTH = 0.5

Scores = NDArray[np.float64]


def how_many(sentences: int) -> int:
    """Sentences of a summary of so many: about the square root, so that a day's talk is a page and not a book."""
    return max(1, min(MOST, round(math.sqrt(sentences)), sentences))


MOST = 30


def relevance(reading: Reading) -> Scores:
    """How much each sentence stands for all; -inf for what nobody would quote."""
    vectors = reading.vectors.astype(np.float64)
    able = np.array([_able(reading, s) for s in reading.sentences])
    scores = np.full(len(able), -np.inf)
    if not able.any():
        return scores
    centre = vectors[able].mean(axis=0)
    central = vectors @ centre / max(float(np.linalg.norm(centre)), 1e-9)
    bonus = np.array([_bonus(reading, s) for s in reading.sentences])
    scores[able] = (central + bonus)[able]
    return scores


def _able(reading: Reading, sentence: Sentence) -> bool:
    return not sentence.empty and len(reading.text(sentence).split()) >= FEWEST_WORDS


def _bonus(reading: Reading, sentence: Sentence) -> float:
    words = len(reading.text(sentence).split())
    value = LENGTH * min(1.0, words / FULL_WORDS)
    value += max((CUES[cue] for cue in sentence.cues), default=0.0)
    value += ASKS if sentence.asks else 0.0
    if reading.assisted:
        own = reading.messages[sentence.message].role == "user"
        value += PERSON if own else EDGE * (sentence.at in (0.0, 1.0))
    return value


def chosen(reading: Reading, scores: Scores, count: int) -> list[int]:
    """Indices of at most ``count`` sentences, in the order they were said."""
    left = scores.copy()
    worst = np.zeros(len(left))
    found: list[int] = []
    while len(found) < count:
        best = int(np.argmax(left - OTHERS * worst)) if len(left) else -1
        if best < 0 or left[best] == -np.inf:
            break
        found.append(best)
        left[best] = -np.inf
        worst = np.maximum(worst, reading.vectors @ reading.vectors[best])
    return sorted(found)

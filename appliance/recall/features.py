"""Named features of a candidate, each about 0 to 1, computed from what the legs and the truth know.

dense    cosine of the question and the message's best chunk
own      BM25 of the message's own words          } a word of the question, s / (s + 2): BM25 has no
window   BM25 of the message with its neighbours  } upper end, and long questions would score higher
beside   the best cosine of a direct neighbour: an answer stands next to its question
author   1 if the question names who said it
told     the better of dense and own, if a person said it: what is asked for later was mostly told by
         the person, not answered by the assistant; it is 0 where nothing else speaks for the message
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from appliance.recall.candidates import Candidate
from appliance.store.messages import Voice

MEANINGS: Mapping[str, str] = {
    "dense": "its meaning",
    "own": "its words",
    "window": "words in it and around it",
    "beside": "meaning of what stands next to it",
    "author": "said by who is named",
    "told": "told by a person, not answered",
    "text": "its words, not yet indexed",
}
"""What features and legs stand for, in a few words to show."""

HALF_BM25 = 2.0
"""The BM25 score a word of the question that counts half."""

_WORD = re.compile(r"\w+")

Features = dict[str, float]


def features(
    words: Sequence[str], candidates: Mapping[int, Candidate], voices: Mapping[int, Voice]
) -> dict[int, Features]:
    """Each candidate's features, by message key; ``words`` are the question's without stop words, and
    ``voices`` say who said what. Candidates without a voice, gone since they were found, are left out.
    ``beside`` is filled in later, for the best.
    """
    asked = set(words)
    found: dict[int, Features] = {}
    for key, candidate in candidates.items():
        if key not in voices:
            continue
        dense = candidate.scores.get("dense", 0.0)
        own = _saturated(candidate.scores.get("own", 0.0), len(words))
        found[key] = {
            "dense": dense,
            "own": own,
            "window": _saturated(candidate.scores.get("window", 0.0), len(words)),
            "beside": 0.0,
            "author": float(names(asked, voices[key].author)),
            "told": max(dense, own, 0.0) if voices[key].role == "user" else 0.0,
        }
    return found


def names(asked: set[str], author: str | None) -> bool:
    """Whether the question's words name an author, by any part of the name of three letters or more."""
    parts = _WORD.findall(author.casefold()) if author else []
    return any(len(part) > 2 and part in asked for part in parts)


def _saturated(bm25: float, words: int) -> float:
    a_word = bm25 / max(words, 1)
    return a_word / (a_word + HALF_BM25)

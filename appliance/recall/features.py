"""Named features of a candidate, each about 0 to 1, computed from what the legs and the truth know.

dense    cosine of the question and the message's best chunk
own      BM25 of the message's own words          } s / (s + 8): BM25 has no upper end, and the first
window   BM25 of the message with its neighbours  } matching words tell more than the last
beside   the best cosine of a direct neighbour: an answer stands next to its question
author   1 if the question names who said it
user     1 for a person's words, 0 for an assistant's: what is asked for later was mostly told, not answered
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from appliance.recall.candidates import Candidate
from appliance.store.messages import Row

HALF_BM25 = 8.0
"""The BM25 score that counts half."""

_WORD = re.compile(r"\w+")

Features = Mapping[str, float]


def features(query: str, candidates: Mapping[int, Candidate], rows: Mapping[int, Row]) -> dict[int, Features]:
    """Each candidate's features, by message key; candidates without a row are left out."""
    asked = set(_WORD.findall(query.casefold()))
    return {
        key: {
            "dense": candidate.scores.get("dense", 0.0),
            "own": _saturated(candidate.scores.get("own", 0.0)),
            "window": _saturated(candidate.scores.get("window", 0.0)),
            "beside": candidate.beside,
            "author": float(names(asked, rows[key].author)),
            "user": float(rows[key].role == "user"),
        }
        for key, candidate in candidates.items()
        if key in rows
    }


def names(asked: set[str], author: str | None) -> bool:
    """Whether the question's words name an author, by any part of the name that is a word of its own."""
    parts = _WORD.findall(author.casefold()) if author else []
    return any(len(part) > 2 and part in asked for part in parts)


def _saturated(bm25: float) -> float:
    return bm25 / (bm25 + HALF_BM25)

"""A question's words one by one: how well each is met in a message or beside it (late interaction over word pieces).

MaxSim as in Khattab & Zaharia, ColBERT (2020), over one vector for each piece of the vocabulary instead of one for
each token in its context: nothing is stored with a message, and docs/decisions/0008 says what that costs.
"""

from __future__ import annotations

from itertools import chain

import numpy as np

from appliance.recall.candidates import Column
from appliance.recall.shelf import Lexicon
from appliance.recall.surroundings import Surroundings

FROM_BESIDE = 0.9
"""What a neighbour's word counts against one of the message itself."""

ENOUGH = 5.0
"""The logarithm of how many telling words count as much as can be."""


def word_by_word(lexicon: Lexicon, question: str, place: Surroundings) -> tuple[Column, Column]:
    """Of each message that people said: how well the question's words are met by its own or its neighbours',
    weighted by how rare each is, and how much it says; 0 for the others."""
    late, amount = np.zeros(len(place.keys)), np.zeros(len(place.keys))
    rows = list(place.of_people())
    (asked,) = lexicon.pieces([question])
    weights = lexicon.rarity(asked)
    total = float(weights.sum())
    if not rows or not total:
        return late, amount
    needed = sorted({one for _, key, beside in rows for one in (key, *beside)})
    at = {key: number for number, key in enumerate(needed)}
    texts = lexicon.pieces([place.said[key].beginning for key in needed])
    names = [place.said[key].author or "" for key in needed]
    called = dict(zip(names, lexicon.pieces(names), strict=True))
    # None is without a piece: reduceat could not tell it from the next. The first piece stands for nothing.
    whole = [[*called[name], *own] or [0] for name, own in zip(names, texts, strict=True)]
    starts = np.cumsum([0, *map(len, whole[:-1])])
    met = np.maximum.reduceat(lexicon.alike(asked, list(chain.from_iterable(whole))), starts, axis=1)
    for row, key, beside in rows:
        best = np.maximum.reduce([met[:, at[key]], *(FROM_BESIDE * met[:, at[one]] for one in beside)])
        late[row] = float(weights @ best) / total
        amount[row] = np.log1p(float(lexicon.rarity(list(set(texts[at[key]]))).sum())) / ENOUGH
    return late, amount

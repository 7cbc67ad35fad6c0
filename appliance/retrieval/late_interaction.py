"""Late interaction: the words of a query compared with those of each message one by one.

MaxSim (Khattab & Zaharia, ColBERT, 2020) is how well each token of the query is matched by the best token of a message
or its neighbours, weighted by rarity. It is computed with the token vectors that were stored with the messages; without
any, with one vector for each piece of the vocabulary, whatever its context (docs/decisions/0008 says what that costs).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from appliance.retrieval.adjacent import AdjacentMessages
from appliance.retrieval.candidates import Column
from appliance.retrieval.resources import EmbeddedQuery, ReadTokens, WordpieceLexicon

NEIGHBOUR_WEIGHT = 0.9
"""The weight of a neighbour's words against the message's own."""

IDF_MASS_SCALE = 5.0
"""Divides the logarithm of the summed rarity, so that a long message comes to about 1."""

TOKEN_LENGTH = 127
"""The length of a stored token vector."""

SINGLE_THREAD_PRODUCTS = 65_536 * 4
"""Up to so many multiplications, OpenBLAS works in the calling thread. Beyond them its threads wait for one another,
actively: where other programs use the cores too, 2 million took 8 ms of processor time instead of 0.2."""

MIN_TOKENS_SHARE = 0.8
"""If fewer of the messages than this have token vectors, as while they are being computed, none are used."""


def match_tokens(query: EmbeddedQuery, read: ReadTokens, adjacent: AdjacentMessages) -> tuple[Column, Column] | None:
    """MaxSim by token vectors of each message between people, and of the best of it and its neighbours; 0 for the
    others. A message without token vectors, which was just added, counts as the median of the others. None if too few
    messages have any."""
    rows = list(adjacent.rows_between_people())
    own, near = np.zeros(len(adjacent.keys)), np.zeros(len(adjacent.keys))
    total = float(query.rarity.sum())
    if not rows or not total:
        return own, near
    needed = {each for _, key, sides in rows for each in (key, *sides)}
    tokens = read(needed)
    if len(tokens) < MIN_TOKENS_SHARE * len(needed):
        return None
    best = _best_cosines(query.tokens, {key: found for key, found in tokens.items() if len(found)})
    typical = _median(np.array(list(best.values())))
    for row, key, sides in rows:
        of_message = best.get(key, typical)
        around = [NEIGHBOUR_WEIGHT * best.get(side, typical) for side in sides]
        own[row] = float(query.rarity @ of_message) / total
        near[row] = float(query.rarity @ np.maximum.reduce([of_message, *around])) / total
    return own, near


def _best_cosines(
    query: NDArray[np.float32], tokens: Mapping[int, NDArray[np.int8]]
) -> Mapping[int, NDArray[np.float32]]:
    """The best cosine of each token of the query with those of each message, (query tokens,)."""
    starts = np.cumsum([0, *(len(found) for found in tokens.values())])[:-1]
    flat = np.concatenate(list(tokens.values())).astype(np.float32)
    best = np.maximum.reduceat(_products(query, flat), starts, axis=1) / TOKEN_LENGTH
    return dict(zip(tokens, best.T, strict=True))


def _median(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The median of each column. ``np.median`` is the same, and loads ``numpy.ma`` when it is first called (25 ms)."""
    middle = len(rows) // 2
    ordered = np.sort(rows, axis=0)
    median: NDArray[np.float32] = ordered[middle]
    return median if len(rows) % 2 else (ordered[middle - 1] + median) / np.float32(2)


def _products(query: NDArray[np.float32], tokens: NDArray[np.float32]) -> NDArray[np.float32]:
    """The scalar product of each token of the query with each other token, (query tokens, tokens), in one thread."""
    products = np.empty((len(query), len(tokens)), np.float32)
    step = max(1, SINGLE_THREAD_PRODUCTS // max(query.size, 1))
    for start in range(0, len(tokens), step):
        np.matmul(query, tokens[start : start + step].T, out=products[:, start : start + step])
    return products


def match_pieces(lexicon: WordpieceLexicon, question: str, adjacent: AdjacentMessages) -> Column:
    """MaxSim by the lexicon of the best of each message between people and its neighbours; 0 for the others."""
    max_sim = np.zeros(len(adjacent.keys))
    rows = list(adjacent.rows_between_people())
    (query_pieces,) = lexicon.pieces([question])
    weights = lexicon.rarity(query_pieces)
    total = float(weights.sum())
    if not rows or not total:
        return max_sim
    needed = sorted({each for _, key, sides in rows for each in (key, *sides)})
    at = {key: number for number, key in enumerate(needed)}
    texts = lexicon.pieces([adjacent.excerpts[key].excerpt for key in needed])
    names = [adjacent.excerpts[key].author or "" for key in needed]
    author_pieces = dict(zip(names, lexicon.pieces(names), strict=True))
    # Every passage has a piece, because reduceat can't represent an empty one. Piece 0 carries no meaning.
    passages = [[*author_pieces[name], *own] or [0] for name, own in zip(names, texts, strict=True)]
    starts = np.cumsum([0, *map(len, passages[:-1])])
    similarities = np.maximum.reduceat(
        lexicon.similarities(query_pieces, list(chain.from_iterable(passages))), starts, axis=1
    )
    for row, key, sides in rows:
        best = np.maximum.reduce(
            [similarities[:, at[key]], *(NEIGHBOUR_WEIGHT * similarities[:, at[each]] for each in sides)]
        )
        max_sim[row] = float(weights @ best) / total
    return max_sim


def idf_mass(lexicon: WordpieceLexicon, adjacent: AdjacentMessages) -> Column:
    """How much each message between people says, by the rarity of its distinct words; 0 for the others."""
    mass = np.zeros(len(adjacent.keys))
    rows = list(adjacent.rows_between_people())
    texts = lexicon.pieces([adjacent.excerpts[key].excerpt for _, key, _ in rows])
    for (row, _, _), pieces in zip(rows, texts, strict=True):
        mass[row] = np.log1p(float(lexicon.rarity(list(set(pieces))).sum())) / IDF_MASS_SCALE
    return mass

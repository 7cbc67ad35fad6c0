"""A closer look at the best candidates: what stands beside each, and its words one by one.

It costs a reading of texts, so only the first ``LOOK`` of the first ranking get it. Most of what it looks for is a
habit of people who talk with each other, and says little where an assistant answers: such features are 0 unless a
person said it, with no assistant before or after.

Those that every message has more or less of count from the best of such candidates down. They set people's messages
in order among themselves, and lift none above what was said with an assistant: counted from 0, they took recall@10
of BEAM's questions from 0.61 to 0.57 where a memory holds LoCoMo's chats too; so they take it to 0.65.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from appliance.recall import cues
from appliance.recall.candidates import Candidates, Column, Rows
from appliance.recall.features import Features, saturated
from appliance.recall.shelf import Asked, Shelf
from appliance.recall.surroundings import around
from appliance.recall.word_by_word import word_by_word
from appliance.store import chunks
from appliance.store.index.base import LegQuery
from appliance.store.messages import Said
from appliance.types import Scope

LOOK = 40
"""How many of the best candidates are looked at closely. With 60 or 100, recall@10 on LoCoMo and BEAM is the same."""


def look_closer(shelf: Shelf, asked: Asked, candidates: Candidates, values: Features, best: Rows) -> Features:
    """The features of the closer look, 0 for all candidates but the ``best``. The shelf has an index."""
    wish = asked.wish
    place = around(shelf.db, candidates.messages[best].tolist())
    own, people, asking = place.own, place.people, place.asking
    # The own words of questions alone are asked for: each reading of the index costs.
    wanted = {"dense": place.beside, "own": {key for key in asking if key is not None}}
    legs = [(query, wanted[query.leg]) for query in asked.legs if query.leg in wanted]
    scores = _scores(shelf, wish.filters.scope, legs, candidates)
    beside = (_column(side, scores.get("dense", {})) for side in (place.before, place.after))
    dense, window, author = (values[name][best] for name in ("dense", "window", "author"))
    late, amount = word_by_word(shelf.lexicon(), wish.text, place)
    looked = {
        "beside": np.maximum.reduce([np.zeros(len(best)), *beside]),
        "phrase": _phrases(wish.text, own),
        "late": _below_best(late, people),
        "amount": _below_best(amount, people),
        "session": _below_best(_best_of_session(own, dense), people),
        "replies": saturated(_column(asking, scores.get("own", {})), len(asked.words)),
        "named": people * author * window,
        "dated": people * _of_each(own, cues.dated) if cues.asks_when(wish.text) else np.zeros(len(best)),
    }
    weights = wish.profile.weights or {}
    if "kind" in weights:
        looked["kind"] = _of_each(own, cues.kind)
    if "entities" in weights:
        names = cues.entities(wish.text)
        looked["entities"] = _of_each(own, lambda text: cues.in_common(names, text))
    return {name: _spread(column, best, len(candidates)) for name, column in looked.items()}


def _scores(
    shelf: Shelf,
    scope: Scope,
    legs: Sequence[tuple[LegQuery, Collection[int]]],
    candidates: Candidates,
) -> dict[str, dict[int, float]]:
    """The best score of each candidate in the given legs, and of the messages that are wanted beside them."""
    assert shelf.index is not None
    known = set(candidates.messages.tolist())
    pieces = chunks.chunks_of(
        shelf.db, shelf.generation, sorted({key for _, wanted in legs for key in wanted} - known)
    )
    new = [[key for key in wanted if key in pieces] for _, wanted in legs]
    ids = [[chunk for key in keys for chunk in pieces[key]] for keys in new]
    scores = shelf.index.score([query for query, _ in legs], ids, scope)
    found: dict[str, dict[int, float]] = {}
    for (query, _), keys, scored in zip(legs, new, scores, strict=True):
        own = zip(candidates.messages.tolist(), candidates.scores[query.leg].tolist(), strict=True)
        found[query.leg] = {key: score for key, score in own if score == score}
        found[query.leg] |= {key: max(scored.get(chunk, 0.0) for chunk in pieces[key]) for key in keys}
    return found


def _phrases(question: str, own: Sequence[Said | None]) -> Column:
    """The share of the question's pairs of words in a row that each message has in a row too."""
    pairs = cues.word_pairs(question)
    return _of_each(own, lambda text: len(pairs & cues.word_pairs(text)) / max(len(pairs), 1))


def _of_each(own: Sequence[Said | None], cue: Callable[[str], float]) -> Column:
    """What a cue shows in the beginning of each message."""
    return np.array([cue(one.beginning) if one is not None else 0.0 for one in own], np.float64)


def _below_best(column: Column, people: Column) -> Column:
    """How far each of the people's candidates is below the best of them; 0 for the others."""
    return people * (column - max(column[people > 0], default=0.0))


def _best_of_session(own: Sequence[Said | None], dense: Column) -> Column:
    best: dict[int, float] = {}
    for one, score in zip(own, dense.tolist(), strict=True):
        if one is not None:
            best[one.session] = max(best.get(one.session, 0.0), score)
    return np.array([best[one.session] if one is not None else 0.0 for one in own])


def _column(keys: Sequence[int | None], scores: Mapping[int, float]) -> Column:
    return np.array([scores.get(key, 0.0) if key is not None else 0.0 for key in keys])


def _spread(column: Column, rows: Rows, count: int) -> Column:
    whole = np.zeros(count)
    whole[rows] = column
    return whole

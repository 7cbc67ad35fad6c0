"""A closer look at the best candidates: what stands beside each, and its words one by one.

It costs a reading of texts, so only the first ``LOOK`` of the first ranking get it. Most of what it looks for is a
habit of people who talk with each other, and says little where an assistant answers: such features are 0 unless a
person said it, with no assistant before or after.

Those that every message has more or less of count from the best of such candidates down. They set people's messages
in order among themselves, and lift none above what was said with an assistant: counted from 0, they took recall@10
of BEAM's questions from 0.61 to 0.57 where a memory holds LoCoMo's chats too; so they take it to 0.65.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

import numpy as np

from appliance.recall import cues
from appliance.recall.candidates import Candidates, Column, Rows
from appliance.recall.features import Features, saturated
from appliance.recall.shelf import Asked, Lexicon, Shelf
from appliance.store import chunks, messages, neighbours
from appliance.store.index.base import LegQuery
from appliance.store.messages import Said
from appliance.types import Scope

LOOK = 40
"""How many of the best candidates are looked at closely. With 60 or 100, recall@10 on LoCoMo and BEAM is the same."""

CHARACTERS = 1_000
"""How much of a text is compared word by word; the legs read it whole."""

FROM_BESIDE = 0.9
"""What a neighbour's word counts against one of the message itself."""

ENOUGH = 5.0
"""The logarithm of how many telling words count as much as can be."""


def look_closer(shelf: Shelf, asked: Asked, candidates: Candidates, values: Features, best: Rows) -> Features:
    """The features of the closer look, 0 for all candidates but the ``best``. The shelf has an index."""
    weights = asked.wish.profile.weights or {}
    keys: list[int] = candidates.messages[best].tolist()
    pairs = neighbours.pairs(shelf.db, keys)
    sides = [[pairs.get(key, (None, None))[side] for key in keys] for side in (0, 1)]
    beside = {key for side in sides for key in side if key is not None}
    said = messages.said(shelf.db, beside.union(keys), CHARACTERS)
    before, after = ([said.get(key) if key else None for key in side] for side in sides)
    own = [said.get(key) for key in keys]
    people = np.array(
        [_among_people(one, *two) for one, *two in zip(own, before, after, strict=True)], np.float64
    )
    asking = [
        key if one is not None and is_talk and cues.is_question(one.beginning) else None
        for key, one, is_talk in zip(sides[0], before, people.tolist(), strict=True)
    ]
    # The own words of questions alone are asked for: each reading of the index costs.
    wanted = {"dense": beside, "own": {key for key in asking if key is not None}}
    legs = [(query, wanted[query.leg]) for query in asked.legs if query.leg in wanted]
    scores = _scores(shelf, asked.wish.filters.scope, legs, candidates)
    dense_before, dense_after = (_column(side, scores.get("dense", {})) for side in sides)
    dense, window, author = (values[name][best] for name in ("dense", "window", "author"))
    late, amount = _word_by_word(shelf.lexicon(), asked.wish.text, said, keys, sides, people)
    when = people if cues.asks_when(asked.wish.text) else np.zeros(len(best))
    looked = {
        "beside": np.maximum(np.maximum(dense_before, dense_after), 0.0),
        "late": _below_best(late, people),
        "amount": _below_best(amount, people),
        "dated": np.array(
            [
                how * cues.dated(one.beginning) if how and one else 0.0
                for how, one in zip(when, own, strict=True)
            ]
        ),
        "replies": saturated(_column(asking, scores.get("own", {})), len(asked.words)),
        "named": people * author * window,
        "session": _below_best(_best_of_session(own, dense), people),
        "phrase": _phrases(asked.wish.text, own),
    }
    if "kind" in weights:
        looked["kind"] = np.array([cues.kind(one.beginning) if one else 0.0 for one in own])
    if "entities" in weights:
        wanted_names = cues.entities(asked.wish.text)
        looked["entities"] = np.array(
            [cues.in_common(wanted_names, one.beginning) if one else 0.0 for one in own]
        )
    return {name: _spread(column, best, len(candidates)) for name, column in looked.items()}


def _among_people(own: Said | None, before: Said | None, after: Said | None) -> bool:
    beside = (one.role for one in (before, after) if one is not None)
    return own is not None and own.role == "user" and "assistant" not in beside


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


def _word_by_word(
    lexicon: Lexicon,
    question: str,
    said: Mapping[int, Said],
    keys: Sequence[int],
    sides: Sequence[Sequence[int | None]],
    people: Column,
) -> tuple[Column, Column]:
    """For each of the messages ``keys`` that ``people`` said: how well the question's words are met by its
    own or its neighbours' (MaxSim, weighted by how rare each is), and how much it says."""
    late, amount = np.zeros(len(keys)), np.zeros(len(keys))
    rows = [row for row, is_talk in enumerate(people.tolist()) if is_talk]
    (asked,) = lexicon.pieces([question])
    weights = lexicon.rarity(asked)
    total = float(weights.sum())
    if not rows or not total:
        return late, amount
    around = {key for row in rows for key in (keys[row], sides[0][row], sides[1][row]) if key is not None}
    needed = sorted(around & said.keys())
    place = {key: number for number, key in enumerate(needed)}
    texts = lexicon.pieces([said[key].beginning for key in needed])
    names = [said[key].author or "" for key in needed]
    called = dict(zip(names, lexicon.pieces(names), strict=True))
    # None is without a piece: reduceat could not tell it from the next. The first piece stands for nothing.
    whole = [[*called[name], *own] or [0] for name, own in zip(names, texts, strict=True)]
    starts = np.cumsum([0, *map(len, whole[:-1])])
    met = np.maximum.reduceat(lexicon.alike(asked, list(chain.from_iterable(whole))), starts, axis=1)
    for row in rows:
        at = place[keys[row]]
        best = met[:, at]
        for side in sides:
            if (key := side[row]) is not None and key in place:
                best = np.maximum(best, FROM_BESIDE * met[:, place[key]])
        late[row] = float(weights @ best) / total
        amount[row] = np.log1p(float(lexicon.rarity(list(set(texts[at]))).sum())) / ENOUGH
    return late, amount


def _phrases(question: str, own: Sequence[Said | None]) -> Column:
    """The share of the question's pairs of words in a row that each message has in a row too."""
    pairs = cues.word_pairs(question)
    return np.array(
        [len(pairs & cues.word_pairs(one.beginning)) / len(pairs) if pairs and one else 0.0 for one in own]
    )


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

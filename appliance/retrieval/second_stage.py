"""Second-stage features: the neighbours of the best candidates, and the words of each compared one by one.

They cost a reading of texts, so only the first ``SECOND_STAGE_DEPTH`` of the first ranking get them. Most of them show
a habit of people who talk with each other, and mean little where an assistant answers: such features are 0 unless a
person wrote the message, with no assistant before or after it.

Features that every message has to some degree (``max_sim``, ``idf_mass``, ``session``) count relative to the best such
candidate. They order people's messages among themselves, and raise none above what was said with an assistant. Counted
from 0 instead, they lowered recall@10 of BEAM's questions from 0.61 to 0.57 where a memory holds LoCoMo's chats too;
counted this way they raise it to 0.65.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from appliance.retrieval import cues
from appliance.retrieval.candidates import Candidates, Column, Rows
from appliance.retrieval.features import Features, saturate_bm25
from appliance.retrieval.resources import ParsedQuery, SearchResources, WordpieceLexicon
from appliance.store import chunks, messages, neighbours
from appliance.store.index.protocol import LegQuery
from appliance.store.messages import MessageExcerpt
from appliance.store.scripts import is_question
from appliance.types import Scope

SECOND_STAGE_DEPTH = 40
"""The best candidates that get second-stage features. With 60 or 100, recall@10 on LoCoMo and BEAM is the same."""

NEIGHBOUR_WEIGHT = 0.9
"""The weight of a neighbour's words against the message's own."""

IDF_MASS_SCALE = 5.0
"""Divides the logarithm of the summed rarity, so that a long message comes to about 1."""

EXCERPT_CHARACTERS = 1_000
"""How much of a text is read here; the legs read it whole."""


def second_stage_features(
    resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, first_stage: Features, best: Rows
) -> Features:
    """Compute the second-stage features of the ``best`` candidates; all others have 0. ``resources`` has an index."""
    search_query = parsed.query
    adjacent = load_adjacent(resources.db, candidates.messages[best].tolist())
    excerpts, between_people, preceding_questions = (
        adjacent.own_excerpts,
        adjacent.between_people,
        adjacent.preceding_questions,
    )
    # The own words of questions alone are asked for: each reading of the index costs.
    wanted = {"dense": adjacent.neighbour_keys, "own": {key for key in preceding_questions if key is not None}}
    legs = [(query, wanted[query.leg]) for query in parsed.leg_queries if query.leg in wanted]
    scores = _leg_scores(resources, search_query.filters.scope, legs, candidates)
    neighbour_scores = (_column(side, scores.get("dense", {})) for side in (adjacent.before, adjacent.after))
    dense, window, author = (first_stage[name][best] for name in ("dense", "window", "author"))
    max_sim, idf_mass = max_sim_and_idf_mass(resources.lexicon(), search_query.text, adjacent)
    columns = {
        "neighbour_dense": np.maximum.reduce([np.zeros(len(best)), *neighbour_scores]),
        "phrase": _phrase_overlap(search_query.text, excerpts),
        "max_sim": _relative_to_best(max_sim, between_people),
        "idf_mass": _relative_to_best(idf_mass, between_people),
        "session": _relative_to_best(_session_best(excerpts, dense), between_people),
        "replies": saturate_bm25(_column(preceding_questions, scores.get("own", {})), len(parsed.words)),
        "named": between_people * author * window,
        "dated": between_people * _cue_column(excerpts, cues.temporal_density)
        if cues.asks_when(search_query.text)
        else np.zeros(len(best)),
    }
    weights = search_query.profile.weights or {}
    if "kind" in weights:
        columns["kind"] = _cue_column(excerpts, cues.usefulness)
    if "entities" in weights:
        names = cues.entities(search_query.text)
        columns["entities"] = _cue_column(excerpts, lambda text: cues.overlap(names, text))
    return {name: _scatter(column, best, len(candidates)) for name, column in columns.items()}


def _leg_scores(
    resources: SearchResources, scope: Scope, legs: Sequence[tuple[LegQuery, Collection[int]]], candidates: Candidates
) -> dict[str, dict[int, float]]:
    """The best score of each candidate in the given legs, and of the messages that are wanted beside them."""
    assert resources.index is not None
    known = set(candidates.messages.tolist())
    pieces = chunks.chunks_of(
        resources.db, resources.generation, sorted({key for _, wanted in legs for key in wanted} - known)
    )
    new = [[key for key in wanted if key in pieces] for _, wanted in legs]
    ids = [[chunk for key in keys for chunk in pieces[key]] for keys in new]
    scores = resources.index.score([query for query, _ in legs], ids, scope)
    found: dict[str, dict[int, float]] = {}
    for (query, _), keys, scored in zip(legs, new, scores, strict=True):
        own_scores = zip(candidates.messages.tolist(), candidates.scores[query.leg].tolist(), strict=True)
        found[query.leg] = {key: score for key, score in own_scores if score == score}
        found[query.leg] |= {key: max(scored.get(chunk, 0.0) for chunk in pieces[key]) for key in keys}
    return found


def _phrase_overlap(question: str, excerpts: Sequence[MessageExcerpt | None]) -> Column:
    """The share of the question's pairs of words in a row that each message has in a row too."""
    pairs = cues.word_pairs(question)
    return _cue_column(excerpts, lambda text: len(pairs & cues.word_pairs(text)) / max(len(pairs), 1))


def _cue_column(excerpts: Sequence[MessageExcerpt | None], cue: Callable[[str], float]) -> Column:
    """What a cue shows in the beginning of each message."""
    return np.array([cue(one.excerpt) if one is not None else 0.0 for one in excerpts], np.float64)


def _relative_to_best(column: Column, between_people: Column) -> Column:
    """How far each of the people's candidates is below the best of them; 0 for the others."""
    return between_people * (column - max(column[between_people > 0], default=0.0))


def _session_best(excerpts: Sequence[MessageExcerpt | None], dense: Column) -> Column:
    best: dict[int, float] = {}
    for one, score in zip(excerpts, dense.tolist(), strict=True):
        if one is not None:
            best[one.session] = max(best.get(one.session, 0.0), score)
    return np.array([best[one.session] if one is not None else 0.0 for one in excerpts])


def _column(keys: Sequence[int | None], scores: Mapping[int, float]) -> Column:
    return np.array([scores.get(key, 0.0) if key is not None else 0.0 for key in keys])


def _scatter(column: Column, rows: Rows, count: int) -> Column:
    scattered = np.zeros(count)
    scattered[rows] = column
    return scattered


# --- late interaction -------------------------------------------------------------------------------


def max_sim_and_idf_mass(lexicon: WordpieceLexicon, question: str, adjacent: AdjacentMessages) -> tuple[Column, Column]:
    """MaxSim and IDF mass of each message between people, 0 for the others.

    MaxSim is how well the query's words are matched by the message's words or its neighbours', weighted by rarity: as
    in Khattab & Zaharia, ColBERT (2020), with one vector for each piece of the vocabulary instead of one for each token
    in its context. Nothing is stored with a message; docs/decisions/0008 states what that costs. The IDF mass is how
    much the message says, by the rarity of its words.
    """
    max_sim, idf_mass = np.zeros(len(adjacent.keys)), np.zeros(len(adjacent.keys))
    rows = list(adjacent.rows_between_people())
    (query_pieces,) = lexicon.pieces([question])
    weights = lexicon.rarity(query_pieces)
    total = float(weights.sum())
    if not rows or not total:
        return max_sim, idf_mass
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
        idf_mass[row] = np.log1p(float(lexicon.rarity(list(set(texts[at[key]]))).sum())) / IDF_MASS_SCALE
    return max_sim, idf_mass


# --- neighbours -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AdjacentMessages:
    """Messages with their neighbours.

    Attributes:
        keys: The messages.
        before: The message before each, None at the beginning of its session.
        after: The message after each, None at the end of its session.
        excerpts: The beginnings of all these messages, by key.
        between_people: 1 for a person's message with no assistant before or after it, else 0.
    """

    keys: Sequence[int]
    before: Sequence[int | None]
    after: Sequence[int | None]
    excerpts: Mapping[int, MessageExcerpt]
    between_people: Column

    @property
    def own_excerpts(self) -> list[MessageExcerpt | None]:
        return [self.excerpts.get(key) for key in self.keys]

    @property
    def neighbour_keys(self) -> set[int]:
        """The keys of all neighbours."""
        return {key for key in (*self.before, *self.after) if key is not None}

    @property
    def preceding_questions(self) -> list[int | None]:
        """The message before each, if it is a question between people."""
        return [
            key if key is not None and is_between_people and self._is_question(key) else None
            for key, is_between_people in zip(self.before, self.between_people.tolist(), strict=True)
        ]

    def rows_between_people(self) -> Iterator[tuple[int, int, list[int]]]:
        """The row, the key and the neighbours' keys of each message between people."""
        for row, (key, is_between_people, *neighbours_of_row) in enumerate(
            zip(self.keys, self.between_people.tolist(), self.before, self.after, strict=True)
        ):
            if is_between_people:
                yield (row, key, [side for side in neighbours_of_row if side is not None and side in self.excerpts])

    def _is_question(self, key: int) -> bool:
        return key in self.excerpts and is_question(self.excerpts[key].excerpt)


def load_adjacent(db: sqlite3.Connection, keys: Sequence[int]) -> AdjacentMessages:
    """Read the neighbours of messages."""
    pairs = neighbours.adjacent_keys(db, keys)
    before, after = ([pairs.get(key, (None, None))[side] for key in keys] for side in (0, 1))
    neighbour_keys = {key for key in (*before, *after) if key is not None}
    excerpts = messages.excerpts(db, neighbour_keys.union(keys), EXCERPT_CHARACTERS)
    between_people = [
        _is_between_people(*(excerpts.get(key) if key is not None else None for key in place))
        for place in zip(keys, before, after, strict=True)
    ]
    return AdjacentMessages(keys, before, after, excerpts, np.array(between_people, np.float64))


def _is_between_people(own: MessageExcerpt | None, before: MessageExcerpt | None, after: MessageExcerpt | None) -> bool:
    neighbour_roles = (one.role for one in (before, after) if one is not None)
    return own is not None and own.role == "user" and "assistant" not in neighbour_roles

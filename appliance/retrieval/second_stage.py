"""Second-stage features: the neighbours of the best candidates, and the words of each compared one by one.

They cost a reading of texts, so only the first ``SECOND_STAGE_DEPTH`` of the first ranking get them. Most of them show
a habit of people who talk with each other, and mean little where an assistant answers: such features are 0 unless a
person wrote the message, with no assistant before or after it.

Features that every message has to some degree (``token_match``, ``max_sim``, ``idf_mass``, ``session``) count relative
to the best such candidate. They order people's messages among themselves, and raise none above what was said with an
assistant. Counted from 0 instead, they lowered recall@10 of BEAM's questions from 0.61 to 0.57 where a memory holds
LoCoMo's chats too; counted this way they raise it to 0.65.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np

from appliance.retrieval import cues, late_interaction
from appliance.retrieval.adjacent import AdjacentMessages
from appliance.retrieval.candidates import Candidates, Column, Rows
from appliance.retrieval.features import Features, saturate_bm25, scatter
from appliance.retrieval.resources import ParsedQuery, SearchResources
from appliance.store import chunks, feedback
from appliance.store.index.protocol import LegQuery
from appliance.store.messages import MessageExcerpt
from appliance.timestamps import to_microseconds
from appliance.types import Scope

SECOND_STAGE_DEPTH = 40
"""The best candidates that get second-stage features. With 60 or 100, recall@10 on LoCoMo and BEAM is the same."""


def second_stage_features(
    resources: SearchResources,
    parsed: ParsedQuery,
    candidates: Candidates,
    first_stage: Features,
    adjacent: AdjacentMessages,
    best: Rows,
) -> Features:
    """Compute the second-stage features of the ``best`` candidates, whose neighbours are ``adjacent``; all others have
    0. ``resources`` has an index."""
    search_query = parsed.query
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
    columns = {
        "neighbour_dense": np.maximum.reduce([np.zeros(len(best)), *neighbour_scores]),
        "phrase": _phrase_overlap(search_query.text, excerpts),
        **{
            name: _relative_to_best(column, between_people)
            for name, column in _late_interaction(resources, parsed, adjacent).items()
        },
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
    if "feedback" in weights:
        match = np.maximum(np.maximum(dense, first_stage["own"][best]), 0.0)
        moment = to_microseconds(search_query.now)
        columns["feedback"] = _feedback(resources.db, adjacent.keys, match, moment)
    return {name: scatter(column, best, len(candidates)) for name, column in columns.items()}


def _feedback(db: sqlite3.Connection, keys: Sequence[int], match: Column, moment: int) -> Column:
    """What feedback says of each message. What helped once helps where it matches well again: by the square of its
    match, relative to the best of them. What is wrong is wrong wherever it is found."""
    given = feedback.get(db, keys)
    values = np.array([feedback.rank_value(given[key], moment) if key in given else 0.0 for key in keys], np.float64)
    best = max(match, default=0.0)
    return np.where(values > 0, values * (match / best) ** 2, values) if best > 0 else np.minimum(values, 0.0)


def _late_interaction(resources: SearchResources, parsed: ParsedQuery, adjacent: AdjacentMessages) -> Features:
    """How the words of the query match those of the messages, by token vectors or else by the lexicon; how much the
    messages say."""
    none = np.zeros(len(adjacent.keys))
    matches = None
    if parsed.embedded is not None and len(parsed.embedded.tokens) and resources.read_tokens is not None:
        matches = late_interaction.match_tokens(parsed.embedded, resources.read_tokens, adjacent)
    lexicon = resources.lexicon()
    own, near = matches or (none, none)
    return {
        "token_match": own,
        "token_match_near": near,
        "max_sim": late_interaction.match_pieces(lexicon, parsed.query.text, adjacent) if matches is None else none,
        "idf_mass": late_interaction.idf_mass(lexicon, adjacent),
    }


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
    return _cue_column(excerpts, lambda text: cues.count_pairs(pairs, text) / max(len(pairs), 1))


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

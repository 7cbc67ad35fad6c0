"""The way out: query → candidates → features → rank → hits.

``search`` reads top to bottom. A leg that can't run is said in the answer's notes, never left out silently.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace

from appliance.recall.candidates import POOL, Candidates, from_index, from_text, joined, nobody
from appliance.recall.closer import LOOK, look_closer
from appliance.recall.features import features
from appliance.recall.rank import Ranking, best_first, contributions, held_behind, score
from appliance.recall.rerank import reranked
from appliance.recall.shelf import Asked, Shelf
from appliance.recall.snippet import snippet
from appliance.recall.weights import EVIDENCE, FIRST
from appliance.recall.why_not import why_not
from appliance.store import chunks, lexical, messages, sessions
from appliance.store.index.base import LegQuery
from appliance.types import Filters, Hit, Hits, Mode, Scope, Source


def search(
    shelf: Shelf, query: str, filters: Filters, *, mode: Mode, limit: int, about: str | None = None
) -> Hits:
    """The ``limit`` best messages for a query, one hit a message; ``about`` names one to say why not."""
    began = time.perf_counter()
    notes: list[str] = []
    legs = queries(shelf, query, mode, notes)
    candidates = find(shelf, query, legs, filters, mode, notes)
    words = lexical.words(query)
    ranking = rank(shelf, Asked(query, words, legs), filters.scope, candidates)
    ranking = reranked(shelf, query, candidates, ranking, notes)
    hits = describe(shelf.db, words, candidates, ranking, limit)
    took = (time.perf_counter() - began) * 1000
    answer = Hits(hits, query=query, mode=mode, notes=notes, took_ms=took)
    if about is not None:
        answer.why_not = why_not(shelf, legs, filters, candidates, ranking, limit, about)
    return answer


def rank(shelf: Shelf, asked: Asked, scope: Scope, candidates: Candidates) -> Ranking:
    """The best candidates of a first ranking are looked at closely, where there is a dense leg."""
    values = features(asked.words, candidates)
    scores = score(values, FIRST)
    order = best_first(scores, candidates.messages)
    if shelf.index is None or not len(candidates) or not asked.legs or asked.legs[0].leg != "dense":
        return Ranking(order, values, FIRST, scores)
    best = order[:LOOK]
    values |= look_closer(shelf, scope, asked, candidates, values, best)
    scores = score(values, EVIDENCE)
    values["behind"] = held_behind(scores, best)
    weights = {**EVIDENCE, "behind": 1.0}
    scores = score(values, weights)
    return Ranking(best_first(scores, candidates.messages), values, weights, scores)


def queries(shelf: Shelf, query: str, mode: Mode, notes: list[str]) -> list[LegQuery]:
    """What each leg of the index is asked, the dense one first."""
    asked: list[LegQuery] = []
    if shelf.index is None:
        notes.append(f"only full text was searched: {shelf.lacks}")
        return asked
    if mode != "lexical" and query.strip():
        if shelf.embed is None:
            notes.append(f"the dense leg did not run: {shelf.lacks}")
        else:
            asked.append(LegQuery("dense", vector=shelf.embed(query)))
    if mode != "dense":
        text = lexical.shortened(query)
        if text != query:
            notes.append(
                f"the query is long: words behind its first {lexical.QUERY_WORDS} count by meaning only"
            )
        asked += [LegQuery("own", text=text), LegQuery("window", text=text)]
    return asked


def find(
    shelf: Shelf, query: str, legs: Sequence[LegQuery], filters: Filters, mode: Mode, notes: list[str]
) -> Candidates:
    """Candidates of every leg that can run; FTS5 finds what the index does not hold yet, and what is quoted."""
    quoted = holding(shelf.db, query, filters, mode, notes)
    if shelf.index is None:
        candidates = nobody() if mode == "dense" else from_text(shelf.db, query, filters, None)
        return replace(candidates, quoted=quoted)
    pieces = chunks.chunks_of(shelf.db, shelf.generation, sorted(quoted))
    also = [chunk for piece in pieces.values() for chunk in piece]
    candidates = replace(from_index(shelf.db, shelf.index, legs, filters, also), quoted=quoted)
    waiting = chunks.pending(shelf.db, shelf.generation)
    if waiting:
        notes.append(f"{waiting} chunks wait for the index: their messages are found by FTS5 alone")
        if mode != "dense":
            candidates = joined(candidates, from_text(shelf.db, query, filters, shelf.generation))
    return candidates


def holding(
    db: sqlite3.Connection, query: str, filters: Filters, mode: Mode, notes: list[str]
) -> frozenset[int]:
    """The messages that hold what the query has in quotation marks."""
    phrases = lexical.phrases(query) if mode != "dense" else []
    if not phrases:
        return frozenset()
    found = lexical.holding(db, phrases, filters, POOL)
    if found is None:
        notes.append("what is quoted has frequent words only: it counts as its words do")
    return frozenset(found or ())


def describe(
    db: sqlite3.Connection,
    words: Sequence[str],
    candidates: Candidates,
    ranking: Ranking,
    limit: int,
) -> list[Hit]:
    """The best messages as hits, with their texts and reasons."""
    keys = candidates.messages.tolist()
    order: list[int] = ranking.order[:limit].tolist()
    rows = messages.get(db, [keys[row] for row in order])
    order = [row for row in order if keys[row] in rows]
    shown = [rows[keys[row]] for row in order]
    heads = sessions.heads(db, [message.session_id for message in shown])
    paths = messages.source_paths(db, [message.source_id for message in shown if message.source_id])
    hits = []
    for place, (row, message) in enumerate(zip(order, shown, strict=True), 1):
        head = heads[message.session_id]
        hits.append(
            Hit(
                rank=place,
                score=float(ranking.scores[row]),
                message_id=messages.message_id(message.id),
                external_id=message.external_id,
                session_id=sessions.public_id(message.session_id),
                external_session_id=head.external_id,
                session_title=head.title,
                role=message.role,
                author=message.author,
                timestamp=message.sent_at,
                text=message.text,
                snippet=snippet(message.text, words, candidates.span(row)),
                source=Source(head.format, paths.get(message.source_id) if message.source_id else None),
                tier="hot",
                why={
                    "score": contributions(ranking.values, ranking.weights, row),
                    "legs": candidates.legs(row),
                },
            )
        )
    return hits

"""The way out: query → candidates → features → rank → hits.

``search`` reads top to bottom. A leg that can't run is said in the answer's notes, never left out silently.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appliance.recall.candidates import BESIDE, Candidate, from_index, from_text, look_beside
from appliance.recall.features import Features, features
from appliance.recall.rank import Ranked, contributions, rank
from appliance.recall.snippet import snippet
from appliance.recall.weights import EVIDENCE
from appliance.store import chunks, lexical, messages, sessions
from appliance.store.index.base import Index, LegQuery
from appliance.types import Filters, Hit, Hits, Mode, Source

EmbedQuery = Callable[[str], "NDArray[np.float32]"]


@dataclass(frozen=True, slots=True)
class Shelf:
    """What a search looks through. ``embed`` is None when no model could be loaded, ``index`` too when the
    vectors are damaged; ``lacks`` says why."""

    db: sqlite3.Connection
    index: Index | None
    generation: int
    embed: EmbedQuery | None
    lacks: str = ""


def search(shelf: Shelf, query: str, filters: Filters, *, mode: Mode, limit: int) -> Hits:
    """The ``limit`` best messages for a query, one hit a message."""
    began = time.perf_counter()
    notes: list[str] = []
    legs = queries(shelf, query, mode, notes)
    candidates = find(shelf, query, legs, filters, mode, notes)
    words = lexical.words(query)
    valued = features(words, candidates, messages.voices(shelf.db, candidates))
    ranked = rank(valued, EVIDENCE)
    if shelf.index is not None and legs and legs[0].leg == "dense":
        best = {found.message: valued[found.message] for found in ranked[:BESIDE]}
        cosines = look_beside(
            shelf.db, shelf.index, shelf.generation, legs[0], filters.scope, candidates, best
        )
        for message, cosine in cosines.items():
            best[message]["beside"] = cosine
        # It only ever adds, so the others stay behind.
        ranked = rank(best, EVIDENCE) + ranked[BESIDE:]
    hits = describe(shelf.db, words, ranked[:limit], candidates, valued)
    took = (time.perf_counter() - began) * 1000
    return Hits(hits, query=query, mode=mode, notes=notes, took_ms=took)


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
) -> dict[int, Candidate]:
    """Candidates of every leg that can run; FTS5 finds what the index does not hold yet."""
    if shelf.index is None:
        return {} if mode == "dense" else from_text(shelf.db, query, filters, None)
    candidates = from_index(shelf.db, shelf.index, legs, filters)
    waiting = chunks.pending(shelf.db, shelf.generation)
    if waiting:
        notes.append(f"{waiting} chunks wait for the index: their messages are found by FTS5 alone")
        if mode != "dense":
            for key, candidate in from_text(shelf.db, query, filters, shelf.generation).items():
                candidates.setdefault(key, candidate)
    return candidates


def describe(
    db: sqlite3.Connection,
    words: Sequence[str],
    ranked: Sequence[Ranked],
    candidates: Mapping[int, Candidate],
    valued: Mapping[int, Features],
) -> list[Hit]:
    """The ranked messages as hits, with their texts and reasons."""
    rows = messages.get(db, [found.message for found in ranked])
    ranked = [found for found in ranked if found.message in rows]
    shown = [rows[found.message] for found in ranked]
    heads = sessions.heads(db, [row.session_id for row in shown])
    paths = messages.source_paths(db, [row.source_id for row in shown if row.source_id])
    hits = []
    for place, found in enumerate(ranked, 1):
        row, candidate = rows[found.message], candidates[found.message]
        head = heads[row.session_id]
        hits.append(
            Hit(
                rank=place,
                score=found.score,
                message_id=messages.message_id(row.id),
                external_id=row.external_id,
                session_id=sessions.public_id(row.session_id),
                external_session_id=head.external_id,
                session_title=head.title,
                role=row.role,
                author=row.author,
                timestamp=row.sent_at,
                text=row.text,
                snippet=snippet(row.text, words, candidate.span),
                source=Source(head.format, paths.get(row.source_id) if row.source_id else None),
                tier="hot",
                why={
                    "score": contributions(valued[found.message], EVIDENCE),
                    "legs": {
                        leg: {"score": score, "rank": candidate.ranks.get(leg)}
                        for leg, score in candidate.scores.items()
                    },
                },
            )
        )
    return hits

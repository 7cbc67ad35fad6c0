"""The way out: wish → legs → candidates → features → rank → diversify → hits.

``search`` reads top to bottom. A leg that can't run is said in the answer's notes, never left out silently.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

from appliance.recall import gists
from appliance.recall.candidates import Candidates
from appliance.recall.diversify import Chosen, diversify, reasons
from appliance.recall.legs import find, understand
from appliance.recall.rank import Ranking, rank
from appliance.recall.rerank import reranked
from appliance.recall.shelf import Shelf, Wish
from appliance.recall.snippet import snippet
from appliance.recall.why_not import why_not
from appliance.store import messages, sessions
from appliance.types import Hit, Hits, Source


def search(shelf: Shelf, wish: Wish, *, limit: int, about: str | None = None) -> Hits:
    """The ``limit`` best messages for a wish, one hit a message; ``about`` names one to say why not."""
    began = time.perf_counter()
    notes: list[str] = []
    asked = understand(shelf, wish, notes)
    with shelf.timed("candidates"):
        candidates = find(shelf, asked, notes)
    ranking = rank(shelf, asked, candidates)
    ranking = reranked(shelf, asked, candidates, ranking, notes)
    with shelf.timed("hits"):
        chosen = diversify(candidates, ranking, wish.per_session)
        hits = describe(shelf.db, asked.words, candidates, ranking, chosen, limit)
        gist = gists.beside(shelf, asked)
    took = (time.perf_counter() - began) * 1000
    answer = Hits(hits, query=wish.text, mode=wish.mode, notes=notes, took_ms=took)
    answer.summaries = gist
    answer.times = tuple(dict.fromkeys(stretch.words for stretch in asked.times))
    if about is not None:
        answer.why_not = why_not(shelf, asked, candidates, ranking, chosen, limit, about)
    return answer


def describe(
    db: sqlite3.Connection,
    words: Sequence[str],
    candidates: Candidates,
    ranking: Ranking,
    chosen: Chosen,
    limit: int,
) -> list[Hit]:
    """The best messages as hits, with their texts and reasons."""
    keys = candidates.messages.tolist()
    order = chosen.rows[:limit]
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
                why=reasons(candidates, ranking, chosen, row),
            )
        )
    return hits

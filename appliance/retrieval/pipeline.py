"""The search pipeline: query → spelling → legs → candidates → features → rank → rerank → repetition → diversify → hits.

``_search`` runs its steps in this order. The notes of the hits name a leg that can't run. ``search`` chooses the tiers.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace

from appliance.retrieval import archive_search, summary_search
from appliance.retrieval.candidates import Candidates
from appliance.retrieval.diversify import DiverseSelection, diversify, explain
from appliance.retrieval.explain import why_not
from appliance.retrieval.legs import find_candidates, parse_query
from appliance.retrieval.ranking import Ranking, rank
from appliance.retrieval.repetition import put_behind_answers
from appliance.retrieval.rerank import rerank
from appliance.retrieval.resources import SearchQuery, SearchResources
from appliance.retrieval.snippet import snippet
from appliance.retrieval.spelling import correct_spelling
from appliance.store import archive, messages, sessions
from appliance.store.sql import collect_unreadable
from appliance.types import Hit, Hits, Source

DAMAGE_NOTE = "the database is damaged, and some messages can't be read: 'appliance verify' names them"


def search(
    resources: SearchResources, search_query: SearchQuery, *, limit: int, explained_message: str | None = None
) -> Hits:
    """Find the best messages for a query, one hit a message.

    Args:
        resources: What the search reads from.
        search_query: The query.
        limit: The most hits.
        explained_message: The id of a message that ``why_not`` of the hits is to explain.
    """
    with collect_unreadable() as unreadable:
        hits = _search_tiers(resources, search_query, limit, explained_message)
    return replace(hits, notes=(*hits.notes, DAMAGE_NOTE)) if unreadable else hits


def _search_tiers(
    resources: SearchResources, search_query: SearchQuery, limit: int, explained_message: str | None
) -> Hits:
    """Search the hot messages, and those of the archive if that is asked for or worth a look."""
    began = time.perf_counter()
    if search_query.archived == "always":
        found = _search(archive_search.with_archive(resources), search_query, limit, explained_message)
        found = archive_search.with_missing_note(resources, found)
    else:
        found = _search(resources, search_query, limit, explained_message)
        if search_query.archived == "if needed" and archive_search.is_worth_a_look(resources, search_query, found):
            both = _search(archive_search.with_archive(resources), search_query, limit, explained_message)
            found = archive_search.with_note(both)
    return replace(found, took_ms=(time.perf_counter() - began) * 1000)


def _search(resources: SearchResources, search_query: SearchQuery, limit: int, explained_message: str | None) -> Hits:
    notes = [*search_query.notes]
    parsed = parse_query(resources, correct_spelling(resources, search_query, notes), notes)
    with resources.time_stage("candidates"):
        candidates = find_candidates(resources, parsed, notes)
    ranking = rank(resources, parsed, candidates)
    ranking = rerank(resources, parsed, candidates, ranking, notes)
    ranking = put_behind_answers(resources, parsed, candidates, ranking)
    with resources.time_stage("hits"):
        selection = diversify(candidates, ranking, search_query.per_session)
        hits = build_hits(resources.db, parsed.words, candidates, ranking, selection, limit)
        related = summary_search.related_summaries(resources, parsed)
    explanation = None
    if explained_message is not None:
        explanation = why_not(resources, parsed, candidates, ranking, selection, limit, explained_message)
    return Hits(
        tuple(hits),
        query=search_query.text,
        mode=search_query.mode,
        notes=tuple(notes),
        took_ms=0.0,
        why_not=explanation,
        times=tuple(dict.fromkeys(time_range.words for time_range in parsed.times)),
        summaries=tuple(related),
    )


def build_hits(
    db: sqlite3.Connection,
    words: Sequence[str],
    candidates: Candidates,
    ranking: Ranking,
    selection: DiverseSelection,
    limit: int,
) -> list[Hit]:
    """Read the texts of the best messages and build the hits."""
    keys = candidates.messages.tolist()
    order = selection.rows[:limit]
    rows = messages.get(db, [keys[row] for row in order])
    order = [row for row in order if keys[row] in rows]
    shown = [rows[keys[row]] for row in order]
    heads = sessions.heads(db, [message.session_id for message in shown])
    archived = archive.archived(db, [message.id for message in shown])
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
                tier="archived" if message.id in archived else "hot",
                why=explain(candidates, ranking, selection, row),
            )
        )
    return hits

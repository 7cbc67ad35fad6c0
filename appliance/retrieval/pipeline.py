"""The search pipeline, from a query to a page of hits.

query → spelling → legs → candidates → features → rank → rerank → words → repetition → diversify → confidence → page
→ hits

``_rank`` and ``_search`` run its steps in this order. The notes of the hits name a leg that can't run. ``_rank_tiers``
chooses the tiers.
"""

from __future__ import annotations

import time
from dataclasses import replace

from appliance.errors import IndexUnavailable
from appliance.retrieval import archive_search, filter_values, summary_search
from appliance.retrieval.candidates import with_aliases
from appliance.retrieval.confidence import judge
from appliance.retrieval.diversify import diversify
from appliance.retrieval.explain import why_not
from appliance.retrieval.foreign_words import put_by_words
from appliance.retrieval.hits import build_hits, with_neighbours
from appliance.retrieval.legs import find_candidates, parse_query
from appliance.retrieval.listing import (
    RankedSearch,
    count_hits,
    count_likely,
    is_found,
    other_time_note,
    read_page,
    supports_context,
)
from appliance.retrieval.placeholders import without_placeholders
from appliance.retrieval.ranking import rank
from appliance.retrieval.repetition import put_behind_answers
from appliance.retrieval.rerank import rerank
from appliance.retrieval.resources import Page, SearchQuery, SearchResources
from appliance.retrieval.spelling import correct_spelling
from appliance.store.sql import collect_unreadable
from appliance.types import Hits

DAMAGE_NOTE = "the database is damaged, and some messages can't be read: 'appliance verify' names them"


def search(
    resources: SearchResources, search_query: SearchQuery, page: Page, *, explained_message: str | None = None
) -> Hits:
    """Find the best messages for a query, one hit a message.

    Args:
        resources: What the search reads from.
        search_query: The query.
        page: Which of the hits are wanted.
        explained_message: The id of a message that ``why_not`` of the hits is to explain.
    """
    with collect_unreadable() as unreadable:
        try:
            hits = _search(resources, search_query, page, explained_message)
        except IndexUnavailable as error:
            hits = _search(resources.without_index(str(error)), search_query, page, explained_message)
    return replace(hits, notes=(*hits.notes, DAMAGE_NOTE)) if unreadable else hits


def _search(resources: SearchResources, search_query: SearchQuery, page: Page, explained_message: str | None) -> Hits:
    began = time.perf_counter()
    found = _rank_tiers(resources, search_query)
    parsed = found.parsed
    with resources.time_stage("hits"):
        listed = read_page(found, page)
        hits = build_hits(found, listed.hits, page.offset + 1)
        if page.neighbours:
            hits = with_neighbours(found, hits, page.neighbours)
        related = summary_search.related_summaries(found.resources, parsed) if not page.offset else ()
    explanation = None
    if explained_message is not None:
        explanation = why_not(found, page, explained_message)
    took_ms = (time.perf_counter() - began) * 1000
    total, total_is_exact = listed.total, listed.total_is_exact
    if page.count and not total_is_exact:
        total, total_is_exact = count_hits(found, page)
    notes = (*found.notes, *filter(None, [other_time_note(found)] if hits else []))
    names_empty_time = search_query.lists_all and parsed.times  # a note says so already, in the words of the question
    if not (hits or page.offset or names_empty_time) and (
        note := filter_values.dates_note(resources.db, search_query.filters)
    ):
        notes = (*notes, note)
    answer = Hits(
        tuple(hits),
        query=search_query.text,
        mode=search_query.mode,
        notes=notes,
        took_ms=took_ms,
        why_not=explanation,
        times=() if search_query.lists_all else tuple(dict.fromkeys(one.words for one in parsed.times)),
        summaries=tuple(related),
        total=total,
        total_is_exact=total_is_exact,
        likely=count_likely(found, total),
        more=listed.more,
        found=is_found(found, page),
        supports_context=supports_context(found),
    )
    if search_query.archived == "always":
        return archive_search.with_missing_note(resources, answer)
    return answer if found.resources is resources else archive_search.with_note(answer)


def _rank_tiers(resources: SearchResources, search_query: SearchQuery) -> RankedSearch:
    """Rank the hot messages, and those of the archive if that is asked for or worth a look."""
    if search_query.archived == "always":
        return _rank(archive_search.with_archive(resources), search_query)
    found = _rank(resources, search_query)
    if search_query.archived == "if needed" and archive_search.is_worth_a_look(resources, found.confidence):
        return _rank(archive_search.with_archive(resources), search_query)
    return found


def _rank(resources: SearchResources, search_query: SearchQuery) -> RankedSearch:
    notes = [*search_query.notes, *resources.notes]
    parsed = parse_query(resources, correct_spelling(resources, search_query, notes), notes)
    with resources.time_stage("candidates"):
        found = without_placeholders(resources, parsed, find_candidates(resources, parsed, notes))
        candidates = with_aliases(resources.db, found, search_query.filters.scope)
    ranking = rank(resources, parsed, candidates)
    ranking = rerank(resources, parsed, candidates, ranking, notes)
    ranking = put_by_words(resources, parsed, candidates, ranking)
    ranking = put_behind_answers(resources, search_query, candidates, ranking)
    selection = diversify(candidates, ranking, search_query.per_session)
    with resources.time_stage("confidence"):
        confidence = judge(resources, parsed, candidates, ranking, selection)
    if not search_query.folds:  # how good the hits are does not depend on it
        selection = diversify(candidates, ranking, search_query.per_session, folds=False)
    return RankedSearch(resources, parsed, candidates, ranking, selection, confidence, tuple(notes))

"""Why a message is not among the hits: the stage of the search that dropped it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

import numpy as np

from appliance.retrieval.candidates import Candidates
from appliance.retrieval.hits import reasons
from appliance.retrieval.listing import Listed, RankedSearch
from appliance.retrieval.ranking import Ranking, contributions
from appliance.retrieval.resources import Page, ParsedQuery, SearchResources
from appliance.store import archive, branches, chunks, messages, sessions, visibility
from appliance.store.index.tiers import TieredIndex
from appliance.store.message_parts import is_containing
from appliance.store.messages import MessageRow, message_id
from appliance.types import Filters, SessionInfo, SessionPart, StorageScope, WhyNot
from appliance.types.labels import FEATURE_LABELS

SHARED_PARTS: Mapping[StorageScope, str] = {
    "conversational": "shares only its conversational messages",
    "summaries_only": "shares only its summaries",
    "none": "shares nothing",
}
"""What a session with each storage scope shares with other sessions."""

OFFSETS = {"rerank_floor", "asked"}
"""Parts of a score that put a candidate behind others for a reason that they do not measure."""

LEG_LABELS: Mapping[str, str] = {"dense": "Meaning", "own": "Words", "window": "Words with neighbours"}
"""The legs of the index, by what they compare."""


def why_not(found: RankedSearch, page: Page, reference: str) -> WhyNot:
    """Explain what became of one message in a search, in sentences.

    Raises:
        NotFound: There is no such message in the scope of the search.
    """
    db, filters, candidates, ranking = found.resources.db, found.parsed.query.filters, found.candidates, found.ranking
    row = messages.find(db, reference, filters.scope)
    info = sessions.find(db, sessions.public_id(row.session_id))
    id = message_id(row.id)
    if failed_filters := list(_failed_filters(db, row, info, filters)):
        return WhyNot(id, "filtered", " ".join(failed_filters))
    positions = np.flatnonzero(candidates.messages == row.id)
    if not len(positions):
        return WhyNot(id, "not proposed", " ".join(_leg_scores(found.resources, found.parsed, candidates, row.id)))
    position = int(positions[0])
    rank = int(np.flatnonzero(ranking.order == position)[0]) + 1
    why = reasons(found, [Listed(row.id, position)])[row.id]
    scores = found.confidence.scores
    score = float(scores[position])
    if position in found.selection.better_variants:
        return WhyNot(id, "left out", found.selection.why_left_out(candidates, position), rank, score, why)
    hit, shown = found.selection.rows.index(position) + 1, page.offset + page.limit
    best = float(scores[found.selection.rows].max())
    if page.min_score is None and not found.confidence.found:
        compared = (
            f"the best score is {best:.2f}, its own" if hit == 1 else f"its score is {score:.2f}, the best {best:.2f}"
        )
        words = f"No message is a good match: {compared}. A minimum score of 0 shows it as hit {hit}."
        return WhyNot(id, "below minimum", words, rank, score, why)
    if page.min_score is not None and score < page.min_score:
        words = f"Its score of {score:.2f} is below the minimum of {page.min_score:.2f}."
        return WhyNot(id, "below minimum", words, rank, score, why)
    if hit <= shown:
        return WhyNot(id, "shown", f"It is hit {hit}.", rank, score, why)
    last = found.selection.rows[shown - 1]
    words = (
        f"It is hit {hit} (rank {rank} of {len(candidates)} candidates before folding);"
        f" this page ends with hit {shown}. {_deficit(ranking, position, last, shown)}"
        f" Its score is {score:.2f}, that of hit {shown} is {float(scores[last]):.2f}."
    )
    return WhyNot(id, "ranked", words, rank, score, why)


def _deficit(ranking: Ranking, row: int, last: int, shown: int) -> str:
    """A sentence that says what puts a candidate behind the last hit, number ``shown``, more than anything else."""
    if "asked" in ranking.values and ranking.values["asked"][row]:
        return "It repeats the question, and comes behind what may answer it."
    own, better = (contributions(ranking.values, ranking.weights, one) for one in (row, last))
    name = max(better.keys() - OFFSETS, key=lambda name: (better[name] - own[name], name))
    label = FEATURE_LABELS.get(name, name)
    return f"The largest difference is {label}: {own[name]:.2f}; hit {shown} has {better[name]:.2f}."


def _failed_filters(db: sqlite3.Connection, row: MessageRow, info: SessionInfo, filters: Filters) -> Iterator[str]:
    """A sentence for each filter that excludes a message."""
    if filters.scope.agent_id is not None and filters.scope.agent_id not in (info.agents or ("",)):
        yield f"Its agent is {' and '.join(map(repr, info.agents)) or repr('')}."
    if filters.session is not None and not branches.contains(
        db, (*filters.ancestor_parts, SessionPart(filters.session)), row.id
    ):
        yield f"Its session is {info.id}."
    if visibility.is_withheld(info.storage_scope, row.conversational) and not branches.contains(
        db, filters.exempt_parts, row.id
    ):
        yield f"Its session {info.id} {SHARED_PARTS[info.storage_scope]} with other sessions."
    if filters.roles and row.role not in filters.roles:
        yield f"Its role is {row.role}."
    if not filters.roles and not row.conversational and not is_containing(db, row.id, ("document",)):
        yield f"It is not a conversational message; to search it, name its role ({row.role})."
    if filters.sources and info.format not in filters.sources:
        yield f"Its source is {info.format}."
    if filters.sessions is not None and row.session_id not in filters.sessions:
        yield f"Its session {info.id} has none of the tags or topics, or not all of the people."
    if filters.names_authors and not _is_by_author(row, filters):
        yield f"Its author is {row.author}." if row.author else "It has no author."
    if filters.has and not is_containing(db, row.id, filters.has):
        yield f"It has no {' or '.join(filters.has)}."
    if filters.messages is not None and row.id not in filters.messages:
        yield "It is not about the tools, files or entities that are asked for."
    if (filters.since is not None or filters.until is not None) and row.at is None:
        yield "It has no time."
    elif filters.since is not None and row.at is not None and row.at < filters.since:
        yield f"Its time, {row.sent_at}, is before the requested time."
    elif filters.until is not None and row.at is not None and row.at >= filters.until:
        yield f"Its time, {row.sent_at}, is after the requested time."


def _is_by_author(row: MessageRow, filters: Filters) -> bool:
    if row.author is None:
        return filters.unsigned and row.role == "user"
    return row.author in filters.authors or any(
        row.author == author and row.session_id in sessions for author, sessions in filters.author_sessions
    )


def _leg_scores(resources: SearchResources, parsed: ParsedQuery, candidates: Candidates, key: int) -> Iterator[str]:
    """A sentence for each leg: the score of a message that is not a candidate, and the leg's cut-off."""
    legs = parsed.leg_queries
    pieces = chunks.chunks_of(resources.db, resources.generation, [key]).get(key, [])
    if not pieces:
        yield "It is empty."
    elif not isinstance(resources.index, TieredIndex) and archive.archived(resources.db, [key]):
        yield "It is archived; include archived messages to find it."
    elif resources.index is None or not legs:
        yield "Full text: no match."
    else:
        for query, scores in zip(
            legs, resources.index.score(legs, [pieces] * len(legs), parsed.query.filters.scope), strict=True
        ):
            score = max(scores.values(), default=0.0)
            accepted = candidates.scores[query.leg][~np.isnan(candidates.ranks[query.leg])]
            cut_off = f" (cut-off {accepted.min():.2f})" if score and len(accepted) else ""
            yield f"{LEG_LABELS.get(query.leg, query.leg)}: {f'{score:.2f}{cut_off}' if score else 'no match'}."
            if score and query.leg == "own":
                yield "It is listed behind the ranked hits."

"""Why a message is not among the hits: at which stage of a search it fell out."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping

import numpy as np

from appliance.recall.candidates import Candidates
from appliance.recall.diversify import Chosen, reasons
from appliance.recall.rank import Ranking
from appliance.recall.shelf import Asked, Shelf
from appliance.store import chunks, lineage, messages, sessions, visible
from appliance.store.messages import Row, message_id
from appliance.types import Filters, Part, SessionInfo, StorageScope, WhyNot

GIVES: Mapping[StorageScope, str] = {
    "conversational": "only what was said in the open",
    "summaries_only": "only its summaries",
    "none": "nothing",
}
"""What a session with each scope says of itself."""


def why_not(
    shelf: Shelf,
    asked: Asked,
    candidates: Candidates,
    ranking: Ranking,
    chosen: Chosen,
    limit: int,
    reference: str,
) -> WhyNot:
    """What became of one message in a search.

    Raises:
        NotFound: there is no such message in the scope of the search.
    """
    filters = asked.wish.filters
    row = messages.message(shelf.db, reference, filters.scope)
    info = sessions.find(shelf.db, sessions.public_id(row.session_id))
    named = message_id(row.id)
    if barred := list(_barred(shelf.db, row, info, filters)):
        return WhyNot(named, "filtered", "; ".join(barred))
    found = np.flatnonzero(candidates.messages == row.id)
    if not len(found):
        return WhyNot(named, "not proposed", "; ".join(_scores(shelf, asked, candidates, row.id)))
    at = int(found[0])
    place = int(np.flatnonzero(ranking.order == at)[0]) + 1
    why = reasons(candidates, ranking, chosen, at)
    score = float(ranking.scores[at])
    if at in chosen.left_out:
        return WhyNot(named, "left out", chosen.left_out[at], place, score, why)
    hit = chosen.rows.index(at) + 1
    if hit <= limit:
        return WhyNot(named, "shown", f"it is hit {hit}", place, score, why)
    last = float(ranking.scores[chosen.rows[limit - 1]])
    words = f"place {place} of {len(candidates)} candidates: its score is {score:.2f}, and {last:.2f} the last hit's"
    return WhyNot(named, "ranked", words, place, score, why)


def _barred(db: sqlite3.Connection, row: Row, info: SessionInfo, filters: Filters) -> Iterator[str]:
    """Which filters keep a message out."""
    if filters.scope.agent_id is not None and filters.scope.agent_id not in (info.agents or ("",)):
        yield f"its agent is {' and '.join(map(repr, info.agents)) or repr('')}"
    if filters.session is not None and not lineage.holds(db, (*filters.past, Part(filters.session)), row.id):
        yield f"it is in session {info.id}"
    if visible.withheld(info.storage_scope, row.talk) and not lineage.holds(db, filters.own, row.id):
        yield f"it is withheld: session {info.id} gives {GIVES[info.storage_scope]} to other conversations"
    if filters.roles and row.role not in filters.roles:
        yield f"its role is {row.role}"
    if not filters.roles and not row.talk:
        yield f"it was not said in the open (its role is {row.role}): name the role to search it"
    if filters.sources and info.format not in filters.sources:
        yield f"its source is {info.format}"
    if (filters.since is not None or filters.until is not None) and row.at is None:
        yield "it has no time"
    elif filters.since is not None and row.at is not None and row.at < filters.since:
        yield f"it is of {row.sent_at}, before the time asked for"
    elif filters.until is not None and row.at is not None and row.at >= filters.until:
        yield f"it is of {row.sent_at}, after the time asked for"


def _scores(shelf: Shelf, asked: Asked, candidates: Candidates, key: int) -> Iterator[str]:
    """What each leg says of a message that it did not propose, and of the last one that it did."""
    legs = asked.legs
    pieces = chunks.chunks_of(shelf.db, shelf.generation, [key]).get(key, [])
    if not pieces:
        yield "it is empty"
    elif shelf.index is None or not legs:
        yield "full text does not find its words"
    else:
        for query, scores in zip(
            legs, shelf.index.score(legs, [pieces] * len(legs), asked.wish.filters.scope), strict=True
        ):
            own = max(scores.values(), default=0.0)
            proposed = candidates.scores[query.leg][~np.isnan(candidates.ranks[query.leg])]
            last = (
                f"{proposed.min():.2f} the last that it proposes" if len(proposed) else "it proposes nothing"
            )
            yield f"{query.leg} gives it {own:.2f}, and {last}"

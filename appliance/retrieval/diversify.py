"""Diversification of the hits: one per group of variants, and at most so many of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.retrieval.candidates import Candidates
from appliance.retrieval.ranking import Ranking
from appliance.store.messages import message_id


@dataclass(frozen=True, slots=True)
class DiverseSelection:
    """The rows of the selected candidates, best first, and why other rows were left out."""

    rows: list[int]
    left_out: Mapping[int, str]


def diversify(
    candidates: Candidates, ranking: Ranking, per_session: int | None, *, folds: bool = True
) -> DiverseSelection:
    """Select messages in the order of the ranking.

    Args:
        candidates: The candidates.
        ranking: Their ranking.
        per_session: The most hits of one session; None for no limit.
        folds: Whether variants of a better message are folded under it.
    """
    rows: list[int] = []
    left_out: dict[int, str] = {}
    best: dict[tuple[int, str | None], int] = {}
    sessions: defaultdict[int, int] = defaultdict(int)
    keys, session_keys = candidates.messages.tolist(), candidates.sessions.tolist()
    for row in ranking.order.tolist():
        # The same words by two people are two statements.
        group = (candidates.duplicate_groups.get(keys[row], keys[row]), candidates.authors[row])
        if folds and group in best:
            left_out[row] = f"It says the same as {message_id(keys[best[group]])}."
        elif per_session is not None and sessions[session_keys[row]] >= per_session:
            left_out[row] = f"Its session has {per_session} better {'hit' if per_session == 1 else 'hits'} already."
        else:
            best.setdefault(group, row)
            sessions[session_keys[row]] += 1
            rows.append(row)
    return DiverseSelection(rows, left_out)

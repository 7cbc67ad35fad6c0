"""Diversification of the hits: one per group of variants, and at most so many of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from appliance.lazy_dataclasses import dataclass
from appliance.retrieval.candidates import Candidates
from appliance.retrieval.ranking import Ranking
from appliance.store.messages import message_id


@dataclass(frozen=True, slots=True)
class DiverseSelection:
    """The selected candidates.

    Attributes:
        rows: Their rows, best first.
        better_variants: For each row that was left out, that of a better variant; None if its session has
            ``per_session`` better hits.
        per_session: The most hits of one session; None for no limit.
    """

    rows: list[int]
    better_variants: Mapping[int, int | None]
    per_session: int | None

    def why_left_out(self, candidates: Candidates, row: int) -> str:
        """Why a row was left out, in a sentence."""
        if (better := self.better_variants[row]) is not None:
            return f"It says the same as {message_id(int(candidates.messages[better]))}."
        return f"Its session has {self.per_session} better {'hit' if self.per_session == 1 else 'hits'} already."


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
    better_variants: dict[int, int | None] = {}
    best: dict[tuple[int, str | None], int] = {}
    sessions: defaultdict[int, int] = defaultdict(int)
    keys, session_keys = candidates.messages.tolist(), candidates.sessions.tolist()
    for row in ranking.order.tolist():
        # The same words by two people are two statements.
        group = (candidates.duplicate_groups.get(keys[row], keys[row]), candidates.authors[row])
        if folds and group in best:
            better_variants[row] = best[group]
        elif per_session is not None and sessions[session_keys[row]] >= per_session:
            better_variants[row] = None
        else:
            best.setdefault(group, row)
            sessions[session_keys[row]] += 1
            rows.append(row)
    return DiverseSelection(rows, better_variants, per_session)

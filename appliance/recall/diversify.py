"""Which of the ranked messages are shown: one of each memory, and at most so many of a session."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from appliance.recall.candidates import Candidates
from appliance.recall.rank import Ranking, contributions
from appliance.store.messages import message_id


@dataclass(frozen=True, slots=True)
class Chosen:
    """Rows of the candidates, best first, those that each stands for besides itself, and for each that is not
    shown, the reason."""

    rows: list[int]
    folded: Mapping[int, list[int]]
    left_out: Mapping[int, str]


def diversify(candidates: Candidates, ranking: Ranking, per_session: int | None) -> Chosen:
    """Messages in the order of the ranking, each that says the same as a better one folded under it.

    ``per_session`` of None bounds nothing.
    """
    rows: list[int] = []
    folded: dict[int, list[int]] = {}
    left_out: dict[int, str] = {}
    best: dict[tuple[int, str | None], int] = {}
    sessions: defaultdict[int, int] = defaultdict(int)
    keys, whose = candidates.messages.tolist(), candidates.sessions.tolist()
    for row in ranking.order.tolist():
        # Two people who say the same have said two things.
        memory = (candidates.memories.get(keys[row], keys[row]), candidates.authors[row])
        if memory in best:
            folded.setdefault(best[memory], []).append(row)
            left_out[row] = f"folded under {message_id(keys[best[memory]])}, which says the same"
        elif per_session is not None and sessions[whose[row]] >= per_session:
            left_out[row] = f"its session has {per_session} better ones already"
        else:
            best[memory] = row
            sessions[whose[row]] += 1
            rows.append(row)
    return Chosen(rows, folded, left_out)


def reasons(candidates: Candidates, ranking: Ranking, chosen: Chosen, row: int) -> dict[str, Any]:
    """Why a candidate stands where it stands: what each feature adds to its score, what each leg said, and the
    messages that were folded under it."""
    keys = candidates.messages
    return {
        "score": contributions(ranking.values, ranking.weights, row),
        "legs": candidates.legs(row),
        "folded": [message_id(int(keys[other])) for other in chosen.folded.get(row, ())],
    }

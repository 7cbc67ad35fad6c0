"""What a memory is worth in a context: how likely it is what was asked for, against how large the context may be.

An assistant takes what it is given for what is known, and reads it all. In a small context a memory must therefore be
likely; in a large one a less likely one may stand too, because the answer to a question is often in several messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log

from appliance.types import Hit

FLOOR, FLOOR_BUDGET = 0.01, 1_000
"""The least score of a memory beside the best in a context of so many tokens. It falls with the square of the budget.
``tests/eval/worth.py`` measures it: no more than two in a hundred of the cited messages are lost at any budget."""

MAX_FLOOR = 0.05
"""The floor of the smallest contexts."""

WHOLE_BUDGET_SCORE = 0.5
"""From this score on a memory may fill the context. A less likely one gets as much less of it."""

UNKNOWN_BEST = 0.1
"""A best score below this comes only of a model whose cosines mean nothing known, or of a minimum score of the
caller's own. Such scores are compared with the best of them."""

MAX_LITERAL_SCORE = 0.9
"""What a memory without the literal of a query may count as, beside one that has it."""

LITERAL_FEATURES = ("quoted", "file")
"""What a hit has letter by letter, or whose file is named, comes first. How much the others are worth beside it is told
without these features: the answer often stands next to the message with the literal."""


def scores(hits: Sequence[Hit]) -> Mapping[str, float]:
    """What each of some hits is worth, 0 to 1, by its message's id."""
    best = max((hit.score for hit in hits), default=0.0)
    scale = best if 0 < best < UNKNOWN_BEST else 1.0
    plain = [hit for hit in hits if not literal_points(hit)]
    if len(plain) == len(hits):
        return {hit.message_id: hit.score / scale for hit in hits}
    best_points = max(hit.points - literal_points(hit) for hit in hits)
    beside = {hit.message_id: _beside_literal(hit.points - best_points) for hit in plain}
    return {hit.message_id: beside.get(hit.message_id, hit.score / scale) for hit in hits}


def least_score(budget: int) -> float:
    """The least score of a memory beside the best in a context of ``budget`` tokens."""
    return min(MAX_FLOOR, FLOOR * (FLOOR_BUDGET / budget) ** 2)


def most_tokens(score: float, budget: int) -> int:
    """The most tokens of a memory with a score in a context of ``budget`` tokens."""
    return int(budget * min(1.0, score / WHOLE_BUDGET_SCORE))


def literal_points(hit: Hit) -> float:
    """What a hit has of its points by a literal of the query or by its file."""
    parts: dict[str, float] = hit.why.get("score", {})
    return sum(parts.get(name, 0.0) for name in LITERAL_FEATURES)


def _beside_literal(behind: float) -> float:
    """The score of a memory so many points behind the best, apart from the literal."""
    return 1 / (1 + exp(-max(log(MAX_LITERAL_SCORE / (1 - MAX_LITERAL_SCORE)) + behind, -60.0)))

"""In which order what waits gets its vectors: talk first, then the recent and the important, summaries last."""

from __future__ import annotations

TALK_FIRST = 1 << 60
"""Added to the priority of what people and assistants said: it is embedded before tool and system records."""

SUMMARIES_LAST = 1 << 60
"""Taken off the priority of a summary: what it was made from is embedded before it."""

UNWEIGHED = 0.5
"""What a message counts as that has not been weighed yet: neither important nor not."""

PINNED = 1.0
"""What a pinned message counts as, whatever it says."""

WORTH = 365 * 86_400_000_000
"""What an importance of 1 is worth in the order of embedding, in microseconds of being more recent: within a season or
two the important goes first, beyond that the recent. With it 58 % of what is cited on LoCoMo and 60 % on BEAM stand in
the first half of the queue; with ninety days 50 % and 44 %, by recency alone 48 % and 38 %."""

PRIORITY = (
    f"m.order_at + m.talk * {TALK_FIRST}"
    f" + CAST(CASE WHEN m.pinned THEN {PINNED} ELSE coalesce(m.importance, {UNWEIGHED}) END * {WORTH} AS INTEGER)"
)
"""What ``priority`` computes, of a stored message ``m``."""


def priority(talk: bool, order_at: int, importance: float) -> int:
    """Where a chunk stands in the queue, the highest first: talk before records, then by time, where what is
    important counts as up to ``WORTH`` more recent than it is."""
    return order_at + talk * TALK_FIRST + int(importance * WORTH)

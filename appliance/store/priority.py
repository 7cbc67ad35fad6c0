"""The order in which chunks get their vectors: conversational messages first, by age and importance; summaries last.

A module of its own, because ``chunks`` and ``importance`` both need it and the latter depends on the former.
"""

from __future__ import annotations

CONVERSATION_BOOST = 1 << 60
"""Added to the priority of conversational messages: they are embedded before tool and system records."""

SUMMARY_PENALTY = 1 << 60
"""Subtracted from the priority of a summary: its messages are embedded before it."""

DEFAULT_IMPORTANCE = 0.5
"""The importance of a message that has not been scored yet: neither high nor low."""

PINNED_IMPORTANCE = 1.0
"""The importance of a pinned message, whatever its words."""

IMPORTANCE_MICROSECONDS = 365 * 86_400_000_000
"""An importance of 1 moves a message forward in the queue as if it were this many microseconds more recent: importance
decides within a season or two, age beyond that. With a year, 58 % of the messages cited on LoCoMo and 60 % on BEAM are
in the first half of the queue; with ninety days 50 % and 44 %, by age alone 48 % and 38 %."""

IMPORTANCE_SQL = f"CASE WHEN m.pinned THEN {PINNED_IMPORTANCE} ELSE coalesce(m.importance, {DEFAULT_IMPORTANCE}) END"
"""The importance of a stored message ``m``, without the bonus for its use."""

PRIORITY_SQL = (
    f"m.order_at + m.talk * {CONVERSATION_BOOST} + CAST({IMPORTANCE_SQL} * {IMPORTANCE_MICROSECONDS} AS INTEGER)"
)
"""``chunk_priority`` of a stored message ``m``."""


def chunk_priority(conversational: bool, order_at: int, importance: float) -> int:
    """Return the place of a chunk in the queue, highest first: conversational messages before others, then by time,
    where importance adds up to ``IMPORTANCE_MICROSECONDS``."""
    return order_at + conversational * CONVERSATION_BOOST + int(importance * IMPORTANCE_MICROSECONDS)

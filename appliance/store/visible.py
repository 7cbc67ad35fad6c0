"""What a question may find: one law for full text, and for what the index proposes.

The index follows a change of a session's scope by and by, and knows nothing of time; the truth decides.
"""

from __future__ import annotations

from appliance.moments import now
from appliance.store.lineage import Condition, within
from appliance.types import Filters, Part, StorageScope

NOT_EXPIRED = "(s.expires_at IS NULL OR s.expires_at > ?)"
"""Over ``session s``, with the present moment: what has outlived its time is not there, deleted or not yet."""

_GIVEN = "(s.storage_scope = 'all' OR (s.storage_scope = 'conversational' AND m.talk = 1))"


def withheld(scope: StorageScope, talk: bool) -> bool:
    """Whether a session with this scope keeps a message to itself, one that was said in the open or not."""
    return scope in ("summaries_only", "none") or (scope == "conversational" and not talk)


def law(filters: Filters) -> Condition:
    """SQL over ``message m`` and ``session s``: what other sessions give and all of the own, of the session
    that is asked for if one is, and nothing that has expired."""
    pieces: list[str] = [_GIVEN]
    values: list[object] = []
    if filters.own:
        own, of_own = within(filters.own)
        pieces = [f"({_GIVEN} OR {own})"]
        values += of_own
    past, of_past = within(filters.past) if filters.past else ("0", ())
    # A branch outlives what it left.
    pieces.append(f"({NOT_EXPIRED} OR {past})")
    values += [now(), *of_past]
    if filters.session is not None:
        narrowed, of_session = within((*filters.past, Part(filters.session)))
        pieces.append(narrowed)
        values += of_session
    return " AND ".join(pieces), tuple(values)

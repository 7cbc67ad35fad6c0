"""The visibility filter: which messages a search may find, in full text and among the candidates of the index.

The index follows a change of a session's storage scope with a delay and knows no expiry; the database decides.
"""

from __future__ import annotations

from appliance.store.branches import SqlCondition, parts_condition
from appliance.timestamps import now
from appliance.types import Filters, SessionPart, StorageScope

NOT_EXPIRED = "(s.expires_at IS NULL OR s.expires_at > ?)"
"""A condition on ``session s``, with the current time as its parameter: an expired session counts as deleted."""

_SHARED_SQL = "(s.storage_scope = 'all' OR (s.storage_scope = 'conversational' AND m.talk = 1))"


def is_withheld(scope: StorageScope, conversational: bool) -> bool:
    """Whether a session with this storage scope withholds a message from other sessions."""
    return scope in ("summaries_only", "none") or (scope == "conversational" and not conversational)


def visibility_filter(filters: Filters) -> SqlCondition:
    """Return a condition on ``message m`` and ``session s``: what other sessions share and everything in
    ``exempt_parts``, of ``filters.session`` only if it is set, and nothing that has expired."""
    shared_sql = _SHARED_SQL
    values: list[object] = [now()]
    if filters.exempt_parts:
        exempt_sql, exempt_values = parts_condition(filters.exempt_parts)
        shared_sql, values = f"({_SHARED_SQL} OR {exempt_sql})", [*exempt_values, *values]
    past_sql, past_values = parts_condition(filters.ancestor_parts) if filters.ancestor_parts else ("0", ())
    # A branch outlives the session that it left.
    clauses, values = [shared_sql, f"({NOT_EXPIRED} OR {past_sql})"], [*values, *past_values]
    if filters.session is not None:
        session_sql, session_values = parts_condition((*filters.ancestor_parts, SessionPart(filters.session)))
        clauses, values = [*clauses, session_sql], [*values, *session_values]
    return " AND ".join(clauses), tuple(values)

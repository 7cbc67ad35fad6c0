"""The option of a session that the store itself reads; all others belong to the memory."""

from __future__ import annotations

from appliance.store.damage import as_kind

INDEPENDENT = "independent"
"""The option that says that the messages of a session are items by themselves, such as notes: none is the neighbour of
another, so that none is found by the words next to it."""

_OPTIONS_SQL = as_kind("s.options", "TEXT", "''")
INDEPENDENT_SQL = (
    f"CASE WHEN json_valid({_OPTIONS_SQL}) THEN json_extract({_OPTIONS_SQL}, '$.{INDEPENDENT}') IS 1 ELSE 0 END"
)
"""Whether ``session s`` has this option."""

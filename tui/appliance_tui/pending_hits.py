"""What is searched for as the line stands, and which keys must wait for its hits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from textual.events import Key
from textual.screen import Screen

from appliance.requests.typed_filters import SearchFilters

if TYPE_CHECKING:
    from appliance.types import HitOrder

ACTS_WITHOUT_HITS = frozenset(
    {
        "recall.search", "recall.back", "recall.filter", "recall.clear", "recall.sort", "recall.why_not", "list.type",
        "recall.type", "line.leave",
    }
)  # fmt: skip
"""The actions of the line and the list that are not for the hits."""


class SearchRequest(NamedTuple):
    """What is asked for: the line as it stands, filters, order, and whose memory."""

    text: str
    filters: SearchFilters
    sort: HitOrder
    user: str | None


def acts_on_hits(screen: Screen[Any], event: Key) -> bool:
    """Whether a key moves in the hits or does something with one: not if the focused line takes it as text."""
    focused = screen.focused
    if focused is not None and focused.check_consume_key(event.key, event.character):
        return False
    active = screen.active_bindings.get(event.key)
    id = (active.binding.id or "") if active is not None else ""
    return id.startswith(("recall.", "list.", "line.")) and id not in ACTS_WITHOUT_HITS

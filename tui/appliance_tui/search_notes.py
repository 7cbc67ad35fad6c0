"""What Recall says where it lists no hits."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from appliance_tui.destinations import ID_PATTERN
from appliance_tui.filters import described
from appliance_tui.widgets.display_text import one_line

if TYPE_CHECKING:
    from appliance.requests.typed_filters import SearchFilters
    from appliance_tui.screens.picker import PickerOption
    from appliance_tui.search_results import SearchResults, SearchSpec

EMPTY = "Type to search; ↓ selects, enter opens. Filters: {author}since:{year}"
MAX_QUERY_CHARACTERS = 100
"""Characters of a query that are repeated where it found nothing: a text that was pasted would fill the screen."""

SEARCHING = "Searching …"
COMMANDS = "letters are commands"
LEAVING = "esc again shows the start page."
KEPT_QUERY = " There, ↑ brings this search back."


def empty_hint(options: Sequence[PickerOption]) -> str:
    """How one begins, with the most frequent author and this year as examples."""
    authors = [one.shown for one in options if one.name == "author" and one.shown.isprintable()]
    name = next((name for name in authors if not re.search(r"[\s\"]", name)), "")
    author = f"author:{one_line(name)}  " if name else ""
    return EMPTY.format(author=author, year=datetime.now(UTC).year)


def id_note(text: str, key: str) -> str:
    """How one goes to a message or a conversation whose id was searched for, by the ``key`` that goes anywhere."""
    id = text.strip()
    return f"to go to {id} by its id: tab, then {key}" if ID_PATTERN.fullmatch(id) else ""


def order_note(spec: SearchSpec) -> str:
    """In which order hits are listed if it isn't the best first, and what that leaves out; "" else."""
    if spec.sort != "time":
        return ""
    return f"newest first{', only messages with the words' if spec.query.strip() else ''}"


def no_hits(
    results: SearchResults, filters: SearchFilters, names: Mapping[str, str], is_typing: bool, sort_key: str = "s"
) -> str:
    """Why nothing is listed, and the ways out: of the order by time, which lists fewer messages, and of the filters.
    ``names`` are those of people by their ids; ``is_typing`` tells whether letters are typed into the search line."""
    query = one_line(results.spec.query)
    shown = query if len(query) <= MAX_QUERY_CHARACTERS else query[:MAX_QUERY_CHARACTERS].rstrip() + "…"
    reason = f"{results.total_text()} for “{shown}”."
    if not results.spec.query.strip():
        reason = "No messages match the filters."
    lead = "tab, then " if is_typing else ""
    if results.spec.query.strip() and results.spec.sort == "time":
        reason += f"\n\nNewest first lists only messages with the words themselves.\n{lead}{sort_key} lists the best"
        reason += " hits, by meaning too."
    if not filters:
        return reason
    return f"{reason}\n\nFilters: {described(filters, names)}\n{lead}X clears them."

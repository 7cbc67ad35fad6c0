"""Names that a person may have meant by one that is not there."""

from __future__ import annotations

from collections.abc import Iterable

NEAR = 0.7
"""How alike two names are at least, from 0 to 1: of four letters, one may be wrong."""

MAX_BEHIND = 0.05
"""How much less like a name another one may be than the likest."""

MAX_NAMED = 3


def near_names(name: str, known: Iterable[str], cutoff: float = NEAR) -> list[str]:
    """Return up to three of the known names that are nearly this one, the likest first, whatever the case. One that is
    much less like it than the first is left out: of long names, many are alike."""
    from difflib import SequenceMatcher, get_close_matches

    by_lower: dict[str, str] = {}
    for one in known:
        by_lower.setdefault(one.casefold(), one)
    alike = {
        lower: SequenceMatcher(None, lower, name.casefold()).ratio()
        for lower in get_close_matches(name.casefold(), by_lower, MAX_NAMED, cutoff)
    }
    return [by_lower[lower] for lower, ratio in alike.items() if ratio >= max(alike.values()) - MAX_BEHIND]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean a or b? " with the known names that are near; "" if there is none."""
    *others, last = near_names(name, known) or [""]
    return f"Did you mean {', '.join(others)}{' or ' if others else ''}{last}? " if last else ""

"""How many examples a property is tried on: all of them in the full profile, a few in the quick run."""

from __future__ import annotations

from hypothesis import settings

QUICK, FULL = "quick", "full"

SHARE = 10
"""The quick run tries one example of so many."""

FEWEST = 5


def examples(count: int) -> int:
    """``count`` examples in the full profile (``--hypothesis-profile full``), a tenth of them in any other."""
    if settings.get_current_profile_name() == FULL:
        return count
    return min(count, max(FEWEST, count // SHARE))

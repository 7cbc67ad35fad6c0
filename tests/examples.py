"""How many examples a property is tried on: a few in the quick run, more in the full profile, all in a campaign."""

from __future__ import annotations

from hypothesis import settings

QUICK, FULL, CAMPAIGN = "quick", "full", "campaign"

SHARE = 10
"""The quick run tries one example of so many."""

COSTLY_SHARE = 4
"""The full profile tries one example of so many where each takes 20 ms or more, as one that opens a home."""

FEWEST = 5


def examples(count: int, *, costly: bool = False) -> int:
    """``count`` examples in the profile of a campaign (``--hypothesis-profile campaign``), and a tenth of them in the
    quick run. In the full profile all of them, but for properties whose example is ``costly``."""
    profile = settings.get_current_profile_name()
    if profile == CAMPAIGN or (profile == FULL and not costly):
        return count
    return min(count, max(FEWEST, count // (COSTLY_SHARE if profile == FULL else SHARE)))

"""What the tests of kills, damage and full disks have."""

from __future__ import annotations

import pytest
from workers import Workers, shared_workers


@pytest.fixture
def processes() -> Workers:
    """What forks processes that have loaded the program."""
    return shared_workers()

"""What the tests of kills, damage and full disks have."""

from __future__ import annotations

import pytest
from workers import Workers, shared_workers


@pytest.fixture(scope="module", autouse=True)
def _every_field_index(every_field_index: None) -> None:
    """What is damaged and killed is what a home has."""


@pytest.fixture
def processes() -> Workers:
    """What forks processes that have loaded the program."""
    return shared_workers()

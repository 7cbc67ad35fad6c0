"""What the tests of damage and of full disks have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from workers import Workers, workers


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """Forks processes from one that has loaded the program: to start Python for each takes most of their time."""
    with workers(tmp_path_factory.mktemp("workers")) as found:
        yield found

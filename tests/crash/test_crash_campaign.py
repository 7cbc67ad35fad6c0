"""A home that lives through kills of everything that works on it: nothing acknowledged is lost or doubled, nothing
forgotten comes back, and every receipt is true."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from life import Life, live
from life_actions import ACTIONS
from workers import Workers, workers

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]


@pytest.fixture(scope="session")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    with workers(tmp_path_factory.mktemp("workers")) as found:
        yield found


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.campaign) for seed in range(2, 12))])
@pytest.mark.timeout(1_200)
def test_a_home_survives_its_kills(tmp_path: Path, processes: Workers, seed: int) -> None:
    """Each of the campaign's seeds is fifty kills."""
    life = Life(tmp_path, random.Random(seed), processes)
    if seed == 1:
        live(life, ACTIONS, kills=5, sessions=3, max_messages=800)
    else:
        live(life, ACTIONS, kills=50, sessions=6, max_messages=2_000)
    print(f"kills: {dict(life.kills)}; {life.forgets_beside_writers} forgets beside writers")

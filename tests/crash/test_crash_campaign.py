"""A home that lives through kills of everything that works on it: nothing acknowledged is lost or doubled, nothing
forgotten comes back, and every receipt is true."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from life import ACTIONS, live

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]


@pytest.mark.parametrize("kills", [len(ACTIONS), pytest.param(500, marks=pytest.mark.campaign)])
@pytest.mark.timeout(7_200)
def test_a_home_survives_its_kills(tmp_path: Path, kills: int) -> None:
    life = live(tmp_path, kills, seed=kills)
    assert life.kills.total() == kills

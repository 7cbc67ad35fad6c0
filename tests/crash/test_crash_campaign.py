"""A home that lives through kills of everything that works on it: nothing acknowledged is lost or doubled, nothing
forgotten comes back, and every receipt is true."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from life import Life, conversation, live, write_export
from life_actions import ACTIONS, forget_beside
from workers import Workers, workers

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]


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


@pytest.mark.parametrize("forgets", [2, pytest.param(100, marks=pytest.mark.campaign)])
@pytest.mark.timeout(2_400)
def test_what_is_forgotten_beside_writers_of_two_processes_is_gone(
    tmp_path: Path, processes: Workers, forgets: int
) -> None:
    """Half of the conversations are archived. Any of the processes may own the home, and leave while others work."""
    life = Life(tmp_path, random.Random(forgets), processes)
    sessions = [life.new_session() for _ in range(forgets + 1)]
    for number, session in enumerate(sessions):
        texts = conversation(session, 30)
        life.work("ingest", str(life.home), str(write_export(tmp_path / f"{session}.jsonl", session, texts)))
        life.record.sessions[session] = set(texts)
        if number == forgets // 2:
            life.work("archive", str(life.home))
    (tmp_path / "other").mkdir()
    with workers(tmp_path / "other") as others:
        for session in sessions[:forgets]:
            forget_beside(life, others, session)
    assert life.forgets_beside_writers == forgets

"""``kill -9`` while messages are archived and restored: none is lost, none is there twice, and all are found."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from crash_runs import chat, moments, open_memory, run, write

from tests import homes

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

FEW, MANY = 2, 40


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_archives_and_restores(tmp_path: Path, count: int) -> None:
    full = tmp_path / "full"
    for name in ("ana", "ben"):
        run("ingest", full, [write(tmp_path / f"{name}.jsonl", chat(name, 150))])
    with open_memory(full) as memory:
        lines = list(memory.export())
    home = tmp_path / "home"
    homes.copied(full, home)
    whole = run("archive", home, ["ana"])
    assert not whole.killed
    tiers = set()
    for moment in moments(whole, count, seed=count):
        shutil.rmtree(home)
        homes.copied(full, home)
        run("archive", home, ["ana"], kill=moment)
        with open_memory(home) as memory:
            assert list(memory.export()) == lines
            assert not memory.verify().problems
            tiers.add(memory.archive.status().archived)
            memory.run_pending_jobs()
            memory.archive.run(days=0, importance=1.0)
            assert not memory.verify().problems
            found = memory.search("ana", limit=400, include_archived=True, per_session=0)
            assert len({hit.message_id for hit in found}) == len(found.hits)
            memory.archive.restore(everything=True)
            assert list(memory.export()) == lines
            assert not memory.verify().problems
    assert tiers - {0}, "no kill came after the first step"

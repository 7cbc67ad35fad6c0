"""``kill -9`` while something is forgotten: it is there whole or gone whole, and the next one leaves no trace."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from crash_runs import chat, moments, open_memory, run, write

from tests import homes

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

FEW, MANY = 2, 20
OF_ANA = b"of ana"


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_forgets(tmp_path: Path, count: int) -> None:
    full = tmp_path / "full"
    for name in ("ana", "ben"):
        run("ingest", full, [write(tmp_path / f"{name}.jsonl", chat(name, 300))])
    home = tmp_path / "home"
    homes.copied(full, home)
    whole = run("forget", home, ["ana"])
    gone = 0
    for moment in moments(whole, count, seed=count):
        shutil.rmtree(home)
        homes.copied(full, home)
        run("forget", home, ["ana"], kill=moment)
        with open_memory(home) as memory:
            there = sum(line["session_id"] == "ana" for line in memory.export())
            assert there in (0, 300)
            gone += not there
            if there:
                memory.erasure.forget(memory.erasure.preview("ana"))
            memory.run_pending_jobs()
            assert not memory.verify().problems
            receipts = memory.erasure.receipts()
            assert [receipt.state for receipt in receipts] == ["done"]
            assert receipts[0].proof.searched and receipts[0].proof.texts and not receipts[0].proof.traces
        files = [path for path in home.rglob("*") if path.is_file()]
        assert not [path for path in files if OF_ANA in path.read_bytes()]
    assert gone, "no kill came after the first step"

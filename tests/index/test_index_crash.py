"""A process killed in the middle of updates loses nothing that was flushed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from index_points import DIMENSION, point, unit

from appliance.store.index.edge import open_edge
from appliance.store.index.protocol import LegQuery

pytestmark = pytest.mark.slow

WRITER = """
import sys
from pathlib import Path
from appliance.store.index.edge import open_edge
from index_points import DIMENSION, point
index = open_edge(Path(sys.argv[1]), DIMENSION)
first = int(sys.argv[2])
while True:
    index.upsert([point(id, f"cat word{id}") for id in range(first, first + 25)])
    index.delete([first])
    index.flush()
    print(first, flush=True)
    first += 25
"""


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL")
def test_what_was_flushed_is_there_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    first, kept = 1, set[int]()
    for batches in (1, 6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(first)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )
        assert writer.stdout is not None
        with writer.stdout as lines:
            for _ in range(batches):
                start = int(next(lines))
                kept |= set(range(start + 1, start + 25))
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        index = open_edge(folder, DIMENSION)
        try:
            found = set(index.ids())
            assert kept <= found
            for id, vector in index.vectors(kept).items():
                np.testing.assert_allclose(vector, unit(id), atol=5e-4)
            last = max(kept)
            assert [s.id for s in index.search([LegQuery("own", text=f"word{last}")], None, 1)[0]] == [last]
            # Whatever was under way can be done once more.
            index.upsert([point(id, "again") for id in found - kept] or [point(1_000_000)])
        finally:
            index.close()
        first = max(found) + 100

"""What it takes to erase one message of many: with the segments of the index that hold it written anew, and, in turns
in the same home, with the whole index built anew.

    python -m tests.bench.erasure [--messages 20000] [--runs 3] [--texts FILE]

Seconds from the preview to the receipt, by the clock and of all processors, those of child processes included. The home
is built first through the real pipeline, with a stand-in for the model. Homes under 2,000 chunks have one way only.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

from appliance import Appliance
from appliance.ingest import index_vacuum
from tests.bench import material, measure, scale

NEVER = -1.0
"""No share of the points is as small, so the index is always built anew."""


def run(home: Path, runs: int) -> measure.Document:
    """Erase ``2 * runs`` messages of a home."""
    taken: dict[str, list[tuple[float, float]]] = {"segments": [], "whole": []}
    with Appliance.open(home, embedder=material.ProjectionEmbedder(), worker=False) as memory:
        messages = memory.status()["counts"]["messages"]
        ids = (f"m{number}" for number in range(messages // 2, messages))
        for _ in range(runs):
            taken["segments"].append(_erase(memory, next(ids)))
            with patch.object(index_vacuum, "MAX_SHARE", NEVER):
                taken["whole"].append(_erase(memory, next(ids)))
        assert not memory.verify().problems
    return {
        "benchmark": "erasure",
        "machine": measure.machine(),
        "messages": messages,
        "runs": runs,
        **{way: _summary(moments) for way, moments in taken.items()},
    }


def _erase(memory: Appliance, id: str) -> tuple[float, float]:
    """Seconds by the clock, and of the processors."""
    began, used = time.perf_counter(), _processor_seconds()
    receipt = memory.erasure.forget(memory.erasure.preview(id, user_id=scale.ALONE))
    assert receipt.messages == 1 and receipt.state == "done" and not receipt.proof.traces, receipt
    return time.perf_counter() - began, _processor_seconds() - used


def _processor_seconds() -> float:
    return sum(os.times()[:4])


def _summary(moments: list[tuple[float, float]]) -> measure.Document:
    return {
        "seconds": round(median(clock for clock, _ in moments), 2),
        "processor_seconds": round(median(used for _, used in moments), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scale.build(Path(folder) / "home", options.texts, options.messages, [scale.ALONE])
        measure.show(run(Path(folder) / "home", options.runs))


if __name__ == "__main__":
    main()

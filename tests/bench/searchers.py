"""Sixteen who search a daemon, without reader processes and with them: a part of ``tests.bench.serving``."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.bench import material, measure, serving

SEARCHERS = 16
TURNS = 2
WARM_UP_SECONDS = 3.0
"""Seconds in which the readers begin."""


def sixteen(home: Path, user: str, questions: Sequence[str], seconds: float, readers: int) -> measure.Document:
    """Sixteen searchers, without reader processes and with ``readers``."""
    asked, found = serving.unlike(questions), {}
    with tempfile.TemporaryDirectory() as folder:
        made = serving.exports(Path(folder), material.texts()[0])
        for turn, count in itertools.product(range(TURNS), (0, readers)):
            (home / "config.toml").write_text(f"[server]\nreaders = {count}\nrate = 0\n")
            with serving.daemon(home) as served:
                ask, take = serving.asking(served, user)
                serving.in_turn(ask, asked, SEARCHERS, WARM_UP_SECONDS)
                before = _worked(served.process)
                alone = serving.in_turn(ask, asked, SEARCHERS, seconds).told()
                worked = {each: since - before.get(each, 0.0) for each, since in _worked(served.process).items()}
                alone["processor_ms"] = [round(1000 * one / max(alone["calls"], 1), 1) for one in worked.values()]
                with serving.busy(made, take) as beside:
                    loaded = serving.in_turn(ask, asked, SEARCHERS, seconds).told()
                found[f"readers {count}, turn {turn + 1}"] = {
                    "alone": alone,
                    "beside_ingest": {**loaded, "beside": beside.told()},
                    "anonymous_mb": [measure.memory_mb(each)["RssAnon"] for each in _worked(served.process)],
                }
        (home / "config.toml").unlink()
    return found


def _worked(process: int) -> dict[int, float]:
    """Seconds of processor time of a process and of those that it has started."""
    children = (file.read_text().split() for file in Path(f"/proc/{process}/task").glob("*/children"))
    return {each: measure.worked(each) for each in (process, *map(int, itertools.chain.from_iterable(children)))}

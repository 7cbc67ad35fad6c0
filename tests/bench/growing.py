"""A log of Claude Code that grows in a watched folder: what it takes to read its further lines.

    python -m tests.bench.growing [--megabytes 50]

``first`` is the first reading, ``second`` the one that begins to follow the log, ``further`` are those after it, each
of three more lines; ``whole`` reads the whole log again, as for a format that is not followed. Processor seconds are
those of the process that stores and of those that it starts.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import appliance_models
from appliance import Appliance
from appliance.ingest import pipeline
from appliance.ingest.following import FollowedLogs
from appliance.types import Scope
from tests.bench import material, measure
from tests.bench.large import Highest, reading_seconds
from tests.engines import engine_of

SESSION = "0000000a-1111-4222-8333-444444444444"
FURTHER = 3
LINES = 3


def run(megabytes: float) -> measure.Document:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{SESSION}.jsonl"
        log = Log(path)
        while not path.exists() or path.stat().st_size < megabytes * 1e6:
            log.grow(1_000)
        with Appliance.open(Path(folder) / "home", worker=False, embedder=appliance_models.load()) as memory:
            logs, found = FollowedLogs(), []
            with Highest() as highest:
                for _ in range(2 + FURTHER):
                    found.append(reading(memory, path, logs))
                    log.grow(LINES)
            # One that has read nothing yet reads the whole.
            whole = reading(memory, path, FollowedLogs())
        return {
            "benchmark": "growing",
            "machine": measure.machine(),
            "megabytes": round(path.stat().st_size / 1e6, 1),
            "first": found[0],
            "second": found[1],
            "further": found[2:],
            "whole": whole,
            "rss_anon_mb": highest.megabytes,
        }


def reading(memory: Appliance, path: Path, logs: FollowedLogs) -> measure.Document:
    context = replace(engine_of(memory)._ingestion.ingest_context(Scope("me")), read_pages=logs.read_pages)
    began, before = time.perf_counter(), time.process_time() + reading_seconds()
    tallies = list(pipeline.ingest([path], context, within=path.parent))
    assert logs.confirm(path, tallies)
    return {
        "new": sum(tally.new for tally in tallies),
        "seconds": round(time.perf_counter() - began, 2),
        "processor_seconds": round(time.process_time() + reading_seconds() - before, 2),
    }


class Log:
    """A session that goes on: prompts, answers, calls and their results."""

    def __init__(self, path: Path) -> None:
        self._path, self._chance, self._number = path, random.Random(6), 0
        self._pool = material.sentences(material.texts()[0])

    def grow(self, lines: int) -> None:
        made = [json.dumps(self._record()) for _ in range(lines)]
        with self._path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{one}\n" for one in made))

    def _record(self) -> dict[str, Any]:
        self._number += 1
        number, role = self._number, "assistant" if self._number % 2 else "user"
        content: Sequence[dict[str, Any]] = [{"type": "text", "text": self._text(1, 12)}]
        if number % 4 == 1:
            content = [{"type": "tool_use", "id": f"call{number}", "name": "Read", "input": {"path": "a.txt"}}]
        elif number % 4 == 2:
            content = [{"type": "tool_result", "tool_use_id": f"call{number - 1}", "content": self._text(5, 60)}]
        return {
            "type": role,
            "uuid": f"{number:08d}-aaaa-4bbb-8ccc-dddddddddddd",
            "parentUuid": f"{number - 1:08d}-aaaa-4bbb-8ccc-dddddddddddd" if number > 1 else None,
            "sessionId": SESSION,
            "timestamp": f"2026-03-{1 + number // 86_400:02d}T{number // 3_600 % 24:02d}:{number // 60 % 60:02d}"
            f":{number % 60:02d}.000Z",
            "cwd": "/home/ines/boats",
            "message": {"role": role, "content": content},
        }

    def _text(self, least: int, most: int) -> str:
        return " ".join(self._chance.choices(self._pool, k=self._chance.randint(least, most)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=50.0)
    measure.show(run(parser.parse_args().megabytes))


if __name__ == "__main__":
    main()

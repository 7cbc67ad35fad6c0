"""Backups of a large home: the first, one after 100 new messages, one without any, checking, restoring.

    python -m tests.bench.backup [--messages 100000] [--texts FILE] [--home COPY]

Without ``--home``, a home of so many messages is built first through the real pipeline, with a stand-in for the
model (minutes). ``--home COPY`` adds 100 messages to a copy of a home. ``verify`` is ``appliance verify`` of the
restored home, whose index is not made again yet; ``check`` is ``backup verify --read-data``.

Targets for 100,000 messages: 15 s for the first, 1 s and 2 MB for the one after 100 messages, 30 s to restore and
verify.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from appliance import Appliance, Backups
from appliance_models import Embedder
from tests.bench import material, measure, scale

NEW_MESSAGES = 100
TARGETS = {"first_s": 15.0, "incremental_s": 1.0, "incremental_mb": 2.0, "restore_and_verify_s": 30.0}


def run(home: Path, texts: Path | None, embedder: Embedder | None) -> measure.Document:
    """Measure a home, to which messages are added."""
    with tempfile.TemporaryDirectory(dir=home.parent) as name:
        folder = Path(name)
        with Appliance.open(home, embedder=embedder, worker=False) as memory:
            first = memory.backup(folder / "backups")
            made = material.chats(material.texts(texts)[0], NEW_MESSAGES, ["new"])["new"]
            records = [{**record, "session_id": f"new {record['session_id']}"} for record in made]
            memory.ingest(material.write_jsonl(folder / "new.jsonl", records))
            incremental = memory.backup(folder / "backups")
            unchanged = memory.backup(folder / "backups")
        check = timed(lambda: Backups.verify(folder / "backups", read_data=True))
        restored = Backups.restore(folder / "backups", folder / "restored")
        with Appliance.open(folder / "restored", embedder=embedder, worker=False) as memory:
            verify = timed(memory.verify)
            assert not memory.verify().problems
        return {
            "benchmark": "backup",
            "machine": measure.machine(),
            "messages": first.messages,
            "targets": TARGETS,
            "first": asdict(first),
            "incremental": asdict(incremental),
            "unchanged": asdict(unchanged),
            "check": check,
            "restore": asdict(restored),
            "verify": verify,
        }


def timed(work: Callable[[], Any]) -> measure.Document:
    return {"seconds": round(measure.seconds(work), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--home", type=Path)
    options = parser.parse_args()
    if options.home is not None:
        measure.show(run(options.home, options.texts, None))
        return
    with tempfile.TemporaryDirectory() as folder:
        scale.build(Path(folder) / "home", options.texts, options.messages, [scale.ALONE])
        measure.show(run(Path(folder) / "home", options.texts, material.ProjectionEmbedder()))


if __name__ == "__main__":
    main()

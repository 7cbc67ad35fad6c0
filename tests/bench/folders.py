"""A watched folder of many files: the first run reads them all, the second only looks.

    python -m tests.bench.folders [--files 10000] [--messages 3]

``second`` is what a restart costs; ``scandir_s`` is what it costs to list the folder and ask for each file's
size and time, which nobody can do without. The first run stores and does not embed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from appliance import Appliance
from tests.bench import material, measure

FILES_A_FOLDER = 100
TARGET_SECOND_S = 10.0


def run(files: int, messages: int) -> measure.Document:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "exports"
        fill(folder, files, messages)
        first = watched(Path(place) / "home", folder)
        second = watched(Path(place) / "home", folder)
        listed = measure.seconds(lambda: listing(folder))
    return {
        "benchmark": "folders",
        "machine": measure.machine(),
        "files": files,
        "messages_a_file": messages,
        "first": first,
        "second": second,
        "scandir_s": round(listed, 3),
        "target_second_s": TARGET_SECOND_S,
    }


def fill(folder: Path, files: int, messages: int) -> None:
    records = material.short_messages(material.texts()[0], files * messages)
    for number in range(files):
        inner = folder / str(number // FILES_A_FOLDER)
        inner.mkdir(parents=True, exist_ok=True)
        own = records[number * messages : (number + 1) * messages]
        path = material.write_jsonl(
            inner / f"{number}.jsonl", [{**record, "session_id": f"s{number}"} for record in own]
        )
        os.utime(path, (1_700_000_000, 1_700_000_000))  # as files that have lain there for a while


def watched(home: Path, folder: Path) -> measure.Document:
    reports = []
    began = time.perf_counter()
    with Appliance.open(home, worker=False, embedder=material.ProjectionEmbedder()) as memory:
        memory.watcher([folder], on_read=reports.append).run(once=True)
    seconds = time.perf_counter() - began
    return {"seconds": round(seconds, 2), "files_read": len(reports), "anon_mb": measure.rss_anon_mb()}


def listing(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--messages", type=int, default=3)
    options = parser.parse_args()
    measure.show(run(options.files, options.messages))


if __name__ == "__main__":
    main()

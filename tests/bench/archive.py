"""What archiving most of a large home saves, and what it costs a search.

    python -m tests.bench.archive --chunks 100000 [--share 0.8] [--home DIR] [--texts FILE]

A home is built as in ``tests.bench.scale`` and copied; ``share`` of the copy, chosen at random, is archived. It prints
JSON: the bytes of each part of both homes; the memory of a process that has opened one and searched its hot messages;
the milliseconds of searches of the whole home, of the hot tier alone and of both tiers; and how many of the ten best
hits of the whole home both tiers find. The vectors come from a stand-in model; ``tests.eval.archive`` measures recall
with the real one. Each measurement runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from appliance import Appliance
from appliance.ingest import archiver
from appliance.store.archive_policy import ArchivePolicy
from appliance.store.sql import PAGE_ROWS
from appliance.timestamps import now
from tests.bench import material, measure, scale
from tests.engines import engine_of

MODULE = "tests.bench.archive"
SEARCHES = 200
DEPTH = 10
ANY_AGE = ArchivePolicy(days=0, importance=1.01, active_days=0, latest=1)
STEP = 2_000


def run(folder: Path, texts: Path | None, count: int, share: float) -> measure.Document:
    """Build both homes where they are missing, then measure each in processes of their own."""
    whole, archived = folder / "alone", folder / "archived"
    scale.build(whole, texts, count, [scale.ALONE])
    if not archived.exists():
        shutil.copytree(whole, archived)
        measure.say(f"archiving {share:.0%} of {count} messages")
        made = _measured("archive", archived, texts, "--share", str(share))
    else:
        made = {"reused": True}
    before = _measured("search", whole, texts)
    hot = _measured("search", archived, texts)
    both = _measured("search", archived, texts, "--both")
    pairs = list(zip(before.pop("hits"), both.pop("hits"), strict=True))
    hot.pop("hits")
    disk = {name: parts(home) for name, home in (("whole", whole), ("archived", archived))}
    return {
        "machine": measure.machine(),
        "chunks": count,
        "share": share,
        "archiving": made,
        "disk_bytes": disk,
        "hot_disk_ratio": round(disk["archived"]["hot"] / disk["whole"]["hot"], 3),
        "disk_ratio": round(sum(disk["archived"].values()) / sum(disk["whole"].values()), 3),
        "whole": before,
        "hot": hot,
        "both": both,
        "hot_memory_ratio": round(hot["rss_anon_mb"] / before["rss_anon_mb"], 3),
        "both_p95_ratio": round(both["search_ms"]["p95"] / before["search_ms"]["p95"], 3),
        "same_of_ten": round(sum(len(set(a) & set(b)) / max(1, len(a)) for a, b in pairs) / len(pairs), 4),
    }


def parts(home: Path) -> dict[str, int]:
    """The bytes of a home: of the hot part (index, full text, texts), of the archive, of the vectors, of the rest."""
    import sqlite3

    from appliance.store import text_frames

    with sqlite3.connect(home / "recall.db") as db:
        text_frames.register(db)
        (full_text,) = db.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'message_fts%'").fetchone()
        (texts,) = db.execute(
            "SELECT sum(length(CAST(body AS BLOB))) FROM message WHERE typeof(body) = 'text'"
        ).fetchone()
        (frames,) = db.execute("SELECT sum(length(body)) FROM message WHERE typeof(body) = 'blob'").fetchone()
        (dictionaries,) = db.execute("SELECT sum(length(content)) FROM archive_dictionary").fetchone()
    index = measure.disk_bytes(home / "index")
    archive_index = sum(path.stat().st_size for path in (home / "index").glob("*.archive"))
    hot = index - archive_index + full_text + (texts or 0)
    archive = archive_index + (frames or 0) + (dictionaries or 0)
    database = measure.disk_bytes(home) - index - measure.disk_bytes(home / "vectors")
    rest = database - full_text - (texts or 0) - (frames or 0) - (dictionaries or 0)
    return {"hot": hot, "archive": archive, "vectors": measure.disk_bytes(home / "vectors"), "rest": rest}


def _measured(what: str, home: Path, texts: Path | None, *more: str) -> measure.Document:
    return measure.in_fresh_process(
        MODULE, "--measure", what, "--home", str(home), *(["--texts", str(texts)] if texts else []), *more
    )


# --- each in a process of its own ---------------------------------------------------------------------


def archive_share(home: Path, share: float) -> measure.Document:
    """Archive a random share of the messages, and give their room back."""
    with Appliance.open(home, create=False, embedder=material.ProjectionEmbedder(), worker=False) as memory:
        service = engine_of(memory).archive
        every = [key for (key,) in service._database.read().execute("SELECT id FROM message")]
        chosen = sorted(random.Random(11).sample(every, round(share * len(every))))
        began, at = time.perf_counter(), now()
        archiver.ensure_dictionary(service._database, ANY_AGE, at)
        moved = 0
        for start in range(0, len(chosen), STEP):
            with service._context() as context:
                assert context is not None
                moved += archiver.archive_messages(context, chosen[start : start + STEP], ANY_AGE, at)
        taken = time.perf_counter() - began
        cleaned = measure.seconds(lambda: service._clean_up(moved))
    return {"messages": moved, "seconds": round(taken, 1), "clean_up_seconds": round(cleaned, 1), "page": PAGE_ROWS}


def measure_search(home: Path, queries: Sequence[str], *, both: bool) -> measure.Document:
    """Searches of the hot messages or of both tiers, with the memory that they leave."""
    embedder = material.ProjectionEmbedder()
    embedder.learn(queries)
    with Appliance.open(home, create=False, embedder=embedder, worker=False) as memory:
        settings = engine_of(memory).settings
        import msgspec

        engine_of(memory).settings = msgspec.structs.replace(
            settings, archive=msgspec.structs.replace(settings.archive, look=False)
        )
        for query in queries[: scale.WARM_UP]:
            memory.search(query, include_archived=both)
        taken, hits = [], []
        for query in queries:
            began = time.perf_counter()
            found = memory.search(query, limit=DEPTH, include_archived=both)
            taken.append(time.perf_counter() - began)
            hits.append([hit.external_id for hit in found])
        return {"search_ms": measure.percentiles(taken), "rss_anon_mb": measure.rss_anon_mb(), "hits": hits}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--home", type=Path, help="keep the homes in this folder, and use what is there")
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    # What the fresh processes are told.
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--both", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure == "archive":
        print(json.dumps(archive_share(options.home, options.share)))
    elif options.measure == "search":
        queries = material.questions(material.texts(options.texts)[0], SEARCHES, options.texts)
        print(json.dumps(measure_search(options.home, queries, both=options.both)))
    elif options.home is not None:
        measure.show(run(options.home, options.texts, options.chunks, options.share))
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure.show(run(Path(folder), options.texts, options.chunks, options.share))


if __name__ == "__main__":
    main()

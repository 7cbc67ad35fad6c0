"""Measures what the archive costs a search on data sets, and when a search of the hot messages counts as good.

    python -m tests.eval.archive [--homes DIR] [--share 0.8]

Of each conversation, ``share`` of the messages are archived, chosen at random with a fixed seed. It prints JSON:
recall@10 of an unarchived memory, of both tiers together, of the hot tier alone, and with the look in the archive by
itself; and for thresholds of the best score, how many searches look there, with and without the answer among the hot
messages.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from appliance import Appliance
from appliance.bench.datasets import BenchmarkCorpus
from appliance.retrieval import archive_search
from appliance.store.archive_policy import ArchivePolicy
from appliance.timestamps import now
from appliance.types import Hits
from tests.engines import engine_of
from tests.eval.fit import home_of
from tests.eval.runner import SETS

DEPTH = 10
EVERYTHING = ArchivePolicy(days=0, importance=1.01, active_days=0, latest=1)


@dataclass(frozen=True)
class Case:
    """One question: recall@10 of each way of searching, the best hot score, and the share of the cited messages that
    are hot."""

    set: str
    whole: float
    both: float
    hot: float
    look: float
    best: float
    hot_share: float
    looked: bool


def archive_share(memory: Appliance, share: float) -> None:
    """Archive a random share of the messages."""
    service = engine_of(memory).archive
    every = sorted(int(line["message_id"]) for line in _keys(memory))
    chosen = sorted(random.Random(11).sample(every, round(share * len(every))))
    from appliance.ingest import archiver

    archiver.ensure_dictionary(service._database, EVERYTHING, now())
    with service._context() as context:
        assert context is not None
        moved = archiver.archive_messages(context, chosen, EVERYTHING, now())
    assert moved >= 0.95 * len(chosen), (moved, len(chosen))
    memory.embed_pending()


def _keys(memory: Appliance) -> Iterator[dict[str, Any]]:
    for (key,) in engine_of(memory)._database.read().execute("SELECT id FROM message WHERE talk"):
        yield {"message_id": key}


def recall(hits: Hits, wanted: frozenset[str]) -> float:
    return len({hit.external_id for hit in hits[:DEPTH]} & wanted) / len(wanted)


def cases(name: str, conversation: BenchmarkCorpus, homes: Path, share: float) -> Iterator[Case]:
    built = home_of(conversation, homes)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(built, home)
        with Appliance.open(home, worker=False) as memory:
            questions = [one for one in conversation.questions if one.relevant]
            whole = [recall(memory.search(q.text, limit=DEPTH), frozenset(q.relevant)) for q in questions]
            archive_share(memory, share)
            archived = {message.external_id for message in memory.archive.list(limit=1_000_000)}
            for question, before in zip(questions, whole, strict=True):
                wanted = frozenset(question.relevant)
                both = memory.search(question.text, limit=DEPTH, include_archived=True)
                least, archive_search.GOOD_CONFIDENCE = archive_search.GOOD_CONFIDENCE, -1.0
                hot = memory.search(question.text, limit=DEPTH, min_score=0)
                archive_search.GOOD_CONFIDENCE = least
                look = memory.search(question.text, limit=DEPTH)
                yield Case(
                    name, before, recall(both, wanted), recall(hot, wanted), recall(look, wanted),
                    hot[0].score if hot else 0.0,
                    len(wanted - archived) / len(wanted),
                    any("archive" in note for note in look.notes),
                )  # fmt: skip


def thresholds(found: list[Case], what: str) -> list[dict[str, float]]:
    values = np.array([getattr(case, what) for case in found])
    hot = np.array([case.hot_share == 1 for case in found])
    cold = np.array([case.hot_share == 0 for case in found])
    gain = np.array([case.both - case.hot for case in found])
    rows = []
    for least in np.quantile(values, np.arange(0.05, 1.0, 0.05)):
        looks = values < least
        rows.append(
            {
                "least": round(float(least), 3),
                "looks": round(float(looks.mean()), 3),
                "looks_if_answer_is_hot": round(float(looks[hot].mean()), 3),
                "looks_if_answer_is_archived": round(float(looks[cold].mean()), 3),
                "recall": round(float(np.mean([c.hot for c in found]) + (gain * looks).mean()), 4),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--homes", type=Path)
    parser.add_argument("--share", type=float, default=0.8)
    parser.add_argument("--conversations", type=int)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        homes = options.homes or Path(folder)
        homes.mkdir(parents=True, exist_ok=True)
        found = [
            case
            for name, read in SETS.items()
            for conversation in list(read())[: options.conversations]
            for case in cases(name, conversation, homes, options.share)
        ]
    report: dict[str, Any] = {"share": options.share}
    for name in {case.set: None for case in found}:
        some = [case for case in found if case.set == name]
        report[name] = {
            "questions": len(some),
            **{
                f"recall_{way}": round(float(np.mean([getattr(c, way) for c in some])), 4)
                for way in ("whole", "both", "hot", "look")
            },
            "looked": round(float(np.mean([c.looked for c in some])), 3),
            "best": thresholds(some, "best"),
        }
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()

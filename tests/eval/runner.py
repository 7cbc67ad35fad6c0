"""Measures retrieval through the public API, as a user would call it; prints JSON.

python -m tests.eval.runner [locomo|beam|mixed] [--mode hybrid|dense|lexical]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from appliance import Appliance
from tests.eval.datasets import Conversation, beam, locomo, mixed
from tests.eval.measures import mean, measure, measure_sessions

SETS = {"locomo": locomo, "beam": beam}
"""What the weights are fitted on."""

MEASURED = {**SETS, "mixed": mixed}


def run(conversations: Iterable[Conversation], mode: str = "hybrid") -> dict[str, object]:
    """Each conversation in a home of its own; every question is searched with limit 20."""
    rows, by_kind, times = [], {}, []
    for conversation in conversations:
        with tempfile.TemporaryDirectory() as folder, Appliance.open(Path(folder) / "home") as memory:
            memory.ingest(write(conversation, Path(folder)))
            session_of = {r["message_id"]: r["session_id"] for r in conversation.records}
            for question in conversation.questions:
                began = time.perf_counter()
                hits = memory.search(question.text, limit=20, mode=mode)
                times.append(time.perf_counter() - began)
                row = measure([hit.external_id for hit in hits], question.evidence)
                row |= measure_sessions(
                    [hit.external_session_id for hit in hits],
                    frozenset(session_of[e] for e in question.evidence if e in session_of),
                )
                rows.append(row)
                by_kind.setdefault(question.kind, []).append(row["recall@10"])
    times.sort()
    return {
        "questions": len(rows),
        **mean(rows),
        "recall@10 by kind": {kind: round(sum(v) / len(v), 4) for kind, v in sorted(by_kind.items())},
        "search ms p50": round(times[len(times) // 2] * 1000, 1),
        "search ms p95": round(times[int(len(times) * 0.95)] * 1000, 1),
    }


def write(conversation: Conversation, folder: Path) -> Path:
    path = folder / f"{conversation.name}.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in conversation.records), encoding="utf-8")
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=MEASURED, nargs="?", default="locomo")
    parser.add_argument("--mode", default="hybrid", choices=("hybrid", "dense", "lexical"))
    given = parser.parse_args()
    print(
        json.dumps({"set": given.set, "mode": given.mode, **run(MEASURED[given.set](), given.mode)}, indent=1)
    )

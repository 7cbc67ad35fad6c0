"""Does importance tell what is asked about later from what is not?

    python -m tests.eval.importance

For each set: the AUC of the whole and of each part, messages that questions cite against those that none does (0.5 is
chance), among all messages and within each role; the mean of both; and what share of the cited messages has its vector
when half of all do, when an importance of 1 is worth so many days of being more recent (``first_half``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from appliance.bench.datasets import BenchmarkCorpus
from appliance.ingest.normalize import normalize, start_session
from appliance.memory import importance
from appliance.store.messages import MessageInsert
from appliance.store.priority import IMPORTANCE_MICROSECONDS, chunk_priority
from appliance.types import MessageRecord, SessionRecord
from tests.eval import datasets

DAY = 86_400_000_000

SETS: dict[str, Callable[[], Iterator[BenchmarkCorpus]]] = {"locomo": datasets.locomo, "beam": datasets.beam}


@dataclass(frozen=True, slots=True)
class Judged:
    """A message, in which memory it is, and whether a question cites it."""

    memory: str
    message: MessageInsert
    cited: bool


def judged(conversations: Iterator[BenchmarkCorpus]) -> list[Judged]:
    """The messages of a set as they are stored."""
    found = []
    for chat in conversations:
        cited = frozenset().union(*(question.relevant for question in chat.questions))
        courses = {}
        for line in chat.records:
            course = courses.setdefault(line["session_id"], start_session(SessionRecord(line["session_id"])))
            sent = line.get("timestamp")
            record = MessageRecord(
                line["session_id"],
                line["role"],
                line["content"],
                external_id=line["message_id"],
                sent_at=datetime.fromisoformat(sent) if sent else None,
            )
            found.append(Judged(chat.name, normalize(record, course), line["message_id"] in cited))
    return found


def auc(cited: Sequence[float], uncited: Sequence[float]) -> float | None:
    """How likely a cited message scores higher than an uncited one, ties being half; None without either."""
    if not cited or not uncited:
        return None
    ordered = np.sort(np.asarray(uncited))
    values = np.asarray(cited)
    below = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return round(float(below.mean() / 2 / len(ordered)), 3)


def measured(messages: Sequence[Judged]) -> dict[str, Any]:
    """The figures of one set."""
    parts = [importance.score_components(one.message) for one in messages]
    scores = [sum(one.values()) for one in parts]
    roles = sorted({one.message.role for one in messages})

    def told(values: Sequence[float], role: str | None = None) -> float | None:
        chosen = [(v, m.cited) for v, m in zip(values, messages, strict=True) if role in (None, m.message.role)]
        return auc([v for v, cited in chosen if cited], [v for v, cited in chosen if not cited])

    return {
        "messages": len(messages),
        "cited": sum(one.cited for one in messages),
        "auc": told(scores),
        "auc_by_role": {role: told(scores, role) for role in roles},
        "auc_by_part": {name: told([one[name] for one in parts]) for name in importance.COMPONENTS},
        "mean_cited": round(float(np.mean([s for s, m in zip(scores, messages, strict=True) if m.cited])), 3),
        "mean_uncited": round(float(np.mean([s for s, m in zip(scores, messages, strict=True) if not m.cited])), 3),
        "first_half": {
            f"{days} days": first_half(messages, [score * days * DAY / IMPORTANCE_MICROSECONDS for score in scores])
            for days in (0, 90, IMPORTANCE_MICROSECONDS // DAY, 1000)
        },
    }


def first_half(messages: Sequence[Judged], scores: Sequence[float]) -> float:
    """The share of cited messages in the first half of each memory's order of embedding."""
    among = 0
    for memory in {one.memory for one in messages}:
        queue = sorted(
            (
                (chunk_priority(one.message.conversational, one.message.order_at, score), one.cited)
                for one, score in zip(messages, scores, strict=True)
                if one.memory == memory
            ),
            key=lambda pair: -pair[0],
        )
        among += sum(cited for _, cited in queue[: len(queue) // 2])
    return round(among / sum(one.cited for one in messages), 3)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(json.dumps({name: measured(judged(load())) for name, load in SETS.items()}, indent=2))


if __name__ == "__main__":
    main()

"""LongMemEval (Wu et al. 2024): every question has its own history of chats with an assistant.

The relevant messages are the turns marked ``has_answer``, the relevant sessions the ``answer_session_ids``. A question
without a marked turn is measured by session only. Questions whose id ends in "_abs", which have no answer, and empty
turns are left out and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

import msgspec

from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion, DatasetElement, NativeRecord, SkippedCounts
from appliance.errors import InputError

NAME = "LongMemEval"
KEYS = frozenset({"question_id", "haystack_sessions"})

# "2023/05/20 (Sat) 02:21": the name of the day is redundant and is not checked.
_MOMENT = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?: \(\w+\))? (\d\d?):(\d\d)")


class _LongMemEvalTurn(msgspec.Struct):
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    has_answer: bool | None = None


class _LongMemEvalSample(msgspec.Struct):
    question_id: str
    question_type: str
    question: str
    question_date: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[_LongMemEvalTurn]]
    answer_session_ids: list[str]


def conversations(elements: Iterable[DatasetElement], left_out: SkippedCounts) -> Iterator[BenchmarkCorpus]:
    """A corpus for each question with its history."""
    for element in elements:
        sample = element.convert_to(_LongMemEvalSample)
        if sample.question_id.endswith("_abs"):
            left_out["questions without an answer (_abs)"] += 1
            continue
        if not len(sample.haystack_sessions) == len(sample.haystack_session_ids) == len(sample.haystack_dates):
            raise InputError(
                f"{len(sample.haystack_sessions)} sessions, {len(sample.haystack_session_ids)} ids and"
                f" {len(sample.haystack_dates)} dates; the numbers must be equal.",
                where=element.where,
            )
        relevant: set[str] = set()
        records = tuple(_records(sample, element.where, relevant, left_out))
        # Not before the last session, because a search as of this time must not hide a part of the history.
        asked = _moment(sample.question_date, f"{element.where}, question_date")
        question = BenchmarkQuestion(
            sample.question,
            frozenset(relevant),
            sample.question_type,
            frozenset(sample.answer_session_ids),
            max([asked, *(record["timestamp"] for record in records)]),
        )
        yield BenchmarkCorpus(sample.question_id, records, (question,))


def _records(
    sample: _LongMemEvalSample, where: str, relevant: set[str], left_out: SkippedCounts
) -> Iterator[NativeRecord]:
    turns: Counter[str] = Counter()  # by session: a repeated session continues its numbers
    histories = zip(sample.haystack_session_ids, sample.haystack_dates, sample.haystack_sessions, strict=True)
    for number, (session, date, history) in enumerate(histories):
        sent = _moment(date, f"{where}, haystack_dates[{number}]")
        for turn in history:
            turns[session] += 1
            message = f"{session}:{turns[session]}"
            if turn.has_answer:
                relevant.add(message)
            if not turn.content.strip():
                left_out["empty turns"] += 1
                continue
            yield {
                "session_id": session,
                "message_id": message,
                "role": turn.role,
                "timestamp": sent,
                "content": turn.content,
            }


def _moment(text: str, where: str) -> str:
    found = _MOMENT.fullmatch(text.strip())
    try:
        if found:
            return datetime(*(int(part) for part in found.groups())).isoformat()  # type: ignore[arg-type]
    except ValueError:
        pass  # a thirteenth month
    raise InputError(f"{text!r} is not a time like '2023/05/20 (Sat) 02:21'.", where=where)

"""BEAM (Tavakoli et al. 2025) in its short form: long chats with an assistant, and questions citing messages.

A batch is a session; a time anchor ("March-15-2024") holds until the next. Questions of the type "abstention" have no
answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

import msgspec

from appliance.bench.datasets import BenchmarkCorpus, BenchmarkQuestion, DatasetElement, NativeRecord, SkippedCounts
from appliance.errors import InputError

NAME = "BEAM"
KEYS = frozenset({"messages", "questions"})

UNANSWERABLE = "abstention"

_Id = int | str


class _BeamMessage(msgspec.Struct):
    id: _Id
    role: Literal["user", "assistant", "system", "tool"]
    content: str
    batch: _Id
    time_anchor: str | None = None


class _BeamQuestion(msgspec.Struct):
    question: str
    type: str
    evidence: list[_Id]


class _BeamSample(msgspec.Struct):
    id: _Id
    messages: list[_BeamMessage]
    questions: list[_BeamQuestion]


def conversations(elements: Iterable[DatasetElement], left_out: SkippedCounts) -> Iterator[BenchmarkCorpus]:
    """A corpus for each chat."""
    for element in elements:
        sample = element.convert_to(_BeamSample)
        name = f"beam{sample.id}"
        records = tuple(_records(sample, name, element.where))
        session_of = {record["message_id"]: record["session_id"] for record in records}
        questions, unanswerable = [], []
        for sample_question in sample.questions:
            cited = frozenset(map(str, sample_question.evidence))
            if sample_question.type == UNANSWERABLE:
                unanswerable.append(BenchmarkQuestion(sample_question.question, frozenset(), sample_question.type))
                continue
            if not cited:
                left_out["questions that cite nothing"] += 1
                continue
            sessions = frozenset(session_of[one] for one in cited if one in session_of)
            questions.append(BenchmarkQuestion(sample_question.question, cited, sample_question.type, sessions))
        yield BenchmarkCorpus(name, records, tuple(questions), tuple(unanswerable))


def _records(sample: _BeamSample, name: str, where: str) -> Iterator[NativeRecord]:
    anchor: str | None = None
    for number, message in enumerate(sample.messages):
        if message.time_anchor:
            try:
                anchor = datetime.strptime(message.time_anchor, "%B-%d-%Y").isoformat()
            except ValueError as error:
                raise InputError(
                    f"{message.time_anchor!r} is not a day like 'March-15-2024'.",
                    where=f"{where}, messages[{number}].time_anchor",
                ) from error
        yield {
            "session_id": f"{name}-{message.batch}",
            "message_id": str(message.id),
            "role": message.role,
            "content": message.content,
        } | ({"timestamp": anchor} if anchor else {})

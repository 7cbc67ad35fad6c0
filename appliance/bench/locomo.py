"""LoCoMo (Maharana et al. 2024): people who chat over months, and questions that cite dialogue lines.

A line is a message with its speaker as author and the caption of its picture in the content. Questions of category 5
have no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from appliance.bench.datasets import (
    BenchmarkCorpus,
    BenchmarkQuestion,
    DatasetElement,
    NativeRecord,
    SkippedCounts,
    convert,
)
from appliance.errors import InputError

NAME = "LoCoMo"
KEYS = frozenset({"conversation", "qa"})

UNANSWERABLE = 5

_SESSION = re.compile(r"session_(\d+)")
# Some strings cite several lines.
_LINE_ID = re.compile(r"D\d+:\d+")


class _LocomoLine(msgspec.Struct):
    dia_id: str
    speaker: str
    text: str
    blip_caption: str | None = None


class _LocomoQuestion(msgspec.Struct):
    question: str
    category: int
    evidence: list[str] = []


class _LocomoSample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_LocomoQuestion]


def conversations(elements: Iterable[DatasetElement], left_out: SkippedCounts) -> Iterator[BenchmarkCorpus]:
    """A corpus for each sample."""
    for element in elements:
        sample = element.convert_to(_LocomoSample)
        records = tuple(_records(sample, element.where))
        session_of = {record["message_id"]: record["session_id"] for record in records}
        unanswerable = tuple(
            BenchmarkQuestion(qa.question, frozenset(), str(qa.category))
            for qa in sample.qa
            if qa.category == UNANSWERABLE
        )
        yield BenchmarkCorpus(sample.sample_id, records, tuple(_questions(sample, session_of, left_out)), unanswerable)


def _records(sample: _LocomoSample, where: str) -> Iterator[NativeRecord]:
    lines = sample.conversation
    for number in sorted(int(found[1]) for key in lines if (found := _SESSION.fullmatch(key))):
        session = f"session_{number}"
        timestamp_text = lines.get(f"{session}_date_time")
        try:
            began = datetime.strptime(str(timestamp_text), "%I:%M %p on %d %B, %Y")
        except ValueError as error:
            raise InputError(
                f"{timestamp_text!r} is not a time like '1:56 pm on 8 May, 2023'.",
                where=f"{where}, {session}_date_time",
            ) from error
        for line in convert(lines[session], list[_LocomoLine], f"{where}, {session}"):
            caption = f"\n[image: {line.blip_caption}]" if line.blip_caption else ""
            yield {
                "session_id": f"{sample.sample_id}-{number}",
                "message_id": line.dia_id,
                "role": "user",
                "author": line.speaker,
                "timestamp": began.isoformat(),
                "content": line.text + caption,
            }


def _questions(
    sample: _LocomoSample, session_of: dict[str, str], left_out: SkippedCounts
) -> Iterator[BenchmarkQuestion]:
    for qa in sample.qa:
        if qa.category == UNANSWERABLE:
            continue
        cited = frozenset(line for line_id in qa.evidence for line in _LINE_ID.findall(line_id))
        if not cited:
            left_out["questions that cite nothing"] += 1
            continue
        sessions = frozenset(session_of[line] for line in cited if line in session_of)
        yield BenchmarkQuestion(qa.question, cited, str(qa.category), sessions)

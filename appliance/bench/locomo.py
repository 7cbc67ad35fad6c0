"""LoCoMo (Maharana et al. 2024): people who chat over months, and questions that cite dialogue lines.

A line is a message with its speaker as author and the caption of its picture in the content. Categories 1 to
4 are asked; category 5 has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from appliance.bench.material import Conversation, Element, LeftOut, Native, Question, checked
from appliance.errors import InputError

NAME = "LoCoMo"
KEYS = frozenset({"conversation", "qa"})

UNANSWERABLE = 5

_SESSION = re.compile(r"session_(\d+)")
# Some strings cite several lines.
_LINE_ID = re.compile(r"D\d+:\d+")


class _Line(msgspec.Struct):
    dia_id: str
    speaker: str
    text: str
    blip_caption: str | None = None


class _Asked(msgspec.Struct):
    question: str
    category: int
    evidence: list[str] = []


class _Sample(msgspec.Struct):
    sample_id: str
    conversation: dict[str, Any]
    qa: list[_Asked]


def conversations(elements: Iterable[Element], left_out: LeftOut) -> Iterator[Conversation]:
    """A sample is a conversation."""
    for element in elements:
        sample = element.as_type(_Sample)
        records = tuple(_records(sample, element.where))
        session_of = {record["message_id"]: record["session_id"] for record in records}
        yield Conversation(sample.sample_id, records, tuple(_questions(sample, session_of, left_out)))


def _records(sample: _Sample, where: str) -> Iterator[Native]:
    talk = sample.conversation
    for number in sorted(int(found[1]) for key in talk if (found := _SESSION.fullmatch(key))):
        session = f"session_{number}"
        given = talk.get(f"{session}_date_time")
        try:
            began = datetime.strptime(str(given), "%I:%M %p on %d %B, %Y")
        except ValueError as error:
            raise InputError(
                f"{given!r} is no time like '1:56 pm on 8 May, 2023'", where=f"{where}, {session}_date_time"
            ) from error
        for line in checked(talk[session], list[_Line], f"{where}, {session}"):
            caption = f"\n[image: {line.blip_caption}]" if line.blip_caption else ""
            yield {
                "session_id": f"{sample.sample_id}-{number}",
                "message_id": line.dia_id,
                "role": "user",
                "author": line.speaker,
                "timestamp": began.isoformat(),
                "content": line.text + caption,
            }


def _questions(sample: _Sample, session_of: dict[str, str], left_out: LeftOut) -> Iterator[Question]:
    for asked in sample.qa:
        if asked.category == UNANSWERABLE:
            left_out[f"questions of category {UNANSWERABLE}, which have no answer"] += 1
            continue
        cited = frozenset(line for one in asked.evidence for line in _LINE_ID.findall(one))
        if not cited:
            left_out["questions that cite nothing"] += 1
            continue
        sessions = frozenset(session_of[line] for line in cited if line in session_of)
        yield Question(asked.question, cited, str(asked.category), sessions)

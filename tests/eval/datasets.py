"""The two sets of conversations with questions and cited messages, as native JSONL records and questions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "shared" / "eval"


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]
    kind: str


@dataclass(frozen=True)
class Conversation:
    """One person's history: native JSONL records and the questions asked about it."""

    name: str
    records: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]


def locomo(path: Path = FOLDER / "locomo_dev.json") -> Iterator[Conversation]:
    """LoCoMo: a dialogue line is a message with its speaker as author and the image caption in the content.
    Questions of categories 1 to 4; category 5 has no answer."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        conversation = sample["conversation"]
        numbers = sorted(int(m[1]) for key in conversation if (m := re.fullmatch(r"session_(\d+)", key)))
        records = []
        for number in numbers:
            began = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            for line in conversation[f"session_{number}"]:
                caption = f"\n[image: {line['blip_caption']}]" if line.get("blip_caption") else ""
                records.append(
                    {
                        "session_id": f"{sample['sample_id']}-{number}",
                        "message_id": line["dia_id"],
                        "role": "user",
                        "author": line["speaker"],
                        "timestamp": began.isoformat(),
                        "content": line["text"] + caption,
                    }
                )
        questions = tuple(
            Question(qa["question"], evidence, str(qa["category"]))
            for qa in sample["qa"]
            if qa["category"] != 5
            and (evidence := frozenset(e for s in qa["evidence"] for e in re.findall(r"D\d+:\d+", s)))
        )
        yield Conversation(sample["sample_id"], tuple(records), questions)


def beam(path: Path = FOLDER / "beam_dev.json") -> Iterator[Conversation]:
    """BEAM: long chats with an assistant; a batch is a session, a time anchor holds until the next."""
    for sample in json.loads(path.read_text(encoding="utf-8")):
        records = []
        anchor: str | None = None
        for message in sample["messages"]:
            if message["time_anchor"]:
                anchor = datetime.strptime(message["time_anchor"], "%B-%d-%Y").isoformat()
            records.append(
                {
                    "session_id": f"beam{sample['id']}-{message['batch']}",
                    "message_id": str(message["id"]),
                    "role": message["role"],
                    "content": message["content"],
                }
                | ({"timestamp": anchor} if anchor else {})
            )
        questions = tuple(
            Question(q["question"], frozenset(map(str, q["evidence"])), q["type"])
            for q in sample["questions"]
            if q["evidence"]
        )
        yield Conversation(f"beam{sample['id']}", tuple(records), questions)


def mixed() -> Iterator[Conversation]:
    """One memory for both: each chat among people together with one or two with an assistant, and the questions
    about either, by the set that they are from."""
    people, assisted = list(locomo()), list(beam())
    for number, chat in enumerate(people):
        records, questions = list(chat.records), [replace(q, kind="locomo") for q in chat.questions]
        for other in assisted[number :: len(people)]:
            records += [
                record
                | {"message_id": f"{other.name}-{record['message_id']}"}
                | {"session_id": f"{other.name}-{record['session_id']}"}
                for record in other.records
            ]
            questions += [
                replace(q, kind="beam", evidence=frozenset(f"{other.name}-{e}" for e in q.evidence))
                for q in other.questions
            ]
        yield Conversation(f"{chat.name}-mixed", tuple(records), tuple(questions))

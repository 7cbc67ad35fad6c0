"""How fast exports are read, before anything is stored: from bytes to records.

    python -m tests.bench.parsing [--texts FILE] [--messages 100000] [--megabytes 50] [--rounds 5]

``whatsapp``: messages a second of a chat with ``--messages`` of them, in the header styles of a few countries
(target 50,000 in the usual ones); the styles take turns in every round.
``chatgpt``: megabytes a second of an export of about ``--megabytes``, and how many messages that is.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

from appliance.formats import chatgpt, whatsapp
from appliance.formats.base import Document, Parser
from appliance.types import InputProblem, MessageRecord
from tests.bench import material, measure

TARGET_WHATSAPP = 50_000

_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
STYLES: dict[str, Callable[[datetime], str]] = {
    "en_GB android": lambda at: f"{at:%d/%m/%Y, %H:%M} - ",
    "en_US android": lambda at: f"{at.month}/{at.day}/{at:%y}, {at.hour % 12 or 12}:{at:%M}\u202f{at:%p} - ",
    "de_DE ios": lambda at: f"[{at:%d.%m.%y, %H:%M:%S}] ",
    "fi_FI android": lambda at: f"{at.day}.{at.month}.{at.year} klo {at.hour}.{at:%M} - ",
    "ko_KR ios": lambda at: (
        f"[{at.year}. {at.month}. {at.day}. {'오전' if at.hour < 12 else '오후'} {at.hour % 12 or 12}:{at:%M:%S}] "
    ),
    "ar_EG android": lambda at: f"{at.day}\u200f/{at.month}\u200f/{at.year}، {at:%H:%M} - ".translate(_ARABIC),
}
USUAL = ("en_GB android", "en_US android", "de_DE ios")

_PEOPLE = ("Ana", "Ben Okoye", "Cleo 🌊", "+44 7700 900123")
_TURNS = 40


def run(texts: Path | None, messages: int, megabytes: float, rounds: int) -> measure.Document:
    """Everything."""
    found, origin = material.texts(texts)
    with tempfile.TemporaryDirectory() as folder:
        return {
            "benchmark": "parsing",
            "machine": measure.machine(),
            "texts": origin,
            "whatsapp": read_whatsapp(found, messages, rounds),
            "chatgpt": read_chatgpt(found, Path(folder) / "conversations.json", megabytes, rounds),
        }


def read_whatsapp(found: Sequence[str], count: int, rounds: int) -> measure.Document:
    """Each style's chat in turns. Processor time does not see what other programs take."""
    chats = {style: "".join(whatsapp_chat(found, count, style)).encode() for style in STYLES}
    taken: dict[str, list[float]] = {style: [] for style in STYLES}
    busy: dict[str, list[float]] = {style: [] for style in STYLES}
    for _ in range(rounds):
        for style, data in chats.items():
            wall, cpu, read = _timed(whatsapp, _document("WhatsApp Chat with Ana.txt", data))
            assert read == count
            taken[style].append(wall)
            busy[style].append(cpu)
    return {
        "messages": count,
        "characters_a_message": round(sum(map(len, found)) / len(found), 1),
        "messages_a_second": {style: round(count / median(times)) for style, times in taken.items()},
        "messages_a_cpu_second": {style: round(count / median(times)) for style, times in busy.items()},
        "megabytes_a_second": {
            style: round(len(chats[style]) / 1e6 / median(times), 1) for style, times in taken.items()
        },
        "target_messages_a_second": TARGET_WHATSAPP,
        "usual": list(USUAL),
    }


def read_chatgpt(found: Sequence[str], file: Path, megabytes: float, rounds: int) -> measure.Document:
    """One export again and again, from a file, as it would be."""
    count = write_chatgpt(found, file, megabytes)
    size = file.stat().st_size / 1e6
    document = Document(file.name, file.stat().st_size, lambda: file.open("rb"))
    taken, busy = [], []
    for _ in range(rounds):
        wall, cpu, read = _timed(chatgpt, document)
        assert read == count
        taken.append(wall)
        busy.append(cpu)
    return {
        "megabytes": round(size, 1),
        "messages": count,
        "megabytes_a_second": round(size / median(taken), 1),
        "megabytes_a_cpu_second": round(size / median(busy), 1),
        "messages_a_second": round(count / median(taken)),
    }


def whatsapp_chat(found: Sequence[str], count: int, style: str) -> Iterator[str]:
    """``count`` messages as an export has them: some of several lines, some that stand for media."""
    chance = random.Random(1)
    at = material.FIRST_DAY.replace(tzinfo=None)
    header = STYLES[style]
    for number in range(count):
        at += timedelta(seconds=chance.expovariate(1 / 900))
        kind = chance.random()
        said = found[number % len(found)]
        if kind < 0.06:
            said = "<Media omitted>"
        elif kind < 0.08:
            said = "This message was deleted"
        elif kind < 0.1:
            said = f"IMG-{at:%Y%m%d}-WA{number % 9999:04}.jpg (file attached)"
        elif kind < 0.2:
            said += "\n" + found[(number + 1) % len(found)]
        yield f"{header(at)}{chance.choice(_PEOPLE)}: {said}\n"


def write_chatgpt(found: Sequence[str], file: Path, megabytes: float) -> int:
    """An export of conversations of ``_TURNS`` turns; gives the count of its messages."""
    count = 0
    with file.open("w", encoding="utf-8") as stream:
        stream.write("[")
        for number in range(1_000_000):
            data = conversation(found, number)
            stream.write((", " if number else "") + json.dumps(data))
            count += _TURNS
            if stream.tell() >= megabytes * 1e6:
                break
        stream.write("]")
    return count


def conversation(found: Sequence[str], number: int) -> dict[str, Any]:
    """A conversation as it is exported, with the fields of a message that nobody reads."""
    began = material.FIRST_DAY.astimezone(UTC).timestamp() + number * 3600
    names = [f"{number:08x}-0000-4000-8000-{turn:012x}" for turn in range(_TURNS + 1)]
    mapping: dict[str, Any] = {names[0]: {"id": names[0], "message": None, "parent": None, "children": names[1:2]}}
    for turn, name in enumerate(names[1:], 1):
        user = turn % 2 == 1
        # An answer is a few times as long as its question.
        words = "\n\n".join(found[(number * _TURNS + turn + more) % len(found)] for more in range(1 if user else 6))
        mapping[name] = {
            "id": name,
            "message": {
                "id": name,
                "author": {"role": "user" if user else "assistant", "name": None, "metadata": {}},
                "create_time": began + turn * 30,
                "update_time": None,
                "content": {"content_type": "text", "parts": [words]},
                "status": "finished_successfully",
                "end_turn": not user,
                "weight": 1.0,
                "metadata": {"model_slug": "gpt-4o", "message_type": "next", "request_id": name[::-1]},
                "recipient": "all",
                "channel": None,
            },
            "parent": names[turn - 1],
            "children": names[turn + 1 : turn + 2],
        }
    return {
        "title": f"Conversation {number}",
        "create_time": began,
        "update_time": began + _TURNS * 30,
        "mapping": mapping,
        "current_node": names[-1],
        "conversation_id": f"{number:08x}-0000-4000-8000-ffffffffffff",
        "default_model_slug": "gpt-4o",
    }


def _document(name: str, data: bytes) -> Document:
    return Document(name, len(data), lambda: io.BytesIO(data))


def _timed(parser: Parser, document: Document) -> tuple[float, float, int]:
    """Wall and processor seconds of reading a document, and its messages."""
    count = 0
    began, busy = time.perf_counter(), time.process_time()
    for record in parser.parse(document):
        count += isinstance(record, MessageRecord)
        assert not isinstance(record, InputProblem) or record.harmless, record
    return time.perf_counter() - began, time.process_time() - busy, count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    parser.add_argument("--messages", type=int, default=100_000, help="of the WhatsApp chat")
    parser.add_argument("--megabytes", type=float, default=50, help="of the ChatGPT export, at least")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    measure.show(run(options.texts, options.messages, options.megabytes, options.rounds))


if __name__ == "__main__":
    main()

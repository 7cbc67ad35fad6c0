"""What the benchmarks work on: chat texts, real where they are at hand, and chats made of their sentences."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance_models import EmbeddedQuery
from tests.eval import datasets

LOCOMO = datasets.FOLDER / "locomo_dev.json"
DEMO = Path(__file__).parents[2] / "appliance" / "demo"

FIRST_DAY = datetime(2023, 1, 1, tzinfo=UTC)
YEARS = 3
SESSION_MESSAGES = 50
USERS = 20

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_WORD = re.compile(r"\w+")
_SHORTEST_SENTENCE = 12
_LONGEST_SENTENCE = 400


def texts(file: Path | None = None) -> tuple[list[str], str]:
    """Chat messages, each once, and in words where they are from.

    A file is native JSONL, or plain text with a message a line. Without one: LoCoMo's dialogue lines where
    they are present, else messages made of the sentences of the bundled demo.
    """
    if file is not None:
        return _distinct(_of_file(file)), f"{file.name}"
    if LOCOMO.exists():
        lines = (record["content"] for talk in datasets.locomo() for record in talk.records)
        return _distinct(lines), "real: the dialogue lines of LoCoMo (locomo_dev.json)"
    chance = random.Random(0)
    pool = sentences(_of_demo())
    made = (" ".join(chance.choices(pool, k=chance.choice((1, 1, 2, 3)))) for _ in range(4_000))
    return _distinct(made), "generated: sentences of the bundled demo, recombined"


def questions(messages: Sequence[str], count: int, file: Path | None = None) -> list[str]:
    """What is asked: LoCoMo's questions where the texts are its own, else words of some message."""
    chance = random.Random(1)
    if file is None and LOCOMO.exists():
        asked = [question.text for talk in datasets.locomo() for question in talk.questions]
        return chance.sample(asked, min(count, len(asked)))
    found: list[str] = []
    while len(found) < count:
        words = _WORD.findall(chance.choice(messages))
        begin = chance.randrange(max(1, len(words) - 6))
        found.append(f"When did we talk about {' '.join(words[begin : begin + 6])}?")
    return found


def sentences(messages: Sequence[str]) -> list[str]:
    """The sentences of messages, each once, in a fixed order."""
    parts = (part.strip() for message in messages for part in _SENTENCE.split(message))
    return _distinct(part for part in parts if _SHORTEST_SENTENCE <= len(part) <= _LONGEST_SENTENCE)


def chats(messages: Sequence[str], count: int, users: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """``count`` native JSONL records in sessions of about fifty messages over three years, by user: every other session
    with an assistant, the others with another person.

    A message is one to three sentences out of the given messages, so that words are as frequent and as
    rare as people use them, and hardly two messages are equal.
    """
    chance = random.Random(2)
    pool = sentences(messages)
    made: dict[str, list[dict[str, Any]]] = {user: [] for user in users}
    number = session = 0
    while number < count:
        user = users[session % len(users)]
        other = ("assistant", "Assistant") if session % 2 else ("user", "Ben")
        at = FIRST_DAY + timedelta(minutes=chance.randrange(YEARS * 365 * 24 * 60))
        for turn in range(min(count - number, chance.randint(SESSION_MESSAGES // 2, SESSION_MESSAGES * 3 // 2))):
            at += timedelta(seconds=chance.randint(5, 400))
            role, author = other if turn % 2 else ("user", user.title())
            made[user].append(
                {
                    "session_id": f"session-{session}",
                    "message_id": f"message-{number}",
                    "role": role,
                    "author": author,
                    "timestamp": at.isoformat(),
                    "content": " ".join(chance.choices(pool, k=chance.choice((1, 1, 2, 2, 3)))),
                }
            )
            number += 1
        session += 1
    return {user: records for user, records in made.items() if records}


def short_messages(messages: Sequence[str], count: int) -> list[dict[str, Any]]:
    """``count`` messages of one sentence in one user's sessions."""
    made = chats(messages, count, ["me"])["me"]
    chance = random.Random(3)
    pool = sentences(messages)
    return [record | {"content": chance.choice(pool)} for record in made]


def write_chatgpt(path: Path, messages: Sequence[str], megabytes: float) -> Path:
    """A ChatGPT export of about so many megabytes: conversations of some twenty turns, short questions and
    long answers, with the fields that a real one has."""
    chance = random.Random(6)
    pool = sentences(messages)
    left = int(megabytes * 1_000_000)
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        number = 0
        while left > 0:
            text = json.dumps(_chatgpt_conversation(number, pool, chance), ensure_ascii=False)
            file.write(text if number == 0 else f",\n{text}")
            left -= len(text.encode())
            number += 1
        file.write("]")
    return path


def _chatgpt_conversation(number: int, pool: Sequence[str], chance: random.Random) -> dict[str, Any]:
    at = 1_700_000_000.0 + number * 3_600
    mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    above = "root"
    for turn in range(chance.randint(8, 32)):
        asked = turn % 2 == 0
        node = f"{number:08x}-{turn:04x}-4aaa-8bbb-{chance.getrandbits(48):012x}"
        text = " ".join(chance.choices(pool, k=chance.randint(1, 4) if asked else chance.randint(8, 40)))
        mapping[above]["children"].append(node)
        mapping[node] = {
            "id": node,
            "message": {
                "id": node,
                "author": {"role": "user" if asked else "assistant", "name": None, "metadata": {}},
                "create_time": at + turn * 40,
                "update_time": None,
                "content": {"content_type": "text", "parts": [text]},
                "status": "finished_successfully",
                "end_turn": not asked,
                "weight": 1.0,
                "metadata": {} if asked else {"model_slug": "gpt-4o", "finish_details": {"type": "stop"}},
                "recipient": "all",
                "channel": None,
            },
            "parent": above,
            "children": [],
        }
        above = node
    return {
        "title": chance.choice(pool)[:40],
        "create_time": at,
        "update_time": at + 1_000,
        "mapping": mapping,
        "current_node": above,
        "conversation_id": f"{number:08x}-0000-4000-8000-000000000000",
        "id": f"{number:08x}-0000-4000-8000-000000000000",
        "default_model_slug": "gpt-4o",
    }


def write_jsonl(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records), encoding="utf-8")
    return path


class ProjectionEmbedder:
    """A stand-in for a model where the model's own time is not what is measured: each word has a random
    direction, a text is the sum of its words'. Like a real one it gives texts with common words similar
    vectors, in 384 dimensions; it embeds some ten thousand texts a second. Each word has a token vector, too."""

    token_dimension = 32
    token_identity = "projection"

    def __init__(self, dimension: int = 384) -> None:
        self.name = "projection"
        self.dimension = dimension
        self.max_tokens = 256
        self.identity = f"projection@{dimension}"
        self._directions = np.random.default_rng(4).standard_normal((1 << 14, dimension), dtype=np.float32)
        kept = self._directions[:, : self.token_dimension]
        self._token_vectors = kept / np.linalg.norm(kept, axis=1, keepdims=True)
        self._token_bytes = np.rint(self._token_vectors * 127).astype(np.int8)
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_passages_with_tokens(texts)[0]

    def embed_passages_with_tokens(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[NDArray[np.int8]]]:
        vectors, tokens = np.empty((len(texts), self.dimension), dtype=np.float32), []
        for row, text in enumerate(texts):
            places = _word_places(text)
            vector = self._directions[places].sum(axis=0)
            vectors[row] = vector / np.linalg.norm(vector)
            tokens.append(self._token_bytes[places])
        return vectors, tokens

    def embed_query_with_tokens(self, text: str) -> EmbeddedQuery:
        tokens = self._token_vectors[_word_places(text)]
        return EmbeddedQuery(self.embed_query(text), tokens, np.ones(len(tokens), np.float32))

    def learn(self, queries: Sequence[str]) -> None:
        """Compute the queries' vectors now, so that ``embed_query`` only looks them up."""
        self._known.update(zip(queries, self.embed_passages(queries), strict=True))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        known = self._known.get(text)
        return self.embed_passages([text])[0] if known is None else known

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [text.count(" ") + 3 for text in texts]


def _word_places(text: str) -> list[int]:
    return [zlib.crc32(word.encode()) & 0x3FFF for word in _WORD.findall(text.lower())] or [0]


def _of_file(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        if file.suffix == ".jsonl":
            yield str(json.loads(line)["content"])
        elif line.strip():
            yield line


def _of_demo() -> list[str]:
    """Every text of some length in the demo's JSON files."""
    found: list[str] = []

    def walk(value: object) -> None:
        if isinstance(value, str) and " " in value:
            found.append(value)
        elif isinstance(value, dict):
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    for path in sorted(DEMO.rglob("*.json")):
        walk(json.loads(path.read_text(encoding="utf-8")))
    for path in sorted(DEMO.rglob("*.jsonl")):
        found.extend(_of_file(path))
    return found


def _distinct(values: Iterator[str] | Sequence[str]) -> list[str]:
    return list(dict.fromkeys(value for value in values if value.strip()))

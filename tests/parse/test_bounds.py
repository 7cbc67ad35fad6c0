"""How much memory and time reading takes."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator

import pytest

from appliance.demo import FILES
from appliance.formats import parser_of
from appliance.formats.base import Document
from appliance.types import MessageRecord
from tests.waits import spent

PEAK_BYTES = 8 << 20
# Ten times what a slow core needs; the bound is there to notice work that grows with the square.
SECONDS = 30


def conversation(number: int) -> bytes:
    mapping = {
        f"n{i}": {
            "id": f"n{i}",
            "parent": f"n{i - 1}" if i else None,
            "children": [f"n{i + 1}"],
            "message": {
                "id": f"{number}-{i}",
                "author": {"role": "user"},
                "create_time": 1760000000,
                "content": {"content_type": "text", "parts": ["some words " * 300]},
            },
        }
        for i in range(40)
    }
    return json.dumps({"title": f"T{number}", "create_time": number, "mapping": mapping, "id": str(number)}).encode()


def chatgpt() -> Iterator[bytes]:
    yield b"["
    for number in range(230):
        yield (b",\n" if number else b"") + conversation(number)
    yield b"]"


def native() -> Iterator[bytes]:
    line = {
        "session_id": "s",
        "message_id": "m",
        "role": "user",
        "content": "some words " * 100,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    for number in range(25_000):
        yield json.dumps(line | {"session_id": f"s{number // 100}"}).encode() + b"\n"


class Made(io.RawIOBase):
    """A file that is made while it is read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        while len(self._held) < len(buffer) and (piece := next(self._pieces, b"")):
            self._held += piece
        taken = self._held[: len(buffer)]
        self._held = self._held[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "made", "count"), [("chatgpt", chatgpt, 9_200), ("native", native, 25_000)])
def test_memory_is_bounded_by_a_conversation(name, made, count):
    document = Document("x", 0, lambda: io.BufferedReader(Made(made())))
    tracemalloc.start()
    try:
        messages = sum(isinstance(r, MessageRecord) for r in parser_of(name).parse(document))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert messages == count
    assert peak < PEAK_BYTES


def test_a_damaged_beginning_is_not_looked_for_again_and_again():
    data = b"[" + b",".join(conversation(n).replace(b'"author"', b"author") for n in range(100)) + b"]"
    document = Document("x", len(data), lambda: io.BytesIO(data))
    assert spent(lambda: list(parser_of("chatgpt").parse(document))) < SECONDS


def test_one_very_long_string():
    text = "x" * (20 << 20)
    line = json.dumps({"session_id": "s", "role": "user", "content": text}).encode()
    data = json.dumps([{"uuid": "c", "chat_messages": [{"uuid": "m", "sender": "human", "text": text}]}]).encode()

    def read():
        for name, raw in (("native", line), ("claude", data)):
            got = [
                r
                for r in parser_of(name).parse(Document("x", 0, lambda raw=raw: io.BytesIO(raw)))
                if isinstance(r, MessageRecord)
            ]
            assert [len(m.text) for m in got] == [len(text)]

    assert spent(read) < SECONDS


def test_the_demo_exports_are_read_whole(read):
    import appliance.demo

    base = __import__("pathlib").Path(appliance.demo.__file__).parent
    formats = []
    for name in FILES:
        got = read(base / name, name=name)
        formats.append(got.format)
        assert got.problems == got.notes == []
        assert 30 <= len(got.messages) <= 60
        assert any(m.metadata for m in got.messages)
    assert sorted(formats) == ["chatgpt", "claude", "native", "whatsapp"]

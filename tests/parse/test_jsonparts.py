"""Documents whose one object is larger than memory: taken apart, whatever happened to them."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.formats import json_stream
from appliance.formats.base import Document
from appliance.formats.json_stream import JsonPart
from appliance.formats.salvage import is_whole
from appliance.types import InputProblem

OPENED = {("messages",), ("chats",), ("chats", "list"), ("chats", "list", "*"), ("chats", "list", "*", "messages")}
KEYS = (("id", "type"), ("name", "type"))


def document(data: bytes) -> Document:
    return Document("x", len(data), lambda: io.BytesIO(data))


def taken_apart(data: bytes) -> tuple[list[tuple[tuple[str | int, ...], object]], list[InputProblem]]:
    found = list(json_stream.parts(document(data), OPENED, KEYS))
    values = [(part.path, part.data) for part in found if isinstance(part, JsonPart) and is_whole(part.data)]
    return values, [problem for problem in found if isinstance(problem, InputProblem)]


def message(number: int, text: str = "words {[") -> dict:
    return {"id": number, "type": "message", "text": text, "more": [{"a": '"}'}]}


def chat(name: str, first: int) -> dict:
    return {
        "name": name,
        "type": "personal",
        "id": first,
        "messages": [message(first + n) for n in range(3)],
        "end": None,
    }


ACCOUNT = {
    "about": "x, y",
    "contacts": {"list": [1, {"b": 2}]},
    "chats": {"about": "these", "list": [chat("Ana", 10), chat("Ben", 20), chat("Cleo", 30)]},
    "sessions": [],
}


@pytest.mark.parametrize("indent", [None, 1])
def test_members_come_one_by_one_in_the_order_of_the_file(indent):
    values, problems = taken_apart(json.dumps(ACCOUNT, indent=indent).encode())
    assert problems == []
    expected = [((0, "about"), "x, y"), ((0, "contacts"), ACCOUNT["contacts"]), ((0, "chats", "about"), "these")]
    for number, one in enumerate(ACCOUNT["chats"]["list"]):
        at = (0, "chats", "list", number)
        expected += [((*at, key), one[key]) for key in ("name", "type", "id")]
        expected += [((*at, "messages", n), each) for n, each in enumerate(one["messages"])]
        expected.append(((*at, "end"), None))
    assert values == [*expected, ((0, "sessions"), [])]


def test_objects_one_after_the_other_and_lists():
    values, problems = taken_apart(b'{"messages":[1]}\n{"messages":[2]} [3, {"messages": [4]}]')
    assert values == [((0, "messages", 0), 1), ((1, "messages", 0), 2), ((2, 0), 3), ((2, 1), {"messages": [4]})]
    assert problems == []


def test_shapes():
    (part,) = json_stream.parts(document(b'{"chats":{"list":[{"messages":[7]}]}}'), OPENED)
    assert part == JsonPart((0, "chats", "list", 0, "messages", 0), 7, 1)
    assert part.shape == ("chats", "list", "*", "messages", "*")


def test_cut_at_every_byte():
    data = json.dumps(ACCOUNT).encode()
    whole, _ = taken_apart(data)
    for cut in range(len(data)):
        values, problems = taken_apart(data[:cut])
        # A number that is cut off looks like another number.
        assert values[:-1] == whole[: max(0, len(values) - 1)]
        assert bool(problems) == (cut > 0)


def test_one_damaged_message_costs_only_itself_and_no_message_goes_to_another_chat():
    data = json.dumps(ACCOUNT).encode()
    for number in (10, 11, 12, 20, 22, 31):
        for junk in (b'{"id": %d, "type: "message"', b'{"id": %d, "type": "mess', b'{"id": %d]', b'{"id": %d, }}}'):
            broken = data.replace(b'{"id": %d, "type": "message"' % number, junk % number, 1)
            values, problems = taken_apart(broken)
            assert problems
            kept = {
                (path[3], part["id"])
                for path, part in values
                if path[1:3] == ("chats", "list") and isinstance(part, dict)
            }
            expected = {(0, 10), (0, 11), (0, 12), (1, 20), (1, 21), (1, 22), (2, 30), (2, 31), (2, 32)}
            assert {pair for pair in expected if pair[1] not in (number, number + 1)} <= kept, (number, junk)
            assert kept <= expected, (number, junk)


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    list(json_stream.parts(document(data), OPENED, KEYS))
    list(json_stream.parts(document(b'{"chats": {"list": [{"messages": [' + data), OPENED, KEYS))


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=3), x, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["messages", "chats", "list", "x"]), VALUES, max_size=4))
def test_nothing_is_lost(value):
    data = json.dumps(value).encode()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 1, 5) if size and size > 0 else size)

        read1 = read

    found = list(json_stream.parts(Document("x", len(data), lambda: Slow(data)), OPENED))
    built: dict = {}
    for part in found:
        assert isinstance(part, JsonPart)
        at = json.loads(data)
        for step in part.path[1:]:
            at = at[step]
        assert at == part.data
        built[part.path[1]] = True
    assert set(built) >= {key for key, inner in value.items() if key not in ("messages", "chats")}


@pytest.mark.slow
def test_memory_is_bounded_by_a_message():
    def made() -> Iterator[bytes]:
        yield b'{"name": "x", "messages": ['
        for number in range(40_000):
            yield (b"," if number else b"") + json.dumps(message(number, "some words " * 60)).encode()
        yield b'], "end": 1}'

    class Made(io.RawIOBase):
        held = b""
        pieces = made()

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:
            while len(self.held) < len(buffer) and (piece := next(self.pieces, b"")):
                self.held += piece
            taken, self.held = self.held[: len(buffer)], self.held[len(buffer) :]
            buffer[: len(taken)] = taken
            return len(taken)

    tracemalloc.start()
    try:
        count = sum(1 for _ in json_stream.parts(Document("x", 0, lambda: io.BufferedReader(Made())), OPENED))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 40_002
    assert peak < 4 << 20

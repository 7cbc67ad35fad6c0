"""Damaged files: never an exception, every whole record kept, every loss named."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import given, settings
from hypothesis import strategies as st
from long_documents import LONG, NO_JSON, conversation

from appliance.errors import InputError
from appliance.formats import FORMATS, detect, json_stream, parser_of
from appliance.formats.base import Document
from appliance.formats.json_stream import JsonRecord
from appliance.formats.salvage import is_whole, salvage
from appliance.ingest.sources import detect_documents
from appliance.types import ContactRecord, InputProblem, MessageRecord


def document(data: bytes, name: str = "x") -> Document:
    return Document(name, len(data), lambda: io.BytesIO(data))


def messages_of(data: bytes, format_name: str) -> tuple[list[str], list[InputProblem]]:
    records = list(parser_of(format_name).parse(document(data)))
    texts = [r.text for r in records if isinstance(r, MessageRecord)]
    return texts, [r for r in records if isinstance(r, InputProblem) and not r.harmless]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_chatgpt_file_cut_at_every_byte(indent):
    data = json.dumps([conversation(n) for n in range(3)], indent=indent).encode()
    ends = []
    at = 0
    decoder = json.JSONDecoder()
    text = data.decode()
    at = text.index("{")
    while text[at] == "{":
        _, at = decoder.raw_decode(text, at)
        ends.append(at)
        at = text.find("{", at) if text.find("{", at) > 0 else 0
    for cut in range(len(data)):
        texts, problems = messages_of(data[:cut], "chatgpt")
        whole = sum(end <= cut for end in ends)
        expected = [f'conversation {c}, message {i}: {{"}}' for c in range(3) for i in range(3)]
        assert texts == expected[: len(texts)]
        assert len(texts) >= 3 * whole
        between = any(end <= cut and text[end:cut].strip("\n ,]") == "" for end in ends)
        inside = cut > text.index("{") and not between
        assert bool(problems) == inside


def test_complete_messages_of_the_cut_conversation_are_kept():
    data = json.dumps([conversation(0, 50)]).encode()
    cut = data.index(b"message 40")
    texts, problems = messages_of(data[:cut], "chatgpt")
    assert len(texts) == 40
    assert any("line 1, byte 1" in p.where for p in problems)
    assert any("node 0-40" in p.where for p in problems)


@pytest.mark.slow
@pytest.mark.parametrize("fixture", ["chatgpt.json", "claude.json"])
def test_fixtures_cut_at_every_byte(fixtures, fixture):
    data = (fixtures / fixture).read_bytes()
    name = fixture.partition(".")[0]
    before = -1
    for cut in range(len(data)):
        texts, _ = messages_of(data[:cut], name)
        assert len(texts) >= before - 1
        before = max(before, len(texts))


ODD = ({}, {"a": 1}, [], [{}], [["x"]], 1, True, None, "", "x")
KEYS = (
    "type", "role", "id", "uuid", "author", "sender", "from", "kind", "name", "title", "content", "text", "date",
    "timestamp", "create_time", "message", "messages", "parent", "payload", "status", "event", "subtype",
)  # fmt: skip


def with_other_types(value: Any) -> Iterator[Any]:
    """The value, each time with one part of it replaced by something of another type, or with a key more."""
    yield from ODD
    if isinstance(value, dict):
        for key, item in value.items():
            yield from (value | {key: other} for other in with_other_types(item))
        for key in KEYS:
            if key not in value:
                yield from (value | {key: other} for other in ODD[:3])
    elif isinstance(value, list) and value:
        yield from ([other, *value[1:]] for other in with_other_types(value[0]))


def shortened(value: Any) -> Any:
    """The value with the first element of each list alone."""
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return [shortened(item) for item in value[:1]] if isinstance(value, list) else value


def every_third(names: Iterable[str]) -> list[ParameterSet]:
    """All formats, of which a third stand for the others outside of a campaign."""
    return [
        pytest.param(name, marks=[pytest.mark.campaign] if number % 3 else [])
        for number, name in enumerate(sorted(names))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", every_third(LONG.keys() - NO_JSON))
def test_no_value_of_another_type_raises(name: str) -> None:
    assert LONG[name][:1] in b"[{"
    (value, *_), _ = json_stream.split_values(LONG[name].decode().split("\n")[0])
    for odd in with_other_types(shortened(value)):
        data = json.dumps(odd).encode()
        with suppress(InputError):
            detect(document(data))
        messages_of(data, name)
        messages_of(data + b"\n" + data, name)


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(deadline=None)  # the first one imports the parser, on whatever machine this is
@given(data=st.binary(max_size=300))
def test_no_bytes_raise(name, data):
    list(parser_of(name).parse(document(data)))
    with suppress(InputError):
        detect(document(data))


@given(
    at=st.integers(0, 2000),
    junk=st.sampled_from([b"", b'"', b"{", b"}", b"]", b"\\", b"\xff", b"\x00", b"null", b'"a":', b",,", b"\n"]),
    gone=st.integers(0, 40),
)
def test_one_damaged_place_costs_at_most_its_neighbourhood(at, junk, gone):
    whole = [conversation(n) for n in range(6)]
    data = json.dumps(whole).encode()
    at %= len(data)
    texts, _ = messages_of(data[:at] + junk + data[at + gone :], "chatgpt")
    hit = at * 6 // len(data)
    for number in range(6):
        if abs(number - hit) > 1:
            for i in range(3):
                assert f'conversation {number}, message {i}: {{"}}' in texts


def test_a_lost_quote_does_not_cost_the_conversations_behind_it():
    data = json.dumps([conversation(n) for n in range(5)]).encode()
    broken = data.replace(b'"Title 1"', b'"Title 1', 1)
    texts, problems = messages_of(broken, "chatgpt")
    assert {t.split(",")[0] for t in texts} >= {f"conversation {n}" for n in (0, 2, 3, 4)}
    assert problems


def test_jsonl_of_conversations_with_a_bad_line():
    rows = [json.dumps(conversation(n)) for n in range(4)]
    rows[1] = rows[1][: len(rows[1]) // 2]
    texts, problems = messages_of("\n".join(rows).encode(), "chatgpt")
    assert len([t for t in texts if not t.startswith("conversation 1")]) == 9
    assert problems[0].where.startswith("line 2")


def crates(count: int) -> list[str]:
    return [
        json.dumps(
            {"messages": [{"role": "user", "content": f"Crate {n}?"}, {"role": "assistant", "content": f"{n}."}]}
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("junk", [b"x", b"\0\0\0", b"", b'{{"', b"]"])
@pytest.mark.parametrize("number", [1, 12, 18, 19])
def test_a_damaged_line_of_conversations_costs_that_line(junk: bytes, number: int) -> None:
    rows = [row.encode() for row in crates(20)]
    whole = list(parser_of("openai_jsonl").parse(document(b"\n".join(rows))))
    expected = [(r.session, r.role, r.text) for r in whole if isinstance(r, MessageRecord)]
    rows[number] = junk + rows[number][len(junk) or 1 :]
    records = list(parser_of("openai_jsonl").parse(document(b"\n".join(rows) + b"\n")))
    found = [(r.session, r.role, r.text) for r in records if isinstance(r, MessageRecord)]
    assert [one for one in expected if one not in found] in ([], expected[2 * number : 2 * number + 2])
    assert all(one in expected for one in found)
    problems = [r for r in records if isinstance(r, InputProblem) and not r.harmless]
    assert problems[0].where.startswith(f"line {number + 1},")


@pytest.mark.parametrize("name", ["openai_jsonl", "chatgpt"])
def test_a_byte_lost_anywhere_in_a_line_costs_no_other_line(name: str) -> None:
    rows = crates(5) if name == "openai_jsonl" else [json.dumps(conversation(n)) for n in range(5)]
    expected, _ = messages_of("\n".join(rows).encode(), name)
    each = len(expected) // 5
    for at in range(len(rows[2])):
        damaged = [*rows[:2], rows[2][:at] + "#" + rows[2][at + 1 :], *rows[3:]]
        texts, _ = messages_of("\n".join(damaged).encode(), name)
        assert texts[: 2 * each] == expected[: 2 * each], at
        assert texts[-2 * each :] == expected[-2 * each :], at


def test_a_conversation_without_an_id_is_not_kept_without_its_opening() -> None:
    rows = crates(3)
    texts, problems = messages_of("\n".join([*rows[:2], rows[2][:-6]]).encode(), "openai_jsonl")
    assert texts == ["Crate 0?", "0.", "Crate 1?", "1."]
    assert "2 messages were left out" in problems[-1].message


def test_not_finite_numbers_and_control_characters():
    data = json.dumps([conversation(0)]).replace("1760000000.5", "NaN").replace("message 0", "mes\tsage\n0")
    texts, problems = messages_of(data.encode(), "chatgpt")
    assert len(texts) == 3
    assert problems == []


def test_bytes_that_are_not_utf8_are_replaced_and_named():
    data = json.dumps([conversation(0), conversation(1)], ensure_ascii=False).encode()
    broken = data.replace(b"conversation 1, message 1", "cönv\udcffersation é".encode("utf-8", "surrogateescape"))
    texts, problems = messages_of(broken, "chatgpt")
    assert texts[4].startswith("cönv\ufffdersation é")
    assert len(problems) == 1


def test_a_whole_file_in_windows_1252():
    data = (
        json.dumps([conversation(0, title="Größe")], ensure_ascii=False).replace("message 1", "grün").encode("cp1252")
    )
    texts, problems = messages_of(data, "chatgpt")
    assert "grün" in texts[1]
    assert problems == []


def test_deep_nesting():
    deep = "[" * 200_000
    data = json.dumps([conversation(0, extra="DEEP"), conversation(1)])
    closed = data.replace('"DEEP"', deep + "]" * 200_000)
    texts, problems = messages_of(closed.encode(), "chatgpt")
    assert (len(texts), problems) == (6, [])
    texts, problems = messages_of(data.replace('"DEEP"', deep).encode(), "chatgpt")
    assert len(texts) == 6
    assert problems
    texts, _ = messages_of(b"[" * 200_000, "chatgpt")
    assert texts == []


# A database is nothing without its last page; its own tests cut it.
DATABASES = {"imessage"}


@pytest.mark.slow
@pytest.mark.parametrize("name", every_third(FORMATS.keys() - DATABASES))
def test_a_stream_that_breaks_keeps_what_came_before(name):
    data = LONG[name]

    class Breaking(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > len(data) // 2:
                raise OSError(5, "Input/output error")
            return super().read(size)

        read1 = read

    records = list(parser_of(name).parse(Document("x", len(data), lambda: Breaking(data))))
    assert sum(isinstance(r, MessageRecord | ContactRecord) for r in records) > 100
    assert any("Input/output error" in r.message for r in records if isinstance(r, InputProblem) and not r.harmless)


def test_a_zip_member_with_a_wrong_checksum_keeps_its_messages(tmp_path):
    path = tmp_path / "x.zip"
    data = json.dumps([conversation(n) for n in range(50)]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", data)
    raw = path.read_bytes()
    path.write_bytes(raw.replace(b"Title 49", b"Title 94"))

    (found,) = detect_documents([path])
    records = list(found.parser.parse(found.document))
    assert sum(isinstance(r, MessageRecord) for r in records) == 150
    assert any("CRC" in r.message for r in records if isinstance(r, InputProblem))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_salvage_reads_what_is_whole(value):
    got = salvage(json.dumps(value))
    assert got == value
    assert is_whole(got)


@given(
    st.lists(st.dictionaries(st.text(max_size=4), st.text(max_size=20), min_size=1), min_size=1, max_size=5), st.data()
)
def test_records_come_as_a_decoder_gives_them(values, data):
    text = json.dumps(values, indent=data.draw(st.sampled_from([None, 2])), ensure_ascii=data.draw(st.booleans()))
    raw = text.encode("utf-8", "surrogatepass")

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(size or 1, 7) if size and size > 0 else size)

        read1 = read

    got = list(json_stream.records(Document("x", len(raw), lambda: Slow(raw))))
    assert [v.data for v in got if isinstance(v, JsonRecord)] == json.loads(raw.decode("utf-8", "replace"))

"""Native JSONL: what CONTRACT promises about it."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.formats import detect, native
from appliance.formats.base import Document
from appliance.store import state_import
from appliance.types import ROLES, MessageRecord

LINE = {
    "session_id": "s1",
    "message_id": "s1-7",
    "role": "user",
    "author": "Ana",
    "timestamp": "2026-02-06T10:30:00Z",
    "content": "Hello",
    "reply_to": "s1-6",
    "session_title": "Title",
    "metadata": {"edited": True, "timezone": "unknown"},
}


def lines(*values: Any) -> str:
    return "".join((v if isinstance(v, str) else json.dumps(v)) + "\n" for v in values)


def test_the_line_of_the_contract(read):
    got = read(lines(LINE))
    assert got.format == "native"
    (session,) = got.sessions
    assert (session.external_id, session.title, session.created_at) == (
        "s1",
        "Title",
        datetime(2026, 2, 6, 10, 30, tzinfo=UTC),
    )
    assert got.messages == [
        MessageRecord(
            "s1", "user", "Hello", "s1-7", "Ana", session.created_at, "s1-6",
            {"edited": True, "timezone": "unknown"}, "line 1",
        )
    ]  # fmt: skip


def test_the_page_names_every_key_and_its_example_is_read(read):
    page = (Path(__file__).parents[2] / "docs" / "formats" / "native.md").read_text(encoding="utf-8")
    example = page.partition("```json\n")[2].partition("```")[0]
    assert json.loads(example).keys() == native._KNOWN_KEYS
    for key in native._KNOWN_KEYS:
        assert f"\n| `{key}` | {'required' if key in native._REQUIRED else ''}" in page, key
    got = read(example)
    (message,) = got.messages
    assert (message.session, message.role, message.text) == ("s1", "user", "The harbour opens at nine.")
    assert (message.external_id, message.author, message.reply_to) == ("s1-7", "Ana", "s1-6")
    assert message.metadata == {"edited": True} and got.sessions[0].title == "Harbour"
    assert message.sent_at == datetime(2026, 2, 6, 10, 30, tzinfo=UTC) and got.problems == got.notes == []


def test_the_page_names_every_record_of_an_export_with_its_keys():
    page = (Path(__file__).parents[2] / "docs" / "formats" / "native.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.partition("| `record` |")[2].splitlines()[2:]]
    named = {cells[0].strip("`"): re.findall(r"`(\w+)`", cells[2]) for cells in rows if len(cells) == 3}
    assert list(named) == list(native._STATE_KINDS)
    about = {"session_id", "source", "message_id"}  # what a record is about
    for record, (kind, _) in state_import._KINDS.items():
        keys = set(kind.__struct_fields__) - about
        assert set(named[record]) == keys and len(named[record]) == len(keys), record


def test_only_three_keys_are_required_and_others_are_kept(read):
    got = read(lines({"session_id": "s", "role": "tool", "content": "", "mood": "fine", "n": [1, None]}))
    (message,) = got.messages
    assert (message.external_id, message.sent_at, message.author) == (None, None, None)
    assert message.metadata == {"mood": "fine", "n": [1, None]}
    assert got.problems == got.notes == []


def test_interleaved_sessions(read):
    order = ["a", "b", "a", "c", "b"]
    got = read(lines(*({"session_id": s, "role": "user", "content": s} for s in order)))
    assert [s.external_id for s in got.sessions] == ["a", "b", "c"]
    assert [m.session for m in got.messages] == order


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('{"session_id":"s","role":"user"}', "content is missing"),
        ('{"session_id":"s","role":"user","content":5}', "content is a number, not a string"),
        ('{"session_id":5,"role":"user","content":"x"}', "session_id is a number, not a string"),
        ('{"session_id":"","role":"user","content":"x"}', "session_id is empty"),
        ('{"session_id":"s","role":"wizard","content":"x"}', "role is 'wizard'"),
        ('{"session_id":"s","role":null,"content":"x"}', "role is null"),
        ("[1]", "not an object but a list"),
        ("null", "not an object but null"),
        ("hello", "not JSON"),
        ('{"session_id":"s","role":"user","content":"cut', "not JSON"),
    ],
)
def test_a_bad_line_costs_only_itself(read, line, why):
    got = read(lines(LINE, line, LINE), forced="native")
    assert len(got.messages) == 2
    (problem,) = got.problems
    assert problem.where == "line 2"
    assert why in problem.message


def test_other_words_for_roles_are_said_once(read):
    values = [{"session_id": "s", "role": r, "content": r} for r in ("human", "AI", "human", "User", "function")]
    got = read(lines(*values))
    assert got.roles == ["user", "assistant", "user", "user", "tool"]
    assert len(got.notes) == 4


def test_two_objects_on_a_line(read):
    got = read(lines(LINE, json.dumps(LINE) + json.dumps(LINE | {"content": "glued"}), LINE))
    assert got.texts == ["Hello", "Hello", "glued", "Hello"]


def test_times(read):
    stamps = ["2026-02-06T10:30:00", "2026-02-06T10:30:00+02:00", 1770373800, "1770373800.5", "soon", None, True, 1e400]
    values = [{"session_id": "s", "role": "user", "content": "x", "timestamp": s} for s in stamps]
    got = read(lines(*values))
    naive = datetime(2026, 2, 6, 10, 30)
    aware = datetime(2026, 2, 6, 10, 30, tzinfo=UTC)
    assert [m.sent_at for m in got.messages] == [
        naive,
        aware - timedelta(hours=2),
        aware,
        aware + timedelta(seconds=0.5),
        None,
        None,
        None,
        None,
    ]
    assert got.problems == []


def test_odd_bytes_and_characters(read):
    line = b'{"session_id":"s","role":"user","content":"a\xff\xc3\xa9\xc3\xa9"}\n'
    got = read(line + lines('{"session_id":"s","role":"user","content":"half \\ud83d here \\u0000"}').encode())
    assert got.texts == ["a\ufffdéé", "half \ufffd here \x00"]
    assert [p.where for p in got.problems] == ["line 1"]
    assert [p.where for p in got.notes] == ["line 2"]


def test_line_ends_inside_messages_are_no_line_ends(read):
    text = "one\u2028two\u0085three\x0bfour\x1cfive\r\nsix"
    data = json.dumps(LINE | {"content": text}, ensure_ascii=False)
    assert read(data + "\r\n").texts == [text]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings(read, encoding):
    data = lines(*(json.dumps(LINE | {"content": f"größer {n}"}, ensure_ascii=False) for n in range(3)))
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    assert read(mark + data.encode(encoding)).texts == ["größer 0", "größer 1", "größer 2"]


def test_windows_1252(read):
    data = json.dumps(LINE | {"content": "größer \x80 und?"}, ensure_ascii=False)
    got = read(data.encode("latin-1").replace(b"?", b"\x81"))
    assert got.texts == ["größer € und\x81"]
    assert got.problems == []


def test_an_array_of_the_same_objects(read):
    got = read(json.dumps([LINE, LINE | {"content": "two"}, 5, LINE | {"content": "three"}], indent=2))
    assert got.format == "native"
    assert got.texts == ["Hello", "two", "three"]


def test_deep_nesting_is_cut_not_crashed(read):
    deep = "[" * 100_000 + "]" * 100_000
    got = read(
        lines('{"session_id":"s","role":"user","content":"x","metadata":{"a":DEEP,"b":1}}'.replace("DEEP", deep), LINE)
    )
    assert got.texts == ["x", "Hello"]
    assert got.messages[0].metadata["b"] == 1
    json.dumps(dict(got.messages[0].metadata))


def exported(message: MessageRecord, title: str | None) -> dict[str, Any]:
    """The line that an export writes for a message."""
    line: dict[str, Any] = {"session_id": message.session, "role": message.role, "content": message.text}
    optional = {
        "message_id": message.external_id,
        "author": message.author,
        "timestamp": message.sent_at.isoformat().replace("+00:00", "Z") if message.sent_at else None,
        "reply_to": message.reply_to,
        "session_title": title,
    }
    return line | {k: v for k, v in optional.items() if v is not None} | {"metadata": dict(message.metadata)}


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
times = st.none() | st.datetimes(timezones=st.none() | st.just(UTC))


@given(
    st.lists(
        st.builds(
            MessageRecord,
            session=names,
            role=st.sampled_from(ROLES),
            text=texts,
            external_id=st.none() | names,
            author=st.none() | names,
            sent_at=times,
            reply_to=st.none() | names,
            metadata=st.dictionaries(texts, plain, max_size=3),
        ),
        max_size=8,
    )
)
def test_round_trip(messages):
    data = "".join(json.dumps(exported(m, "T"), ensure_ascii=False) + "\n" for m in messages).encode()
    document = Document("x.jsonl", len(data), lambda: io.BytesIO(data))
    got = [r for r in native.parse(document) if isinstance(r, MessageRecord)]
    assert [exported(m, "T") for m in got] == [exported(m, "T") for m in messages]


@pytest.mark.parametrize("piece", ["lorem ipsum ", 'say "no" ', "back\\slash ", "line\n", "\x01", "字"])
@pytest.mark.parametrize("shift", range(7))
def test_an_export_that_begins_with_a_very_long_message_is_recognised(piece, shift):
    long = exported(MessageRecord(session="big", role="user", text="x" * shift + piece * 20_000), "T")
    for ensure_ascii in (True, False):
        data = (json.dumps(long, ensure_ascii=ensure_ascii) + "\n" + json.dumps(LINE) + "\n").encode()
        document = Document("x.jsonl", len(data), lambda data=data: io.BytesIO(data))
        assert detect(document)[0] == "native"


def test_zones_become_utc(read):
    zone = timezone(timedelta(hours=5, minutes=45))
    local = datetime(2026, 1, 1, 0, 15, tzinfo=zone)
    got = read(lines(LINE | {"timestamp": local.isoformat()}))
    assert got.messages[0].sent_at == local
    assert got.messages[0].sent_at.tzinfo is UTC

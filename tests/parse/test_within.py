"""Records in a list within an object: one at a time, and only those."""

from __future__ import annotations

import io
import json
import tracemalloc

from appliance.formats import json_stream
from appliance.formats.base import Document
from appliance.formats.json_stream import JsonRecord
from appliance.types import InputProblem


def read(data: bytes, key: str = "items") -> tuple[list, list[InputProblem]]:
    got = list(json_stream.records(Document("x", len(data), lambda: io.BytesIO(data)), within=key))
    return [r.data for r in got if isinstance(r, JsonRecord)], [r for r in got if isinstance(r, InputProblem)]


def test_the_elements_are_the_records():
    items = [{"n": n, "deep": [{"a": "]}"}]} for n in range(5)]
    for whole in (
        {"items": items},
        {"v": 1, "about": {"items": [9], "x": "}"}, "items": items, "more": [{"n": 99}], "z": None},
    ):
        for indent in (None, 1):
            assert read(json.dumps(whole, indent=indent).encode()) == (items, [])


def test_other_documents_are_read_as_without():
    for whole in ([{"n": 1}], {"n": 1}, {"items": {"n": 1}}, {"items": 3}):
        assert read(json.dumps(whole).encode()) == ([whole[0] if isinstance(whole, list) else whole], [])
    assert read(b"") == ([], [])


def test_a_stray_bracket_does_not_end_the_list():
    items, problems = read(b'{"items":[{"n":1}] , {"n":2}, {"n":3}], "more": [{"n":9}]}')
    assert [item["n"] for item in items] == [1, 2, 3] and problems == []


def test_cut_anywhere():
    data = json.dumps({"about": "x", "items": [{"n": n} for n in range(5)], "more": [1]}).encode()
    for cut in range(len(data)):
        items, problems = read(data[:cut])
        whole = [item for item in items if "n" in item]
        assert [item["n"] for item in whole] == list(range(len(whole)))
        assert len(problems) <= 1


def test_memory_is_one_records():
    data = json.dumps({"items": [{"n": n, "text": "x" * 1000} for n in range(20_000)]}).encode()
    tracemalloc.start()
    count = sum(1 for _ in json_stream.records(Document("x", 0, lambda: io.BytesIO(data)), within="items"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 20_000 and peak < 8_000_000

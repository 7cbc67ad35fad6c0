"""Notes on what looks like a search filter and is none."""

from __future__ import annotations

import pytest

from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters, filter_notes


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("fil:main.go", "file:main.go"),
        ("what did I do flie:main.go", "file:main.go"),
        ("Tool:bash", "tool:bash"),
        ("tags:trip the hut", "tag:trip"),
        ("from:ana the boiler", "author:ana"),
        ("boiler before:2024", "until:2024"),
    ],
)
def test_a_misspelt_filter_is_named_with_the_right_one(query: str, meant: str) -> None:
    (note,) = filter_notes(query)
    assert note.startswith("There is no filter '") and note.endswith(f"Did you mean {meant}?")


@pytest.mark.parametrize(
    ("query", "says"),
    [("tool:", "'tool:' has no value"), ('file:""', "'file:' has no value"), ("file: main.go", "Write file:main.go")],
)
def test_a_filter_without_a_value_is_named(query: str, says: str) -> None:
    assert extract_filters(query, SearchFilters(), NO_CURSOR) == (query, SearchFilters())
    (note,) = filter_notes(query)
    assert says in note


@pytest.mark.parametrize(
    "query",
    [
        "note: call mum", "https://example.org/file", "lunch at 10:30", "re:invoice", "std::vector", "mailto:ana@b.org",
        "time:10", "C:\\tools", "file:main.go tool:bash since:2024", "10:30", "course:math",
    ],
)  # fmt: skip
def test_words_with_a_colon_stay_words(query: str) -> None:
    assert filter_notes(query) == []

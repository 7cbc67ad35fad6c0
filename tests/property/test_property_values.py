"""Budgets, snippets, shortened texts, times and exports, for any text."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from appliance import Appliance, IngestReport, timestamps
from appliance.context.budget import MIN_SHORTENED_TOKENS, shorten
from appliance.retrieval.snippet import snippet
from appliance.server.http.bodies import Tag
from appliance.store import lexical, tags
from appliance_models import HashEmbedder, encoding_for
from tests.examples import examples

pieces = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ("The keeper climbs the tower. ", "Is it lit? ", "Yes!\n", "\n\n", "灯台守は塔に登る。", "👩‍👩‍👧🏽 ")
    ),
    st.sampled_from(("word " * 80, "x" * 900, "灯台" * 200, "[…] ", "a.b.c ", "<|endoftext|>", "1234567890" * 30)),
)
texts = st.lists(pieces, max_size=12).map("".join)
COUNTER = encoding_for()


@settings(max_examples=examples(200), deadline=None)
@given(text=texts, query=texts, room=st.integers(0, 300))
def test_a_shortened_text_fits_and_is_the_text_s_own(text: str, query: str, room: int) -> None:
    short = shorten(text, lexical.query_words(query), room, COUNTER.count)
    if short is None:
        return
    assert room >= MIN_SHORTENED_TOKENS
    assert short.tokens == COUNTER.count(short.text) <= room
    place = 0
    for part in re.split(r"\[…\][ \n]", short.text):
        found = text.replace("[…] ", "").find(part.removesuffix("[…]").strip(), place)
        assert found >= 0, "the text's own words, in the text's own order"
        place = found


def test_a_shortened_text_keeps_the_sentence_that_answers() -> None:
    text = "".join(f"Sentence {i} is about nothing much. " for i in range(60)) + "The key lies under the mat. "
    text += "".join(f"Sentence {i} is about nothing much. " for i in range(60))
    short = shorten(text, ["key", "mat"], 40, COUNTER.count)
    assert short is not None and "The key lies under the mat." in short.text
    assert short.text.startswith("[…] ") and short.text.endswith("[…]"), "with what stands beside it"


@settings(max_examples=examples(200), deadline=None)
@given(
    text=texts,
    query=texts,
    length=st.integers(1, 300),
    span=st.one_of(st.none(), st.tuples(st.floats(0, 1), st.floats(0, 1))),
)
def test_a_snippet_is_a_part_of_the_text(text: str, query: str, length: int, span: tuple[float, float] | None) -> None:
    bounds = None
    if span is not None and text:
        start = int(span[0] * (len(text) - 1))
        bounds = (start, start + 1 + int(span[1] * (len(text) - start - 1)))
    cut = snippet(text, lexical.query_words(query), bounds, length)
    plain = " ".join(text.split())
    inner = cut.removeprefix("… ") if not plain.startswith(cut) else cut
    inner = inner if inner in plain else inner.removesuffix(" …")
    assert inner in plain
    assert len(inner) <= length
    assert "\n" not in cut


zones = st.one_of(st.none(), st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))))
whens = st.builds(
    lambda when, zone: when.replace(tzinfo=zone),
    st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)),
    zones,
)


@given(when=whens, other=whens)
def test_times_come_back_and_sort_as_they_are(when: datetime, other: datetime) -> None:
    number = timestamps.to_microseconds(when)
    assert timestamps.iso_from_microseconds(number) == timestamps.iso(when.replace(tzinfo=when.tzinfo or UTC))
    back = datetime.fromisoformat(timestamps.iso(when))
    assert back == when and timestamps.to_microseconds(back) == number
    assert timestamps.parse_bound(timestamps.iso(when), end=False) == timestamps.parse_bound(when, end=True) == number
    if when.tzinfo and other.tzinfo:
        assert (number < timestamps.to_microseconds(other)) == (when < other)


@given(when=st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 30)))
def test_a_day_as_a_range_holds_just_its_moments(when: datetime) -> None:
    day = when.date()
    for given_day in (day, day.isoformat(), f" {day.isoformat()} ", day.isoformat().replace("-", "")):
        since, until = timestamps.parse_bound(given_day, end=False), timestamps.parse_bound(given_day, end=True)
        assert since is not None and until is not None
        assert since <= timestamps.to_microseconds(when) < until
    tomorrow = datetime.combine(day + timedelta(days=1), datetime.min.time())
    assert timestamps.parse_bound(date(day.year, day.month, day.day), end=True) == timestamps.to_microseconds(tomorrow)


# --- out and in again --------------------------------------------------------------------------------

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**53), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)
lines = st.fixed_dictionaries(
    {
        "session_id": st.one_of(st.sampled_from(("s", "t")), st.text(min_size=1, max_size=12)),
        "role": st.sampled_from(("user", "assistant", "system", "tool")),
        "content": texts,
    },
    optional={
        "message_id": st.text(min_size=1, max_size=12),
        "author": st.text(min_size=1, max_size=100),
        "timestamp": whens.map(timestamps.iso),
        "reply_to": st.text(min_size=1, max_size=12),
        "session_title": st.text(min_size=1, max_size=30),
        "metadata": st.dictionaries(st.text(max_size=8), values, max_size=3),
    },
)


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Appliance, Appliance]]:
    """Two open memories; each example below is a user of its own in them."""
    folder = tmp_path_factory.mktemp("homes")
    with (
        Appliance.open(folder / "one", worker=False, embedder=HashEmbedder()) as one,
        Appliance.open(folder / "two", worker=False, embedder=HashEmbedder()) as two,
    ):
        yield one, two
        assert not one.verify().problems
        assert not two.verify().problems


users = itertools.count()


@settings(
    max_examples=examples(60, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(given=st.lists(lines, min_size=1, max_size=10))
def test_what_is_exported_and_read_into_another_home_is_exported_the_same(
    homes: tuple[Appliance, Appliance], tmp_path: Path, given: list[dict[str, Any]]
) -> None:
    user = f"user {next(users)}"

    def through(memory: Appliance, lines: list[dict[str, Any]]) -> tuple[IngestReport, list[dict[str, Any]]]:
        path = tmp_path / "lines.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        report = memory.ingest(path, wait=False, format="native", user_id=user)
        assert report.complete
        return report, list(memory.export(user_id=user))

    _, first = through(homes[0], given)
    assert len({(line["session_id"], line["message_id"]) for line in first}) == len(first)
    stored = {line["content"] for line in first}
    assert all(line["content"] in stored for line in given if "message_id" not in line)
    for line in first:
        assert line["metadata"].pop("user_id") == user
    forms = Counter((line["session_id"], line.get("message_id")) for line in given)
    exported = {(line["session_id"], line["message_id"]): line for line in first}
    for line in given:
        key = line["session_id"], line.get("message_id")
        if forms[key] == 1 and key in exported:
            for name in ("role", "content", "author", "timestamp", "reply_to"):
                assert exported[key].get(name) == line.get(name), name
            assert exported[key]["metadata"].items() >= line.get("metadata", {}).items()
    _, second = through(homes[1], first)
    for line in second:
        assert line["metadata"].pop("user_id") == user
    assert sorted(map(json.dumps, second)) == sorted(map(json.dumps, first))
    for session in {line["session_id"] for line in first}:
        orders = [[x["message_id"] for x in out if x["session_id"] == session] for out in (first, second)]
        assert orders[0] == orders[1], "each session in its order"
    report, _ = through(homes[1], second)
    assert (report.total("new"), report.total("updated")) == (0, 0)


@settings(max_examples=examples(200), deadline=None)
@given(tag=st.one_of(st.text(max_size=110), st.text(alphabet="# \t\n\x18\x7f\u00a0\u3000\u200bQ\ufdfa", max_size=5)))
def test_a_tag_that_the_http_document_allows_is_a_tag(tag: str) -> None:
    try:
        TypeAdapter(Tag).validate_python(tag)
    except ValidationError:
        return
    assert tags.normal(tag)

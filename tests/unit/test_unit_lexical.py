"""Full text: no query is syntax, its work is bounded, every script is found by its words."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.retrieval.candidates import from_text
from appliance.store import lexical
from appliance.store.database import Database
from appliance.types import Filters, Scope
from appliance_models import HashEmbedder
from tests.engines import engine_of

ME = Filters(Scope("me"))


def stored(memory: Appliance, tmp_path: Path, *texts: str, role: str = "user") -> None:
    """The texts as messages x-0, x-1, ..., each in a session of its own, not embedded."""
    lines = [
        {"session_id": f"x{i}", "message_id": f"x-{i}", "role": role, "content": text} for i, text in enumerate(texts)
    ]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert memory.ingest(path, wait=False).total("new") == len(texts)


def found(memory: Appliance, query: str, limit: int = 50) -> list[int]:
    """The numbers of the texts that full text finds, best first."""
    database = Database(memory.home.database)
    try:
        return [hit.message - 1 for hit in lexical.search(database.read(), query, ME, limit)]
    finally:
        database.close()


@pytest.fixture(scope="module")
def otters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("otters")
    with Appliance.open(folder / "home", worker=False, embedder=HashEmbedder()) as memory:
        stored(memory, folder, "the otter sleeps", "a beaver builds")
        yield memory


@pytest.mark.parametrize(
    "query",
    [
        *('"', "'", '""', '"a', "a*", "*", "^a", "-a", "+", "(", ")", "a(b", "{", "}", ":", "text:otter"),
        *("neighbours:otter", "NEAR(a b)", "NEAR", "AND", "OR", "NOT", "a AND", "NOT a", "a OR OR b"),
        *("text : otter", "{text neighbours}: a", "a . b", "\\", "%", "_", "; DROP TABLE message", "\x00"),
        *("otter\x00beaver", "🦦", "\ud800", "a" * 100_000, " ".join(map(str, range(3_000)))),
    ],
    ids=lambda query: repr(query[:20]),
)
def test_a_query_is_words_and_nothing_else(otters: Appliance, query: str) -> None:
    hits = found(otters, query)
    assert set(hits) <= {0, 1}
    assert (0 in hits) == ("otter" in query)


@pytest.mark.parametrize("word", ["AND", "OR", "NOT", "NEAR"])
def test_words_that_are_operators_elsewhere_are_found(memory: Appliance, tmp_path: Path, word: str) -> None:
    stored(memory, tmp_path, f"he wrote {word} on the wall", "another thing")
    assert found(memory, word) == [0]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("黒い猫が好き", ("黒い", "い猫", "好き", "黒", "猫", "き", "黒い猫")),
        ("東京都へ行きました", ("東京", "京都", "京", "ました")),
        ("한국어 문장입니다", ("한국", "국어", "문장", "한", "니다")),
        ("สวัสดีครับ", ("สวัสดี", "ครับ")),
        ("Straße nach München", ("straße", "Straße", "munchen", "MÜNCHEN")),
        ("my résumé is here", ("resume", "résumé", unicodedata.normalize("NFD", "résumé"))),
        (unicodedata.normalize("NFD", "the naïveté of it"), ("naivete", "naïveté", "NAÏVETÉ")),
        ("ｆｕｌｌｗｉｄｔｈ letters", ("fullwidth", "ｆｕｌｌｗｉｄｔｈ")),
        ("Привет, Москва", ("привет", "МОСКВА")),
        ("snake_case and v1.2", ("snake_case", "case", "v1.2")),
        ("running dogs", ("run", "dog", "runs")),
        ("before\x00behind", ("before", "behind")),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else "",
)
def test_every_script_is_found_by_its_words(
    memory: Appliance, tmp_path: Path, text: str, queries: tuple[str, ...]
) -> None:
    stored(memory, tmp_path, "nothing of the kind", text)
    for query in queries:
        assert found(memory, query) == [1], query
        hits = memory.search(query, mode="lexical")  # a little waits, so that it is embedded first
        assert [hit.text for hit in hits] == [text], query


def test_no_query_touches_more_rows_than_it_may(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"common {'seldom' if i % 10 == 0 else 'frequent'} item{i}" for i in range(300)]
    stored(memory, tmp_path, *texts)
    asked: list[str] = []
    monkeypatch.setattr(lexical, "MAX_POSTINGS", 100)
    connection = sqlite3.connect(memory.home.database)
    connection.set_trace_callback(asked.append)
    hits = lexical.search(connection, "common frequent seldom item7", ME, 500)
    connection.close()
    (match,) = [text for text in asked if "bm25" in text]
    assert '"item7" OR "seldom"' in match and "common" not in match and "frequent" not in match
    assert hits[0].message - 1 == 7
    assert {hit.message - 1 for hit in hits} == {7, *range(0, 300, 10)}


def test_the_rarest_word_is_looked_for_however_frequent(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(memory, tmp_path, *(f"common thing {i}" for i in range(30)))
    monkeypatch.setattr(lexical, "MAX_POSTINGS", 5)
    assert len(found(memory, "common")) == 30


def test_stop_words_count_only_where_there_is_nothing_else() -> None:
    assert lexical.query_words("who is the owner of it") == ["owner"]
    assert lexical.query_words("who am I") == ["who", "am", "i"]
    assert lexical.query_words("Garden garden GARDEN rose") == ["garden", "rose"]
    assert lexical.query_words(" \t\n…!") == []


def test_words_of_neighbours_are_no_own_words_before_the_index_is_made(memory: Appliance) -> None:
    """Otherwise "image omitted" beside an answer would count as one that has all words of the question."""
    session = memory.sessions.create()
    answer = session.add("user", "I spotted a rare hyacinth macaw in the rainforest")
    beside = session.add("user", "image omitted")
    found = from_text(engine_of(memory)._database.read(), "rare macaw", Filters(Scope("me", "")), None)
    scores = {f"m{key}": found.legs(row) for row, key in enumerate(found.messages.tolist())}
    assert scores[answer.id]["own"]["score"] == scores[answer.id]["window"]["score"]
    assert (scores[beside.id]["own"]["score"], bool(scores[beside.id]["window"]["score"])) == (0, True)


def test_a_message_weighs_more_than_its_neighbours(memory: Appliance, tmp_path: Path) -> None:
    lines = [
        {"session_id": "s", "message_id": f"x-{i}", "role": "user", "content": text}
        for i, text in enumerate(("what was it", "the lighthouse", "yes indeed", "more", "and more", "the end"))
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    memory.ingest(path, wait=False)
    hits = found(memory, "lighthouse")
    assert hits[0] == 1 and set(hits) == {0, 1, 2, 3}, "two on each side have it as their neighbour"

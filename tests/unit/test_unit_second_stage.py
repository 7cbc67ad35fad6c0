"""The closer look at the best candidates: what it finds among people, and that it leaves assistants' chats alone."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, Hit
from appliance.retrieval import cues, ranking
from appliance.store import messages
from appliance.store.scripts import is_question
from tests.engines import engine_of

SAID = [
    ("Ana", "I have to be at the airport on Friday"),
    ("Ben", "Who will feed your cat in April?"),
    ("Cleo", "My neighbour does, she has the key"),
    ("Ana", "Good, then all is well"),
]
ONLY_AMONG_PEOPLE = ("max_sim", "idf_mass", "dated", "replies", "named", "session")


def chat(path: Path, *, answered: bool) -> Path:
    records = [
        {"session_id": "s", "message_id": str(n), "author": author, "content": text, "role": "user"}
        for n, (author, text) in enumerate(SAID)
    ]
    if answered:
        answer = {"session_id": "s", "role": "assistant", "content": "I see."}
        records = [record for n, one in enumerate(records) for record in (one, answer | {"message_id": f"a{n}"})]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def found(memory: Appliance, query: str, **more: Any) -> dict[str, Hit]:
    return {hit.external_id: hit for hit in memory.search(query, **more)}


def reasons(hit: Hit) -> dict[str, float]:
    return dict(hit.why["score"])


def test_who_answers_a_question_is_found_by_its_words(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "a.jsonl", answered=False))
    hits = found(memory, "who will feed the cat")
    assert reasons(hits["2"])["replies"] > 0
    assert reasons(hits["1"])["replies"] == reasons(hits["3"])["replies"] == 0, "nobody asked before these"


def test_who_is_named_and_when(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "a.jsonl", answered=False))
    hits = found(memory, "when did Ana have to be at the airport")
    assert reasons(hits["0"])["named"] > 0 == reasons(hits["2"])["named"]
    assert reasons(hits["0"])["dated"] > 0 == reasons(hits["2"])["dated"]
    assert reasons(found(memory, "where is Ana")["0"])["dated"] == 0, "no time was asked for"


def test_the_best_is_the_measure_for_the_others(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "a.jsonl", answered=False))
    hits = found(memory, "who will feed the cat").values()
    for name in ("max_sim", "idf_mass", "session"):
        assert max(reasons(hit)[name] for hit in hits) == 0
    assert min(reasons(hit)["max_sim"] for hit in hits) < 0


def test_what_is_said_to_an_assistant_has_none_of_it(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "a.jsonl", answered=True))
    for query in ("who will feed the cat", "when did Ana have to be at the airport"):
        for hit in found(memory, query).values():
            assert not any(reasons(hit)[name] for name in ONLY_AMONG_PEOPLE)


def test_what_is_not_looked_at_stays_behind_and_says_so(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest(chat(tmp_path / "a.jsonl", answered=False))
    monkeypatch.setattr(ranking, "SECOND_STAGE_DEPTH", 1)
    hits = list(found(memory, "who will feed the cat").values())
    assert len(hits) == len(SAID)
    assert "rerank_floor" in reasons(hits[1]) and reasons(hits[0])["rerank_floor"] == 0
    points = [hit.points for hit in hits]
    assert points == sorted(points, reverse=True)
    for hit in hits:
        assert 0 <= hit.score <= 1


def test_an_empty_message_beside_harms_nothing(memory: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = ({"message_id": f"{n}", "content": text} for n, text in enumerate(["", "the cat", "", "?", "\x00"]))
    path.write_text("".join(json.dumps(one | {"session_id": "s", "role": "user"}) + "\n" for one in lines))
    memory.ingest(path)
    for query in ("cat", "?", "the", "\x00", "…"):
        memory.search(query)
    assert "1" in found(memory, "cat")


def test_a_text_is_compared_by_its_beginning_alone(memory: Appliance, tmp_path: Path) -> None:
    said = messages.excerpts
    memory.ingest(chat(tmp_path / "a.jsonl", answered=False))
    key = int(memory.message("0").id[1:])
    with engine_of(memory)._index_service.search_resources(dense=False) as shelf:
        assert shelf is not None
        assert said(shelf.db, [key], 6)[key].excerpt == "I have"


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("When did we go?", True),
        ("What year was it", True),
        ("how long did it take", True),
        ("What did she do whenever?", False),
        ("Wann war das?", False),
        ("", False),
    ],
)
def test_asking_when(question: str, asks: bool) -> None:
    assert cues.asks_when(question) is asks


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 0), ("a lake", 0), ("yesterday", 1 / 3), ("last week", 2 / 3), ("on 3 May 2024, I think, or June", 1)],
)
def test_speaking_of_times(text: str, share: float) -> None:
    assert cues.temporal_density(text) == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "asks"),
    [("Really?", True), ("どこ？", True), ("Is it? No.", False), ("Look?\n[image: a lake]", True), ("", False)],
)
def test_questions(text: str, asks: bool) -> None:
    assert is_question(text) is asks


@pytest.mark.parametrize("text", [" " * 20_000 + "b", "[image:" * 3_000, "[image: a]" * 3_000 + "]"])
def test_whether_it_asks_is_seen_at_the_end_at_once(text: str) -> None:
    began = time.process_time()
    assert not is_question(text)
    assert time.process_time() - began < 0.05


@pytest.mark.parametrize(
    "text", ["Last WEEK, in March", "last week, in march \u0130zmir", "\u0130n March? Yesterday!", "none"]
)
def test_capital_letters_and_other_scripts_name_times_too(text: str) -> None:
    found = cues._TIME_WORDS.findall(text)
    assert cues.temporal_density(text) == pytest.approx(min(len(found), 3) / 3)
    assert bool(found) == (text != "none")


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("We TALKED about trains.", 2),
        ("talked, then about something else", 0),
        ("Wir sprachen \u00fcber Z\u00fcge: talked about", 1),
        ("", 0),
    ],
)
def test_pairs_of_words_are_counted_whatever_the_case(text: str, count: int) -> None:
    pairs = cues.word_pairs("we talked about Z\u00fcge")
    assert cues.count_pairs(pairs, text) == len(pairs & cues.word_pairs(text)) == count

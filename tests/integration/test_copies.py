"""What was said more than once: linked, counted, never dropped, and only where it is the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance
from appliance.ingest import indexer as embedding
from appliance.ingest import near_duplicates
from appliance.store import variants
from appliance_models import HashEmbedder, load
from tests.engines import engine_of

STORY = (
    "in the spring we took the slow boat along the coast and slept in a small house above the harbour where"
    " the baker sang every morning and nobody ever asked us when we meant to leave or what we did at home"
)


def line(session: str, number: int, text: str, at: str | None = None, **more: Any) -> dict[str, Any]:
    found = {"session_id": session, "message_id": f"{session}-{number}", "role": "user", "content": text}
    return found | ({"timestamp": at} if at else {}) | more


@pytest.fixture
def ingest(memory: Appliance, tmp_path: Path) -> Callable[..., Any]:
    def read(lines: Sequence[dict[str, Any]], **options: Any) -> Any:
        path = tmp_path / "lines.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
        return memory.ingest(path, **options)

    return read


def said(memory: Appliance, reference: str) -> list[str]:
    return [message.external_id for message in memory.variants(reference)]


def test_a_question_asked_in_five_sessions_over_years_was_asked_five_times(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    times = [f"{year}-05-01T10:00:00+00:00" for year in (2024, 2020, 2022, 2021, 2023)]
    forms = ("How do I renew my passport?", "how do I renew  my passport? ", "HOW DO I RENEW MY PASSPORT?")
    ingest([line(f"s{n}", 1, forms[n % 3], at) for n, at in enumerate(times)])
    ingest([line("t", 1, "How do I renew my library card?", times[0]), line("t", 2, forms[0], role="assistant")])
    for n in range(5):
        assert [m.timestamp for m in memory.variants(f"s{n}-1")] == sorted(times)
    assert said(memory, "t-1") == ["t-1"] and said(memory, "t-2") == ["t-2"], "another question, another role"
    assert memory.status()["counts"]["variants"] == 4
    assert memory.status()["counts"]["messages"] == 7
    assert not memory.verify().problems


def test_one_word_changed_is_a_copy_another_statement_is_none(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    ingest(
        [
            line("a", 1, STORY),
            line("b", 1, STORY.replace("baker", "butcher")),
            line("c", 1, STORY.replace("the slow boat", "2 slow boats")),
            line("d", 1, STORY.replace("the slow boat", "3 slow boats")),
            line("e", 1, "we took the slow boat along the coast and then the fast train home over the hills"),
        ]
    )
    assert said(memory, "a-1") == said(memory, "b-1") == ["a-1", "b-1"]
    assert [said(memory, f"{s}-1") for s in "cde"] == [["c-1"], ["d-1"], ["e-1"]], "numbers are statements"


@pytest.mark.parametrize(
    ("one", "other"),
    [("slow", "northern"), ("southern", "northern"), ("blue", "yellow"), ("monday", "tuesday"), ("two", "seven")],
)
def test_a_decisive_word_makes_another_statement(memory, ingest, one: str, other: str) -> None:  # type: ignore[no-untyped-def]
    texts = [STORY.replace("slow", word) for word in (one, other, one, other)]
    ingest([line(f"s{number}", 1, text) for number, text in enumerate(texts)])
    assert said(memory, "s0-1") == ["s0-1", "s2-1"] and said(memory, "s1-1") == ["s1-1", "s3-1"]
    ingest([line("t", 1, texts[0].replace("baker", "butcher")), line("t", 2, texts[1].replace("baker", "butcher"))])
    assert said(memory, "t-1") == ["s0-1", "s2-1", "t-1"] and said(memory, "t-2") == ["s1-1", "s3-1", "t-2"]
    assert not memory.verify().problems


@pytest.mark.parametrize(
    ("one", "other", "opposed"),
    [
        ("book a table for tonight", "book a table for this evening", False),
        ("the Northern ferry", "the southern ferry", True),
        ("northern and southern ferries", "southern and northern ferries", False),
        ("we meet on Monday", "we meet on Tuesday", True),
        ("in two weeks", "in seven weeks", True),
        ("der erste Zug", "der letzte Zug", True),
        ("antes de comer", "después de comer", True),
        ("at 9", "at 10", True),
        ("7 of 7", "7", True),
        ("I don't like it", "I dislike it", False),
    ],
)
def test_a_paraphrase_may_have_other_words_but_no_opposite(one: str, other: str, opposed: bool) -> None:
    decisive = [near_duplicates.decisive_words(text) for text in (one, other)]
    assert near_duplicates.are_opposed(*decisive) is near_duplicates.are_opposed(*reversed(decisive)) is opposed


def test_scopes_never_meet(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    for user, namespace in (("ana", ""), ("ben", ""), ("ana", "work")):
        ingest([line("s", 1, STORY), line("s", 2, "ok"), line("t", 1, "ok")], user_id=user, namespace=namespace)
    db = engine_of(memory)._database.read()
    groups = variants.group_heads(db, range(1, 10))
    assert sorted(groups) == [2, 3, 5, 6, 8, 9]
    assert set(groups.values()) == {2, 5, 8}
    assert not memory.verify().problems


def test_an_edit_leaves_its_memory_and_finds_another(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    ingest([line("a", 1, "same here"), line("b", 1, "same here"), line("c", 1, "quite so"), line("d", 1, "x")])
    assert said(memory, "a-1") == ["a-1", "b-1"]
    ingest([line("a", 1, "quite so")])
    assert said(memory, "b-1") == ["b-1"]
    assert said(memory, "c-1") == ["a-1", "c-1"]
    assert not memory.verify().problems


def test_an_earlier_message_that_comes_later_is_the_memory(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    ingest([line("a", 1, "same here", "2024-01-01T10:00:00Z"), line("b", 1, "same here")])
    ingest([line("c", 1, "same here", "2019-01-01T10:00:00Z")])
    db = engine_of(memory)._database.read()
    assert set(variants.group_heads(db, [1, 2, 3]).values()) == {3}
    assert [(key, how) for key, _, how in variants.group_members(db, 1)] == [(3, "exact"), (1, "exact"), (2, "exact")]


class Angles:
    """An embedder whose texts point where their first number says, in degrees."""

    name, identity, dimension, max_tokens = "angles", "angles", 8, 64

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        found = np.zeros(self.dimension, np.float32)
        turn = np.radians(float("".join(c for c in text if c in "abcdefghij").translate(DIGITS) or 0))
        found[:2] = np.cos(turn), np.sin(turn)
        return found

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]


DIGITS = str.maketrans("abcdefghij", "0123456789")


@pytest.mark.parametrize(
    ("one", "other", "more", "linked"),
    [
        ("a", "cc", {}, True),  # cos 22° = 0.927
        ("a", "ce", {}, False),  # cos 24° = 0.914
        ("a?", "ci?", {}, True),  # cos 28° = 0.883
        ("a?", "ci", {}, False),
        ("a?", "ci؟", {}, True),
        ("a?", "cj?", {}, False),  # cos 29° = 0.875
        ("a 7", "cc 7", {}, True),
        ("a 7", "cc 8", {}, False),
        ("a", "cc", {"role": "assistant"}, False),
        ("a", "cc", {"author": "Z"}, False),
        ("a", "cc", {"timestamp": "2024-01-02T10:00:00Z"}, True),
        ("a", "cc", {"timestamp": "2024-01-02T10:00:01Z"}, False),
        ("a", "cc", {"session_id": "t"}, False),
    ],
)
def test_the_same_meaning(home: Path, tmp_path: Path, one: str, other: str, more: dict[str, Any], linked: bool) -> None:
    lines = [line("s", 1, one, "2024-01-01T10:00:00Z"), line("s", 2, other, "2024-01-01T11:00:00Z") | more]
    for number, order in enumerate((lines, lines[::-1])):
        with Appliance.open(home / str(number), worker=False, embedder=Angles()) as memory:
            for each in order:
                path = tmp_path / "a.jsonl"
                path.write_text(json.dumps(each), encoding="utf-8")
                memory.ingest(path)
            assert said(memory, "s-1") == (["s-1", "s-2"] if linked else ["s-1"])


def test_without_a_time_only_words_count(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False, embedder=Angles()) as memory:
        path = tmp_path / "a.jsonl"
        path.write_text("\n".join(json.dumps(line("s", n, t)) for n, t in enumerate(("a", "cc", "A"))))
        memory.ingest(path)
        assert said(memory, "s-0") == ["s-0", "s-2"]


def test_a_paraphrase_in_one_talk_is_a_variant_with_the_shipped_model(home: Path, tmp_path: Path) -> None:
    texts = (
        "I would like to book a table for dinner tonight",
        "I'd like to book a table for dinner this evening",
        "I would like to cancel the table that I booked for lunch",
    )
    with Appliance.open(home, worker=False, embedder=load()) as memory:
        path = tmp_path / "a.jsonl"
        lines = [line("s", n, text, f"2024-01-01T10:0{n}:00Z") for n, text in enumerate(texts)]
        path.write_text("\n".join(json.dumps(each) for each in lines))
        memory.ingest(path)
        assert said(memory, "s-1") == ["s-0", "s-1"]
        assert [how for *_, how in variants.group_members(engine_of(memory)._database.read(), 1)] == [
            "meaning",
            "meaning",
        ]


def test_a_round_that_breaks_off_is_linked_as_a_whole(memory, ingest, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    class Break(BaseException):
        pass

    def breaks(*given: Any) -> None:
        link(*given)
        raise Break

    link = near_duplicates.link
    lines = [line(f"s{n}", n, ("ok", "thanks", STORY)[n % 3]) for n in range(30)]
    monkeypatch.setattr(embedding.near_duplicates, "link", breaks)
    with pytest.raises(Break):
        ingest(lines)
    assert memory.status()["counts"]["variants"] == 0
    monkeypatch.undo()
    memory.embed_pending()
    assert memory.status()["counts"]["variants"] == 27
    before = variants.group_heads(engine_of(memory)._database.read(), range(1, 31))
    for again in ({}, {"vectors": True}):
        memory.reindex(**again)
        assert variants.group_heads(engine_of(memory)._database.read(), range(1, 31)) == before
        assert not memory.verify().problems


def test_a_memory_of_an_earlier_version_is_linked_by_reindex(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    ingest([line("a", 1, "ok"), line("b", 1, "ok")])
    with engine_of(memory)._database.write() as tx:
        variants.delete_all(tx)
    assert said(memory, "a-1") == ["a-1"]
    memory.reindex()
    assert said(memory, "a-1") == ["a-1", "b-1"]


def test_verify_names_what_is_linked_wrongly(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    ingest([line("a", 1, "ok"), line("b", 1, "ok"), line("c", 1, "no"), line("d", 1, "no")])
    ingest([line("a", 1, "ok")], user_id="ben")
    memory.close()
    damage = (
        ("UPDATE fingerprint SET digest = digest + 1 WHERE message_id = 1", "m1", "another text"),
        ("UPDATE variant SET at = 5 WHERE message_id = 2", "m2", "its time among its variants"),
        ("DELETE FROM variant WHERE message_id = 4", "m3", "variant of nothing"),
        ("INSERT INTO variant VALUES (5, 1, 0, 'exact')", "m1", "2 scopes"),
    )
    with sqlite3.connect(memory.home.database) as db:
        db.execute("DROP TRIGGER variant_alone")
        for statement, *_ in damage:
            db.execute(statement)
    db.close()
    with Appliance.open(memory.home.root, worker=False, embedder=HashEmbedder()) as opened:
        told = [(problem.where, problem.message) for problem in opened.verify().problems]
        for _, where, words in damage:
            assert any(where == at and words in message for at, message in told), (where, told)


@pytest.mark.slow
def test_a_flood_of_one_text_and_a_long_session_stay_cheap(memory, ingest) -> None:  # type: ignore[no-untyped-def]
    """What a round reads must not grow with what is there: each lookup is bounded."""
    ingest([line("s", n, "ok", f"2024-01-01T10:00:{n % 60:02}Z") for n in range(3_000)])
    db = engine_of(memory)._database.read()
    assert len(variants.group_members(db, 7)) == 3_000
    with_bands = db.execute("SELECT count(*) FROM fingerprint WHERE band1 IS NOT NULL").fetchone()
    assert with_bands == (0,)
    assert memory.status()["counts"]["messages"] == 3_000
    plans = db.execute(
        "EXPLAIN QUERY PLAN SELECT message_id FROM variant WHERE memory = 1 ORDER BY at, message_id LIMIT 1"
    ).fetchall()
    assert "variant_memory" in str(plans) and "TEMP" not in str(plans)

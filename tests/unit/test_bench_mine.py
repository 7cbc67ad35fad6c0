"""Questions made from one's own history: fair, the same each time, of one user, and kept without any text."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance import Appliance
from appliance.bench import history as history_module
from appliance.bench import known_items, own_history
from appliance.bench.known_items import KINDS, KnownItem, KnownItemQuestion
from appliance.bench.tokenization import normalize_text, normalized_words, tokenize
from appliance.errors import StoreCorrupt, UsageError
from appliance.types import Hit, Hits, Source
from appliance_models import HashEmbedder

WANTED = {"asked": 4, "phrase": 4, "keywords": 4}
SYLLABLES = ["ka", "lo", "mi", "tur", "ben", "sa", "vor", "quil", "den", "pra", "nex", "ho"]


def history(sessions: int = 6, turns: int = 4) -> list[dict[str, Any]]:
    """Invented chats: a person asks about made-up things, an assistant answers."""
    lines = []
    for session in range(sessions):
        for turn in range(turns):
            chance = random.Random(f"{session} {turn}")
            names = ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(16)]
            asked = f"How does the {' '.join(names[:4])} work with the {names[4]}?"
            answer = f"The {' '.join(names[3:10])} goes into the {names[10]}, and then {' '.join(names[11:])}."
            for role, text in (("user", asked), ("assistant", answer)):
                lines.append(
                    {
                        "session_id": f"chat-{session}",
                        "message_id": f"{session}-{turn}-{role}",
                        "role": role,
                        "timestamp": f"2026-0{session + 1}-{turn + 1:02}T10:00:00Z",
                        "content": text,
                    }
                )
    return lines


def ingest(memory: Appliance, path: Path, lines: Sequence[dict[str, Any]], user: str | None = None) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert memory.ingest(path, user_id=user).complete


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    ingest(memory, tmp_path / "chats.jsonl", history())
    return memory


def files(memory: Appliance) -> list[Path]:
    return sorted(path for path in memory.home.bench.rglob("*") if path.is_file())


def test_the_second_run_asks_the_same_and_compares(filled: Appliance) -> None:
    first, second = own_history.run(filled, questions=12), own_history.run(filled, questions=12)
    assert first.before is None and first.run["questions"] == 12
    assert second.run["ranks"].keys() == {"evidence", "bm25", "dense"}
    assert second.run["ranks"] == first.run["ranks"]
    assert second.before and second.before["same_questions"] == 12
    assert second.before["time"] == first.run["time"] and second.gone == 0
    for runs in second.before["systems"].values():
        assert runs["before"] == runs["now"]
        assert runs["now"].keys() == {"overall", *KINDS}
    runs = [json.loads(line) for line in (files(filled)[1]).read_text().splitlines()]
    assert [run["time"] for run in runs] == [first.run["time"], second.run["time"]]
    assert all({"version", "model", "figures"} <= run.keys() for run in runs)


def test_generations_are_measured_side_by_side(filled: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance_models.load", lambda name, *rest, **options: HashEmbedder(dimension=48))
    filled.reindex(model="other")
    measured = own_history.run(filled, questions=6, systems=["dense", "bm25"], generations=[1, 2])
    assert [*measured.figures] == ["dense, generation 1", "dense, generation 2", "bm25"], "words are the same in both"
    assert measured.run["generations"] == [{"id": 1, "model": "hash"}, {"id": 2, "model": "other"}]
    assert measured.run["model"] == "hash (generation 1) and other (generation 2)"
    ranks = measured.run["ranks"]
    assert ranks["dense, generation 1"] != ranks["dense, generation 2"]


def test_more_questions_keep_the_old_ones(filled: Appliance) -> None:
    few, more, again = (own_history.run(filled, questions=n, systems=["bm25"]) for n in (6, 15, 6))
    assert few.run["ranks"]["bm25"].keys() < more.run["ranks"]["bm25"].keys()
    assert again.run["ranks"] == few.run["ranks"]
    assert more.before and more.before["same_questions"] == 6


def test_what_is_kept_is_private_and_holds_no_word(filled: Appliance) -> None:
    own_history.run(filled, questions=12)
    found = files(filled)
    assert [path.name for path in found] == ["questions.json", "runs.jsonl"]
    assert {path.stat().st_mode & 0o777 for path in found} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (filled.home.bench, found[0].parent)} == {0o700}
    text = "".join(path.read_text() for path in found)
    said = {word.normalized for line in history() for word in tokenize(line["content"]) if len(word.normalized) > 4}
    assert not any(word in text for word in said - {"works"})


def test_each_kind_is_what_it_says(filled: Appliance) -> None:
    made = known_items.select_questions(filled, None, [], WANTED)
    texts = [line["content"] for line in history()]
    assert [posed.item.kind for posed in made] == [kind for kind in KINDS for _ in range(4)]
    for posed in made:
        if posed.item.kind == "asked":
            place = texts.index(posed.answer)
            assert texts[place - 1] == posed.query == posed.question_text
        elif posed.item.kind == "phrase":
            assert [posed.query in text for text in texts].count(True) == 1
            assert posed.query in posed.answer and len(posed.query.split()) == 4
        else:
            places = [posed.answer.index(word) for word in posed.query.split()]
            assert len(places) == 4 and places != sorted(places)


def test_questions_come_from_all_sessions_and_are_the_same_in_another_home(filled: Appliance, tmp_path: Path) -> None:
    made = known_items.select_questions(filled, None, [], dict.fromkeys(KINDS, 6))
    for kind in KINDS:
        found = {filled.message(posed.item.message).session_id for posed in made if posed.item.kind == kind}
        assert len(found) == 6, kind
    with Appliance.open(tmp_path / "other", worker=False, embedder=HashEmbedder()) as other:
        ingest(other, tmp_path / "before.jsonl", history(1)[:3], "somebody")  # other ids
        ingest(other, tmp_path / "again.jsonl", history())
        again = known_items.select_questions(other, None, [], dict.fromkeys(KINDS, 6))
    assert [posed.query for posed in again] == [posed.query for posed in made]


def test_it_keeps_to_one_user(filled: Appliance, tmp_path: Path) -> None:
    theirs = [
        line | {"content": line["content"].replace("a", "y"), "session_id": "y" + line["session_id"]}
        for line in history(2)
    ]
    ingest(filled, tmp_path / "ana.jsonl", theirs, "ana")
    own_history.run(filled, questions=6, systems=["bm25"])
    own_history.run(filled, user="ana", questions=6, systems=["bm25"])
    assert len(list(filled.home.bench.iterdir())) == 2
    for user, folder in (("me", filled.home.bench_of("me")), ("ana", filled.home.bench_of("ana"))):
        own = {info.id for info in filled.sessions.list(user_id=user)}
        for item in history_module.load_items(folder):
            assert filled.message(item.message).session_id in own
    again = own_history.run(filled, user="ana", questions=6, systems=["bm25"])
    assert again.before and again.before["same_questions"] == 6


def test_a_question_whose_message_was_edited_is_replaced(filled: Appliance, tmp_path: Path) -> None:
    first = own_history.run(filled, questions=6, systems=["bm25"])
    (item, *_) = [item for item in history_module.load_items(filled.home.bench_of("me")) if item.kind == "phrase"]
    edited = filled.message(item.message).external_id
    lines = [
        line | ({"content": line["content"] + " Edited."} if line["message_id"] == edited else {}) for line in history()
    ]
    ingest(filled, tmp_path / "later.jsonl", lines)
    second = own_history.run(filled, questions=6, systems=["bm25"])
    assert second.gone >= 1 and second.run["questions"] == 6
    assert item.name in first.run["ranks"]["bm25"] and item.name not in second.run["ranks"]["bm25"]
    assert second.before and second.before["same_questions"] == 6 - second.gone
    assert item not in history_module.load_items(filled.home.bench_of("me"))


def test_a_phrase_that_was_said_again_is_replaced(filled: Appliance) -> None:
    made = known_items.select_questions(filled, None, [], {"phrase": 2})
    filled.sessions.create(title="later").add("user", f"Again: {made[0].query}")
    again = known_items.select_questions(filled, None, made, {"phrase": 2})
    assert made[0] not in again and again[0] == made[1]


def test_a_question_that_was_asked_twice_is_not_made(memory: Appliance) -> None:
    for title in ("one", "two"):
        session = memory.sessions.create(title=title)
        session.add("user", "Which paint goes on the garden fence?")
        session.add("assistant", f"The weatherproof green paint, {title} coat.")
    assert known_items.select_questions(memory, None, [], {"asked": 2}) == []


def test_talk_with_oneself_and_short_words_make_no_question(memory: Appliance) -> None:
    session = memory.sessions.create(title="notes")
    session.add("user", "Which paint goes on the garden fence?")
    session.add("user", "The weatherproof green paint from the shed.")
    session.add("user", "And then?")
    session.add("assistant", "Yes, of course.")
    with pytest.raises(UsageError, match="No question can be made"):
        own_history.run(memory)


def hit(number: int, text: str) -> Hit:
    return Hit(
        number, 0.0, f"m{number}", "", "s1", "", None, "user", None, None, text, "", Source("native", None),
        "hot", {},
    )  # fmt: skip


def placed(*texts: str, asked: str | None = None) -> int | None:
    posed = KnownItemQuestion(KnownItem("asked", "m99", "m98", (), 0), "q", "The green paint.", asked)
    hits = [hit(number, text) for number, text in enumerate(texts, 1)]
    return own_history.answer_rank(Hits(hits, query="q", mode="hybrid", notes=[], took_ms=0), posed)


def test_what_repeats_the_question_is_neither_hit_nor_error() -> None:
    answer, question = "The green paint.", "Which paint?"
    assert placed("other", answer) == 2
    assert placed(question, "which  PAINT?", "other", answer, asked=question) == 2
    assert placed(question, answer) == 2
    assert placed("the GREEN  paint.") == 1  # a copy answers as well
    assert placed("other") is None
    assert placed(*map(str, range(20)), answer) is None
    assert placed(*[question] * 5, *map(str, range(19)), answer, asked=question) == 20


def test_what_is_folded_under_a_hit_is_found_with_it() -> None:
    posed = KnownItemQuestion(KnownItem("asked", "m99", "m98", (), 0), "q", "The green paint.", "Which paint?")
    asks = replace(hit(1, "Which of the paints?"), why={"variants": ["m98"]})
    says = replace(hit(2, "The paint is the green one."), why={"variants": ["m7", "m99"]})
    hits = Hits([asks, hit(3, "other"), says], query="q", mode="hybrid", notes=[], took_ms=0)
    assert own_history.answer_rank(hits, posed) == 2


def test_a_run_that_was_cut_off_is_passed_over(filled: Appliance) -> None:
    first = own_history.run(filled, questions=3, systems=["bm25"])
    runs = filled.home.bench_of("me") / "runs.jsonl"
    with runs.open("ab") as file:
        file.write(b'{"time": "2026')
    second = own_history.run(filled, questions=3, systems=["bm25"])
    assert second.before and second.before["time"] == first.run["time"]
    third = own_history.run(filled, questions=3, systems=["bm25"])
    assert third.before and third.before["time"] == second.run["time"]


@pytest.mark.parametrize("data", [b"[{", b"\xff", b'[{"kind": 3}]', b"{}"])
def test_damaged_questions_are_named(filled: Appliance, data: bytes) -> None:
    own_history.run(filled, questions=3, systems=["bm25"])
    path = filled.home.bench_of("me") / "questions.json"
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt) as refused:
        own_history.run(filled, questions=3)
    assert refused.value.where == str(path) and refused.value.hint == "Remove the file; new questions are made."


def test_figures_are_of_the_place_alone() -> None:
    figures = own_history.measures_by_kind({"asked m1 m2 0-4": 1, "phrase m3 m3 0-9": 4, "phrase m4 m4 0-9": None})
    assert figures["overall"]["recall@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert figures["phrase"] == {
        "questions": 2, "recall@1": 0, "recall@5": 0.5, "recall@10": 0.5, "recall@20": 0.5,
        "ndcg@10": pytest.approx(0.5 * 0.4307, abs=1e-4), "mrr": 0.125,
    }  # fmt: skip


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_words_stand_where_they_say(text: str) -> None:
    found = tokenize(text)
    assert all(text[word.start : word.end].casefold() == word.normalized for word in found)
    assert all(a.end <= b.start for a, b in pairwise(found))
    assert [word.normalized for word in found] == normalized_words(text)
    assert normalize_text(text) == normalize_text(normalize_text(text))


def test_scripts_without_spaces_have_a_word_a_letter() -> None:
    assert [word.normalized for word in tokenize("黒い猫 and dogs")] == ["黒", "い", "猫", "and", "dogs"]

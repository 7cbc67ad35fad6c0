"""What a question asks for prefers the messages that have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance, Hit
from appliance.retrieval import cues

FRIENDS = [
    ("Ana", "I got the job at the harbour in Oslo!"),
    ("Ben", "That is wonderful, you will do great there"),
    ("Ana", "We have seven hens behind the house in Oslo now"),
    ("Ben", "Do the hens in Oslo lay every day?"),
    ("Ana", "The hens lay nothing in winter"),
]
ASSISTED = [
    ("user", "I need a stove for the cabin"),
    ("assistant", "For the cabin a small cast iron stove is best"),
    ("user", "The stove is for a cabin of nine square metres"),
]


@pytest.fixture
def chats(memory: Appliance, tmp_path: Path) -> Appliance:
    friends = [
        {"session_id": "friends", "message_id": f"f{n}", "role": "user", "author": author, "content": text}
        for n, (author, text) in enumerate(FRIENDS)
    ]
    assisted = [
        {"session_id": "cabin", "message_id": f"a{n}", "role": role, "content": text}
        for n, (role, text) in enumerate(ASSISTED)
    ]
    path = tmp_path / "chats.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in [*friends, *assisted]), encoding="utf-8")
    memory.ingest(path)
    return memory


def parts(chats: Appliance, query: str, feature: str) -> dict[str, float]:
    """What a feature adds to the points of each hit, by external id."""
    hits: list[Hit] = list(chats.search(query, limit=50, min_score=0))
    return {hit.external_id: hit.why["score"][feature] for hit in hits}


@pytest.mark.parametrize("query", ["how many hens are there in Oslo?", "wie viele hens Oslo", "cuántas hens en Oslo"])
def test_a_number_is_preferred_where_one_is_asked_for(chats: Appliance, query: str) -> None:
    asked = parts(chats, query, "amount")
    assert asked["f2"] > 0 and {asked[id] for id in asked if id != "f2"} == {0.0}
    assert set(parts(chats, "the hens in Oslo", "amount").values()) == {0.0}


def test_who_is_named_first_is_preferred(chats: Appliance) -> None:
    of_ana, of_ben = (
        parts(chats, f"did {names} about Oslo?", "first_named") for names in ("Ana ask Ben", "Ben ask Ana")
    )
    assert all((of_ana[f"f{n}"] > 0) == (author == "Ana") for n, (author, _) in enumerate(FRIENDS))
    assert all((of_ben[f"f{n}"] > 0) == (author == "Ben") for n, (author, _) in enumerate(FRIENDS))


def test_a_question_is_no_answer(chats: Appliance) -> None:
    asked = parts(chats, "do the hens in Oslo lay", "asks_back")
    assert asked["f3"] < 0 and {asked[id] for id in asked if id != "f3"} == {0.0}


def test_a_conversation_with_other_matches_is_preferred(chats: Appliance) -> None:
    asked = parts(chats, "hens in Oslo", "session_mass")
    assert asked["f4"] > 0 and asked["f0"] > 0
    assert all(asked[id] == 0 for id in asked if id.startswith("a"))


def test_what_the_assistant_said_is_preferred_where_it_is_asked_for(chats: Appliance) -> None:
    asked = parts(chats, "which stove did you recommend for the cabin?", "recalled")
    assert asked["a1"] > 0 and {asked[id] for id in asked if id != "a1"} == {0.0}
    assert set(parts(chats, "the stove for the cabin", "recalled").values()) == {0.0}


@pytest.mark.parametrize(
    ("cue", "yes", "no"),
    [
        (cues.asks_how_much, "how many are there|wie viele sind es|cuántos hay", "are there many"),
        (cues.has_amount, "we have 7 of them|wir haben sieben|tenemos siete", "we have some"),
        (cues.asks_what_assistant_said, "what did you suggest|was hast du empfohlen|qué me recomendaste", "what is it"),
        (cues.asks_at_once, "Is it?\nIt is.|¿Es?|本当？", "It is. Is it so or not"),
    ],
)
def test_cues_are_known_in_three_languages(cue: object, yes: str, no: str) -> None:
    assert callable(cue)
    assert all(cue(text) for text in yes.split("|")), yes
    assert not cue(no)

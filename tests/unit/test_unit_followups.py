"""Which questions live on what was said just before, and what is made of them."""

from __future__ import annotations

import pytest

from appliance.retrieval import followups
from appliance.retrieval.followups import augment, blend, is_follow_up
from appliance.types import Hit, Hits, Source


@pytest.mark.parametrize(
    "question",
    [
        "and when was that?",
        "what about the blue one?",
        "how much did it cost?",
        "why?",
        "which one did we take, and why?",
        "Where does she live?",
        "And in Berlin?",
        "was kostet das?",
        "und wann war das?",
        "Was hat er gesagt?",
        "wer macht den noch mal?",
        "¿y cuándo fue eso?",
        "¿cuánto cuesta?",
        "¿quién lo organiza?",
    ],
)
def test_a_question_that_leans_on_what_came_before(question: str) -> None:
    assert is_follow_up(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?!",
        "deadline",
        "O'Neill's phone number",
        "E-Mail von Ben",
        "wifi password",
        "KLP-512",
        "when is my deadline?",
        "What is Caroline's identity?",
        "Did Ana say when she comes back?",
        "How long did it take to build the shed?",
        'what was "that one"?',
        "Wie heißt meine Schwester?",
        "Warum springt der Rasenmäher nicht an?",
        "¿Por qué nos quedamos con el piso de Benimaclet?",
        "¿Cómo se llama mi hermana?",
        "explain to me in detail how the importer reads the file and why it has to parse every date in it twice",
    ],
)
def test_a_question_that_stands_by_itself(question: str) -> None:
    assert not is_follow_up(question)


def test_the_latest_turn_s_words_stand_first_and_a_long_one_does_not_drown_the_question() -> None:
    asked = augment("when was that?", ["the fair in Ghent", "we went to the concert " + "loud " * 50 + "drum " * 50])
    assert asked.startswith("when was that? went concert loud drum") and asked.endswith("fair ghent")
    many = augment("and?", [" ".join(f"word{n}" for n in range(500))])
    assert len(many.split()) == 1 + followups.MAX_ADDED_WORDS
    assert augment("and?", []) == "and?"


def hits(*found: tuple[str, float, str]) -> Hits:
    return Hits(
        [
            Hit(
                n,
                0.5,
                id,
                id,
                "s1",
                "s",
                None,
                "user",
                None,
                None,
                text,
                "",
                Source("native", None),
                "hot",
                {"score": {"own": points}},
            )
            for n, (id, points, text) in enumerate(found, 1)
        ],
        query="q",
        mode="hybrid",
        notes=["said once"],
        took_ms=1.0,
    )


def test_what_answers_comes_before_what_only_repeats_the_topic() -> None:
    turns = ["the oak worktop suits the room"]
    plain = hits(("m1", 5.0, "the tiles came to 300"), ("m2", 4.0, "the oak came to 1240 with fitting"))
    wider = hits(("m3", 9.0, "the oak worktop suits the room"), ("m2", 8.5, "the oak came to 1240 with fitting"))
    found = blend(plain, wider, turns)
    assert [hit.message_id for hit in found] == ["m2", "m3", "m1"]
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert [hit.points for hit in found] == sorted((hit.points for hit in found), reverse=True)
    assert found.notes == ("said once",) and found.took_ms == 2.0


def test_nothing_found_stays_nothing() -> None:
    assert not blend(hits(), hits(), ["x"])
    assert [hit.message_id for hit in blend(hits(("m1", -1.0, "x")), hits(), ["x"])] == ["m1"]

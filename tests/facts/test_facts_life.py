"""How people live, and when something began: what the rules find, and what they leave."""

from __future__ import annotations

from datetime import date

import pytest

from appliance.memory.facts import phrasing
from appliance.memory.facts.rule_extractor import extract_statements

SAID = date(2026, 3, 10)
"""A Tuesday."""


def found(text: str) -> list[tuple[str, str, str]]:
    return [(one.subject, one.attribute, one.value) for one in extract_statements(text, SAID)]


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("I moved to Berlin yesterday.", "2026-03-09", None),
        ("Yesterday I moved to Berlin.", "2026-03-09", None),
        ("I moved to Berlin two days ago.", "2026-03-08", None),
        ("I moved to Berlin last month.", "2026-02", None),
        ("I moved to Berlin last week.", "2026-03-03", None),
        ("Ich bin gestern nach Berlin gezogen.", "2026-03-09", None),
        ("Vor zwei Tagen bin ich nach Berlin gezogen.", "2026-03-08", None),
        ("Ich bin vorgestern nach Berlin gezogen.", "2026-03-08", None),
        ("Ich bin letzten Monat nach Berlin gezogen.", "2026-02", None),
        ("Ayer me mudé a Berlín.", "2026-03-09", None),
        ("Me mudé a Berlín hace dos días.", "2026-03-08", None),
        ("Anteayer me mudé a Berlín.", "2026-03-08", None),
        ("Me mudé a Berlín el mes pasado.", "2026-02", None),
        ("I quit my job at Acme two days ago.", None, "2026-03-08"),
        ("I quit my job at Acme yesterday.", None, "2026-03-09"),
        ("Two days ago I quit my job at Acme.", None, "2026-03-08"),
        ("I quit smoking two weeks ago.", "2026-02-24", None),
        ("Ich habe vor zwei Wochen mit dem Rauchen aufgehört.", "2026-02-24", None),
        ("He dejado de fumar hace dos semanas.", "2026-02-24", None),
        ("Ich habe vor drei Tagen bei Bosch angefangen.", "2026-03-07", None),
        ("Empecé en Bosch hace tres días.", "2026-03-07", None),
        ("Gestern habe ich bei Siemens gekündigt.", None, "2026-03-09"),
        ("Ayer dejé mi trabajo en Telefónica.", None, "2026-03-09"),
        ("I lived in Rome until yesterday.", None, "2026-03-09"),
        ("My husband and I separated last month.", "2026-02", None),
    ],
)
def test_relative_days_count_from_the_message(text: str, since: str | None, until: str | None) -> None:
    mention = extract_statements(text, SAID)[0]
    assert (mention.since, mention.until) == (since, until)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My otter is called Pebble.", ("me", "otter", "Pebble")),
        ("Meine Schlange heißt Hugo.", ("me", "snake", "Hugo")),
        ("Mi serpiente se llama Hugo.", ("me", "snake", "Hugo")),
        ("My flat is in Porto.", ("me", "home", "Porto")),
        ("Meine Wohnung ist in Porto.", ("me", "home", "Porto")),
        ("Mi piso está en Oporto.", ("me", "home", "Oporto")),
        ("I'm moving to Berlin next month.", ("me", "move to Berlin", "2026-04")),
        ("Ich ziehe nächsten Monat nach Leipzig.", ("me", "move to Leipzig", "2026-04")),
        ("Me mudo a Berlín el mes que viene.", ("me", "move to Berlín", "2026-04")),
        ("I'm moving to Berlin.", ("me", "plans", "moving to Berlin")),
        ("I quit smoking.", ("me", "habit", "no smoking")),
        ("I'm self-employed now.", ("me", "employment", "self-employed")),
        ("Ich bin jetzt selbstständig.", ("me", "employment", "selbstständig")),
        ("Soy autónoma.", ("me", "employment", "autónoma")),
        ("Trabajo en una empresa que se llama Nubela.", ("me", "employer", "Nubela")),
        ("Vivo en la calle Mayor 5, Madrid.", ("me", "address", "calle Mayor 5, Madrid")),
        ("Corrected: my grandmother lives in Bonn.", ("grandmother", "home", "Bonn")),
        ("I have two brothers and a sister.", ("me", "siblings", "two brothers and a sister")),
        ("My son plays soccer.", ("son", "plays", "soccer")),
        ("I work in marketing.", ("me", "field", "marketing")),
        ("I graduated from MIT.", ("me", "graduated from", "MIT")),
        ("I have a fear of heights.", ("me", "fears", "heights")),
        ("I'm a morning person.", ("me", "character", "morning person")),
        ("Running helps me clear my head.", ("me", "likes", "Running")),
        ("Yoga is a big part of my life.", ("me", "likes", "Yoga")),
        ("We go camping every summer.", ("me", "habit", "go camping every summer")),
        ("When I'm not working, I restore clocks.", ("me", "habit", "restore clocks")),
        ("I sing in a choir.", ("me", "member of", "a choir")),
        ("I've been getting into pottery.", ("me", "practises", "pottery")),
        ("I live with my parents.", ("me", "living", "with my parents")),
        ("I'm left-handed.", ("me", "character", "left-handed")),
        ("I watch a lot of anime.", ("me", "habit", "watch a lot of anime")),
        ("I used to be a lawyer.", ("me", "job", "lawyer")),
        ("We're thinking of adopting a dog.", ("me", "considers", "adopting a dog")),
        ("We're expecting a baby in May.", ("me", "expects", "a baby in May")),
        ("Nothing beats hiking.", ("me", "likes", "hiking")),
        ("I live in an apartment.", ("me", "living", "in an apartment")),
    ],
)
def test_a_life_is_understood(text: str, expected: tuple[str, str, str]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "My parents' flat is in Porto.",
        "The flat is in Porto.",
        "Is my flat in Porto?",
        "My friend is moving to Berlin next month.",
        "Should I go freelance?",
        "I work at a company.",
        "Trabajo en una empresa.",
        "I'm considering catching a movie.",
        "I was thinking about using Redis.",
        "I like simple.",
        "I live in football country.",
        "I live in Baker territory.",
        "I support Colin's cause.",
        "I read it a few times a week.",
        "I'm afraid of losing you.",
        "Running late helps nobody.",
        "Being here means a lot to me.",
        "I make mistakes all the time.",
        "She sings in a choir.",
        "I used to live with my parents.",
        "I set up a 5K charity run.",
        "Do you live with your parents?",
        "I don't wear glasses.",
        "I hate to say it, but nothing beats it.",
        "I teach you a lesson.",
        "I have two sisters-in-law.",
        "I work in the kitchen today.",
        "If I were self-employed, I'd sleep longer.",
    ],
)
def test_what_only_sounds_like_it_is_left(text: str) -> None:
    assert found(text) == []


def test_a_sentence_says_a_thing_once() -> None:
    assert found("Please call me Nina from now on, and never use emojis.") == [
        ("me", "instruction", "never use emojis"), ("me", "called", "Nina"),
    ]  # fmt: skip
    assert found("Tengo una cita con el médico el 3 de noviembre.") == [("me", "doctor's appointment", "2026-11-03")]
    for street in ("Goethestraße 5 in Köln", "Hauptstr. 12, 50667 Köln"):
        assert found(f"Ich wohne in der {street}.") == [("me", "address", street), ("me", "home", "Köln")]


@pytest.mark.parametrize(
    ("kind", "attribute", "value", "sentence"),
    [
        ("profile", "habit", "nicht rauchen", "doesn't smoke"),
        ("profile", "employment", "autónoma", "is self-employed"),
        ("relation", "status", "getrennt", "is separated"),
        ("date", "move to Berlin", "2027", "move to Berlin is in 2027"),
        ("profile", "field", "marketing", "works in marketing"),
    ],
)
def test_how_it_reads(kind: str, attribute: str, value: str, sentence: str) -> None:
    assert phrasing.fact_sentence("me", kind, attribute, value) == sentence

"""Facts that keep up: what ends what, since when something holds, and what is no fact."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from appliance import Appliance
from appliance.errors import UsageError
from appliance.memory.facts.llm_extractor import propose_facts
from appliance.memory.facts.rule_extractor import extract_statements
from appliance.types import Fact
from tests.unit.test_unit_facts_model import Model, item

SAID = date(2024, 6, 10)


def spans(text: str) -> list[tuple[str, str, str | None, str | None]]:
    return [(item.attribute, item.value, item.since, item.until) for item in extract_statements(text, SAID)]


def say(memory: Appliance, *said: tuple[str, str]) -> None:
    session = memory.sessions.create(title="chat")
    for day, text in said:
        session.add("user", text, timestamp=datetime.fromisoformat(day).replace(tzinfo=UTC))


def only(memory: Appliance, attribute: str, state: str | None = None) -> Fact:
    (fact,) = [fact for fact in memory.facts.list(state=state) if fact.attribute == attribute]  # type: ignore[arg-type]
    return fact


def test_what_a_sister_s_new_home_replaces(memory: Appliance) -> None:
    say(
        memory,
        ("2023-05-01", "My sister Anna lives in Hamburg."),
        ("2024-06-10", "My sister Anna moved to Bremen last month."),
    )
    now, before = only(memory, "home"), only(memory, "home", "superseded")
    assert (now.text, now.since) == ("Anna lives in Bremen", "2024-05")
    assert (before.value, before.until) == ("Hamburg", "2024-05")


def test_a_move_ends_the_old_home_when_the_new_one_begins(memory: Appliance) -> None:
    say(memory, ("2024-06-10", "I moved from Berlin to Munich in March 2024."))
    assert (only(memory, "home").value, only(memory, "home").since) == ("Munich", "2024-03")
    assert (only(memory, "home", "ended").value, only(memory, "home", "ended").until) == ("Berlin", "2024-03")


def test_an_allergy_does_not_begin_when_it_is_said(memory: Appliance) -> None:
    say(memory, ("2024-06-10", "I'm allergic to nuts."), ("2024-06-11", "I've been allergic to wool since 2015."))
    assert {fact.value: fact.since for fact in memory.facts.list()} == {"nuts": None, "wool": "2015"}
    assert [fact.value for fact in memory.facts.list(as_of="2020-01-01")] == ["nuts", "wool"]


def test_a_date_that_was_moved_among_people_replaces_the_old_one(memory: Appliance) -> None:
    say(
        memory,
        ("2032-02-10", "The organisers want the slides by 27 February."),
        ("2032-02-23", "The programme changed, so everybody may hand in their slides by Friday, 12 March instead."),
    )
    assert only(memory, "deadline").value == "2032-03-12"
    assert only(memory, "deadline", "superseded").value == "2032-02-27"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I've lived in Lyon for five years.", ("home", "Lyon", "2019", None)),
        ("I started working at Bosch two years ago.", ("employer", "Bosch", "2022", None)),
        ("I moved to Munich in March.", ("home", "Munich", "2024-03", None)),
        ("Ich wohne seit fünf Jahren in Köln.", ("home", "Köln", "2019", None)),
        ("Vivo en Madrid desde hace tres años.", ("home", "Madrid", "2021", None)),
        ("Since 2019 I've been allergic to penicillin.", ("allergy", "penicillin", "2019", None)),
        ("I've been allergic to nuts since I was a child.", ("allergy", "nuts", None, None)),
        ("I live in Berlin in summer.", ("home", "Berlin", None, None)),
        ("I love chess in March.", ("likes", "chess", None, None)),
        ("We move to Vienna in August.", ("move to Vienna", "2024-08", None, None)),
        ("I'm moving to Ghent in March.", ("move to Ghent", "2025-03", None, None)),
    ],
)
def test_since_when(text: str, expected: tuple[str, str, str | None, str | None]) -> None:
    assert spans(text) == [expected]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("We move to Vienna in August 2031.", "move to Vienna is in August 2031"),
        ("We have two kids.", "has two children"),
        ("Wir haben zwei Kinder.", "has two children"),
        ("We have a son and a daughter.", "has a son and a daughter"),
        ("I'm divorced.", "is divorced"),
        ("Ich bin geschieden.", "is divorced"),
        ("We're planning to open a bakery.", "plans to open a bakery"),
        ("I'm going to a chess congress next spring.", "plans on going to a chess congress"),
        ("I want to visit Iceland.", "wants to visit Iceland"),
        ("Ich möchte einen Marathon laufen.", "wants: einen Marathon laufen"),
        ("I run my own bakery.", "has a business: bakery"),
        ("I was born in Lyon.", "was born in Lyon"),
        ("My phone number is 0151 555 0199.", "phone number: 0151 555 0199"),
        ("My brother was born in Porto.", "brother was born in Porto"),
    ],
)
def test_how_it_reads(memory: Appliance, text: str, sentence: str) -> None:
    say(memory, ("2024-06-10", text))
    assert [fact.text for fact in memory.facts.list()] == [sentence]


@pytest.mark.parametrize("text", ["Where do I live?", "hello", "?!", "42"])
def test_what_states_nothing_is_not_added(memory: Appliance, text: str) -> None:
    with pytest.raises(UsageError, match="nothing was added"):
        memory.facts.add(text)
    assert memory.facts.list() == []


def test_what_no_rule_understands_is_a_note(memory: Appliance) -> None:
    (fact,) = memory.facts.add("the key hangs behind the clock")
    assert fact.attribute == "note"


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("Is the attic mine?", {"quote": "the attic mine"}),
        ("If the attic is mine, I'll paint it.", {}),
        ("Ben said the attic is mine.", {}),
        ("Write a story: the attic is mine.", {}),
        ("Well, the attic is mine.", {"value": "Attic of 1920"}),
        ("Well, the attic is mine.", {"subject": "Ben"}),
    ],
)
def test_what_a_model_proposes_is_checked(text: str, proposed: dict[str, str]) -> None:
    assert propose_facts(Model(item(**proposed)), [text]) == [[]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In March we moved to Cardiff.", [("home", "Cardiff", "2024-03", None)]),
        ("Ich bin im März von Hamburg nach Bremen gezogen.",
         [("home", "Hamburg", None, "2024-03"), ("home", "Bremen", "2024-03", None)]),
        ("En marzo me mudé de Sevilla a Valencia.",
         [("home", "Sevilla", None, "2024-03"), ("home", "Valencia", "2024-03", None)]),
        ("Mi hermana se mudó a Bilbao el año pasado.", [("home", "Bilbao", "2023", None)]),
        ("Meine Schwester ist letztes Jahr nach Leipzig gezogen.", [("home", "Leipzig", "2023", None)]),
        ("Seit 2019 arbeite ich bei Bosch als Ingenieurin.",
         [("employer", "Bosch", "2019", None), ("job", "Ingenieurin", "2019", None)]),
        ("I quit Siemens last month and started at Bosch.",
         [("employer", "Siemens", None, "2024-05"), ("employer", "Bosch", "2024-05", None)]),
        ("El mes pasado dejé mi trabajo en Telefónica.", [("employer", "Telefónica", None, "2024-05")]),
        ("In March I live in Cardiff.", [("home", "Cardiff", None, None)]),
    ],
)  # fmt: skip
def test_a_time_before_a_statement_says_when_something_began_or_ended(
    text: str, expected: list[tuple[str, str, str | None, str | None]]
) -> None:
    assert sorted(spans(text)) == sorted(expected)


@pytest.mark.parametrize(
    ("text", "subject", "attribute", "value"),
    [
        ("My daughter Ella is seven years old.", "Ella", "age", "7"),
        ("Mein Sohn Paul ist sechs Jahre alt.", "Paul", "age", "6"),
        ("Mi hija Marta tiene ocho años.", "Marta", "age", "8"),
        ("I have two kids and a dog called Biscuit.", "me", "dog", "Biscuit"),
        ("Wir haben drei Kinder und einen Hund namens Balu.", "me", "dog", "Balu"),
        ("Tenemos dos hijos y un perro que se llama Toby.", "me", "dog", "Toby"),
        ("I've had asthma since I was a kid.", "me", "health", "asthma"),
        ("Ich habe seit meiner Kindheit Asthma.", "me", "health", "Asthma"),
        ("Meine Mutter wohnt in Kiel und arbeitet bei der Sparkasse.", "mother", "employer", "Sparkasse"),
        ("Ich spiele Geige im Orchester.", "me", "plays", "Geige"),
        ("Toco el violín en una orquesta.", "me", "plays", "violín"),
        ("Algún día quiero correr un maratón.", "me", "wants", "correr un maratón"),
        ("I'm from Los Angeles.", "me", "origin", "Los Angeles"),
        ("I work for an IT company.", "me", "employer", "an IT company"),
    ],
)
def test_what_is_found(text: str, subject: str, attribute: str, value: str) -> None:
    found = [(item.subject, item.attribute, item.value) for item in extract_statements(text, SAID)]
    assert (subject, attribute, value) in found


@pytest.mark.parametrize(
    ("text", "attribute"),
    [
        ("I'm getting ready to go out.", "plans"),
        ("I'm gonna start my basketball game now.", "plans"),
        ("I want to go back.", "wants"),
        ("We'd like to visit the factory.", "wants"),
        ("I'd like to open an account please.", "wants"),
        ("Ich möchte ein Konto eröffnen.", "wants"),
        ("Ich möchte ein paar andere Stile sehen.", "wants"),
        ("Honestly I kinda wanna skip lunch.", "wants"),
        ("Hi! I am pretty tired today and I have homework.", "name"),
        ("Hello, this is Hilton Hotel.", "name"),
        ("I come from New Times Clothes Company.", "origin"),
        ("It's a shop I like, north of Santa Fe is my favorite.", "likes"),
        ("That is none of my business.", "business"),
        ("Umm, my friend, and you?", "friend"),
        ("My sister is a huge Harry Potter fan.", "job"),
        ("I've been studying different types of planes.", "studies"),
        ("I'm taking two workout classes.", "learns"),
        ("I have been running some errands.", "practises"),
        ("We have an express train departing every morning.", "habit"),
        ("We don't have any beer.", "diet"),
        ("I have a flat tyre.", "owns"),
        ("I can't stand up!", "dislikes"),
        ("When you leave, show it to the waiter.", "instruction"),
        ("Don't eat these crisps any more.", "instruction"),
        ("Benutze die Treppe, niemals den Aufzug.", "instruction"),
        ("I work in Beijing Institute of Technology.", "uses"),
        ("We're on Nanjing Road.", "uses"),
        ("I've always been interested in knowing how it is done.", "likes"),
        ("We love to do a few things first, such as:", "likes"),
    ],
)
def test_what_is_said_in_passing_is_no_fact(text: str, attribute: str) -> None:
    assert attribute not in [item.attribute for item in extract_statements(text, SAID)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("I love badminton the most though.", "badminton"),
        ("We both love chocolate desserts a lot.", "chocolate desserts"),
        ("I love pistachios theyre green", "pistachios"),
        ("Ich mag Knödel am liebsten.", "Knödel"),
        ("I enjoy preparing meals for my friends and family.", "preparing meals for my friends"),
        ("I prefer hiking to swimming.", "hiking over swimming"),
    ],
)
def test_a_taste_ends_where_its_words_do(text: str, value: str) -> None:
    assert [item.value for item in extract_statements(text, SAID)] == [value]

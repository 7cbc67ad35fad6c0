"""What a message states, one family of rules after the other; and that no text makes the reading slow."""

from __future__ import annotations

import random
import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance.memory.facts import dates, phrasing
from appliance.memory.facts.rule_extractor import extract_statements
from tests.examples import examples

SAID = date(2025, 6, 11)
"""A Wednesday."""


def found(text: str, said: date | None = SAID) -> list[tuple[str, str, str]]:
    return [(one.subject, one.attribute, one.value) for one in extract_statements(text, said) if one.mode != "ended"]


def ended(text: str) -> list[tuple[str, str]]:
    return [(one.attribute, one.value) for one in extract_statements(text, SAID) if one.mode == "ended"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My name is Ida Sund.", ("me", "name", "Ida Sund")),
        ("My name is J. R. Smith", ("me", "name", "J. R. Smith")),
        ("Ich heiße Hans J. Müller. Und du?", ("me", "name", "Hans J. Müller")),
        ("I moved to St. Gallen last year. I like it.", ("me", "home", "St. Gallen")),
        ("Mein Bruder wohnt in St. Pölten", ("brother", "home", "St. Pölten")),
        ("Vivo en Sta. Cruz.", ("me", "home", "Sta. Cruz")),
        ("I'm planning to move to St. Gallen.", ("me", "plans", "to move to St. Gallen")),
        ("I work for Dr. Oetker", ("me", "employer", "Dr. Oetker")),
        ("I live on Main St. I work at Acme.", ("me", "employer", "Acme")),
        ("My dentist is Dr. Lopez, in Calle Mayor", ("me", "dentist", "Dr. Lopez")),
        ("Meine Zahnärztin ist Frau Dr. Weber.", ("me", "dentist", "Frau Dr. Weber")),
        ("Mi dentista es la Dra. Gómez.", ("me", "dentist", "Dra. Gómez")),
        ("My address is 5 St. Mary's Road.", ("me", "address", "5 St. Mary's Road")),
        ("call me Bo", ("me", "called", "Bo")),
        ("I'm 44 years old", ("me", "age", "44")),
        ("I was born on 2 May 1990.", ("me", "birthday", "1990-05-02")),
        ("I live in Kraków.", ("me", "home", "Kraków")),
        ("Right now we live in San Jose, and it's hot.", ("me", "home", "San Jose")),
        ("I come from Malta.", ("me", "origin", "Malta")),
        ("I work at a bakery downtown.", ("me", "employer", "a bakery downtown")),
        ("I work as a pharmacist", ("me", "job", "pharmacist")),
        ("I speak Greek", ("me", "language", "Greek")),
        ("I'm vegan.", ("me", "diet", "vegan")),
        ("I am severely allergic to bees.", ("me", "allergy", "bees")),
        ("I suffer from migraines", ("me", "health", "migraines")),
        ("My wife's name is Uma.", ("me", "partner", "Uma")),
        ("We have a parrot called Kiwi", ("me", "parrot", "Kiwi")),
        ("My brother works for Ikea.", ("brother", "employer", "Ikea")),
        ("I hate olives.", ("me", "dislikes", "olives")),
        ("My favourite season is autumn.", ("me", "favourite season", "autumn")),
        ("I prefer dark mode.", ("me", "prefers", "dark mode")),
        ("The deadline for the tax return is October 1", ("tax return", "deadline", "2025-10-01")),
        ("My surgery is on May 2.", ("me", "surgery", "2026-05-02")),
        ("I'm using Kotlin 2.1", ("me", "uses", "Kotlin 2.1")),
        ("I'm building a game called Moss", ("me", "project", "Moss")),
        ("Never use exclamation marks.", ("me", "instruction", "Never use exclamation marks")),
        ("What could my wife Uma cook?", ("me", "partner", "Uma")),
        ("We're flying to Cork on May 2", ("me", "flight to Cork", "2026-05-02")),
        ("My passport expires on 1 July.", ("passport", "expiry", "2025-07-01")),
        ("The editors want the draft by Friday.", ("draft", "deadline", "2025-06-13")),
        ("The report is due in five days.", ("report", "deadline", "2025-06-16")),
        ("My flight is this evening.", ("me", "flight", "2025-06-11")),
        ("Meine Prüfung ist am 3. Okt.", ("me", "exam", "2025-10-03")),
        ("I swim every Monday.", ("me", "habit", "swim every Monday")),
        ("I've given up coffee", ("me", "diet", "no coffee")),
        ("My aunt can't eat nuts.", ("aunt", "diet", "no nuts")),
        ("I'd rather you didn't use tables", ("me", "instruction", "I'd rather you didn't use tables")),
        ("Mein Flug geht am 1. Juli.", ("me", "flight", "2025-07-01")),
        ("Nado los lunes.", ("me", "habit", "Nado los lunes")),
        ("Ich wohne in Ulm.", ("me", "home", "Ulm")),
        ("Vivo en Murcia.", ("me", "home", "Murcia")),
    ],
)
def test_a_statement_is_understood(text: str, expected: tuple[str, str, str]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Please use metric units in the future.",
        "Give me shorter answers in the future.",
        "Show me the sources from now on.",
        "In the future, give me the short version.",
        "Tell me the price going forward.",
        "Gib mir in Zukunft kürzere Antworten.",
    ],
)
def test_an_order_for_all_time_is_a_standing_instruction(text: str) -> None:
    assert [kind for _, kind, _ in found(text)] == ["instruction"]


@pytest.mark.parametrize(
    "text",
    [
        "give me some tips on how to stay motivated and keep going in the future",
        "Can you give me some tips on how to avoid this in the future?",
        "Tell me what could go wrong in the future.",
        "Please show us how cities may look in future",
        "List some things that I should watch for in the future.",
        "Suggest a few ways to save money in the future.",
        "Gib mir Tipps, wie ich in Zukunft motiviert bleibe.",
    ],
)
def test_a_request_about_the_future_is_no_standing_instruction(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I no longer use Slack.", [("uses", "Slack")]),
        ("I lived in Oslo until 2019", [("home", "Oslo")]),
        ("I don't live in Oslo anymore", [("home", "Oslo")]),
        ("We broke up.", [("partner", "")]),
        ("Ya no uso Docker.", [("uses", "Docker")]),
        ("Ich wohne nicht mehr in Bonn.", [("home", "Bonn")]),
    ],
)
def test_an_end_is_understood(text: str, expected: list[tuple[str, str]]) -> None:
    assert ended(text) == expected and not found(text)


def test_a_time_that_is_named_with_it_is_when_it_held() -> None:
    (lived,) = extract_statements("I lived in Oslo from 2012 to 2019.", SAID)
    assert (lived.since, lived.until) == ("2012", "2019")
    (moved,) = extract_statements("We moved to Lyon in March 2024.", SAID)
    assert moved.since == "2024-03"


@pytest.mark.parametrize(
    ("text", "since"),
    [
        ("Since New Year I've stopped drinking coffee.", "2025"),
        ("Since last August I don't eat meat.", "2024-08"),
        ("I don't eat meat since 2019.", "2019"),
        ("Seit Januar trinke ich keinen Kaffee.", "2025-01"),
        ("I don't eat meat.", None),
    ],
)
def test_since_when_is_read_before_and_behind(text: str, since: str | None) -> None:
    (one,) = extract_statements(text, SAID)
    assert one.since == since


def test_a_clause_carries_its_subject_on_only_where_it_is_the_writer() -> None:
    assert ("me", "home", "Lyon") in found("I'm 31, live near Lyon and work for Michelin.")
    assert found("They are 31, live near Lyon and work for Michelin.") == []
    assert found("I want to quit, live in Lyon and work for Michelin.") == []


def test_whose_relative_it_is_is_told_apart() -> None:
    assert found("I met my friend Oscar's wife Petra") == [("me", "friend", "Oscar"), ("Oscar", "partner", "Petra")]
    assert found("Mi jefa tiene 40 años") and not found("La hija de mi jefa tiene 4 años")


@pytest.mark.parametrize(
    "text",
    [
        'Ana said "I live in Rome".',
        "> I live in Rome",
        "If I live in Rome, what then?",
        "Imagine that I live in Rome.",
        "Do I live in Rome?",
        "I live in Rome, right?",
        "I don't live in Rome.",
        "I tried to live in Rome.",
        "The people I live in Rome with",
        "Translate this: I live in Rome",
        "```\nI live in Rome\n```",
        "Ana: I live in Rome\nBen: ok",
        "Write a story about a man. I live in Rome, he says.",
        "Stell dir vor, ich wohne in Rom.",
        "¿Vivo en Roma?",
    ],
)
def test_what_is_not_the_writer_s_own_statement_is_none(text: str) -> None:
    assert extract_statements(text, SAID) == []


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (date(2024, 12, 30), "2025-01-05"),
        (date(2025, 1, 5), "2025-01-05"),
        (date(2025, 1, 6), "2026-01-05"),
        (None, "01-05"),
    ],
)
def test_a_day_without_its_year_is_the_next_one(said: date | None, expected: str) -> None:
    assert found("My exam is on January 5.", said) == [("me", "exam", expected)]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tomorrow", "2025-06-12"),
        ("on Friday", "2025-06-13"),
        ("on Wednesday", "2025-06-18"),
        ("next Monday", "2025-06-16"),
        ("in two weeks", "2025-06-25"),
        ("on 2025-07-01", "2025-07-01"),
        ("on Feb 29, 2028", "2028-02-29"),
    ],
)
def test_a_day_is_counted_from_when_it_was_said(words: str, expected: str) -> None:
    assert found(f"My exam is {words}.") == [("me", "exam", expected)]


@pytest.mark.parametrize("words", ["on February 30", "on 3/4/2025", "on Feb 29, 2027", "soon"])
def test_a_day_that_is_none_or_two_is_not_guessed(words: str) -> None:
    assert found(f"My exam is {words}.") == []


PIECES = [
    "I live in ",
    "my ",
    "wife ",
    "is ",
    "called ",
    "Ana",
    ", ",
    ". ",
    "\n",
    '"',
    "'",
    "```",
    "`",
    "> ",
    "if ",
    "?",
    "İ",
    "deadline ",
    "March 5",
    " I'm ",
    "always use ",
    "from ",
    "to ",
    "ich ",
    "vivo en ",
    "ı",
    "ß",
    "\x00",
    "9" * 30,
]


@settings(max_examples=examples(150), deadline=None)
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=200)))
def test_whatever_is_read_is_within_the_text(text: str) -> None:
    for one in extract_statements(text, SAID):
        assert 0 <= one.start < one.end <= len(text)
        assert one.value == one.value.strip() and len(one.value) <= 400
    assert extract_statements(text, SAID) == extract_statements(text, SAID)


MEGABYTE = 1_000_000
HOSTILE = {
    "one rule again and again": "i live in ",
    "quotes": "'a ",
    "double quotes": '"a ',
    "ticks": "`",
    "fences": "```\n",
    "speakers": "a: ",
    "brackets": "> ",
    "spaces": " ",
    "one word": "a",
    "lines": "\n",
    "lists": "I love a, b, c, ",
    "relations": "my wife, ",
    "dates": "my a b c deadline for the ",
    "instructions": "always ",
    "sentences": "I live in Rome. ",
    "dots": ". ",
    "not cased": "İ my name is ",
    "stories": "write me a b c d ",
    "German": "ich habe einen ",
    "Spanish": "mi mujer se llama ",
    "ages": "i'm 5 my son is 6 ",
    "labels": "[1] a (b): ",
    "people in passing": "with my wife Ana ",
    "people at home": "i live with my a b and my c d, ",
    "flights": "we are flying to a b with c d ",
    "events": "i have a b c talk at a b c in d e ",
    "days": "i go a b c every monday, tuesday, ",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_no_text_is_slow_to_read(piece: str) -> None:
    """A tenth of a megabyte of one thing takes a tenth of what a megabyte may."""
    text = piece * (MEGABYTE // 10 // len(piece))
    began = time.process_time()
    assert len(extract_statements(text, SAID)) < 100
    assert time.process_time() - began < 2, "some 0.2 s on a slow machine"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one rule again and again", "quotes", "speakers", "sentences", "not cased"])
def test_a_megabyte_is_read_in_seconds(name: str) -> None:
    text = HOSTILE[name] * (MEGABYTE // len(HOSTILE[name]))
    began = time.process_time()
    extract_statements(text, SAID)
    assert time.process_time() - began < 10, "some 2 s on a slow machine"


@pytest.mark.slow
def test_random_letters_are_read_in_seconds() -> None:
    text = "".join(random.Random(1).choices("imy' \n.:,?<>[]()\"abt0`-", k=MEGABYTE))
    began = time.process_time()
    extract_statements(text, SAID)
    assert time.process_time() - began < 10


def test_ordinary_messages_are_read_fast() -> None:
    """Twenty thousand a second on the machine that this was made on; a quarter of it is asked of any other."""
    talk = [
        "Hey, how was the weekend? We went to the lake with the kids and it rained all the time, of course!",
        "That sounds great, thanks for telling me. I was thinking about what you said about the garden.",
        "Can you explain how a hash table works and when one would use a tree instead?",
        "Wow, congratulations! You must be so proud of her, the photos look amazing. What comes next?",
        "I tried the recipe yesterday and it turned out a bit dry, maybe the oven was too hot for it.",
    ]
    extract_statements("warm up")
    began = time.process_time()
    for _ in range(400):
        for text in talk:
            extract_statements(text, SAID)
    assert 2000 / (time.process_time() - began) > 5_000


@pytest.mark.parametrize("text", ["january 5th", "3 okt.", "5. mai 2026", "friday", "3.5."])
def test_a_date_ends_before_the_full_stop_of_its_sentence(text: str) -> None:
    found = dates.named(f"{text}. then", 0, len(text) + 6, date(2025, 6, 11))
    assert found is not None
    assert found.end == len(text)


@pytest.mark.parametrize(
    ("fact", "sentence"),
    [
        (("me", "profile", "birthday", "05-03"), "birthday: 3 May"),
        (("Carmen", "relation", "birthday", "02-21"), "Carmen's birthday: 21 February"),
        (("me", "profile", "birthday", "1990-05-03"), "birthday: 1990-05-03"),
        (("me", "profile", "diet", "no coffee"), "avoids coffee"),
        (("Ana", "relation", "diet", "kein Kaffee"), "Ana avoids coffee"),
        (("me", "profile", "diet", "vegan"), "is vegan"),
        (("me", "profile", "diet", "Vegetarier"), "is vegetarian"),
        (("me", "profile", "diet", "vegetariana"), "is vegetarian"),
        (("me", "profile", "diet", "kosher"), "eats kosher"),
        (("me", "profile", "diet", "kein Fleisch"), "avoids meat"),
        (("me", "profile", "diet", "sin frutos secos"), "avoids nuts"),
        (("me", "profile", "diet", "no oat milk"), "avoids oat milk"),
        (("me", "profile", "health", "Bluthochdruck"), "has high blood pressure"),
        (("me", "profile", "health", "Diabetikerin"), "is diabetic"),
        (("me", "profile", "health", "diabetes tipo 2"), "has diabetes tipo 2"),
        (("me", "profile", "health", "lactose intolerant"), "is lactose intolerant"),
        (("me", "profile", "health", "type 2 diabetic"), "is type 2 diabetic"),
        (("me", "profile", "health", "intolerante a la lactosa"), "is lactose intolerant"),
        (("me", "profile", "health", "type 2 diabetes"), "has type 2 diabetes"),
        (("me", "date", "wedding", "2026-05-03"), "wedding is on 2026-05-03"),
        (("Ana", "preference", "favourite colour", "blue"), "Ana's favourite colour is blue"),
        (("me", "relation", "otter", "Lutz"), "has an otter called Lutz"),
        (("Diego", "relation", "guinea pig", "Rex"), "Diego has a guinea pig called Rex"),
        (("me", "relation", "sister", "Mira"), "sister is Mira"),
        (("me", "profile", "dog", "none"), "dog is none"),
    ],
)
def test_how_a_fact_reads(fact: tuple[str, str, str, str], sentence: str) -> None:
    assert phrasing.fact_sentence(*fact) == sentence


def test_a_wish_is_a_wish_and_no_home() -> None:
    assert found("I want to live in Rome.") == [("me", "wants", "to live in Rome")]

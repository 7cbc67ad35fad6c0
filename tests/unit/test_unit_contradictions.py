"""Which notes about the person contradict what is held of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from appliance.memory.facts import timeline
from appliance.memory.facts.contradictions import find_contradictions
from appliance.memory.facts.rule_extractor import extract_statements
from appliance.types import Fact

NAMES = ("Ana", "Ana Kaya")


def fact(number: int, said: str) -> tuple[str, Fact]:
    (mention,) = extract_statements(said)
    slot = timeline.slot_key(mention.subject, mention.kind, mention.attribute, mention.value)
    return slot, Fact(
        f"f{number}", "me", "", mention.kind, mention.subject, mention.attribute, mention.value, said, 0.9, "held",
        None, None, None, mention.rule, (), None,
    )  # fmt: skip


HELD = dict([fact(1, "I live in Lisbon."), fact(2, "I work at Siemens."), fact(3, "My birthday is 3 May.")])


@pytest.mark.parametrize(
    ("note", "contradicted"),
    [
        ("Ana lives in Berlin.", "f1"),
        ("The user lives in Berlin with her sister.", "f1"),
        ("Ana Kaya moved to Porto", "f1"),
        ("Ana no longer lives in Lisbon.", "f1"),
        ("Ana's birthday is 4 May.", "f3"),
        ("User works at Bosch.", "f2"),
        ("Der Nutzer wohnt in Berlin.", "f1"),
        ("Ana arbeitet bei Bosch.", "f2"),
        ("El usuario vive en Madrid.", "f1"),
    ],
)
def test_a_note_that_says_something_else_is_found(note: str, contradicted: str) -> None:
    (found,) = find_contradictions([note], HELD, NAMES)
    assert (found.note, found.fact_id) == (note, contradicted)


@pytest.mark.parametrize(
    "note",
    [
        "Ana lives in Lisbon.",
        "The user works at Siemens.",
        "Ben lives in Berlin.",
        "Ana asked whether Ben lives in Berlin.",
        "Ana's sister lives in Porto.",
        "Ana thinks about living in Berlin.",
        "Ana will visit Berlin in May.",
        "Anaïs lives in Berlin.",
        "They talked about Berlin.",
        "",
    ],
)
def test_what_agrees_or_is_about_something_else_is_not(note: str) -> None:
    assert not find_contradictions([note], HELD, NAMES)


def test_without_a_fact_nothing_is_contradicted() -> None:
    slot, held = fact(1, "I live in Lisbon.")
    assert not find_contradictions(["Ana lives in Berlin."], {}, NAMES)
    assert find_contradictions(["Ana lives in Berlin."], {slot: replace(held, id="f9")}, NAMES)[0].fact_id == "f9"

"""A decision about a fact is taken back exactly, and only where nothing else has changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import pytest

from appliance import Appliance, Fact, UsageError
from appliance_models import HashEmbedder


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        session = memory.sessions.create(external_id="talk")
        session.add("user", "I live in Lisbon.", timestamp=datetime(2025, 1, 1, tzinfo=UTC))
        session.add("user", "I'm allergic to walnuts.", timestamp=datetime(2025, 1, 2, tzinfo=UTC))
        yield memory


def all_facts(memory: Appliance) -> list[Fact]:
    states: tuple[Literal["held", "ended", "superseded", "review", "rejected"], ...] = (
        "held", "ended", "superseded", "review", "rejected",
    )  # fmt: skip
    return sorted((fact for state in states for fact in memory.facts.list(state=state)), key=lambda fact: fact.id)


def fact_of(memory: Appliance, value: str) -> Fact:
    return next(fact for fact in memory.facts.list() if value in fact.value)


@pytest.mark.parametrize("decision", ["confirm", "correct", "reject"])
@pytest.mark.parametrize("value", ["Lisbon", "walnuts"])
def test_all_is_as_before_a_decision_that_is_undone(
    memory: Appliance, decision: Literal["confirm", "correct", "reject"], value: str
) -> None:
    before = all_facts(memory)
    fact = fact_of(memory, value)
    change = memory.facts.decide(fact.id, decision, "pecans" if decision == "correct" else None)
    assert all_facts(memory) != before
    memory.facts.undo(change.undo)
    assert all_facts(memory) == before


@pytest.mark.parametrize("text", ["I live in Porto.", "I'm allergic to walnuts.", "The boat is blue."])
def test_all_is_as_before_a_fact_that_was_added_is_undone(memory: Appliance, text: str) -> None:
    memory.facts.decide(fact_of(memory, "walnuts").id, "reject")
    before = all_facts(memory)
    added = memory.facts.add_undoably(text)
    assert all_facts(memory) != before
    memory.facts.undo(added.undo)
    assert all_facts(memory) == before


def test_adding_is_not_undone_after_a_later_decision(memory: Appliance) -> None:
    added = memory.facts.add_undoably(attribute="shoe size", value="43")
    memory.facts.decide(added.facts[0].id, "correct", "44")
    with pytest.raises(UsageError, match="changed since"):
        memory.facts.undo(added.undo)
    assert fact_of(memory, "44")


@pytest.mark.slow
def test_a_fact_that_was_added_by_hand_comes_back(memory: Appliance) -> None:
    (added,) = memory.facts.add(attribute="shoe size", value="43")
    before = all_facts(memory)
    change = memory.facts.decide(added.id, "reject")
    assert all(fact.value != "43" for fact in memory.facts.list())
    memory.facts.undo(change.undo)
    assert all_facts(memory) == before and fact_of(memory, "43").made_by == "person"


@pytest.mark.slow
def test_what_a_person_added_outlives_its_rejection_and_its_message(memory: Appliance) -> None:
    (added,) = memory.facts.add("I live in Lisbon.")
    assert added.evidence
    memory.facts.reject(added.id)
    assert memory.facts.confirm(added.id).id == added.id
    memory.erasure.forget(memory.erasure.preview("m1"))
    assert fact_of(memory, "Lisbon").made_by == "person"


@pytest.mark.slow
def test_decisions_are_undone_from_the_last_one_back(memory: Appliance) -> None:
    before = all_facts(memory)
    first = memory.facts.decide(fact_of(memory, "Lisbon").id, "confirm")
    between = all_facts(memory)
    second = memory.facts.decide(first.fact.id, "correct", "Porto")
    memory.facts.undo(second.undo)
    assert all_facts(memory) == between
    memory.facts.undo(first.undo)
    assert all_facts(memory) == before


def test_what_was_decided_meanwhile_is_kept(memory: Appliance) -> None:
    change = memory.facts.decide(fact_of(memory, "Lisbon").id, "confirm")
    memory.facts.correct(change.fact.id, "Porto")
    now = all_facts(memory)
    with pytest.raises(UsageError, match="changed since"):
        memory.facts.undo(change.undo)
    assert all_facts(memory) == now


def test_nothing_comes_back_of_what_was_forgotten(memory: Appliance) -> None:
    confirmed = memory.facts.confirm(fact_of(memory, "Lisbon").id)
    change = memory.facts.decide(confirmed.id, "reject")
    memory.erasure.forget(memory.erasure.preview("m1"))
    with pytest.raises(UsageError, match="forgotten"):
        memory.facts.undo(change.undo)
    assert all("Lisbon" not in fact.text for fact in all_facts(memory))


@pytest.mark.parametrize("values", [["Porto"], ["Porto", "Faro"]])
def test_what_was_corrected_does_not_come_back_when_the_correction_is_erased(
    memory: Appliance, values: list[str]
) -> None:
    for value in values:
        memory.facts.correct(next(fact.id for fact in memory.facts.list() if fact.attribute == "home"), value)
    memory.erasure.forget(memory.erasure.preview(query=values[-1]))
    assert all(fact.attribute != "home" for fact in memory.facts.list())
    assert {fact.value: fact.state for fact in all_facts(memory)}["Lisbon"] == "rejected"
    assert all(values[-1] not in fact.text for fact in all_facts(memory))


def test_undo_refuses_what_is_of_no_decision(memory: Appliance) -> None:
    with pytest.raises(UsageError):
        memory.facts.undo(b"[]")
    with pytest.raises(UsageError):
        memory.facts.decide(fact_of(memory, "Lisbon").id, "confirm", "Porto")


@pytest.mark.parametrize("value", ["Lisbon", "walnuts", "green"])
def test_a_rejected_fact_comes_back_as_itself(memory: Appliance, value: str) -> None:
    memory.facts.add("The boat is green.")
    fact = fact_of(memory, value)
    assert memory.facts.reject(fact.id).state == "rejected"
    assert [one.id for one in memory.facts.list(state="rejected")] == [fact.id]
    confirmed = memory.facts.confirm(fact.id)
    assert (confirmed.id, confirmed.state, confirmed.evidence) == (fact.id, "held", fact.evidence)
    assert [one.id for one in all_facts(memory) if value in one.value] == [fact.id]
    memory.facts.reject(fact.id)
    memory.facts.add(attribute=fact.attribute, value=fact.value, kind=fact.kind)
    assert fact_of(memory, value).id == fact.id and memory.facts.list(state="rejected") == []

"""Facts by a model: what it can't quote is left out, and a rule wins over it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from appliance import Appliance
from appliance.memory.facts.llm_extractor import propose_facts
from tests.engines import engine_of


def item(**more: Any) -> dict[str, Any]:
    base = {
        "message": 0,
        "quote": "the attic is mine",
        "kind": "profile",
        "subject": "me",
        "attribute": "owns",
        "value": "attic",
    }
    return {**base, **more}


class Model:
    """Answers with what it was given, whatever it is asked."""

    def __init__(self, *items: Any) -> None:
        self.answer = "Sure:\n```json\n" + json.dumps(items) + "\n```"
        self.asked: list[str] = []

    def __call__(self, messages: Sequence[Mapping[str, str]]) -> str:
        self.asked.append(messages[-1]["content"])
        return self.answer


def test_what_it_quotes_is_taken() -> None:
    ((found,),) = propose_facts(Model(item()), ["Well, the attic is mine."])
    assert (found.attribute, found.value, found.start, found.end) == ("owns", "attic", 6, 23)


@pytest.mark.parametrize(
    "more",
    [{"quote": "the cellar is mine"}, {"message": 1}, {"message": -1}, {"kind": "rumour"}, {"value": ""}, {"value": 5},
     {"quote": ""}, {"attribute": "x" * 300}],
)  # fmt: skip
def test_what_it_made_up_is_left_out(more: dict[str, Any]) -> None:
    assert propose_facts(Model(item(**more)), ["Well, the attic is mine."]) == [[]]


@pytest.mark.parametrize("answer", ["", "no", "[", "[{]", "{}", '["a", 1, null]', "]["])
def test_nonsense_finds_nothing(answer: str) -> None:
    assert propose_facts(lambda messages: answer, ["Well, the attic is mine."]) == [[]]


def test_its_facts_are_marked_and_less_sure_and_each_message_is_read_once(memory: Appliance) -> None:
    session = memory.sessions.create(title="x")
    session.add("user", "Well, the attic is mine.")
    session.add("assistant", "the attic is mine")
    model = Model(item())
    assert memory.facts.list() == []
    assert (
        engine_of(memory).facts.extract_with_model(model, "tiny") == 1
        and engine_of(memory).facts.extract_with_model(model, "tiny") == 0
    )
    (fact,) = memory.facts.list()
    assert (fact.made_by, fact.text) == ("tiny", "has attic") and fact.confidence <= 0.5
    assert fact.evidence[0].text == "the attic is mine" and len(model.asked) == 1


def test_a_rule_wins_over_it(memory: Appliance) -> None:
    session = memory.sessions.create(title="x")
    session.add("user", "Mordor is where my bed stands.")
    home = item(quote="Mordor is where", attribute="home", value="Mordor")
    memory.facts.list()
    engine_of(memory).facts.extract_with_model(Model(home), "tiny")
    assert [fact.value for fact in memory.facts.list()] == ["Mordor"]
    session.add("user", "I live in Berlin.")
    assert [fact.value for fact in memory.facts.list()] == ["Berlin"]
    session.add("user", "Mordor is where I sleep.")
    memory.facts.list()
    engine_of(memory).facts.extract_with_model(Model(home), "tiny")
    assert [fact.value for fact in memory.facts.list()] == ["Berlin"]
    assert [fact.value for fact in memory.facts.review()] == ["Mordor"]

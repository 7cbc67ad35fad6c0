"""A context says that no memory matches, instead of filling its budget with what is nearest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.context import render

SAID = [
    "The ferry to the island leaves at seven in the morning",
    "I repaired the dishwasher, the pump was blocked by a cherry stone",
    "The neighbours painted their fence green in spring",
    "What a day, I am so tired. Are you still coming over for the match tonight? Bring crisps if you can find some",
]
NOTE = "No memory matches the query."


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A home with the shipped model, whose cosines mean something."""
    folder = tmp_path_factory.mktemp("no-match")
    lines = [json.dumps({"session_id": f"s{n}", "role": "user", "content": text}) for n, text in enumerate(SAID)]
    Path(folder / "chat.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as opened:
        opened.ingest(folder / "chat.jsonl")
        yield opened


def test_it_says_so_in_a_line_and_in_a_note(memory: Appliance) -> None:
    context = memory.context("how many people live on the Mars colony", budget=300)
    assert context.text == render.NO_MATCH and NOTE in context.notes
    retrieved = next(layer for layer in context.layers if layer.name == "retrieved")
    assert not retrieved.items and retrieved.tokens == context.tokens > 0
    assert {one.reason for one in context.dropped} == {"no good match for the query"} and len(context.dropped) == 4


def test_a_good_match_is_there_without_such_a_line(memory: Appliance) -> None:
    context = memory.context("when does the ferry leave?", budget=300)
    assert SAID[0] in context.text and render.NO_MATCH not in context.text and NOTE not in context.notes


@pytest.mark.parametrize("budget", [1, 5, 10, 20, 30])
def test_a_tiny_budget_holds_no_placeholder_of_a_short_message(memory: Appliance, budget: int) -> None:
    context = memory.context("are you coming over for the match tonight", budget=budget)
    assert "left out here" not in context.text and context.tokens <= budget
    if not context.text:
        assert f"Memories match, but none fits into the budget of {budget} tokens." in context.notes
    assert memory.context("the Mars colony", budget=budget).tokens <= budget

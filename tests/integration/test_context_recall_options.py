"""A context has memories only if an assistant may rely on them, and as many as a call, its session or the settings
allow."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance, Context
from appliance.context import render
from appliance.errors import UsageError
from appliance.requests import ContextRequest, recall_options
from appliance.requests.recall_options import RecallOptions

SAID = [
    "We explain the rules of the harbour to every new member of the rowing club",
    "Thanks for the crisps, I will bring the radio for the match",
    "The ferry to the island leaves at seven in the morning",
    "The ferry back from the island leaves at nine in the evening",
    "My sister takes the ferry to the island on Fridays",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A home with the shipped model, whose cosines mean something."""
    folder = tmp_path_factory.mktemp("recall-options")
    lines = [json.dumps({"session_id": f"s{n}", "role": "user", "content": text}) for n, text in enumerate(SAID)]
    Path(folder / "chat.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as opened:
        opened.ingest(folder / "chat.jsonl")
        yield opened


def retrieved(context: Context) -> list[str]:
    return [item.text for layer in context.layers for item in layer.items if layer.name == "retrieved"]


def test_one_common_word_is_a_hit_for_a_person_and_no_memory_for_an_assistant(memory: Appliance) -> None:
    query = "explain quantum chromodynamics"
    found = memory.search(query)
    assert found.found and found[0].text == SAID[0], "a person sees what it is"
    context = memory.context(query, budget=300)
    assert not context.found and context.text == render.NO_MATCH and not retrieved(context)
    nearest = memory.context(query, budget=300, min_score=0)
    assert not nearest.found and SAID[0] in nearest.text, "who wants the nearest gets it, and knows that it is no match"


@pytest.mark.parametrize("query", ["thanks!", "Hello there", "ok, vielen Dank", "¡Muchas gracias!"])
def test_a_courtesy_asks_for_no_memory(memory: Appliance, query: str) -> None:
    context = memory.context(query, budget=300)
    assert not context.found and not retrieved(context)
    assert retrieved(memory.context("thanks for the crisps", budget=300))


def test_an_answer_is_found(memory: Appliance) -> None:
    context = memory.context("when does the ferry leave?", budget=300)
    assert context.found and SAID[2] in retrieved(context)


def test_a_limit_keeps_the_best(memory: Appliance) -> None:
    query = "when does the ferry to the island leave?"
    every = memory.context(query, budget=500)
    assert len(retrieved(every)) >= 3
    best = min((item for layer in every.layers for item in layer.items), key=lambda item: item.why.get("rank", 99))
    limited = memory.context(query, budget=500, recall_limit=1)
    assert retrieved(limited) == [best.text] and limited.found
    assert {one.reason for one in limited.dropped} >= {"over the recall limit"}
    none = memory.context(query, budget=500, recall_limit=0)
    assert not retrieved(none) and none.found


def test_a_minimum_score_leaves_out_what_scores_less(memory: Appliance) -> None:
    query = "when does the ferry to the island leave?"
    scores = sorted(hit.score for hit in memory.search(query, profile="balanced", min_score=0))
    least = (scores[-1] + scores[0]) / 2
    context = memory.context(query, budget=500, min_score=least)
    items = [item for layer in context.layers for item in layer.items]
    assert items and all(item.why["score"] >= least for item in items) and len(items) < len(SAID)
    assert not memory.context("explain quantum chromodynamics", budget=300, min_score=0.9).found


def test_the_call_goes_before_the_session_and_the_session_before_the_settings(memory: Appliance) -> None:
    query = "when does the ferry to the island leave?"
    session = memory.sessions.create(options={"recall_limit": 1, "min_score": 0.0})
    assert len(retrieved(session.context(query, budget=500))) == 1
    assert len(retrieved(session.context(query, budget=500, recall_limit=2))) == 2
    session.configure({"recall_limit": None, "min_score": 1.0})
    assert not retrieved(session.context(query, budget=500))
    session.delete()


def test_the_settings_decide_last(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text("[context]\nrecall_limit = 1\nmin_score = 0.0\n")
    with Appliance.open(home, worker=False) as memory:
        for text in SAID:
            memory.sessions.create().add("user", text)
        assert len(retrieved(memory.context("the ferry", budget=500))) == 1
        private = memory.sessions.create(private=True, options={"recall_limit": 2})
        assert len(retrieved(private.context("the ferry", budget=500))) == 2


@pytest.mark.parametrize(
    ("name", "value"), [("recall_limit", -1), ("recall_limit", 2.5), ("min_score", 1.5), ("min_score", "high")]
)
def test_what_is_no_limit_and_no_score_is_refused(name: str, value: object) -> None:
    with pytest.raises(UsageError):
        recall_options.check(name, value)
    call = ContextRequest("the ferry", **{name: value})  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        recall_options.resolve(call, {}, RecallOptions())
    stored = recall_options.resolve(ContextRequest("the ferry"), {name: value}, RecallOptions())
    assert stored == RecallOptions(), "what an earlier version let a session keep"

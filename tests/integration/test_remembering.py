"""What a context is given of the present conversation and of earlier ones, through the public verbs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from appliance import Appliance, Context
from appliance.context.builder import ContextInputs, ContextSources, build_context
from appliance.context.shares import shares
from appliance.errors import UsageError
from appliance.requests import ContextRequest, ProfileRequest, SearchRequest
from appliance.requests.recall_options import RecallOptions
from appliance.types import Fact, Hits, Quote, Scope, Summary, SummaryHit, Window
from appliance_models import encoding_for
from tests.engines import engine_of
from tests.eval import followups


@pytest.fixture
def life(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(written(tmp_path / "life.jsonl"))
    return memory


@pytest.fixture
def lived(home: Path, tmp_path: Path) -> Iterator[Appliance]:
    """The same with the shipped model: what a vague question is near to, a test's own model can't say."""
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(written(tmp_path / "life.jsonl"))
        yield memory


def written(path: Path) -> Path:
    records = [record for one in followups.memories() for record in one.records]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def retrieved(context: Context) -> list[str]:
    return [item.text for layer in context.layers for item in layer.items if layer.name == "retrieved"]


def test_a_follow_up_is_understood_by_the_turns_before_it(lived: Appliance) -> None:
    session = lived.sessions.create()
    session.add("user", "I am still thinking about the oak worktop.")
    session.add("assistant", "It suits the room, and it ages well.")
    asked = session.context("how much was it again?", budget=300)
    assert "1,240 pounds" in asked.text
    alone = lived.context("how much was it again?", budget=120)
    assert "1,240 pounds" not in alone.text, "without the turns nobody can know what it is"


def test_a_question_that_was_added_already_does_not_speak_for_itself(life: Appliance) -> None:
    session = life.sessions.create()
    session.add("user", "I am still thinking about the oak worktop.")
    session.add("assistant", "It suits the room, and it ages well.")
    session.add("user", "how much was it again?")
    assert "1,240 pounds" in session.context("how much was it again?", budget=300).text


def test_without_recall_only_the_session_s_own_window_is_given(life: Appliance) -> None:
    session = life.sessions.create()
    session.add("user", "I am still thinking about the oak worktop.")
    off = life.context("the oak worktop", session_id=session.id, auto_recall=False)
    assert not retrieved(off) and "I am still thinking" in off.text and not off.dropped
    assert not life.context("the oak worktop", auto_recall=False).text
    with engine_of(life)._database.write() as tx:
        tx.execute("UPDATE session SET options = ?", ('{"auto_recall": false}',))
    assert not retrieved(life.context("the oak worktop", session_id=session.id)), "as the session says"
    assert retrieved(life.context("the oak worktop", session_id=session.id, auto_recall=True)), "the caller knows best"


def test_recall_can_be_off_by_the_settings(home: Path) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text("[context]\nauto_recall = false\n[context.shares]\nrecent = 0\n")
    from appliance_models import HashEmbedder

    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        session = memory.sessions.create()
        session.add("user", "the lighthouse has a keeper")
        other = memory.sessions.create()
        other.add("user", "and who is it")
        assert not other.context("the lighthouse keeper").text, "no recall, and no share for the turns"
        assert "and who is it" in memory.context("keeper", session_id=other.id, preset="code").text


def test_presets_and_shares_that_cannot_be(life: Appliance) -> None:
    with pytest.raises(UsageError, match="butler"):
        life.context("x", preset="butler")
    with pytest.raises(UsageError, match="add up"):
        life.context("x", shares={"recent": 0.9, "profile": 0.9})


def test_a_pinned_message_comes_first_among_equals(memory: Appliance) -> None:
    session = memory.sessions.create()
    added = [session.add("user", f"The lighthouse keeper's rule number {n}") for n in range(30)]
    memory.embed_pending()
    few = {item.message_id for item in memory.context("lighthouse keeper's rule number", budget=100).layers[2].items}
    left_out = next(one.id for one in added if one.id not in few)
    with engine_of(memory)._database.write() as tx:
        tx.execute("UPDATE message SET pinned = 1, importance = 0.2 WHERE id = ?", (int(left_out[1:]),))
    items = memory.context("lighthouse keeper's rule number", budget=100).layers[2].items
    why = {item.message_id: item.why for item in items}
    assert why[left_out]["pinned"] and why[left_out]["importance"] == 1.0


def test_facts_window_and_summaries_find_their_layers(life: Appliance) -> None:
    session = life.sessions.create()
    turn = session.add("user", "I am still thinking about the oak worktop.")
    seen: list[object] = []
    greeted = Quote("m4", 0, 13, "They greeted.")

    def profile(request: ProfileRequest) -> list[Fact]:
        seen.append(request)
        quote = Quote("m3", 0, 5, "metric")
        return [
            Fact("f1", "me", "", "instruction", "me", "units", "metric", "Always answer in metric.", 0.9, "held",
                 None, None, None, "rule", (quote,))
        ]  # fmt: skip

    def search(request: SearchRequest, turns: Sequence[str]) -> tuple[Hits, str]:
        seen.append(turns)
        hits = engine_of(life).search(request)
        found = [
            Summary(id, session_id, "session", "They spoke of worktops.", (), "extractive", "m1", "m6", 6, None, None,
                    "2025-01-01", {})
            for id, session_id in (("sum1", "s1"), ("sum2", session.id))
        ]  # fmt: skip
        summaries = tuple(SummaryHit(rank, 1.0, one, None, {}) for rank, one in enumerate(found, 1))
        return replace(hits, summaries=summaries), request.query

    sources = ContextSources(
        engine_of(life)._database,
        search,
        engine_of(life).sessions.info,
        profile,
        lambda one: Window(one.id, "summary_buffer", greeted.text, (greeted,), 4, (turn,), 0, 2000, "", "extractive"),
    )  # fmt: skip
    inputs = ContextInputs(
        request=ContextRequest("how much was it again?", session_id=session.id), scope=Scope("me"), budget=600,
        counter=encoding_for(), shares=shares("assistant", {}), ranking="balanced", per_session=12,
        recall=RecallOptions(),
    )  # fmt: skip
    context = build_context(sources, inputs)
    by_layer = {layer.name: [item.message_id for item in layer.items] for layer in context.layers}
    assert by_layer["profile"] == ["f1"] and by_layer["summary"] == ["m4"] and by_layer["recent"] == [turn.id]
    assert "sum1" in by_layer["retrieved"] and "sum2" not in by_layer["retrieved"], "its own summary is no news to it"
    assert ProfileRequest("me") in seen and any("oak" in str(one) for one in seen), (
        "summaries are asked for with the turns' words too"
    )
    assert context.tokens == sum(layer.tokens for layer in context.layers) <= 600

"""LangGraph's checkpointer over the memory: LangGraph's own suite, and graphs that go on where they were."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.langgraph_checkpoints import METADATA_KEY, ApplianceCheckpointer
from appliance_models import HashEmbedder

pytestmark = pytest.mark.slow  # every process of a run would load the framework

ZOO: Any = {"configurable": {"thread_id": "zoo"}}


class State(TypedDict):
    said: Annotated[list[str], add]


def extend(state: list[str], writes: list[list[str]]) -> list[str]:
    return [*state, *(text for texts in writes for text in texts)]


class Growing(TypedDict):
    said: Annotated[list[str], DeltaChannel(extend, list, snapshot_frequency=4)]


def listener(state: dict[str, Any]) -> dict[str, list[str]]:
    return {"said": [f"heard {state['said'][-1]}"]}


def asking(state: State) -> dict[str, list[str]]:
    return {"said": [f"the name is {interrupt('what is the otter called?')}"]}


def graph(memory: Appliance, node: Any = listener, **named: Any) -> Any:
    builder = StateGraph(State)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    return builder.compile(checkpointer=ApplianceCheckpointer(memory, **named))


def test_it_conforms_in_every_capability(memory: Appliance) -> None:
    suite = pytest.importorskip("langgraph.checkpoint.conformance")

    async def checkpointer() -> AsyncIterator[ApplianceCheckpointer]:
        yield ApplianceCheckpointer(memory)

    report = asyncio.run(suite.validate(suite.checkpointer_test(name="appliance")(checkpointer)))
    assert {name: result.failures for name, result in report.results.items() if not result.passed} == {}
    assert all(result.tests_passed for result in report.results.values())


def test_a_thread_goes_on_where_it_was_in_another_process(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        stopped = graph(memory, asking).invoke({"said": ["hello"]}, ZOO)
        assert stopped["__interrupt__"][0].value == "what is the otter called?"
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        run = graph(memory, asking)
        assert run.get_state(ZOO).next == ("node",)
        assert run.invoke(Command(resume="Lutz"), ZOO)["said"] == ["hello", "the name is Lutz"]


def test_a_thread_can_be_taken_back_to_any_checkpoint(memory: Appliance) -> None:
    run = graph(memory)
    run.invoke({"said": ["one"]}, ZOO)
    run.invoke({"said": ["two"]}, ZOO)
    history = list(run.get_state_history(ZOO))
    assert [state.metadata["step"] for state in history] == [4, 3, 2, 1, 0, -1]
    earlier = next(state for state in history if state.metadata["step"] == 1)
    assert run.invoke({"said": ["other"]}, earlier.config)["said"] == ["one", "heard one", "other", "heard other"]
    assert run.get_state(ZOO).values["said"][-1] == "heard other"


def test_the_async_ways_are_the_same(memory: Appliance) -> None:
    run = graph(memory)

    async def talk() -> list[int]:
        await run.ainvoke({"said": ["one"]}, ZOO)
        return [state.metadata["step"] async for state in run.aget_state_history(ZOO)]

    assert asyncio.run(talk()) == [1, 0, -1]


def test_threads_users_and_namespaces_are_apart_and_a_state_is_no_memory(memory: Appliance) -> None:
    graph(memory).invoke({"said": ["the otter is called Lutz"]}, ZOO)
    for other in (graph(memory, user_id="ben"), graph(memory, namespace="other")):
        assert other.get_state(ZOO).values == {}
    assert graph(memory).get_state({"configurable": {"thread_id": "farm"}}).values == {}
    memory.embed_pending()
    for namespace in ("", METADATA_KEY):
        assert not memory.search("otter Lutz", namespace=namespace, min_score=0)
    with pytest.raises(UsageError, match="namespace"):
        ApplianceCheckpointer(memory, namespace="")


def test_a_deleted_thread_leaves_nothing_and_its_name_can_be_used_again(memory: Appliance) -> None:
    run = graph(memory)
    run.invoke({"said": ["one"]}, ZOO)
    run.checkpointer.delete_thread("zoo")
    assert run.get_state(ZOO).values == {} and not list(run.get_state_history(ZOO))
    assert not memory.sessions.list(namespace=METADATA_KEY)
    assert run.invoke({"said": ["new"]}, ZOO)["said"] == ["new", "heard new"]
    assert run.get_state(ZOO).values["said"] == ["new", "heard new"]


def test_pruning_keeps_what_the_latest_checkpoint_reads(memory: Appliance) -> None:
    builder = StateGraph(Growing)
    builder.add_node("node", listener)
    builder.add_edge(START, "node")
    builder.add_edge("node", END)
    run = builder.compile(checkpointer=ApplianceCheckpointer(memory))
    for turn in range(5):
        run.invoke({"said": [f"turn {turn}"]}, ZOO)
    before = run.get_state(ZOO).values["said"]
    stored = len(list(run.get_state_history(ZOO)))
    run.checkpointer.prune(["zoo"])
    assert run.get_state(ZOO).values["said"] == before and len(before) == 10
    assert 1 < len(list(run.checkpointer.list(ZOO))) < stored
    assert run.invoke({"said": ["more"]}, ZOO)["said"] == [*before, "more", "heard more"]
    with pytest.raises(UsageError, match="strategy"):
        run.checkpointer.prune(["zoo"], strategy="some")

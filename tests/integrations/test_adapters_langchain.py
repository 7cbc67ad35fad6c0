"""LangChain's history and retriever over the memory, with LangChain itself."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables import RunnableLambda

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.langchain import ApplianceChatMessageHistory, ApplianceRetriever

pytestmark = pytest.mark.slow  # every process of a run would load the framework

TALK: list[BaseMessage] = [
    SystemMessage("Answer in one sentence."),
    HumanMessage("Where is the otter?", id="h1", name="Ana", additional_kwargs={"mood": {"calm": True}}),
    AIMessage(
        "",
        id="a1",
        tool_calls=[{"name": "find", "args": {"animal": "otter", "rooms": [1, 2]}, "id": "c1"}],
        additional_kwargs={"refusal": None},
        usage_metadata={"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
    ),
    ToolMessage("in the pond", tool_call_id="c1", status="success", artifact={"depth": 2.5}),
    FunctionMessage("old", name="find"),
    AIMessage([{"type": "text", "text": "The otter is in the pond."}], response_metadata={"model": "small"}),
    HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]),
    ChatMessage(role="critic", content="Too short."),
]


def test_messages_come_back_equal_and_in_order(memory: Appliance) -> None:
    history = ApplianceChatMessageHistory(memory, "zoo")
    history.add_messages(TALK)
    again = ApplianceChatMessageHistory(memory, "zoo").messages
    assert again == TALK
    assert [type(message) for message in again] == [type(message) for message in TALK]


def test_roles_are_the_memorys_own(memory: Appliance) -> None:
    ApplianceChatMessageHistory(memory, "zoo").add_messages(TALK)
    kept = memory.sessions.get("zoo").messages()
    roles = [turn.role for turn in kept]
    assert roles == ["system", "user", "tool", "tool", "tool", "assistant", "user", "tool"]
    assert kept[1].text == "Where is the otter?" and kept[1].author == "Ana"
    assert "otter" in kept[2].text
    assert memory.search("pond")[0].text == "The otter is in the pond."
    assert kept[6].metadata["hidden"] and kept[6].id not in [hit.message_id for hit in memory.search("pond")]


def test_the_async_ways_and_the_convenient_ones_are_the_same(memory: Appliance) -> None:
    history = ApplianceChatMessageHistory(memory, "zoo")

    async def talk() -> list[BaseMessage]:
        await history.aadd_messages([HumanMessage("one")])
        history.add_user_message("two")
        history.add_ai_message("three")
        return await history.aget_messages()

    assert [message.text for message in asyncio.run(talk())] == ["one", "two", "three"]
    asyncio.run(history.aclear())
    assert history.messages == []


def test_histories_of_other_names_users_and_namespaces_are_apart(memory: Appliance) -> None:
    places = [{}, {"user_id": "ben"}, {"namespace": "work"}]
    for place in places:
        ApplianceChatMessageHistory(memory, "zoo", **place).add_user_message(f"hello from {place}")
    ApplianceChatMessageHistory(memory, "farm").add_user_message("moo")
    for place in places:
        kept = ApplianceChatMessageHistory(memory, "zoo", **place).messages
        assert [message.text for message in kept] == [f"hello from {place}"]


def test_turns_that_came_in_another_way_are_in_the_history(memory: Appliance) -> None:
    session = memory.sessions.create(external_id="zoo")
    for role in ("system", "user", "assistant", "tool"):
        session.add(role, f"by {role}")
    kept = ApplianceChatMessageHistory(memory, "zoo").messages
    assert [message.type for message in kept] == ["system", "human", "ai", "chat"]
    assert [message.text for message in kept] == ["by system", "by user", "by assistant", "by tool"]


def test_what_json_cannot_say_is_refused_and_nothing_of_it_is_stored(memory: Appliance) -> None:
    history = ApplianceChatMessageHistory(memory, "zoo")
    with pytest.raises(UsageError, match="can't be stored"):
        history.add_messages([HumanMessage("fine"), HumanMessage("no", additional_kwargs={"it": object()})])
    assert history.messages == []
    with pytest.raises(UsageError, match="The session id is empty"):
        ApplianceChatMessageHistory(memory, " ")


def test_the_retriever_gives_documents_that_say_where_they_are_from(memory: Appliance) -> None:
    session = memory.sessions.create(title="Zoo")
    turn = session.add("user", "The otter sleeps in the pond.", author="Ana")
    session.add("assistant", "Otters sleep a lot in a pond.")
    memory.sessions.create(user_id="ben").add("user", "Ben's otter is in the pond.")
    memory.embed_pending()
    found = ApplianceRetriever(memory=memory, k=1, roles=("user",)).invoke("where does the otter sleep?")
    (document,) = found
    assert document.page_content == "The otter sleeps in the pond."
    assert document.id == document.metadata["id"] == turn.id
    assert document.metadata["session"] == session.id and document.metadata["time"] == turn.timestamp
    assert document.metadata["title"] == "Zoo" and document.metadata["author"] == "Ana"
    assert document.metadata["score"] == memory.search("where does the otter sleep?", roles=["user"])[0].score


def test_the_retriever_has_filters_and_is_a_runnable(memory: Appliance) -> None:
    one, other = memory.sessions.create(), memory.sessions.create()
    one.add("user", "the otter is here")
    other.add("user", "the otter is there")
    narrowed = ApplianceRetriever(memory=memory, session_id=other.id)
    assert [document.page_content for document in asyncio.run(narrowed.ainvoke("otter"))] == ["the otter is there"]
    assert ApplianceRetriever(memory=memory, until="2001-01-01").invoke("otter") == []
    assert ApplianceRetriever(memory=memory, user_id="ben").invoke("otter") == []
    chain = ApplianceRetriever(memory=memory) | RunnableLambda(len)
    assert chain.batch(["otter", "otter"]) == [2, 2]

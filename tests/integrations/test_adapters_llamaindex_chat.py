"""LlamaIndex' retriever, chat store and chat memory over this memory; LlamaIndex' own chat store says what is right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.storage.chat_store import SimpleChatStore

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.llamaindex_chat import ApplianceChatStore, ApplianceMemory, ApplianceRetriever

pytestmark = pytest.mark.slow  # every process of a run would load the framework

HELLO = ChatMessage("The otter is called Lutz.", role="user")
ANSWER = ChatMessage("Noted.", role="assistant")
CALL = ChatMessage("", role="assistant", additional_kwargs={"tool_calls": [{"name": "feed", "arguments": {"at": 7}}]})
RESULT = ChatMessage("fed", role="tool", additional_kwargs={"tool_call_id": "c1"})
PICTURE = ChatMessage(role="user", blocks=[TextBlock(text="look"), ImageBlock(url="http://127.0.0.1/otter.png")])
ALL = [HELLO, ANSWER, PICTURE, CALL, RESULT]


@pytest.mark.parametrize("kind", [SimpleChatStore, ApplianceChatStore])
def test_the_chat_store_does_what_llamaindexs_own_does(memory: Appliance, kind: Any) -> None:
    store = kind() if kind is SimpleChatStore else kind(memory=memory)
    assert store.get_messages("zoo") == [] and store.get_keys() == []
    for message in ALL:
        store.add_message("zoo", message)
    store.add_message("farm", HELLO)
    assert store.get_messages("zoo") == ALL and sorted(store.get_keys()) == ["farm", "zoo"]
    assert store.delete_message("zoo", 1) == ANSWER and store.delete_last_message("zoo") == RESULT
    assert store.delete_message("zoo", 9) is None
    assert store.get_messages("zoo") == [HELLO, PICTURE, CALL]
    store.set_messages("zoo", [HELLO, PICTURE, CALL, RESULT])
    assert store.get_messages("zoo") == [HELLO, PICTURE, CALL, RESULT]
    store.set_messages("zoo", [ANSWER])
    assert store.get_messages("zoo") == [ANSWER]
    assert store.delete_messages("zoo") == [ANSWER] and store.get_keys() == ["farm"]
    store.add_message("zoo", HELLO)
    assert asyncio.run(store.aget_messages("zoo")) == [HELLO]


def test_a_buffer_keeps_its_chat_in_it(memory: Appliance) -> None:
    def buffer() -> ChatMemoryBuffer:
        store = ApplianceChatStore(memory=memory, user_id="ana")
        return ChatMemoryBuffer.from_defaults(chat_store=store, chat_store_key="zoo", token_limit=500)

    buffer().put(HELLO)
    buffer().put(ANSWER)
    assert buffer().get() == [HELLO, ANSWER]
    assert memory.search("otter", user_id="ana")[0].text == "The otter is called Lutz."
    assert "memory" not in ApplianceChatStore(memory=memory).model_dump()


def test_what_cannot_be_stored_changes_nothing(memory: Appliance) -> None:
    store = ApplianceChatStore(memory=memory)
    store.add_message("zoo", HELLO)
    for value in (float("nan"), (1, 2), b"x"):
        wrong = ChatMessage("x", role="user", additional_kwargs={"it": value})
        with pytest.raises(UsageError):
            store.set_messages("zoo", [ANSWER, wrong])
    with pytest.raises(UsageError, match="session id"):
        store.add_message(" ", HELLO)
    assert store.get_messages("zoo") == [HELLO]


def test_the_retriever_says_where_its_nodes_are_from(memory: Appliance) -> None:
    session = memory.sessions.create(title="Zoo", user_id="ana")
    message = session.add("user", "The otter is called Lutz", author="Ana")
    memory.sessions.create().add("user", "The otter of another person")
    retriever = ApplianceRetriever(memory, user_id="ana", limit=3)
    (node,) = retriever.retrieve("what is the otter called?")
    assert (node.node.node_id, node.text) == (message.id, message.text) and 0 <= (node.score or -1) <= 1
    assert node.metadata == {
        "session": session.id, "time": message.timestamp, "role": "user", "author": "Ana", "title": "Zoo",
        "source": "local",
    }  # fmt: skip
    assert [one.node_id for one in asyncio.run(retriever.aretrieve("otter"))] == [message.id]
    assert not ApplianceRetriever(memory, user_id="ana", min_score=0.99).retrieve("explain quantum chromodynamics")


def test_a_query_engine_answers_from_it(memory: Appliance) -> None:
    memory.sessions.create().add("user", "The otter is called Lutz")
    engine = RetrieverQueryEngine.from_args(ApplianceRetriever(memory), llm=MockLLM())
    assert "The otter is called Lutz" in str(engine.query("what is the otter called?"))


def test_the_chat_memory_gives_what_is_known_and_the_latest_turns(memory: Appliance) -> None:
    ApplianceMemory(memory=memory, session_id="farm").put(HELLO)
    chat = ApplianceMemory.from_defaults(memory=memory, session_id="zoo", budget=600)
    assert chat.get() == []
    for number in range(60):
        chat.put(ChatMessage(f"The parrot says number {number} aloud to me.", role="user"))
        chat.put(ChatMessage(f"And I say number {number} to the parrot.", role="assistant"))
    chat.put(PICTURE)
    given = chat.get("what is the otter called?")
    assert "Lutz" in (given[0].content or "") and given[-1] == PICTURE
    assert 3 < len(given) < 121 and len(chat.get_all()) == 121
    assert asyncio.run(chat.aget())[-1] == PICTURE
    chat.set([HELLO, ANSWER])
    assert chat.get_all() == [HELLO, ANSWER]
    chat.reset()
    assert chat.get_all() == []


def test_a_chat_engine_remembers_another_chat(memory: Appliance) -> None:
    ApplianceMemory(memory=memory, session_id="farm").put(HELLO)
    chat = ApplianceMemory(memory=memory, session_id="zoo")
    engine = SimpleChatEngine(llm=MockLLM(), memory=chat, prefix_messages=[])
    assert "Lutz" in str(engine.chat("What is the otter called?"))  # the mock repeats what it is given
    assert [message.role.value for message in chat.get_all()] == ["user", "assistant"]

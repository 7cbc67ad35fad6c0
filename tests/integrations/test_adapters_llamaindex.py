"""LlamaIndex' Memory with a block of this memory in it."""

from __future__ import annotations

import asyncio

import pytest
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import Memory
from sqlalchemy.ext.asyncio import create_async_engine

from appliance import Appliance
from appliance.integrations.llamaindex import ApplianceMemoryBlock

pytestmark = pytest.mark.slow  # every process of a run would load the framework


def test_what_is_put_comes_back_where_it_is_asked_for(memory: Appliance) -> None:
    block = ApplianceMemoryBlock(memory=memory, budget=500)

    async def talk() -> str:
        said = [ChatMessage("The otter is called Lutz.", role="user"), ChatMessage("Noted.", role="assistant")]
        await block.aput(said, session_id="zoo")
        return await block.aget([ChatMessage("what is the otter called?", role="user")], session_id="farm")

    assert "The otter is called Lutz." in asyncio.run(talk())
    assert [turn.role for turn in memory.sessions.get("zoo").messages()] == ["user", "assistant"]


def test_nothing_is_asked_for_without_a_question(memory: Appliance) -> None:
    block = ApplianceMemoryBlock(memory=memory)
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget(None)) == ""
    assert asyncio.run(block.aget([ChatMessage("Be brief.", role="system")])) == ""


def test_the_whole_message_is_kept(memory: Appliance) -> None:
    block = ApplianceMemoryBlock(memory=memory)
    picture = ChatMessage(
        role="user",
        blocks=[TextBlock(text="look at the otter"), ImageBlock(url="http://127.0.0.1/otter.png")],
        additional_kwargs={"tone": "warm"},
    )
    asyncio.run(block.aput([picture, ChatMessage("", role="tool")]))
    kept, empty = memory.sessions.get("llamaindex").messages()
    assert kept.text == "look at the otter"
    assert ChatMessage.model_validate(kept.metadata["llamaindex"]) == picture
    assert empty.role == "tool" and empty.text


def test_users_and_namespaces_are_apart(memory: Appliance) -> None:
    said = [ChatMessage("The otter is called Lutz.", role="user")]
    asked = [ChatMessage("what is the otter called?", role="user")]
    asyncio.run(ApplianceMemoryBlock(memory=memory, user_id="ana", namespace="home").aput(said))
    for place in ({}, {"user_id": "ben"}, {"user_id": "ana"}, {"user_id": "ben", "namespace": "home"}):
        assert "Lutz" not in asyncio.run(ApplianceMemoryBlock(memory=memory, **place).aget(asked))
    assert "Lutz" in asyncio.run(ApplianceMemoryBlock(memory=memory, user_id="ana", namespace="home").aget(asked))


def test_in_a_memory_of_llamaindex_what_falls_out_of_the_short_term_is_remembered(memory: Appliance) -> None:
    block = ApplianceMemoryBlock(memory=memory, budget=400)

    async def talk() -> list[ChatMessage]:
        engine = create_async_engine("sqlite+aiosqlite:///:memory:")
        chat = Memory.from_defaults(
            session_id="zoo",
            token_limit=600,
            chat_history_token_ratio=0.1,
            token_flush_size=20,
            memory_blocks=[block],
            async_engine=engine,
        )
        await chat.aput(ChatMessage("The otter is called Lutz.", role="user"))
        await chat.aput(ChatMessage("What a good name.", role="assistant"))
        for number in range(6):
            await chat.aput(ChatMessage(f"The parrot says number {number} aloud to me.", role="user"))
            await chat.aput(ChatMessage(f"And I say number {number} to the parrot.", role="assistant"))
        try:
            return await chat.aget("what is the otter called?")
        finally:
            await engine.dispose()  # LlamaIndex leaves its own open

    given = asyncio.run(talk())
    assert given[0].role == "system"
    assert "Lutz" in (given[0].content or "")
    assert not any("Lutz" in (message.content or "") for message in given[1:])

"""A Session of the OpenAI Agents SDK over the memory, with the SDK's own runner."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, Usage
from agents.items import ModelResponse
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.openai_agents import ApplianceSession

pytestmark = pytest.mark.slow  # every process of a run would load the framework

ITEMS: list[Any] = [
    {"role": "user", "content": "Where is the otter?"},
    {"type": "reasoning", "id": "r1", "summary": [{"type": "summary_text", "text": "I must look."}]},
    {"type": "function_call", "call_id": "c1", "name": "find", "arguments": '{"animal": "otter"}', "id": "f1"},
    {"type": "function_call_output", "call_id": "c1", "output": "in the pond"},
    {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "The otter is in the pond.", "annotations": []}],
    },
    {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "data:,x", "detail": "auto"}]},
]


def test_it_is_a_session_of_the_sdk(memory: Appliance) -> None:
    assert isinstance(ApplianceSession(memory, "zoo"), Session)


def test_items_come_back_equal_and_in_order(memory: Appliance) -> None:
    async def talk() -> None:
        session = ApplianceSession(memory, "zoo")
        await session.add_items(ITEMS[:4])
        await session.add_items(ITEMS[4:])
        again = ApplianceSession(memory, "zoo")
        assert await again.get_items() == ITEMS
        assert await again.get_items(2) == ITEMS[-2:]
        assert await again.get_items(0) == []
        assert await again.get_items(100) == ITEMS

    asyncio.run(talk())
    kept = memory.sessions.get("zoo").messages()
    assert [turn.role for turn in kept] == ["user", "tool", "tool", "tool", "assistant", "system", "user"]
    assert [turn.text for turn in kept][:4] == [
        "Where is the otter?",
        "I must look.",
        'find {"animal": "otter"}',
        "in the pond",
    ]
    assert memory.search("pond")[0].text == "The otter is in the pond."


def test_a_limit_of_the_sessions_own(memory: Appliance) -> None:
    session = ApplianceSession(memory, "zoo", session_settings=SessionSettings(limit=3))
    asyncio.run(session.add_items(ITEMS))
    assert asyncio.run(session.get_items()) == ITEMS[-3:]
    assert asyncio.run(session.get_items(1)) == ITEMS[-1:]


def test_popped_items_are_gone_for_the_session_and_for_every_search(memory: Appliance) -> None:
    async def talk() -> None:
        session = ApplianceSession(memory, "zoo")
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:5])
        memory.embed_pending()
        assert memory.search("pond")
        assert await session.pop_item() == ITEMS[4]
        assert await session.pop_item() == ITEMS[3]
        assert await session.get_items() == ITEMS[:3]
        await session.add_items([ITEMS[3]])
        assert await session.get_items() == ITEMS[:4]

    asyncio.run(talk())
    for embedded in (False, True):
        if embedded:
            memory.embed_pending()
        assert not [hit for hit in memory.search("otter pond") if "pond" in hit.text]
    assert "in the pond" not in memory.context("pond").text
    assert not memory.verify().problems


def test_cleared_is_empty_and_others_stay(memory: Appliance) -> None:
    async def talk() -> None:
        mine, bens = ApplianceSession(memory, "zoo"), ApplianceSession(memory, "zoo", user_id="ben")
        await mine.add_items(ITEMS)
        await bens.add_items(ITEMS[:1])
        await mine.clear_session()
        assert await mine.get_items() == []
        assert await mine.pop_item() is None
        assert await bens.get_items() == ITEMS[:1]

    asyncio.run(talk())


def test_what_would_not_come_back_as_it_is_is_refused(memory: Appliance) -> None:
    session = ApplianceSession(memory, "zoo")
    odd: Any = {"role": "user", "content": "x", "extra": (1, 2)}
    with pytest.raises(UsageError, match="would change when it is read back"):
        asyncio.run(session.add_items([ITEMS[0], odd]))
    assert asyncio.run(session.get_items()) == []


class Parrot(Model):
    """Says how many items it was given, and what the first one was."""

    async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **named: Any) -> ModelResponse:
        text = f"{len(input)} items, first: {input[0]['content']}"
        content = ResponseOutputText(text=text, type="output_text", annotations=[])
        said = ResponseOutputMessage(id="m", content=[content], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **named: Any) -> Any:
        raise NotImplementedError


def test_a_runner_goes_on_with_the_conversation_in_another_run(memory: Appliance) -> None:
    agent = Agent(name="parrot", model=Parrot())

    async def run(text: str) -> str:
        session = ApplianceSession(memory, "zoo")
        quiet = RunConfig(tracing_disabled=True)
        return str((await Runner.run(agent, text, session=session, run_config=quiet)).final_output)

    assert asyncio.run(run("my name is Ana")) == "1 items, first: my name is Ana"
    assert asyncio.run(run("who am I?")) == "3 items, first: my name is Ana"

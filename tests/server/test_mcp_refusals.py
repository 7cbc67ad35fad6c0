"""What an assistant is told over MCP when something can't be, and what is understood all the same."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from appliance import Appliance
from tests.server.mcp_runs import Caller, talk


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    trip = memory.sessions.create(title="Lisbon", external_id="trip")
    trip.add("user", "We leave for Lisbon on Thursday", author="Ana")
    trip.add("user", "Did you book the hotel?", author="Ben")
    trip.add("user", "The blue one near the river, reservation QX-4471", author="Ana")
    trip.add("tool", "search: hotels near the river")
    soup = memory.sessions.create(title="Soup")
    soup.add("user", "How do I thicken a soup without flour? I live in Berlin.")
    soup.add("assistant", "Blend some of the vegetables into it.")
    memory.embed_pending()
    return memory


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("memory_search", {}, "The argument query is missing.\nquery: What to look for."),
        ("memory_search", {"query": "x", "limit": 51}, "limit"),
        ("memory_search", {"query": "x", "colour": "red"}, "The arguments are query, limit"),
        ("memory_search", {"query": "x", "since": "soon"}, "Invalid date 'soon'"),
        ("memory_search", {"query": "x", "cursor": "abc"}, "cursor"),
        ("memory_search", {"query": "x" * 2_001}, "query"),
        (
            "memory_search",
            {"query": "x", "session": "s77"},
            "There is no session 's77'.\nmemory_sessions lists the sessions.",
        ),
        (
            "memory_get",
            {"ids": ["s1"]},
            "Invalid argument ids[0]: 's1' has another form.\nids: Message ids, such as m12.",
        ),
        ("memory_get", {"ids": []}, "ids"),
        ("memory_get", {"ids": ["m8888"]}, "There is no message m8888.\nmemory_search gives the ids of messages."),
        ("memory_timeline", {}, "The timeline needs a place to look."),
        ("memory_timeline", {"around": "m8888"}, "There is no message m8888."),
        ("memory_context", {"query": "x", "budget": 9_000}, "budget"),
        ("memory_add", {"text": "   "}, "empty"),
        ("memory_add", {"text": "x", "session": "s77"}, "There is no session"),
        (
            "memory_facts",
            {"action": "dance"},
            "Invalid argument action: 'dance' is not one of its values.\nUse one of add,",
        ),
        (
            "memory_search",
            {"query": "x", "has": "song"},
            "Use one of attachment, audio, document, file, image, link, video.",
        ),
        ("memory_people", {"action": "show", "person": "Zed"}, "There is no person 'Zed'.\nmemory_people shows who"),
        ("memory_forget", {}, "Nothing is selected to forget."),
        ("memory_forget", {"ids": ["m8888"]}, "There is no message m8888."),
        ("memory_forget", {"source": "signal"}, "No message came from"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_what_to_do(
    filled: Appliance, tool: str, arguments: dict[str, Any], words: str
) -> None:
    async def work(caller: Caller) -> str:
        return await caller.refused(tool, **arguments)

    said = talk(filled, work)
    assert words in said and "Traceback" not in said


def test_what_models_get_slightly_wrong_is_understood(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("memory_search", query="hotel", limit="1", session=None, cursor=None)
        assert len(found["hits"]) == 1
        assert len((await caller.call("memory_get", ids="m1, m2"))["messages"]) == 2

    talk(filled, work)


def test_a_slip_of_ours_tells_no_words_of_a_message(
    filled: Appliance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    words = "QX-4471"

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(filled, "search", fail)

    async def work(caller: Caller) -> str:
        return await caller.refused("memory_search", query="hotel")

    said = talk(filled, work)
    assert "bug" in said and "RuntimeError" in said
    assert words not in said and words not in caplog.text and "read_tools.py" in caplog.text


def test_an_unknown_tool_is_an_error_of_the_protocol(memory: Appliance) -> None:
    async def work(caller: Caller) -> None:
        with pytest.raises(MCPError, match="no tool 'memory_dance'"):
            await caller.client.call_tool("memory_dance", {})

    talk(memory, work)


def test_calls_at_the_same_time_are_all_answered(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        adds = [caller.call("memory_add", text=f"note number {number}") for number in range(8)]
        finds = [caller.call("memory_search", query="hotel") for _ in range(8)]
        answers = await asyncio.gather(*adds, *finds)
        assert len({answer["id"] for answer in answers[:8]}) == 8
        assert all(answer["hits"] for answer in answers[8:])

    talk(filled, work)

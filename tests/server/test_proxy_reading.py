"""What is read of a request and of an answer, wherever its bytes are cut."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from fastapi import FastAPI

from appliance.context import render
from appliance.errors import UsageError
from appliance.server.openai_proxy import turns as chat
from appliance.server.openai_proxy.route import PassThroughStream, router
from tests.server.proxy_parts import event, events, message


def gathered(data: bytes, at: int = 10**9, most: int = 10_000) -> chat.StreamAssembler:
    gathering = chat.StreamAssembler(most)
    for chunk in (data[:at], data[at:]):
        gathering.feed(chunk)
    return gathering


def test_a_stream_says_the_same_wherever_it_is_cut() -> None:
    data = b"".join(events("Grüße an den Otter 🦦, sagt sie"))
    for at in range(len(data)):
        (turn,) = gathered(data, at).turns()
        assert turn == chat.ChatTurn("assistant", "Grüße an den Otter 🦦, sagt sie")


def test_a_stream_byte_by_byte_with_calls_of_tools() -> None:
    def call(at: int, name: str, given: str) -> bytes:
        return event({"tool_calls": [{"index": at, "function": {"name": name, "arguments": given}}]})

    data = event({"content": "Wait."}) + call(0, "a", "") + call(1, "b", '{"x"') + call(0, "", "{}")
    data += call(1, "", ":1}") + b"data: [DONE]\r\n\r\n"
    gathering = chat.StreamAssembler(10_000)
    for byte in data:
        gathering.feed(bytes([byte]))
    said, called = gathering.turns()
    assert said == chat.ChatTurn("assistant", "Wait.") and called.text == 'a {}\nb {"x":1}'
    assert [tool["name"] for tool in called.tools] == ["a", "b"]


@pytest.mark.parametrize("end", [b"", b"data: {", event({"content": "?"})[:-9]])
def test_a_stream_that_breaks_off_is_cut(end: bytes) -> None:
    (turn,) = gathered(b"".join(events("One two three")[:3]) + end).turns()
    assert turn.text == "One two " and turn.cut and turn.metadata == {"cut": True}
    assert gathered(end).turns() == []


def test_what_is_held_is_bounded_and_what_is_longer_is_cut() -> None:
    long = b"".join(event({"content": "x" * 100}) for _ in range(100))
    (turn,) = gathered(long + b"data: [DONE]\n\n", most=5_000).turns()
    assert len(turn.text) == 5_000 and turn.cut
    endless = chat.StreamAssembler(1_000)
    for _ in range(1_000):
        endless.feed(b"data: " + b"y" * 10_000)
    assert endless.turns() == [] and len(endless._line) <= 1_000


@pytest.mark.parametrize(
    "line",
    [
        b"data: " + b"[" * 5_000,
        b"data: 7",
        b"data: []",
        b'data: {"choices": 7}',
        b'data: {"choices": [7]}',
        b'data: {"choices": [{"delta": 7}]}',
        b'data: {"choices": [{"delta": {"content": 7}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": 7}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": [7]}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": [{"index": "x"}]}}]}',
        b'data: {"choices": [{"delta": {"tool_calls": [{"function": {"name": 7, "arguments": []}}]}}]}',
        b'data: {"choices": [{"index": 1, "delta": {"content": "the other"}}]}',
        b'data: {"error": {"message": "oh no"}}',
        b"data: \xff\xfe",
        b"event: ping",
        b": comment",
    ],
)
def test_odd_lines_of_a_stream_do_no_harm(line: bytes) -> None:
    (turn,) = gathered(line + b"\n\n" + event({"content": "Hi"}) + b"data: [DONE]\n\n").turns()
    assert turn == chat.ChatTurn("assistant", "Hi")


@pytest.mark.parametrize(
    "body",
    [b"", b"7", b"[]", b"{}", b'{"choices": []}', b'{"choices": [7]}', b'{"choices": [{"message": 7}]}', b"\xff"],
)
def test_what_is_no_completion_has_no_turns(body: bytes) -> None:
    assert chat.completion_turns(body) == []


def test_the_first_choice_of_several_is_the_answer() -> None:
    whole = message("one")
    whole["choices"].insert(0, {"index": 1, "message": {"role": "assistant", "content": "two"}})
    assert chat.completion_turns(json.dumps(whole).encode()) == [chat.ChatTurn("assistant", "one")]


def request(*messages: dict[str, Any]) -> chat.ChatRequest:
    return chat.read(json.dumps({"messages": messages}).encode())


def test_turns_of_every_kind() -> None:
    asked = request(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "name": "Ana", "content": [{"type": "text", "text": "One"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "", "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "3"},
        {"role": "assistant", "content": None, "refusal": "I won't."},
        {"role": "developer", "content": [{"type": "text", "text": "Rhyme."}]},
        {"role": "user", "content": None},
        {"role": "critic", "content": "?"},
        {"content": "nobody's"},
    )
    assert [(turn.role, turn.text) for turn in asked.turns] == [
        ("user", "One\ntwo"),
        ("tool", "f {}"),
        ("tool", "3"),
        ("assistant", "I won't."),
    ]
    assert asked.turns[0].author == "Ana" and asked.turns[2].tools == ({"kind": "result", "name": "f"},)
    assert asked.system == "Be brief.\nRhyme." and asked.leading_system_count == 1


def test_what_is_known_stands_behind_the_clients_own_instructions() -> None:
    for roles, place in ((["user"], 0), (["system", "user"], 1), (["system", "developer", "user", "system"], 2)):
        asked = request(*({"role": role, "content": role} for role in roles))
        sent = json.loads(asked.body("known", "system"))["messages"]
        assert sent.pop(place) == {"role": "system", "content": "known"}
        assert [one["role"] for one in sent] == roles
        sent = json.loads(asked.body("known\n"))["messages"]
        assert sent[roles.index("user")]["content"] == f"known\n{render.MESSAGE}user"
        assert [one["role"] for one in sent] == roles


def test_memories_stand_before_the_latest_message_of_the_user_that_has_words_or_parts() -> None:
    latest = {"role": "user", "content": [{"type": "text", "text": "b"}], "name": "Ana"}
    asked = request({"role": "user", "content": "a"}, latest, {"role": "assistant", "content": "c"})
    sent = json.loads(asked.body("known\n"))["messages"]
    assert sent[0] == {"role": "user", "content": "a"}
    assert sent[1] == {**latest, "content": [{"type": "text", "text": f"known\n{render.MESSAGE}"}, *latest["content"]]}


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff a", "a \\ud83d"])
def test_half_a_character_is_refused_before_anything_is_stored(text: str) -> None:
    with pytest.raises(UsageError, match="not a chat request"):
        chat.read(f'{{"messages": [{{"role": "user", "content": "{text}"}}]}}'.encode())


def test_the_openapi_document_has_what_is_ours() -> None:
    app = FastAPI()
    app.include_router(router)
    said = app.openapi()["paths"]["/v1/chat/completions"]["post"]
    names = ["X-Memory", "X-Memory-Session", "X-Memory-Budget", "X-Memory-User", "X-Memory-Task"]
    assert [one["name"] for one in said["parameters"]] == names
    assert said["requestBody"]["required"] and "text/event-stream" in said["responses"]["200"]["content"]
    for status in ("400", "404", "413", "502", "503", "504", "default"):
        assert said["responses"][status]["description"]


def test_a_client_that_leaves_at_the_last_piece_does_not_cancel_the_storing() -> None:
    stored: list[Any] = []

    class Upstream:
        status = 200

        async def chunks(self) -> Any:
            for piece in events("Lutz"):
                yield piece

        async def close(self) -> None: ...

    class Store:
        async def store(self, said: list[chat.ChatTurn]) -> None:
            await anyio.lowlevel.checkpoint()  # where a cancelled request ends
            stored.extend(said)

    async def leave_at_the_end() -> None:
        async def receive() -> Any:
            return await anyio.sleep_forever()

        async def send(message: Any) -> None:
            if b"[DONE]" in message.get("body", b""):
                tasks.cancel_scope.cancel()

        stream = PassThroughStream(Upstream(), Store(), {}, chat.StreamAssembler(1_000))  # type: ignore[arg-type]
        async with anyio.create_task_group() as tasks:
            await stream({"type": "http", "asgi": {"spec_version": "2.4"}}, receive, send)

    anyio.run(leave_at_the_end)
    assert [turn.text for turn in stored] == ["Lutz"] and not stored[0].cut

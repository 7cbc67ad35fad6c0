"""OpenAI's Responses API through the proxy, asked by the real client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse, StreamingResponse

from appliance.context import render
from appliance.errors import UsageError
from appliance.server.openai_proxy import responses
from tests.server.proxy_parts import model, proxy, response, response_events
from tests.waits import until

pytestmark = pytest.mark.usefixtures("socket_enabled")

OTTER, QUESTION = "My otter is called Lutz.", "What is my otter called?"


def told(body: dict[str, Any]) -> str:
    """The memories before the words of the latest message."""
    given = body["input"]
    latest = given if isinstance(given, str) else [one for one in given if one.get("role") == "user"][-1]["content"]
    text = latest if isinstance(latest, str) else latest[0]["text"]
    memories, mark, _ = text.partition(render.MESSAGE)
    return memories if mark else ""


def quoting(body: dict[str, Any]) -> str:
    return f"I know: {told(body)}" if told(body) else "I know nothing."


def test_memory_of_an_earlier_conversation_reaches_the_model(home: Path) -> None:
    with model(quoting) as tiny, proxy(home, tiny.base_url) as there:
        client = there.client()
        assert client.responses.create(model="tiny", input=OTTER).output_text == "I know nothing."
        got = client.responses.with_raw_response.create(model="tiny", input=QUESTION, temperature=0.1)
        assert OTTER in got.parse().output_text and "m1" in got.headers["x-memory-messages"]
        assert tiny.asked[-1]["temperature"] == 0.1
        session = got.headers["x-memory-session"]
        assert [role for role, _ in there.said(session)] == ["user", "assistant"]


def test_a_request_goes_on_in_the_session_of_the_answer_that_it_names(home: Path) -> None:
    with model(lambda body: "All right.") as tiny, proxy(home, tiny.base_url) as there:
        client = there.client("ana")
        first = client.responses.create(model="tiny", input=OTTER)
        second = client.responses.with_raw_response.create(
            model="tiny", input="And he bites.", previous_response_id=first.id
        )
        assert tiny.asked[-1]["previous_response_id"] == first.id
        assert [text for _, text in there.said(second.headers["x-memory-session"])] == [
            OTTER, "All right.", "And he bites.", "All right.",
        ]  # fmt: skip
        # Another user's, and one that is not known, begin sessions of their own.
        for token, id in (("ben", first.id), ("ana", "resp_unknown")):
            other = there.client(token).responses.with_raw_response.create(
                model="tiny", input="Hello", previous_response_id=id
            )
            assert len(there.said(other.headers["x-memory-session"])) == 2


@pytest.mark.slow
def test_the_whole_conversation_is_found_again(home: Path) -> None:
    with model(lambda body: "All right.") as tiny, proxy(home, tiny.base_url) as there:
        client, said = there.client(), [{"role": "user", "content": OTTER}]
        first = client.responses.with_raw_response.create(model="tiny", instructions="Be brief.", input=said)
        said += [
            *tiny_output(first.parse()),
            {"role": "user", "content": [{"type": "input_text", "text": "He bites."}]},
        ]
        second = client.responses.with_raw_response.create(model="tiny", instructions="Be brief.", input=said)
        assert first.headers["x-memory-session"] == second.headers["x-memory-session"]
        assert len(there.said()) == 4 and "Sepp" not in str(there.said())


def tiny_output(parsed: Any) -> list[dict[str, Any]]:
    """The items of an answer as a client sends them back."""
    return [one.to_dict() for one in parsed.output]


def test_a_stream_comes_through_and_is_stored(home: Path) -> None:
    with model(quoting) as tiny, proxy(home, tiny.base_url) as there:
        client = there.client()
        there.memory.sessions.create().add("user", OTTER)
        with client.responses.create(model="tiny", input=QUESTION, stream=True) as stream:
            kinds = [event.type for event in stream]
        assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
        until(lambda: len(there.said()) == 3)
        assert OTTER in there.said()[-1][1] and "Sepp" not in str(there.said())
        (answer,) = [line for line in there.memory.export() if line["role"] == "assistant"]
        assert answer["message_id"] == "resp_1" and "cut" not in answer["metadata"]


@pytest.mark.slow
def test_a_stream_that_breaks_off_is_stored_as_cut(home: Path) -> None:
    def broken(body: dict[str, Any]) -> StreamingResponse:
        return StreamingResponse(iter(response_events("resp_7", "One two three")[:-2]), media_type="text/event-stream")

    with model(broken) as tiny, proxy(home, tiny.base_url) as there:
        httpx.post(there.url + "/v1/responses", json={"input": "Count", "stream": True}, trust_env=False)
        (answer,) = [line for line in there.memory.export() if line["role"] == "assistant"]
        assert answer["content"].strip() == "One two" and answer["metadata"]["cut"]


@pytest.mark.slow
def test_calls_of_tools_are_tool_records(home: Path) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"at": "pond"}'}
    answers = iter([{**response("resp_a", ""), "output": [call]}, response("resp_b", "He is there.")])
    with model(lambda body: JSONResponse(next(answers))) as tiny, proxy(home, tiny.base_url) as there:
        given: list[Any] = [{"role": "user", "content": "Where is he?"}]
        first = there.client().responses.create(model="tiny", input=given)
        given += [*tiny_output(first), {"type": "function_call_output", "call_id": "c1", "output": "in the pond"}]
        there.client().responses.create(model="tiny", input=given)
        assert there.said() == [
            ("user", "Where is he?"), ("tool", 'look {"at": "pond"}'), ("tool", "in the pond"),
            ("assistant", "He is there."),
        ]  # fmt: skip


@pytest.mark.slow
def test_endpoints_whose_answers_share_an_id_overwrite_nothing(home: Path) -> None:
    with (
        model(lambda body: JSONResponse(response("same", f"To {body['input'].split()[-1]}"))) as tiny,
        proxy(home, tiny.base_url) as there,
    ):
        for text in ("one", "two", "three"):
            there.client().responses.create(model="tiny", input=text, extra_headers={"X-Memory-Session": "zoo"})
        assert [text for role, text in there.said("zoo") if role == "assistant"] == ["To one", "To two", "To three"]


@pytest.mark.slow
def test_a_title_is_a_task_here_too(home: Path) -> None:
    text = (
        f"Please generate a concise title for a conversation that starts with:\nUser: {OTTER}\nAssistant: Oh\n\nTitle:"
    )
    with model(quoting) as tiny, proxy(home, tiny.base_url) as there:
        got = there.client().responses.with_raw_response.create(model="tiny", input=text)
        assert got.headers["x-memory-task"] == "title" and there.said() == [] and tiny.asked[-1]["input"] == text


def test_where_memories_stand() -> None:
    part = '{"type": "input_text", "text": "a"}'
    items = f'[{{"role": "developer", "content": "Brief."}}, {{"role": "user", "content": [{part}]}}]'
    asked = responses.read(f'{{"input": {items}, "x": 1.50}}'.encode())
    assert asked.body("known\n").endswith(b'"x":1.50}')
    placed = httpx.Response(200, content=asked.body("known\n")).json()["input"]
    assert placed[1]["content"][0] == {"type": "input_text", "text": f"known\n{render.MESSAGE}"}
    placed = httpx.Response(200, content=asked.body("known", "system")).json()["input"]
    assert placed[1] == {"role": "system", "content": "known"} and placed[2]["role"] == "user"
    text = responses.read(b'{"input": "a", "instructions": "Brief."}')
    assert httpx.Response(200, content=text.body("known\n")).json()["input"] == f"known\n{render.MESSAGE}a"
    assert text.system == "Brief." and text.latest_user_text == "a"


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"input": 7}', b'{"input": ["a"]}', b'{"input": [{"role": 1e999}]}'])
def test_what_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(UsageError, match=r"Responses API|chat request"):
        responses.read(body)


def test_errors_have_openais_shape(home: Path) -> None:
    with proxy(home, "") as there, pytest.raises(openai.InternalServerError, match=r"llm\.base_url"):
        there.client().responses.create(model="tiny", input="Hello")

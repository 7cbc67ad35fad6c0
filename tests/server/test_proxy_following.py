"""Clients send the whole conversation each time: it is found again, and nothing of it is stored twice."""

from __future__ import annotations

import json
import threading
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from starlette.responses import JSONResponse, Response

from appliance.context import render
from appliance.server.openai_proxy import threads as threads_module
from tests.server.proxy_parts import Proxy, event, message, model, proxy, told
from tests.waits import until

pytestmark = pytest.mark.usefixtures("socket_enabled")

Turns = list[tuple[str, str]]


def counting() -> Any:
    """A model that never says the same twice."""
    numbers = iter(range(1, 1000))
    return lambda body: f"answer {next(numbers)}"


def echo(body: dict[str, Any]) -> str:
    """A model that always says the same to the same, whatever it was told."""
    return f"You said: {body['messages'][-1]['content'].removeprefix(told(body) + render.MESSAGE)}"


def say(there: Proxy, turns: Turns, text: str, **more: str) -> str:
    """Go on with a conversation as a client does, with all of it; the session that it landed in."""
    turns.append(("user", text))
    got = there.chat(*turns, **more)
    turns.append(("assistant", got.parse().choices[0].message.content))
    return got.headers["x-memory-session"]


def texts(there: Proxy, session: str) -> list[str]:
    return [text for _, text in there.said(session)]


@pytest.mark.parametrize("more", [{}, {"memory_session": "zoo"}], ids=["by its beginning", "by its name"])
def test_a_growing_conversation_is_one_session_and_nothing_is_stored_twice(home: Path, more: dict[str, str]) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = [("system", "Be brief.")]
        sessions = {say(there, turns, text, **more) for text in ("Hello", "How are you?", "Hello", "Bye")}
        assert len(sessions) == 1
        assert there.said(sessions.pop()) == turns[1:]
        assert len(there.memory.sessions.list()) == 1


def test_a_conversation_goes_on_though_its_system_message_tells_the_time(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = [("system", "It is 10:00.")]
        one = say(there, turns, "Hello")
        turns[0] = ("system", "It is 10:01.")
        assert say(there, turns, "How are you?") == one
        assert there.said(one) == turns[1:]


def test_a_conversation_goes_on_where_answers_come_back_trimmed_and_without_thoughts(home: Path) -> None:
    said = "<think>Who is this?\nAh.</think>\n\nHello  Ana. \n"
    with model(lambda body: said) as tiny, proxy(home, tiny.base_url) as there:
        one = there.chat(("user", "Hello")).headers["x-memory-session"]
        two = there.chat(("user", "Hello "), ("assistant", "Hello  Ana."), ("user", "Bye"))
        assert two.headers["x-memory-session"] == one
        assert texts(there, one) == ["Hello", "Hello  Ana.", "Bye", "Hello  Ana."]


def test_two_conversations_that_begin_alike_are_two(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        one: Turns = []
        other: Turns = []
        first = say(there, one, "Hello")
        say(there, one, "I am in Lisbon.")
        second = say(there, other, "Hello")
        assert second != first
        assert say(there, one, "Where am I?") == first
        assert say(there, other, "I am in Porto.") == second
        assert there.said(first) == one and there.said(second) == other


def test_they_are_two_later_and_under_another_system_message(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        first = say(there, [], "Hello")
        assert say(there, [("system", "You are a pirate.")], "Hello") != first
        monkeypatch.setattr(threads_module, "RETRY_WINDOW", timedelta(0))
        assert say(there, [], "Hello") != first
        assert len(there.memory.sessions.list()) == 3


def test_two_that_begin_alike_at_once_part_where_they_differ(home: Path) -> None:
    """Within the time of a retry nobody can tell the second from one; what comes then tells them apart."""
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        one: Turns = []
        other: Turns = []
        say(there, one, "Hello")
        say(there, other, "Hello")
        first, second = say(there, one, "I am in Lisbon."), say(there, other, "I am in Porto.")
        assert first != second
        assert there.said(first) == one and there.said(second) == other
        assert len([line for line in there.memory.export() if line["content"] == "Hello"]) == 1


def test_a_retried_request_stores_nothing_twice(home: Path) -> None:
    with model(echo) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        for text in ("Hello", "How are you?"):
            one = say(there, turns, text)
            assert there.chat(*turns[:-1]).headers["x-memory-session"] == one
        assert there.said(one) == turns and len(list(there.memory.export())) == 4


def test_an_answer_made_again_becomes_a_branch_that_goes_on(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        say(there, turns, "Hello")
        one = say(there, turns, "How are you?")
        again: Turns = turns[:2]
        branch = say(there, again, "How are you?")
        assert say(there, again, "Good.") != one
        goes_on = say(there, again, "And now?")
        assert there.said(goes_on) == again and there.said(one) == turns
        assert there.memory.sessions.info(goes_on).branch_of == one
        stored = [line["content"] for line in there.memory.export()]
        assert sorted(stored) == sorted({*(text for _, text in turns), *(text for _, text in again)})
        assert branch in (one, goes_on)
        third: Turns = turns[:2]
        say(there, third, "How are you?")
        assert say(there, third, "Good.") not in (one, goes_on)
        assert [turns[3], again[3], third[3]] == [("assistant", f"answer {n}") for n in (2, 3, 6)]


def test_a_turn_that_the_person_edited_becomes_a_branch(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        say(there, turns, "Hello")
        one = say(there, turns, "I am in Lisbon.")
        edited: Turns = turns[:2]
        other = say(there, edited, "I am in Porto.")
        assert other != one and there.said(other) == edited and there.said(one) == turns
        assert say(there, turns, "Where am I?") == one
        assert say(there, edited, "Where am I?") == other
        assert [text for _, text in there.said()].count("Hello") == 1


def test_an_answer_that_the_person_edited_is_kept_as_they_have_it(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        say(there, turns, "Hello")
        one = say(there, turns, "How are you?")
        edited: Turns = [*turns[:3], ("assistant", "I am a person's words.")]
        other = say(there, edited, "Really?")
        assert other != one and there.said(other) == edited and there.said(one) == turns


def test_a_conversation_from_before_the_proxy_is_taken_in_whole(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = [("user", "Hello"), ("assistant", "Hi."), ("user", "I am in Lisbon."), ("assistant", "Nice.")]
        one = say(there, turns, "Where am I?")
        assert there.said(one) == turns


def test_a_client_that_drops_the_oldest_turns_goes_on_in_the_same_session(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        for text in ("Hello", "I am in Lisbon.", "It rains."):
            one = say(there, turns, text)
        assert say(there, turns[2:], "Where am I?") == one
        assert len(there.said(one)) == 8
        # What is known by one answer in its middle only, and then differs, is another conversation.
        stranger: Turns = [turns[2], turns[3], ("user", "It snows."), ("assistant", "Brr.")]
        assert say(there, stranger, "Where am I?") != one


def test_a_session_of_a_name_takes_single_turns_and_whole_conversations(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        for text in ("Hello", "yes", "yes", "Hello"):
            there.chat(("user", text), memory_session="zoo")
        session = there.memory.sessions.info("zoo")
        assert [text for role, text in there.said(session.id) if role == "user"] == ["Hello", "yes", "yes", "Hello"]
        by_id = there.chat(*there.said(session.id), ("user", "Bye"), memory_session=session.id)
        assert by_id.headers["x-memory-session"] == session.id
        assert len(there.said(session.id)) == 10


def test_a_session_that_was_begun_by_other_means_is_gone_on_with(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        session = there.memory.sessions.create(external_id="zoo")
        session.add("user", "Hello")
        session.add("assistant", "Hi.")
        turns: Turns = [("user", "Hello"), ("assistant", "Hi.")]
        assert say(there, turns, "How are you?", memory_session="zoo") == session.id
        edited: Turns = turns[:2]
        branch = say(there, edited, "Who are you?", memory_session="zoo")
        assert say(there, edited, "Really?", memory_session="zoo") == branch != session.id
        assert there.said(session.id) == turns and there.said(branch) == edited


@pytest.mark.parametrize(
    ("name", "status"), [("s99", 404), ("private-0123456789abcdef", 400), ("x" * 300, 400)], ids=range(3)
)
def test_a_name_that_cannot_be_is_refused(home: Path, name: str, status: int) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        with pytest.raises(openai.APIStatusError) as caught:
            there.chat(("user", "Hello"), memory_session=name)
        assert caught.value.status_code == status
        assert tiny.asked == [] and len(there.memory.sessions.list()) == 0


TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "t1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'}}


def weather(body: dict[str, Any]) -> Response:
    """A model that asks a tool first."""
    if body["messages"][-1]["role"] == "tool":
        return JSONResponse(message("It is sunny in Lisbon."))
    if body.get("stream"):
        pieces = [
            event({"role": "assistant", "content": None}),
            event({"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "weather", "arguments": ""}}]}),
            event({"tool_calls": [{"index": 0, "function": {"arguments": '{"city": '}}]}),
            event({"tool_calls": [{"index": 0, "function": {"arguments": '"Lisbon"}'}}]}, "tool_calls"),
            b"data: [DONE]\n\n",
        ]
        return Response(b"".join(pieces), media_type="text/event-stream")
    return JSONResponse(message(None, tool_calls=[CALL]))


@pytest.mark.parametrize("stream", [False, True])
def test_calls_of_tools_and_their_results_are_kept_as_tool_records(home: Path, stream: bool) -> None:
    with model(weather) as tiny, proxy(home, tiny.base_url) as there:
        ask = there.client().chat.completions.create
        messages: list[Any] = [{"role": "user", "content": "How is the weather in Lisbon?"}]
        first: Any = ask(model="tiny", messages=messages, tools=[TOOL], stream=stream)  # type: ignore[call-overload]
        if stream:
            assert list(first)[-1].choices[0].finish_reason == "tool_calls"
            first.close()
            until(lambda: len(there.said()) == 2)
        else:
            assert first.choices[0].message.tool_calls[0].id == "t1"
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "t1", "content": "sunny, 24 degrees"},
        ]
        ask(model="tiny", messages=messages, tools=[TOOL])
        assert tiny.asked[-1]["messages"][-3:] == messages  # what is known stands before all of it
        (session,) = there.memory.sessions.list()
        assert there.said(session.id) == [
            ("user", "How is the weather in Lisbon?"),
            ("tool", 'weather {"city": "Lisbon"}'),
            ("tool", "sunny, 24 degrees"),
            ("assistant", "It is sunny in Lisbon."),
        ]
        call, result = there.memory.sessions.messages(session.id)[1:3]
        assert call.metadata["tools"] == [{"kind": "call", "name": "weather"}]
        assert result.metadata["tools"] == [{"kind": "result", "name": "", "id": "t1"}]
        messages += [{"role": "assistant", "content": "It is sunny in Lisbon."}, {"role": "user", "content": "Thanks"}]
        ask(model="tiny", messages=messages)
        assert len(there.said(session.id)) == 6 and len(there.memory.sessions.list()) == 1


def test_many_at_once_store_each_turn_once(home: Path) -> None:
    with model(echo) as tiny, proxy(home, tiny.base_url) as there:
        body = {"messages": [{"role": "user", "content": "Hello"}]}

        def ask() -> None:
            httpx.post(there.url + "/v1/chat/completions", content=json.dumps(body), trust_env=False, timeout=60)

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert there.said() == [("user", "Hello"), ("assistant", "You said: Hello")]
        assert not there.memory.verify().problems


def test_a_conversation_that_was_forgotten_meanwhile_begins_again(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        one = say(there, turns, "Hello")
        there.memory.sessions.get(one).delete()
        other = say(there, turns, "How are you?")
        assert there.said(other) == turns and len(there.memory.sessions.list()) == 1


def test_one_that_is_deleted_while_the_model_thinks_takes_its_answer_along(home: Path) -> None:
    with model(echo) as tiny, proxy(home, tiny.base_url) as there:
        tiny.gate.clear()
        client = there.client()
        stream = client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": "Hello"}], stream=True
        )
        until(lambda: there.said())
        there.memory.sessions.get(there.memory.sessions.list()[0].id).delete()
        tiny.gate.set()
        assert "".join(piece.choices[0].delta.content or "" for piece in stream) == "You said: Hello"
        stream.close()
        assert there.said() == []


def test_times_are_those_of_the_turns(home: Path) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        turns: Turns = []
        one = say(there, turns, "Hello")
        kept = there.memory.sessions.messages(one)
        for turn in kept:
            assert turn.timestamp is not None
            assert datetime.now(UTC) - datetime.fromisoformat(turn.timestamp) < timedelta(minutes=1)


@pytest.mark.parametrize(("scope", "status"), [("conversational", 200), ("summaries_only", 404), ("none", 404)])
def test_a_token_goes_on_only_with_a_session_that_shares_its_messages(home: Path, scope: Any, status: int) -> None:
    with model(counting()) as tiny, proxy(home, tiny.base_url) as there:
        session = there.memory.sessions.create(user_id="ana", storage_scope=scope)
        session.add("user", "The wreck lies off Procida")
        refused: Any = pytest.raises(openai.NotFoundError) if status == 404 else nullcontext()
        with refused:
            there.chat(("user", "Where is it?"), token="ana", memory_session=session.id)

"""Front ends through the proxy: their own prompts are no memories, and each of their users has a memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from tests.server.front_end_requests import ANSWER, OTTER, TASKS, TURNS, FrontEndRequest
from tests.server.proxy_parts import Proxy, model, proxy, told

pytestmark = pytest.mark.usefixtures("socket_enabled")

THOUGHT = "<think>\nThe otter again. I call him Sepp in secret.\n</think>\n\n"


def post(there: Proxy, body: dict[str, Any], token: str = "owner", **headers: str) -> httpx.Response:
    sent = {"Authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(there.url + "/v1/chat/completions", json=body, headers=sent, trust_env=False)


def chats(text: str) -> dict[str, Any]:
    return {"model": "tiny", "messages": [{"role": "user", "content": text}]}


def test_prompts_of_front_ends_pass_through_without_memory_and_are_stored_nowhere(home: Path) -> None:
    with model(lambda body: "Lutz the Otter") as tiny, proxy(home, tiny.base_url) as there:
        there.memory.sessions.create().add("user", "The otter Lutz eats fish every morning.")
        for request in TASKS:
            got = post(there, request.body)
            assert got.status_code == 200 and got.headers["x-memory-task"] == request.kind
            assert not [name for name in got.headers if name in ("x-memory-session", "x-memory-messages")]
            assert tiny.asked[-1] == request.body, request.id
        assert len(there.said()) == 1 and len(there.memory.sessions.list()) == 1


@pytest.mark.slow
def test_a_task_streams_and_is_stored_nowhere(home: Path) -> None:
    with model(lambda body: "Lutz the Otter") as tiny, proxy(home, tiny.base_url) as there:
        got = post(there, {**TASKS[0].body, "stream": True})
        assert "[DONE]" in got.text and got.headers["x-memory-task"] == "title" and there.said() == []


def test_a_header_tells_a_task_and_that_there_is_none(home: Path) -> None:
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url) as there:
        assert post(there, chats(OTTER), X_Memory_Task="title_generation").headers["x-memory-task"] == "title"
        assert there.said() == []
        assert "x-memory-task" not in post(there, TASKS[0].body, X_Memory_Task="none").headers
        assert len(there.said()) == 2
        assert post(there, chats(OTTER), X_Memory_Task="x" * 101).status_code == 400
        unfilled = post(there, chats("He bites."), X_Memory_Task="{{TASK}}", X_Memory_Session="{{CHAT_ID}}").headers
        assert "x-memory-task" not in unfilled and "did not fill in" in unfilled["x-memory-notes"]
        assert len(there.said()) == 4
        assert unfilled["x-upstream-request-id"] == "r1" and "x-request-id" not in unfilled


def test_the_chat_between_two_tasks_goes_on_as_if_they_were_not_there(home: Path) -> None:
    """As Open WebUI does: a chat, then its title and tags, then the next turn of the chat."""
    with model(lambda body: ANSWER) as tiny, proxy(home, tiny.base_url) as there:
        first = there.chat(("user", OTTER)).headers["x-memory-session"]
        for request in TASKS[:4]:
            post(there, request.body)
        second = there.chat(("user", OTTER), ("assistant", ANSWER), ("user", "And he bites.")).headers
        assert second["x-memory-session"] == first and len(there.memory.sessions.list()) == 1
        assert [text for _, text in there.said(first)] == [OTTER, ANSWER, "And he bites.", ANSWER]


@pytest.mark.parametrize("is_stream", [True, False])
def test_thoughts_are_never_stored(home: Path, is_stream: bool) -> None:
    with model(lambda body: f"{THOUGHT}He is called Lutz.") as tiny, proxy(home, tiny.base_url) as there:
        post(there, {**chats("What is my otter called?"), "stream": is_stream})
        assert [text for _, text in there.said()] == ["What is my otter called?", "He is called Lutz."]


@pytest.mark.slow
def test_thoughts_that_a_client_sends_back_are_not_stored(home: Path) -> None:
    with model(lambda body: "All right.") as tiny, proxy(home, tiny.base_url) as there:
        there.chat(("user", OTTER), ("assistant", f"{THOUGHT}{ANSWER}"), ("user", "He bites."))
        assert "Sepp" not in str(there.said()) and ("assistant", ANSWER) in there.said()
        assert "Sepp" in str(tiny.asked[-1])  # what the client sends goes on as it is


def test_thoughts_that_were_stored_before_reach_no_context(home: Path) -> None:
    with model(lambda body: "Lutz.") as tiny, proxy(home, tiny.base_url) as there:
        session = there.memory.sessions.create()
        session.add("user", "What is my otter called, the one that bites?")
        session.add("assistant", f"{THOUGHT}Your otter is called Lutz.")
        session.add("assistant", "<think>An otter, otter, otter that was cut off: Sepp")
        there.chat(("user", "What is my otter called?"))
        assert "Your otter is called Lutz." in told(tiny.asked[-1]) and "Sepp" not in told(tiny.asked[-1])
        for context in (there.memory.context("What is my otter called?"), session.context("What is my otter called?")):
            assert "Your otter is called Lutz." in str(context.messages) and "Sepp" not in str(context)


def test_documents_that_a_front_end_puts_before_a_question_are_no_words_of_the_person(home: Path) -> None:
    """Open WebUI puts them before the latest question only, and sends it without them next time."""
    with model(lambda body: ANSWER) as tiny, proxy(home, tiny.base_url) as there:
        (wrapped,) = [one for one in TURNS if one.client == "Open WebUI with documents"]
        first = post(there, wrapped.body).headers["x-memory-session"]
        assert tiny.asked[-1] == wrapped.body
        second = there.chat(("user", OTTER), ("assistant", ANSWER), ("user", "He bites.")).headers["x-memory-session"]
        assert second == first and [text for _, text in there.said(first)] == [OTTER, ANSWER, "He bites.", ANSWER]


# --- users and sessions of a front end -----------------------------------------------------------------


def openwebui(user: str, chat: str = "") -> dict[str, str]:
    return {"X_OpenWebUI_User_Id": user, **({"X_OpenWebUI_Chat_Id": chat} if chat else {})}


def test_each_user_behind_one_key_has_a_memory_of_their_own(home: Path) -> None:
    with model(lambda body: told(body) or "Nothing.") as tiny, proxy(home, tiny.base_url) as there:
        for user in ("ana", "ben"):
            post(there, chats(f"My otter is called {user}Lutz."), "webui", **openwebui(user))
        for user, other in (("ana", "ben"), ("ben", "ana")):
            got = post(there, chats("What is my otter called?"), "webui", **openwebui(user)).text
            assert f"{user}Lutz" in got and f"{other}Lutz" not in got
        assert "Lutz" not in post(there, chats("What is my otter called?"), "webui", **openwebui("eve")).text
        assert {info.user_id for info in there.memory.sessions.list(user_id="ana")} == {"ana"}
        assert "Lutz" in post(there, chats("What is my otter called?"), "ana").text  # their own token opens the same


def test_a_token_for_any_user_needs_the_name_of_one(home: Path) -> None:
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url) as there:
        unfilled = {"X_Memory_User": "{{LIBRECHAT_USER_ID}}"}
        for headers in ({}, {"X_OpenWebUI_User_Id": ""}, {"X_OpenWebUI_User_Id": "x" * 201}, unfilled):
            got = post(there, chats(OTTER), "webui", **headers)
            assert got.status_code == 400 and "user" in got.json()["error"]["message"]
        assert "did not fill in" in post(there, chats(OTTER), "webui", **unfilled).text
        assert "ENABLE_FORWARD_USER_INFO_HEADERS" in post(there, chats(OTTER), "webui").text
        assert tiny.asked == [] and there.said() == []
        assert post(there, TASKS[0].body, "webui").status_code == 200  # a title needs no memory


@pytest.mark.slow
def test_other_tokens_may_name_no_user_and_it_is_said(home: Path) -> None:
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url) as there:
        for token, user in (("ana", "ana"), ("owner", "me")):
            got = post(there, chats(f"{token} {OTTER}"), token, **openwebui("ben"))
            assert "ignored" in got.headers["x-memory-notes"]
            session = there.memory.sessions.info(got.headers["x-memory-session"])
            assert session.user_id == user
        assert "x-memory-notes" not in post(there, chats(OTTER), "ana", **openwebui("ana")).headers


def test_a_chat_id_names_the_session(home: Path) -> None:
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url) as there:
        one = post(there, chats("Hello"), **openwebui("x", "6b1c")).headers["x-memory-session"]
        two = post(there, chats("Hello"), **openwebui("x", "77aa")).headers["x-memory-session"]
        assert one != two and there.memory.sessions.info("6b1c").id == one
        assert post(there, chats("And he bites."), **openwebui("x", "6b1c")).headers["x-memory-session"] == one
        own = post(there, chats("Hello"), X_Memory_Session="mine", **openwebui("x", "6b1c")).headers["x-memory-session"]
        assert there.memory.sessions.info("mine").id == own
        # An id that looks like one of ours is the front end's all the same, and opens nothing.
        assert post(there, chats("Hello again"), **openwebui("x", one)).headers["x-memory-session"] not in (one, two)


def test_a_temporary_chat_is_answered_with_memory_and_not_stored(home: Path) -> None:
    with model(lambda body: told(body) or "Nothing.") as tiny, proxy(home, tiny.base_url) as there:
        there.memory.sessions.create().add("user", OTTER)
        got = post(there, chats("What is my otter called?"), **openwebui("x", "local:Zk3"))
        assert "Lutz" in got.text and "temporary" in got.headers["x-memory-notes"] and len(there.said()) == 1


@pytest.mark.slow
def test_the_headers_are_settings(home: Path) -> None:
    settings = '[proxy]\nuser_headers = ["X-Person"]\nsession_headers = ["X-Thread"]\ntask_headers = ["X-Purpose"]\n'
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url, settings) as there:
        got = post(there, chats(OTTER), "webui", X_Person="ana", X_Thread="t-7")
        assert there.memory.sessions.info("t-7", user_id="ana").id == got.headers["x-memory-session"]
        assert post(there, chats(OTTER), "webui", **openwebui("ana")).status_code == 400
        assert post(there, chats(OTTER), X_Purpose="tags").headers["x-memory-task"] == "tags"


@pytest.mark.slow
def test_the_openai_client_can_send_them(home: Path) -> None:
    with model(lambda body: "Well.") as tiny, proxy(home, tiny.base_url) as there:
        got = there.chat(("user", OTTER), token="webui", OpenWebUI_User_Id="ana", OpenWebUI_Chat_Id="6b1c")
        assert there.memory.sessions.info("6b1c", user_id="ana").id == got.headers["x-memory-session"]
        with pytest.raises(openai.BadRequestError, match="names no user"):
            there.chat(("user", OTTER), token="webui")


def test_a_request_is_one_of_each_kind() -> None:
    assert {request.kind for request in TASKS} >= {"title", "tags", "follow_up", "search_query", "autocomplete"}
    assert all(isinstance(request, FrontEndRequest) and request.source for request in TASKS)

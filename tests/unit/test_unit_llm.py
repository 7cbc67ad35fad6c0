"""The endpoint of a local language model: what it answers, and everything else that it may do."""

from __future__ import annotations

import json

import pytest

from appliance.errors import ConfigError, EndpointError
from appliance.runtime.llm import INITIAL_BACKOFF_SECONDS, MAX_ANSWER_BYTES, LlmEndpoint
from tests.llm_server import completion, nobody, response, serving

CHAT = [{"role": "user", "content": "the cellar key hangs behind the clock"}]

pytestmark = pytest.mark.usefixtures("socket_enabled")


def endpoint(base_url: str, timeout: float = 10.0, **more: object) -> LlmEndpoint:
    return LlmEndpoint(base_url, "tiny", timeout=timeout, **more)  # type: ignore[arg-type]


def test_it_asks_as_openai_is_asked_and_gives_the_answer() -> None:
    with serving(lambda body: f"- Seen {len(body['messages'])}.") as server:
        there = LlmEndpoint(server.base_url + "/", "tiny", api_key="s3cret")
        assert there.complete(CHAT) == "- Seen 1."
    (asked,) = server.asked
    assert asked["model"] == "tiny" and asked["messages"] == CHAT and asked["stream"] is False
    assert server.heads[0].startswith("POST /v1/chat/completions HTTP/1.1")
    assert "authorization: bearer s3cret" in server.heads[0].lower()
    assert there.last_error is None and there.name == "tiny"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (response(b"{}", "500 Internal Server Error"), "answered with HTTP 500"),
        (response(b"{}", "404 Not Found"), "answered with HTTP 404"),
        (response(b"{oh no"), "something other than a chat completion"),
        (response(b"\xff\xfe{}"), "something other than a chat completion"),
        (response(b'{"choices": [{"message": {"content": 7}}]}'), "something other than a chat completion"),
        (response(b'{"error": "no such model"}'), "something other than a chat completion"),
        (response(b'{"choices": []}'), "no choice"),
        (response(b"{}", "302 Found", "Location: http://192.0.2.1/steal\r\n"), "redirects are not followed"),
        (response(b" " * (MAX_ANSWER_BYTES + 9)), "more than"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{", "can't be reached"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "can't be reached"),
    ],
)
def test_what_is_no_answer_is_an_error_that_says_what_it_was(answer: bytes, says: str) -> None:
    with serving(lambda body: answer) as server, pytest.raises(EndpointError, match=says) as caught:
        endpoint(server.base_url).complete(CHAT)
    assert "cellar" not in str(caught.value), "no word of what was asked"
    assert server.base_url in str(caught.value)


def test_an_empty_answer_is_an_answer_that_somebody_else_judges() -> None:
    with serving(lambda body: response(b'{"choices": [{"message": {"content": null}}]}')) as server:
        assert endpoint(server.base_url).complete(CHAT) == ""


def test_nobody_listens() -> None:
    with nobody() as base_url, pytest.raises(EndpointError, match="can't be reached"):
        endpoint(base_url).complete(CHAT)


@pytest.mark.parametrize("dribble", [0.0, 0.02], ids=["hangs", "dribbles"])
def test_an_answer_has_one_deadline_as_a_whole(dribble: float) -> None:
    """Each byte that dribbles in would begin a time limit on silence anew."""
    with (
        serving(lambda body: completion("slowly " * 400) if dribble else None, dribble) as server,
        pytest.raises(EndpointError, match=r"did not answer within 0\.4 s"),
    ):
        endpoint(server.base_url, 0.4).complete(CHAT)


def test_a_slow_answer_in_time_is_an_answer() -> None:
    with serving(lambda body: completion("- Slow."), 0.001) as server:
        assert endpoint(server.base_url).complete(CHAT) == "- Slow."


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with nobody() as proxy, serving(lambda body: "- Direct.") as server:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy)
        assert endpoint(server.base_url).complete(CHAT) == "- Direct."


def test_one_that_failed_is_left_alone_for_longer_and_longer_and_then_asked_again() -> None:
    now = [1_000.0]
    down = response(b"{}", "503 Service Unavailable")
    answers: list[str | bytes] = [down]
    with serving(lambda body: answers[0]) as server:
        there = endpoint(server.base_url, clock=lambda: now[0])
        for pause in (60, 120, 240, 480, 960, 1920, 3600, 3600):
            with pytest.raises(EndpointError, match="answered with HTTP 503"):
                there.complete(CHAT)
            asked = len(server.asked)
            now[0] += pause - 1
            with pytest.raises(EndpointError, match=r"answered with HTTP 503\. It is not asked again for 1 s"):
                there.complete(CHAT)
            assert len(server.asked) == asked, "it was not asked"
            now[0] += 1
        answers[:] = ["- Back."]
        assert there.complete(CHAT) == "- Back." and there.last_error is None
        answers[:] = [down]
        with pytest.raises(EndpointError, match="answered with HTTP 503"):
            there.complete(CHAT)
        now[0] += INITIAL_BACKOFF_SECONDS
        answers[:] = ["- Back."]
        assert there.complete(CHAT) == "- Back.", "the first pause again"


def test_it_works_where_an_event_loop_runs() -> None:
    import asyncio

    async def within() -> str:
        return endpoint(server.base_url).complete(CHAT)

    with serving(lambda body: "- Yes.") as server:
        assert asyncio.run(within()) == "- Yes."


@pytest.mark.parametrize(
    ("base_url", "model", "where"),
    [("127.0.0.1:11434", "tiny", "llm.base_url"), ("http://127.0.0.1:11434/v1", "", "llm.model")],
)
def test_settings_that_cannot_be_are_named(base_url: str, model: str, where: str) -> None:
    with pytest.raises(ConfigError) as caught:
        LlmEndpoint(base_url, model)
    assert caught.value.where == where and caught.value.hint


def test_an_answer_is_decoded_whatever_else_it_has() -> None:
    body = {"id": "x", "model": "other", "choices": [{"index": 0, "message": {"content": "- A."}, "extra": 1}]}
    with serving(lambda asked: response(json.dumps(body).encode())) as server:
        assert endpoint(server.base_url).complete(CHAT) == "- A."

"""What the proxy says of an answer that does not come to its end, or is not stored, and of a request to which it adds
nothing."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from tests.llm_server import response, serving
from tests.server.proxy_parts import event, model, proxy, told
from tests.waits import PATIENCE

pytestmark = pytest.mark.usefixtures("socket_enabled")

STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
PIECES = event({"content": "I "}) + event({"content": "know"})


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@pytest.mark.parametrize(
    "answer",
    [
        STREAM_HEAD + b"\r\n" + PIECES,
        STREAM_HEAD + b"\r\n" + PIECES + b'data: {"choices": [{"ind',
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PIECES) + b"0\r\n\r\n",
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PIECES),
        STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PIECES)[:-20],
    ],
    ids=["ended", "ended within an event", "ended in chunks", "broken off between chunks", "broken off in a chunk"],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/completions"])
def test_a_stream_that_ends_before_its_answer_has_an_error_as_its_last_event(
    home: Path, answer: bytes, path: str
) -> None:
    asked = {"model": "tiny", "stream": True, "prompt": "Hello", "messages": [{"role": "user", "content": "Hello"}]}
    with serving(lambda body: answer) as tiny, proxy(home, tiny.base_url) as there:
        said = httpx.post(there.url + path, json=asked, trust_env=False, timeout=PATIENCE)
        assert said.status_code == 200
        *_, last = said.content.strip().split(b"\n\n")
        error = json.loads(last.removeprefix(b"data: "))["error"]
        assert error["code"] == "model_stream_ended" and error["message"].startswith(tiny.base_url)
        stored = [line for line in there.memory.export() if line["role"] == "assistant"]
        assert all(line["metadata"]["cut"] for line in stored)


@pytest.mark.parametrize(
    "end",
    [
        event({}, "stop"),
        event({}, "stop").rstrip(),
        b"data: [DONE]\n\n",
        b"data: [DONE]",
        b'data: {"error": {"message": "out of memory"}}\n\n',
    ],
)
def test_a_stream_whose_end_is_told_by_the_model_passes_as_it_is(home: Path, end: bytes) -> None:
    answer = STREAM_HEAD + b"\r\n" + PIECES + end
    asked = {"model": "tiny", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
    with serving(lambda body: answer) as tiny, proxy(home, tiny.base_url) as there:
        said = httpx.post(there.url + "/v1/chat/completions", json=asked, trust_env=False, timeout=PATIENCE)
        assert said.content == PIECES + end


@pytest.mark.parametrize(
    ("body", "note"),
    [
        (b"<html>It works!</html>", "The model's answer was not stored, because it is not JSON."),
        (b'{"choices": []}', "The model's answer was not stored, because it has no text."),
    ],
)
def test_an_answer_that_is_not_stored_is_told_in_the_notes(home: Path, body: bytes, note: str) -> None:
    asked = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}
    with serving(lambda _: response(body)) as tiny, proxy(home, tiny.base_url) as there:
        url = there.url + "/v1/chat/completions"
        said = httpx.post(url, json=asked, trust_env=False)
        assert said.status_code == 200 and said.content == body
        assert note in said.headers["x-memory-notes"] and there.said() == [("user", "Hello")]
        reading = httpx.post(url, json=asked, trust_env=False, headers={"X-Memory": "read"})
        assert "not stored" not in reading.headers.get("x-memory-notes", "")


def test_where_nothing_is_added_no_tokens_are_counted(home: Path) -> None:
    with (
        model(lambda body: told(body) or "I know nothing.") as tiny,
        proxy(home, tiny.base_url, has_model=True) as there,
    ):
        there.memory.sessions.create().add("user", "The neighbours painted their fence green in spring")
        there.memory.embed_pending()
        asked = b'{"model": "tiny", "messages": [{"role": "user", "content": "how many people live on Mars"}]}'
        said = httpx.post(there.url + "/v1/chat/completions", content=asked, trust_env=False)
        assert tiny.bodies[-1] == asked
        assert "No memory matches" in said.headers["x-memory-notes"]
        assert said.headers["x-memory-tokens"] == "0" and "x-memory-messages" not in said.headers

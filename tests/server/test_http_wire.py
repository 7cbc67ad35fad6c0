"""HEAD, refusals of large bodies, and errors in OpenAI's shape, by a real server and real clients."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

import httpx
import openai
import pytest

from appliance import Appliance
from tests.http_calls import application, calling, given, owner, running
from tests.waits import PATIENCE

pytestmark = pytest.mark.usefixtures("socket_enabled")


def connection(url: str) -> http.client.HTTPConnection:
    address = httpx.URL(url)
    return http.client.HTTPConnection(address.host, address.port, timeout=PATIENCE)


def test_head_is_answered_as_get_without_a_body(memory: Appliance) -> None:
    headers = owner(memory)
    with running(application(memory)) as url, httpx.Client(base_url=url, trust_env=False) as client:
        for path in ("/health", "/health/live", "/v1/sessions", "/openapi.json", "/metrics"):
            got, head = client.get(path, headers=headers), client.head(path, headers=headers)
            assert (head.status_code, head.content) == (200, b""), path
            assert head.headers["content-type"] == got.headers["content-type"]
            assert int(head.headers["content-length"]) > 0
        assert client.head("/v1/sessions").status_code == 401
        assert client.head("/v1/search", headers=headers).status_code == 405
        assert client.head("/nothing", headers=headers).status_code == 404
        # A stream that has no end is answered too, and the connection serves the next request.
        assert client.head("/v1/events", headers=headers).status_code == 200
        assert client.get("/health/live").json() == {"status": "ok"}


@pytest.mark.parametrize(
    ("path", "is_chunked"),
    [
        ("/v1/chat/completions", True),
        pytest.param("/v1/chat/completions", False, marks=pytest.mark.slow),
        pytest.param("/v1/search", True, marks=pytest.mark.slow),
        pytest.param("/v1/search", False, marks=pytest.mark.slow),
    ],
)
def test_a_body_of_17_mb_gets_413_and_no_reset(memory: Appliance, path: str, is_chunked: bool) -> None:
    piece, headers = b"x" * 65_536, {**owner(memory), "Content-Type": "application/json"}
    with running(application(memory)) as url:
        client = connection(url)
        body = (piece for _ in range(17 * 16))
        if not is_chunked:
            headers["Content-Length"] = str(17 * 16 * len(piece))
        client.request("POST", path, body=body, headers=headers, encode_chunked=is_chunked)
        answer = client.getresponse()
        assert answer.status == 413 and b"16,777,216 bytes" in answer.read()
        client.close()


def test_a_client_that_asks_first_or_waits_is_answered_at_once(memory: Appliance) -> None:
    token = owner(memory)["Authorization"]
    head = f"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\nContent-Length: 99999999\r\n"
    with running(application(memory)) as url:
        for more in ("Expect: 100-continue\r\n", ""):
            with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port or 0), timeout=PATIENCE) as asking:
                asking.sendall(f"{head}{more}\r\n".encode())
                assert asking.recv(65_536).startswith(b"HTTP/1.1 413")


def test_refusals_have_openais_shape_on_its_paths(memory: Appliance) -> None:
    with calling(application(memory, body=2_000, rate=1.0), {}) as client:
        known = given(memory, "ana", user_id="ana")
        answers = {
            401: client.post("/v1/chat/completions", json={}),
            404: client.get("/v1/responses/resp_1", headers=known),
            413: client.post("/v1/embeddings", json={"input": "x" * 3_000}, headers=known),
            429: [client.get("/v1/completions", headers=known) for _ in range(4)][-1],
        }
        codes = {401: "invalid_api_key", 404: "not_found", 413: "request_too_large", 429: "rate_limit_exceeded"}
        for status, answer in answers.items():
            error = answer.json()["error"]
            assert answer.status_code == status and answer.headers["content-type"] == "application/json"
            assert error["code"] == codes[status] and error["message"] and error["param"] is None
            assert answer.headers["x-request-id"]
        assert answers[401].headers["www-authenticate"] == "Bearer" and int(answers[429].headers["retry-after"]) > 0
        assert answers[429].json()["error"]["type"] == "rate_limit_error"
        assert client.post("/v1/search", json={}).headers["content-type"] == "application/problem+json"
    with calling(application(memory), known) as client:
        error = client.get("/models").json()["error"]
        assert (error["code"], error["message"]) == ("not_found", "There is no /models. Its path is /v1/models.")
        assert client.post("/v1/moderations", json={}).json()["error"]["message"] == "There is no /v1/moderations."
        assert client.post("/search", json={}).json()["hint"] == "Its path is /v1/search."


@pytest.mark.slow
def test_the_openai_client_tells_its_own_errors(memory: Appliance, home: Path) -> None:
    with running(application(memory)) as url:
        with (
            openai.OpenAI(
                base_url=f"{url}/v1", api_key="wrong", max_retries=0,
                http_client=openai.DefaultHttpxClient(trust_env=False),
            ) as client,
            pytest.raises(openai.AuthenticationError, match="token is not valid") as caught,
        ):  # fmt: skip
            client.embeddings.create(model="x", input="x")
        assert caught.value.code == "invalid_api_key"

"""Who may come in, how often and with how much; and that nobody else is told anything."""

from __future__ import annotations

import json
import logging
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.paths import write_file_atomically
from appliance.server.access import tokens
from appliance.server.access.grants import OWNER, Grant
from appliance.server.access.middleware import RateLimiter
from appliance.server.http import app as served
from appliance.server.http.problems import TooManyRequests
from appliance.server.openai_proxy.errors import PATHS
from appliance.settings import ServerSettings
from tests.http_calls import application, bearer, calling, given, owner, running
from tests.waits import PATIENCE

SECRET = "the blue envelope lies under the stairs"


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    memory.sessions.create(title="stairs").add("user", SECRET)
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def problem(response: httpx.Response, status: int, error: str) -> dict[str, Any]:
    """The problem that an answer is, as it has to look."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = response.json()
    assert (found["status"], found["error"]) == (status, error)
    assert found["detail"] and found["title"] and found["type"].startswith("urn:appliance:error:")
    assert found["request_id"] == response.headers["x-request-id"]
    assert SECRET not in response.text
    return found


# --- the token ------------------------------------------------------------------------------------------------


def test_without_a_token_nothing_is_told(memory: Appliance, client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    with calling(client.app, {}) as stranger:  # type: ignore[arg-type]
        for path, methods in paths.items():
            for method in methods:
                answer = stranger.request(method, path.replace("{id}", "m1"))
                if path in ("/health/live", "/health/ready"):
                    assert answer.json() == {"status": "ok"}
                elif path.startswith(PATHS):
                    assert answer.status_code == 401 and answer.json()["error"]["code"] == "invalid_api_key"
                else:
                    problem(answer, 401, "Unauthorized")
                    assert answer.headers["www-authenticate"] == "Bearer"
        problem(stranger.get("/openapi.json"), 401, "Unauthorized")
        problem(stranger.get("/nothing/here"), 401, "Unauthorized")


@pytest.mark.parametrize("header", ["Bearer wrong", "Bearer ", "Basic {}", "{}", "Bearer {}x", "Bearer \xff"])
def test_a_wrong_token_is_refused(memory: Appliance, client: TestClient, header: str) -> None:
    token = tokens.owner_token(memory.home)
    sent = header.format(token).encode("latin-1")
    problem(client.get("/v1/status", headers={"Authorization": sent}), 401, "Unauthorized")  # type: ignore[dict-item]


def test_the_owners_token_is_made_once_and_is_private(memory: Appliance) -> None:
    token = tokens.owner_token(memory.home)
    assert len(token) >= 40 and tokens.owner_token(memory.home) == token
    assert stat.S_IMODE(memory.home.token.stat().st_mode) == 0o600


def test_another_token_in_the_owners_file_is_the_owners(memory: Appliance, client: TestClient) -> None:
    write_file_atomically(memory.home.token, b"another-token-of-more-than-thirty-two-signs\n")
    problem(client.get("/v1/status"), 401, "Unauthorized")
    memory.home.token.unlink()
    assert client.get("/health/live").status_code == 200
    problem(client.get("/v1/status"), 401, "Unauthorized")
    assert client.get("/v1/status", headers=owner(memory)).status_code == 200


def test_a_token_is_kept_as_a_digest_alone(memory: Appliance) -> None:
    token, made = tokens.issue(memory.home, "kitchen", user_id="ana")
    kept = memory.home.tokens.read_text()
    assert token not in kept and made.digest in kept
    assert stat.S_IMODE(memory.home.tokens.stat().st_mode) == 0o600


def test_a_running_server_follows_what_is_given_out_and_taken_back(memory: Appliance, client: TestClient) -> None:
    kitchen = given(memory, "kitchen", user_id="ana")
    assert client.get("/v1/status", headers=kitchen).json()["user_id"] == "ana"
    given(memory, "cellar", user_id="ben")
    assert client.get("/v1/status", headers=kitchen).status_code == 200
    tokens.revoke(memory.home, "kitchen")
    problem(client.get("/v1/status", headers=kitchen), 401, "Unauthorized")


def test_a_damaged_list_of_tokens_shuts_out_the_others_and_says_so(memory: Appliance, client: TestClient) -> None:
    kitchen = given(memory, "kitchen", user_id="ana")
    memory.home.tokens.write_text("{")
    found = problem(client.get("/v1/status", headers=kitchen), 500, "ConfigError")
    assert found["where"] is None and str(memory.home.root) not in json.dumps(found)
    assert client.get("/v1/status").status_code == 200  # the owner's token stands elsewhere


# --- where from -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["localhost:7707", "127.0.0.1", "127.9.9.9:1", "[::1]:7707", "LOCALHOST"])
def test_names_of_this_machine_are_served(client: TestClient, host: str) -> None:
    assert client.get("/health/live", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7707", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.7", "[fe80::1]"]
)
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    problem(client.get("/v1/status", headers={"Host": host}), 403, "Forbidden")


@pytest.mark.parametrize("host", ["", "a b", "[::1", "x:y", "localhost:999999"])
def test_a_host_that_is_none_is_refused(client: TestClient, host: str) -> None:
    problem(client.get("/v1/status", headers={"Host": host}), 400, "Malformed")


def test_a_server_that_listens_elsewhere_is_called_by_its_name_and_by_addresses(memory: Appliance) -> None:
    with calling(application(memory, host="nas.home"), owner(memory)) as client:
        assert client.get("/health/live", headers={"Host": "nas.home:7707"}).status_code == 200
        assert client.get("/health/live", headers={"Host": "192.168.1.9:7707"}).status_code == 200
        assert client.get("/health/live", headers={"Host": "nas.home:80"}).status_code == 403
        assert client.get("/health/live", headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9", "http://localhost:7707"])
def test_a_page_of_another_origin_is_refused(client: TestClient, origin: str) -> None:
    answer = client.post("/v1/search", json={"query": "stairs"}, headers={"Origin": origin})
    problem(answer, 403, "Forbidden")
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_the_same_origin_is_served(client: TestClient) -> None:
    assert client.get("/v1/status", headers={"Origin": "http://127.0.0.1:7707"}).status_code == 200


def test_a_preflight_is_refused(client: TestClient) -> None:
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    assert client.options("/v1/search", headers=asked).status_code == 403


@pytest.mark.parametrize(
    ("listed", "host"),
    [
        ("host.docker.internal", "host.docker.internal:7707"),
        ("Memory.Example", "memory.example"),
        ("memory.example:443", "memory.example:443"),
        ("10.0.0.7", "10.0.0.7:7707"),
    ],
)
def test_a_listed_host_is_served(memory: Appliance, listed: str, host: str) -> None:
    with calling(application(memory, hosts=(listed,)), owner(memory)) as client:
        assert client.get("/v1/status", headers={"Host": host}).status_code == 200
        assert client.get("/v1/status", headers={"Host": "127.0.0.1"}).status_code == 200
        for other in ("evil.example", f"x.{host}", f"{listed}.evil.example", "10.0.0.8", "memory.example:8443x"):
            assert client.get("/v1/status", headers={"Host": other}).status_code in (400, 403)


def test_a_host_that_is_listed_with_a_port_is_served_at_this_one(memory: Appliance) -> None:
    with calling(application(memory, hosts=("memory.example:443",)), owner(memory)) as client:
        problem(client.get("/v1/status", headers={"Host": "memory.example:7707"}), 403, "Forbidden")


@pytest.mark.parametrize("origin", ["app://obsidian.md", "chrome-extension://abcdefgh", "https://chat.example:8443"])
def test_a_page_of_a_listed_origin_may_call_and_read_the_answer(memory: Appliance, origin: str) -> None:
    with calling(application(memory, origins=("http://x.example", origin)), owner(memory)) as client:
        asked = {
            "Origin": origin,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
            "Access-Control-Request-Private-Network": "true",
            "Authorization": "",
        }
        preflight = client.options("/v1/search", headers=asked)
        assert preflight.status_code == 204 and not preflight.content
        assert preflight.headers["access-control-allow-origin"] == origin
        assert preflight.headers["access-control-allow-headers"] == "authorization,content-type"
        assert "POST" in preflight.headers["access-control-allow-methods"]
        assert preflight.headers["access-control-allow-private-network"] == "true"
        answer = client.post("/v1/search", json={"query": "stairs"}, headers={"Origin": origin})
        assert answer.status_code == 200 and answer.headers["access-control-allow-origin"] == origin
        assert "Origin" in answer.headers["vary"]
        stranger = client.post("/v1/search", json={"query": "x"}, headers={"Origin": origin, "Authorization": ""})
        problem(stranger, 401, "Unauthorized")
        assert stranger.headers["access-control-allow-origin"] == origin  # so that the page can read why
        for other in (f"{origin}.evil.example", "https://evil.example", "null"):
            refused = client.post("/v1/search", json={"query": "x"}, headers={"Origin": other})
            problem(refused, 403, "Forbidden")
            assert "access-control-allow-origin" not in refused.headers


@pytest.mark.parametrize("settings", [{"hosts": ("http://a.example",)}, {"hosts": ("*",)}, {"hosts": ("",)},
    {"origins": ("chat.example",)}, {"origins": ("*",)}, {"origins": ("https://chat.example/",)}])  # fmt: skip
def test_what_is_no_host_or_origin_is_refused_in_the_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f'server.{next(iter(settings))} must be .*, not "'):
        ServerSettings(**settings)


# --- how much -------------------------------------------------------------------------------------------------


def test_more_requests_than_a_token_may_make_are_put_off() -> None:
    now = [100.0]
    rates = RateLimiter(2.0, clock=lambda: now[0])
    for _ in range(4):
        rates.check(OWNER)
    with pytest.raises(TooManyRequests) as refused:
        rates.check(OWNER)
    assert refused.value.retry_after_seconds == 1
    rates.check(Grant("kitchen", "ana", ""))  # has a bucket of its own
    now[0] += 0.5
    rates.check(OWNER)
    with pytest.raises(TooManyRequests):
        rates.check(OWNER)


def test_too_many_requests_are_told_when_to_come_again(memory: Appliance) -> None:
    with calling(application(memory, rate=0.5), owner(memory)) as client:
        assert client.get("/v1/facts").status_code == 200
        answer = client.get("/v1/facts")
        problem(answer, 429, "TooMany")
        assert answer.headers["retry-after"] == "2"
        assert client.get("/health/live").status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/v1/context", "/v1/summaries/search"])
def test_a_query_is_no_document(client: TestClient, path: str) -> None:
    found = problem(client.post(path, json={"query": "a " * 4097}), 422, "UsageError")
    assert found["errors"][0]["where"] == "body.query"
    assert client.post(path, json={"query": "a " * 4096}).status_code == 200


def test_a_body_that_says_it_is_too_large_is_not_read(memory: Appliance) -> None:
    with calling(application(memory, body=1024), owner(memory)) as client:
        problem(client.post("/v1/search", json={"query": "x" * 2000}), 413, "TooLarge")
        assert client.post("/v1/search", json={"query": "x" * 500}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/search", "/v1/import"])
def test_a_body_that_grows_too_large_is_cut_off(memory: Appliance, path: str) -> None:
    def without_end() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(100):
            yield b"x" * 1000

    with calling(application(memory, body=2048, upload=4096), owner(memory)) as client:
        answer = client.post(path, content=without_end(), headers={"Content-Type": "application/json"})
        problem(answer, 413, "TooLarge")
    assert not list(memory.home.uploads.glob("*"))


@pytest.mark.parametrize("length", ["-1", "x", "1e3", "٣", "9" * 400])
def test_a_length_that_is_none_is_refused(client: TestClient, length: str) -> None:
    answer = client.post("/v1/search", content=b"{}", headers={"Content-Length": length.encode()})  # type: ignore[dict-item]
    assert answer.status_code in (400, 413)


# --- ids, bugs ------------------------------------------------------------------------------------------------


def test_a_request_has_an_id_that_comes_back(client: TestClient) -> None:
    assert client.get("/health/live", headers={"X-Request-Id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for strange in ("a b", "x" * 200, "", "a;b"):
        found = client.get("/health/live", headers={"X-Request-Id": strange}).headers["x-request-id"]
        assert found != strange and len(found) == 16


def test_a_bug_says_nothing_of_itself(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    router = APIRouter()

    @router.get("/broken")
    def broken() -> None:
        raise RuntimeError(SECRET)

    monkeypatch.setattr(served, "ROUTERS", (*served.ROUTERS, router))
    with calling(application(memory), owner(memory)) as client, caplog.at_level(logging.ERROR):
        found = problem(client.get("/broken"), 500, "Bug")
    assert "RuntimeError" in caplog.text and "in broken" in caplog.text and found["request_id"] in caplog.text
    assert SECRET not in caplog.text and "Traceback" not in caplog.text


# --- over real sockets ----------------------------------------------------------------------------------------


def test_the_unix_socket_is_its_owners_without_a_token(memory: Appliance, tmp_path: Path) -> None:
    where = tmp_path / "s"
    transport = httpx.HTTPTransport(uds=str(where))
    app = application(memory, rate=1.0)
    with running(app, uds=where), httpx.Client(transport=transport, base_url="http://appliance") as client:
        for _ in range(5):
            assert client.get("/v1/status").json()["home"] == str(memory.home.root)
        # What a proxy would say of the client changes nothing.
        assert client.get("/v1/status", headers={"X-Forwarded-For": "10.1.1.1"}).status_code == 200


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_no_header_makes_a_tcp_connection_the_owners(memory: Appliance) -> None:
    with running(application(memory)) as url, httpx.Client(base_url=url) as client:
        for lie in ({"X-Forwarded-For": ""}, {"X-Forwarded-For": "unix:"}, {"Forwarded": "for=unix"}):
            problem(client.get("/v1/status", headers=lie), 401, "Unauthorized")
        assert client.get("/v1/status", headers=bearer(tokens.owner_token(memory.home))).status_code == 200


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_body_that_never_ends_is_answered_and_its_connection_closed(memory: Appliance) -> None:
    with running(application(memory, body=1024)) as url:
        host, port = url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
            token = tokens.owner_token(memory.home)
            raw.sendall(
                f"POST /v1/search HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
                "Content-Type: application/json\r\nContent-Length: 100000000\r\n\r\n{".encode()
            )
            said = b""
            while piece := raw.recv(65536):
                said += piece
    assert said.startswith(b"HTTP/1.1 413") and b"TooLarge" in said

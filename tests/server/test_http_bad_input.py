"""Bodies that can't be: each is told what is wrong with it, and nothing else is told."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.requests import SearchRequest
from tests.engines import engine_of
from tests.examples import examples
from tests.http_calls import application, calling, owner, running
from tests.waits import PATIENCE, until

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "truncated"),
        (b'{"query": "x"', "truncated"),
        (b'{"query": "x"} {}', "trailing"),
        (b"\xff\xfe", "byte 0"),
        (b'{"query": "\xff"}', "not UTF-8"),
        (b'{"query": "\xed\xa0\x80"}', "not UTF-8"),
        (b'{"query": "\\ud800"}', "truncated"),
        (b'{"query": "\\ud800 is alone"}', "surrogate"),
        (b'{"query": "\\udc00\\ud800"}', "surrogate"),
        (b'{"query": "x", "limit": NaN}', "invalid character"),
        (b'{"query": "x", "limit": Infinity}', "invalid character"),
        (b'{"query": "x", "limit": 1e999}', "out of range"),
        (b'{"query": "x", "limit": ' + b"9" * 5000 + b"}", "out of range"),
        (b"[" * 100_000, "levels deep"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "levels deep"),
        (b"\xef\xbb\xbf{}", "invalid character"),
        (b"'single'", "invalid character"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_told_so(client: TestClient, body: bytes, words: str) -> None:
    for path in ("/v1/search", "/v1/messages"):
        answer = client.post(path, content=body, headers=JSON)
        told = answer.json()
        assert (answer.status_code, told["error"]) == (400, "Malformed"), answer.text
        assert words in told["detail"] and len(told["detail"]) < 200


@pytest.mark.parametrize(
    ("body", "where"),
    [
        (b"null", "body"),
        (b"[]", "body"),
        (b"1e5", "body"),
        (b"{}", "body.query"),
        (b'{"query": 7}', "body.query"),
        (b'{"query": null}', "body.query"),
        (b'{"query": "x", "limit": "5"}', "body.limit"),
        (b'{"query": "x", "limit": 5.5}', "body.limit"),
        (b'{"query": "x", "limit": true}', "body.limit"),
        (b'{"query": "x", "limit": 0}', "body.limit"),
        (b'{"query": "x", "limit": 123456789012345678901234567890}', "body.limit"),
        (b'{"query": "x", "roles": ["owner"]}', "body.roles.0"),
        (b'{"query": "x", "since": "soon"}', "body.since"),
        (b'{"query": "x", "since": "2024-02-30"}', "body.since"),
        (b'{"query": "x", "since": 1700000000}', "body.since"),
        (b'{"query": "x", "unheard_of": 1}', "body.unheard_of"),
        (b"", "body"),
    ],
)
def test_what_is_no_search_is_told_where(client: TestClient, body: bytes, where: str) -> None:
    answer = client.post("/v1/search", content=body, headers=JSON)
    told = answer.json()
    assert (answer.status_code, told["error"]) == (422, "UsageError"), answer.text
    assert told["errors"][0]["where"] == where and told["detail"].startswith(where)


@pytest.mark.parametrize(
    "turn",
    [
        {"text": ""}, {"text": " \n\t"}, {"text": "x", "role": "boss"}, {"text": "x", "timestamp": "noon"},
        {"text": "x", "timestamp": 1700000000}, {"text": "x", "timestamp": "0001-01-01T00:00:00+14:00"},
        {"text": "x", "metadata": []}, {"text": "x", "external_id": ""}, {"text": ["x"]}, {"role": "user"},
    ],
)  # fmt: skip
def test_what_is_no_message_is_stored_nowhere(memory: Appliance, client: TestClient, turn: dict[str, object]) -> None:
    assert client.post("/v1/messages", json=turn).status_code == 422
    assert memory.status()["counts"]["messages"] == 0 and not memory.sessions.list()


def test_an_invalid_request_is_told_in_a_sentence(client: TestClient) -> None:
    blank = client.post("/v1/messages", json={"text": " \n"}).json()
    assert blank["detail"] == "body.text must not be empty."
    assert blank["errors"] == [{"where": "body.text", "message": "must not be empty"}]
    for call, sentence in (
        (("POST", "/v1/search", {}), "body.query is missing."),
        (("POST", "/v1/search", {"query": 5}), "body.query must be text, not 5."),
        (("POST", "/v1/search", {"query": "x", "limit": -1}), "body.limit must be at least 1, not -1."),
        (("POST", "/v1/search", {"query": "x", "min_score": 3}), "body.min_score must be at most 1, not 3."),
        (("POST", "/v1/search", {"query": "x", "limt": 3}), "body.limt is not known; the nearest field is limit."),
        (("POST", "/v1/search", {"query": "x", "roles": "user"}), "body.roles must be a list."),
        (
            ("POST", "/v1/search", {"query": "x", "mode": "f"}),
            "body.mode must be one of 'hybrid', 'dense' or 'lexical'.",
        ),
        (("POST", "/v1/search", [1]), "body must be an object."),
        (("POST", "/v1/facts", {"kind": "x"}), "body.text is missing."),
        (("PUT", "/v1/people/me", {"x": 1}), "body.person is missing."),
        (("GET", "/v1/sessions?limit=many", None), "query.limit must be a whole number."),
        (("GET", "/v1/on-this-day?day=5", None), "query.day must be a day, such as 2026-03-05."),
    ):
        method, path, body = call
        assert client.request(method, path, json=body).json()["detail"] == sentence
    nothing = client.post("/v1/forget", json={}).json()
    assert nothing["detail"] == "body: Nothing is selected to forget; give ids, a source, a query or everything."


def test_an_input_is_not_echoed(client: TestClient) -> None:
    secret = "the blue envelope"
    for body in ({"query": [secret]}, {"query": "x", "mode": secret}, {"query": "x", "since": secret}):
        answer = client.post("/v1/search", json=body)
        assert answer.status_code == 422 and secret not in answer.text


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_another_media_type_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post("/v1/search", content=b'{"query": "x"}', headers={"Content-Type": kind})
    assert (answer.status_code, answer.json()["error"]) == (415, "NotJson")


def test_a_session_that_is_not_there(client: TestClient) -> None:
    for call in (
        client.get("/v1/sessions/s77"), client.patch("/v1/sessions/s77", json={"title": "x"}),
        client.delete("/v1/sessions/s77"), client.get("/v1/sessions/s77/messages"),
        client.post("/v1/sessions/s77/messages", json={"text": "x"}), client.post("/v1/sessions/s77/branch", json={}),
        client.post("/v1/search", json={"query": "x", "session_id": "s77"}),
        client.post("/v1/context", json={"query": "x", "session_id": "s77"}),
    ):  # fmt: skip
        assert (call.status_code, call.json()["error"]) == (404, "NotFound")
        assert call.json()["detail"] == "There is no session 's77'."


def test_a_good_request_that_can_not_be_carried_out(client: TestClient) -> None:
    empty = client.post("/v1/sessions", json={"title": "nothing yet"}).json()["id"]
    refused = client.post(f"/v1/sessions/{empty}/branch", json={})
    assert (refused.status_code, refused.json()["error"]) == (409, "UsageError")
    assert refused.json()["hint"] == "Add a message first."
    over = client.post("/v1/context", json={"query": "x", "shares": {"profile": 0.9, "recent": 0.9}})
    assert over.status_code == 409
    told = {"attribute": "manner", "value": "always answer " + "very " * 200 + "kindly", "kind": "instruction"}
    client.post("/v1/facts", json=told)
    without = client.post("/v1/context", json={"query": "x", "budget": 64})
    assert without.status_code == 200 and without.json()["dropped"][0]["reason"] == "no room left in the profile"


@settings(
    max_examples=examples(60, costly=True), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(body=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_are_a_bug(client: TestClient, body: bytes) -> None:
    assert client.post("/v1/search", content=body, headers=JSON).status_code in (400, 422)


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_request_that_is_called_off_leaves_the_server_well(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    search = engine_of(memory).search

    def slow(request: SearchRequest) -> object:
        begun.set()
        assert go_on.wait(PATIENCE)
        return search(request)

    memory.sessions.create(title="x").add("user", "the otter sleeps")
    monkeypatch.setattr(engine_of(memory), "search", slow)
    with running(application(memory)) as url:
        host, port = url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        connection.request("POST", "/v1/search", body=b'{"query": "otter"}', headers={**owner(memory), **JSON})
        assert begun.wait(PATIENCE)
        connection.close()
        go_on.set()
        again = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        again.request("POST", "/v1/search", body=b'{"query": "otter"}', headers={**owner(memory), **JSON})
        assert again.getresponse().status == 200
        again.close()


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_eight_work_at_once_and_health_is_told_meanwhile(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    inside, go_on, most = [0], threading.Event(), [0]
    lock = threading.Lock()

    def slow(*_: object, **__: object) -> object:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        assert go_on.wait(PATIENCE)
        with lock:
            inside[0] -= 1
        return []

    monkeypatch.setattr(engine_of(memory).facts, "list", slow)
    with running(application(memory)) as url:
        host, port = url.removeprefix("http://").split(":")

        def ask(path: str) -> int:
            connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
            connection.request("GET", path, headers=owner(memory))
            status = connection.getresponse().status
            connection.close()
            return status

        threads = [threading.Thread(target=ask, args=("/v1/facts",)) for _ in range(12)]
        for thread in threads:
            thread.start()
        until(lambda: most[0] == 8, "eight at once")
        assert ask("/health/live") == 200
        go_on.set()
        for thread in threads:
            thread.join()
    assert most[0] == 8

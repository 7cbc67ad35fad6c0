"""A write that is sent again is done once, through a crash too."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.server.http import idempotency
from appliance_models import HashEmbedder
from tests.http_calls import application, calling, given, owner, running
from tests.waits import PATIENCE

KEY = {"Idempotency-Key": "c0ffee00-1234-5678-9abc-def012345678"}


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


@contextmanager
def opened(home: Path) -> Iterator[tuple[Appliance, TestClient]]:
    """A memory that another process has left, served anew."""
    with (
        Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory,
        calling(application(memory), owner(memory)) as client,
    ):
        yield memory, client


def messages(memory: Appliance) -> int:
    return int(memory.status()["counts"]["messages"])


def test_a_message_that_is_sent_again_is_stored_once(memory: Appliance, client: TestClient) -> None:
    first = client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY)
    again = client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY)
    assert (again.status_code, again.content) == (first.status_code, first.content) and first.status_code == 201
    assert again.headers["idempotency-replayed"] == "true" and "idempotency-replayed" not in first.headers
    assert again.headers["x-request-id"] != first.headers["x-request-id"]
    assert messages(memory) == 1 and len(memory.sessions.list()) == 1


def test_a_key_of_another_request_is_refused(memory: Appliance, client: TestClient) -> None:
    client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY)
    for method, path, body in (
        ("POST", "/v1/messages", {"text": "buy bread"}),
        ("POST", "/v1/sessions", {"title": "x"}),
        ("POST", "/v1/facts", {"text": "I live in Rome"}),
        ("POST", "/v1/sessions/s1/clear?dry_run=true", None),
    ):
        answer = client.request(method, path, json=body, headers=KEY)
        assert (answer.status_code, answer.json()["error"]) == (422, "KeyReused")
    assert messages(memory) == 1


@pytest.mark.parametrize(
    ("path", "body", "other", "counted"),
    [
        ("/v1/messages", {"text": "buy milk"}, {"text": "buy bread"}, "messages"),
        (
            "/v1/messages",
            {"text": "buy milk", "session_id": "list"},
            {"text": "buy bread", "session_id": "list"},
            "messages",
        ),
        (
            "/v1/sessions",
            {"title": "Lists", "metadata": {"a": 1}},
            {"title": "Lists", "metadata": {"a": 2}},
            "sessions",
        ),
    ],
)
def test_a_message_or_a_session_is_stored_once_through_a_crash(
    home: Path, path: str, body: dict[str, Any], other: dict[str, Any], counted: str
) -> None:
    found = []
    for _ in range(2):  # another process knows nothing of the first one's answers
        with opened(home) as (memory, client):
            answer = client.post(path, json=body, headers=KEY)
            assert answer.status_code == 201, answer.text
            found.append(answer.json())
            assert memory.status()["counts"][counted] == 1
    assert found[0] == found[1]
    with opened(home) as (memory, client):
        refused = client.post(path, json=other, headers=KEY)
        assert (refused.status_code, refused.json()["error"]) == (422, "KeyReused")
        assert memory.status()["counts"][counted] == 1


def test_a_crash_between_the_session_and_its_message_leaves_one_of_each(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        with calling(application(memory), owner(memory)) as client, monkeypatch.context() as broken:
            broken.setattr("appliance.server.http.routes.messages.store_turn", _crashes)
            assert client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY).status_code == 500
        with calling(application(memory), owner(memory)) as client:
            assert client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY).status_code == 201
        assert len(memory.sessions.list()) == 1 and messages(memory) == 1


def _crashes(*_: object) -> None:
    raise RuntimeError


def test_a_branch_is_made_once_through_a_crash(home: Path) -> None:
    found = []
    for _ in range(2):  # another process knows nothing of the first one's answers
        with opened(home) as (memory, client):
            if not found:
                for text in ("buy milk", "buy bread"):
                    client.post("/v1/messages", json={"text": text, "session_id": "list"})
            answer = client.post("/v1/sessions/list/branch", json={"at": "m1", "title": "other"}, headers=KEY)
            assert answer.status_code == 201, answer.text
            found.append(answer.json())
            assert memory.status()["counts"]["sessions"] == 2
    assert found[0] == found[1] and found[0]["branch_at"] == "m1"
    with opened(home) as (memory, client):
        client.post("/v1/messages", json={"text": "buy jam", "session_id": "another"})
        for path, other in (
            ("list", {"at": "m2", "title": "other"}),
            ("list", {"at": "m1", "title": "changed"}),
            ("another", {"title": "other"}),
        ):
            refused = client.post(f"/v1/sessions/{path}/branch", json=other, headers=KEY)
            assert (refused.status_code, refused.json()["error"]) == (422, "KeyReused"), other
        assert memory.status()["counts"]["sessions"] == 3


def test_a_branch_at_the_last_message_is_the_same_one_though_the_session_goes_on(home: Path) -> None:
    with opened(home) as (_, client):
        client.post("/v1/messages", json={"text": "buy milk", "session_id": "list"})
        first = client.post("/v1/sessions/list/branch", json={}, headers=KEY).json()
        client.post("/v1/messages", json={"text": "buy bread", "session_id": "list"})
    with opened(home) as (memory, client):
        again = client.post("/v1/sessions/list/branch", json={}, headers=KEY)
        assert (again.status_code, again.json()) == (201, first) and memory.status()["counts"]["sessions"] == 2


def test_other_writes_are_done_once(memory: Appliance, client: TestClient) -> None:
    client.post("/v1/messages", json={"text": "buy milk", "session_id": "list"})
    calls: list[Callable[[dict[str, str]], httpx.Response]] = [
        lambda key: client.post("/v1/sessions/list/branch", json={"title": "other"}, headers=key),
        lambda key: client.post("/v1/facts", json={"attribute": "car", "value": "a Volvo"}, headers=key),
        lambda key: client.post("/v1/forget", json={"ids": ["m1"]}, headers=key),
        lambda key: client.delete("/v1/sessions/list", headers=key),
    ]
    for number, call in enumerate(calls):
        key = {"Idempotency-Key": f"write-number-{number}"}
        first, again = call(key), call(key)
        assert first.is_success and (again.status_code, again.content) == (first.status_code, first.content)
    assert len(memory.erasure.receipts()) == 1
    assert client.delete("/v1/sessions/list").status_code == 404


def test_what_went_wrong_can_be_tried_again_with_its_key(client: TestClient) -> None:
    turn = {"text": "late", "session_id": "s1"}
    assert client.post("/v1/messages", json=turn, headers=KEY).status_code == 404
    client.post("/v1/sessions", json={"title": "first"})
    assert client.post("/v1/messages", json=turn, headers=KEY).status_code == 201


def test_an_upload_is_read_once(client: TestClient) -> None:
    line = b'{"session_id":"x","role":"user","content":"the otter sleeps"}\n'
    first = client.post("/v1/import", params={"filename": "a.jsonl"}, content=line, headers=KEY)
    again = client.post("/v1/import", params={"filename": "a.jsonl"}, content=line, headers=KEY)
    assert first.json()["totals"]["new"] == 1 and again.content == first.content
    other = client.post("/v1/import", params={"filename": "a.jsonl"}, content=line * 2, headers=KEY)
    assert (other.status_code, other.json()["error"]) == (422, "KeyReused")


def test_a_key_is_of_one_token_alone(memory: Appliance, client: TestClient) -> None:
    mine = client.post("/v1/messages", json={"text": "buy milk"}, headers=KEY).json()
    for name in ("ana", "ben"):
        theirs = client.post(
            "/v1/messages", json={"text": "buy milk"}, headers={**KEY, **given(memory, name, user_id=name)}
        )
        assert theirs.status_code == 201 and theirs.json()["id"] != mine["id"]


@pytest.mark.parametrize("key", ["short", "a b c d e f g h", "x" * 256])
def test_a_key_that_can_not_be_is_refused(client: TestClient, key: str) -> None:
    answer = client.post("/v1/messages", json={"text": "x"}, headers={"Idempotency-Key": key})
    assert answer.status_code == 422 and "idempotency-key" in answer.json()["detail"]


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_same_write_from_many_at_once_is_done_once(memory: Appliance) -> None:
    answers: list[httpx.Response] = []

    def send(url: str) -> None:
        with httpx.Client(base_url=url, headers={**owner(memory), **KEY}, timeout=PATIENCE) as client:
            answers.append(client.post("/v1/facts", json={"attribute": "car", "value": "a Volvo"}))

    with running(application(memory)) as url:
        threads = [threading.Thread(target=send, args=(url,)) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(answers) == 12 and {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotency-replayed" not in answer.headers for answer in answers) == 1


def test_answers_are_kept_within_bounds(memory: Appliance, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "MAX_CACHED_BYTES", 4000)
    for number in range(40):
        key = {"Idempotency-Key": f"fact-number-{number}"}
        client.post("/v1/facts", json={"attribute": f"thing {number}", "value": "x"}, headers=key)
    answers: idempotency.ResponseCache = client.app.state.answers  # type: ignore[attr-defined]
    assert answers._size <= 4000 and 0 < len(answers._responses) < 40 and not answers._key_locks

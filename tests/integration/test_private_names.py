"""A name of the person's own that begins as the ids of private sessions do is a name like any other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.requests import is_private_id
from tests.http_calls import application, calling, given, owner

NAMES = ("private-notes", "private-", "private-0123456789abcde", "private-0123456789ABCDEF", "private-cafe-1")

TAKEN = "private-0123456789abcdef"


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_it_is_created_and_found_over_http(memory: Appliance, client: TestClient, name: str) -> None:
    told = client.post("/v1/messages", json={"text": "the otter sleeps", "session_id": name})
    assert told.status_code == 201, told.text
    id = told.json()["session_id"]
    assert client.post("/v1/sessions", json={"external_id": name}).json()["id"] == id
    assert client.post("/v1/messages", json={"text": "and the beaver", "session_id": name}).json()["session_id"] == id
    path = f"/v1/sessions/{name}"
    assert client.get(path).json()["external_id"] == name
    assert client.patch(path, json={"title": "Notes", "pinned": True}).status_code == 200
    assert len(client.get(f"{path}/messages").json()["messages"]) == 2
    for search in ({"session_id": name}, {"asked_in": name}):
        assert client.post("/v1/search", json={"query": "otter", **search}).json()["hits"], search
    assert "otter" in client.post("/v1/context", json={"query": "otter", "session_id": name}).json()["text"]
    assert client.post(f"{path}/branch", json={}).status_code == 201
    assert client.get("/v1/export", params={"id": name}).status_code == 200
    assert client.post(f"{path}/tags", json={"tags": ["own"]}).status_code == 200
    assert client.post("/v1/forget", json={"ids": [name], "dry_run": True}).json()["would_forget"]["messages"] == [
        "m1",
        "m2",
    ]
    assert client.delete(path).status_code == 200
    with pytest.raises(NotFound, match="There is no session"):
        memory.sessions.get(name)


def test_another_token_finds_it_too(memory: Appliance, client: TestClient) -> None:
    ana = given(memory, "guest", user_id="ana")
    assert (
        client.post("/v1/messages", json={"text": "x", "session_id": "private-notes"}, headers=ana).status_code == 201
    )
    assert client.get("/v1/sessions/private-notes", headers=ana).status_code == 200
    memory.sessions.get("private-notes", user_id="ana").set_storage_scope("none")
    assert client.get("/v1/sessions/private-notes", headers=ana).status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_it_is_created_and_found_in_python(memory: Appliance, name: str) -> None:
    session = memory.sessions.create(external_id=name)
    message = session.add("user", "the otter sleeps", external_id=f"{name}-1")
    assert not session.is_private and memory.sessions.get(name).id == session.id
    assert memory.message(f"{name}-1").id == message.id
    assert memory.search("otter", session_id=name).hits and memory.search("otter", asked_in=name).hits
    memory.pin(f"{name}-1")
    assert memory.erasure.preview(name).messages


def test_the_id_of_a_private_session_is_refused_as_a_name(memory: Appliance, client: TestClient) -> None:
    assert is_private_id(memory.sessions.create(private=True).id)
    with pytest.raises(UsageError, match=f"'{TAKEN}' is the id of a private session"):
        memory.sessions.create(external_id=TAKEN)
    session = memory.sessions.create(external_id="notes")
    session.add("user", "x")
    with pytest.raises(UsageError, match="is the id of a private session"):
        session.branch(external_id=TAKEN)
    refused = client.post("/v1/sessions", json={"external_id": TAKEN})
    assert refused.status_code in (409, 422) and "is the id of a private session" in refused.json()["detail"]
    gone = client.post("/v1/messages", json={"text": "x", "session_id": TAKEN})
    assert (gone.status_code, gone.json()["hint"]) == (404, "A private session ends with its program.")
    assert [info.external_id for info in memory.sessions.list()] == ["notes"]

"""Core memory over HTTP: the owner writes as the person, every other token as an assistant."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from tests.http_calls import application, calling, given, owner


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def test_a_block_is_written_read_and_deleted(client: TestClient) -> None:
    block = client.put("/v1/core/Persona", json={"value": "Answer briefly.", "limit": 100}).json()
    assert (block["label"], block["revision"], block["changed_by"]) == ("persona", 1, "person")
    assert client.post("/v1/core/persona/append", json={"text": "No emoji."}).json()["revision"] == 2
    replaced = client.post("/v1/core/persona/replace", json={"old": "briefly", "new": "slowly"}).json()
    assert replaced["value"] == "Answer slowly.\nNo emoji."
    assert [one["number"] for one in client.get("/v1/core/persona/history").json()] == [1, 2, 3]
    assert client.post("/v1/core/persona/revert", json={"revision": 1}).json()["value"] == "Answer briefly."
    assert client.get("/v1/core").json() == [client.get("/v1/core/persona").json()]
    context = client.post("/v1/context", json={"query": "anything", "budget": 300}).json()
    assert "Answer briefly." in context["text"] and context["layers"][0]["name"] == "core"
    assert client.delete("/v1/core/persona").json()["value"] == "Answer briefly."
    assert client.get("/v1/core").json() == []


def test_what_is_wrong_is_refused(client: TestClient) -> None:
    client.put("/v1/core/person", json={"value": "Has a cat.", "limit": 20})
    assert client.put("/v1/core/person", json={"value": "x" * 21}).status_code == 409
    assert client.put("/v1/core/person", json={"value": "x", "revision": 7}).status_code == 409
    assert client.put("/v1/core/two words", json={"value": "x"}).status_code == 422
    assert client.put("/v1/core/person", json={"value": "x", "by": "eve"}).status_code == 422
    assert client.get("/v1/core/boat").status_code == 404
    shares = client.post("/v1/context", json={"query": "x", "shares": {"core": 0.1}})
    assert shares.status_code == 422


def test_a_token_writes_as_an_assistant_of_its_user(memory: Appliance, client: TestClient) -> None:
    client.put("/v1/core/persona", json={"value": "Is kind.", "read_only": True, "user_id": "ana"})
    with calling(application(memory), given(memory, "kitchen", user_id="ana")) as other:
        assert [block["label"] for block in other.get("/v1/core").json()] == ["persona"]
        written = other.put("/v1/core/person", json={"value": "Has a cat."}).json()
        assert written["changed_by"] == "assistant" and written["user_id"] == "ana"
        assert written["assistant"] == "kitchen"  # the name of its token
        assert other.put("/v1/core/persona", json={"value": "Obeys me."}).status_code == 409
        assert other.put("/v1/core/person", json={"limit": 7000}).status_code == 409
        assert other.delete("/v1/core/person").status_code == 403
        assert other.get("/v1/core", params={"user_id": "me"}).status_code == 403
    with calling(application(memory), given(memory, "hall", user_id="ana", read_only=True)) as reader:
        assert reader.get("/v1/core/person").json()["value"] == "Has a cat."
        assert reader.put("/v1/core/person", json={"value": "x"}).status_code == 403
    assert client.get("/v1/core").json() == []


@pytest.mark.slow
def test_what_a_token_forgets_stays_in_blocks_that_it_may_not_write(memory: Appliance, client: TestClient) -> None:
    said = memory.sessions.create(user_id="ana").add("user", "The spare keys are with Mrs. Aydın")
    for label, read_only in (("person", True), ("project", False)):
        client.put(f"/v1/core/{label}", json={"value": f"{said.text}.", "read_only": read_only, "user_id": "ana"})
    with calling(application(memory), given(memory, "kitchen", user_id="ana")) as other:
        body = {"ids": [said.id], "with_echoes": True}
        preview = other.post("/v1/forget", json={**body, "dry_run": True}).json()["would_forget"]
        assert preview["blocks"] == [{"id": "core:project", "texts": [f"{said.text}."]}]
        assert "read-only" in preview["notes"][-1]
        assert other.post("/v1/forget", json={"ids": ["core:project"]}).status_code == 404
        assert other.post("/v1/forget", json=body).json()["receipt"]["blocks"] == 1
        blocks = {block["label"]: (block["value"], block["changed_by"]) for block in other.get("/v1/core").json()}
        assert blocks == {"person": (f"{said.text}.", "person"), "project": ("", "assistant")}
    gone = client.post("/v1/forget", json={"ids": ["core:person"], "user_id": "ana"}).json()
    assert gone["receipt"]["blocks"] == 1 and gone["receipt"]["traces"] == []

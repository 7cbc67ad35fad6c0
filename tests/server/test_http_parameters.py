"""Query parameters that a route does not know: refused before anything is done, as unknown fields of a body are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.server.openai_proxy import errors
from tests.http_calls import application, calling, given, owner

JSONL = b'{"session_id":"x","role":"user","content":"the otter sleeps"}\n'


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def operations(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(method, path) for path, methods in document["paths"].items() for method in methods]


def filled(path: str) -> str:
    return path.replace("{kind}", "used").replace("{", "").replace("}", "")


def test_every_route_refuses_a_parameter_that_it_does_not_know(memory: Appliance, client: TestClient) -> None:
    own = [(method, path) for method, path in operations(application(memory).openapi()) if path.startswith("/v1/")]
    own = [(method, path) for method, path in own if not path.startswith(errors.PATHS)]
    assert len(own) > 60
    for method, path in own:
        answer = client.request(method, f"{filled(path)}?zzz=1")
        assert answer.status_code == 422, (method, path, answer.text)
        told = answer.json()
        assert told["detail"].startswith("query.zzz is not known"), (method, path)
        assert [one["where"] for one in told["errors"]] == ["query.zzz"]


def test_the_document_says_so_of_every_route(memory: Appliance) -> None:
    document = application(memory).openapi()
    assert "Query parameters and fields of bodies that a route does not know" in document["info"]["description"]
    for method, path in operations(document):
        if path.startswith("/v1/") and not path.startswith(errors.PATHS):
            assert "422" in document["paths"][path][method]["responses"], (method, path)


def test_monitors_and_openai_clients_may_add_parameters(client: TestClient) -> None:
    for path in ("/health", "/health/live", "/health/ready", "/metrics", "/openapi.json", "/v1/models"):
        plain, added = client.get(path).status_code, client.get(f"{path}?zzz=1").status_code
        assert plain == added != 422, path
    plain, added = (client.post(f"/v1/chat/completions{query}", json={"messages": []}) for query in ("", "?zzz=1"))
    assert plain.status_code == added.status_code and "zzz" not in added.text


def test_who_may_not_come_in_is_not_told_more(memory: Appliance, client: TestClient) -> None:
    assert client.get("/v1/stats?zzz=1", headers={"Authorization": "Bearer no"}).status_code == 401
    assert client.get("/v1/nothing?zzz=1").status_code == 404
    assert client.get("/v1/sessions?zzz=1", headers=given(memory, "guest", user_id="ana")).status_code == 422


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("dryrun=true", "query.dryrun is not known; the nearest parameter is dry_run."),
        ("dry-run=true", "query.dry-run is not known; the nearest parameter is dry_run."),
        ("DRY_RUN=true", "query.DRY_RUN is not known; the nearest parameter is dry_run."),
        ("dry_run=true&zzz", "query.zzz is not known; the only parameter is dry_run."),
    ],
)
def test_a_misspelt_parameter_is_told_with_the_nearest(client: TestClient, query: str, sentence: str) -> None:
    answer = client.delete(f"/v1/sessions/s1?{query}")
    assert (answer.status_code, answer.json()["detail"]) == (422, sentence)


def test_a_misspelt_filter_counts_nothing(client: TestClient) -> None:
    told = client.get("/v1/stats?autor=nobody").json()
    assert told["detail"] == "query.autor is not known; the nearest parameter is author."


def test_a_misspelt_dry_run_changes_nothing(memory: Appliance, client: TestClient) -> None:
    document = application(memory).openapi()
    dry = [
        (method, path)
        for method, path in operations(document)
        if "dry_run" in {one["name"] for one in document["paths"][path][method].get("parameters", ())}
    ]
    assert {path for _, path in dry} == {"/v1/import", "/v1/sessions/{id}", "/v1/sessions/{id}/clear"}
    session = memory.sessions.create(external_id="typo")
    session.add("user", "the otter sleeps")
    before = memory.status()["counts"]
    for method, path in dry:
        for name in ("dryrun", "dry-run", "Dry_Run", "dryRun"):
            place = path.replace("{id}", session.id)
            answer = client.request(method, f"{place}?{name}=true", content=JSONL if path == "/v1/import" else None)
            assert answer.status_code == 422 and "dry_run" in answer.json()["detail"], (method, path, name)
    named = client.post("/v1/import?filename=a.jsonl&dryrun=true", content=JSONL)
    assert named.status_code == 422
    assert memory.status()["counts"] == before and [one.text for one in session.messages()] == ["the otter sleeps"]


def test_a_refused_write_does_not_use_its_key(client: TestClient) -> None:
    key, turn = {"Idempotency-Key": "0b5a1c9e-71d4-4c1e"}, {"text": "buy milk"}
    assert client.post("/v1/messages?sesion=x", json=turn, headers=key).status_code == 422
    assert client.post("/v1/messages", json=turn, headers=key).status_code == 201

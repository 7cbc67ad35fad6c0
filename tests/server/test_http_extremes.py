"""Values that SQLite or the system can't take: too large, too long, too many, or with a NUL. Each surface refuses them
in a sentence, or finds nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.errors import ApplianceError, NotFound, StoreError, UsageError
from appliance.types.vocabulary import MAX_FILTER_VALUES
from tests.http_calls import application, calling, owner

FILTERS = ("roles", "sources", "authors", "participants", "has", "tags", "tools", "files", "entities", "topics")
WORDS = {"roles": "user", "has": "image"}
"""Of those filters that take only certain words."""

PARAMETERS = ("author", "role", "source", "participant", "has", "tag", "tool", "file", "entity", "topic")


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    session = memory.sessions.create(external_id="house", title="The otter's house")
    session.tag(["garden"])
    session.add("user", "the otter sleeps in notes_7.md", metadata={"tools": [{"name": "tool7", "kind": "call"}]})
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def values(name: str, count: int) -> list[str]:
    return [WORDS.get(name) or f"{name[:-1]}{number}" for number in range(count)]


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_takes_so_many_values_and_no_more(memory: Appliance, client: TestClient, name: str) -> None:
    many, too_many = values(name, MAX_FILTER_VALUES), values(name, 10_000)
    for path in ("/v1/search", "/v1/context"):
        taken = client.post(path, json={"query": "otter", name: many})
        assert taken.status_code == 200, taken.text[:500]
        refused = client.post(path, json={"query": "otter", name: too_many})
        assert refused.status_code == 422 and refused.json()["detail"] == (
            f"body.{name} must have at most {MAX_FILTER_VALUES} items."
        )
    memory.search("otter", **{name: many})  # type: ignore[arg-type]
    memory.timeline(**{name: many})  # type: ignore[arg-type]
    if name != "tags":  # a session may have any number
        for ask in (lambda: memory.search("otter", **{name: too_many}), lambda: memory.timeline(**{name: too_many})):  # type: ignore[arg-type]
            with pytest.raises(UsageError, match=f"{name}: it has 10,000 values, and at most {MAX_FILTER_VALUES}"):
                ask()


def test_sessions_are_filtered_by_so_many_entries_of_their_metadata(memory: Appliance, client: TestClient) -> None:
    entries = {f"key{number}": str(number) for number in range(MAX_FILTER_VALUES)}
    memory.sessions.create(external_id="full", metadata=entries)
    assert [info.external_id for info in memory.sessions.list(metadata=entries)] == ["full"]
    with pytest.raises(UsageError, match=f"at most {MAX_FILTER_VALUES} entries"):
        memory.sessions.list(metadata={**entries, "one": "more"})
    pairs = "&".join(f"metadata=k{number}=1" for number in range(MAX_FILTER_VALUES + 1))
    assert client.get(f"/v1/sessions?{pairs}").status_code == 422


def test_a_value_is_found_among_many(client: TestClient) -> None:
    for name, wanted in (("tools", "tool7"), ("files", "notes_7.md"), ("files", "notes_7"), ("tags", "garden")):
        among = [*values(name, MAX_FILTER_VALUES - 1), wanted]
        found = client.post("/v1/search", json={"query": "otter", name: among}).json()
        assert [hit["text"] for hit in found["hits"]] == ["the otter sleeps in notes_7.md"], name


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_with_a_nul_finds_nothing(client: TestClient, name: str) -> None:
    for value in ("%00", "otter%00", "%00%22otter", "a%00*"):
        answer = client.get(f"/v1/timeline?{name}={value}")
        assert answer.status_code in (200, 409, 422), (value, answer.text)


def test_a_nul_in_any_text_of_a_request_is_no_fault_of_the_memory(memory: Appliance, client: TestClient) -> None:
    document = application(memory).openapi()
    for path, methods in document["paths"].items():
        for parameter in methods.get("get", {}).get("parameters", ()):
            if parameter["in"] == "query" and path.startswith("/v1/") and path != "/v1/events":
                place = path.replace("{id}", "s1").replace("{label}", "person")
                answer = client.get(f"{place}?{parameter['name']}=otter%00x")
                assert answer.status_code < 500, (path, parameter["name"], answer.text)
    for path, body in (
        ("/v1/search", {"query": "otter\0 \"sleeps\0\" '\0'"}),
        *(("/v1/search", {"query": "otter", name: ["otter\0x"]}) for name in FILTERS),
        ("/v1/search", {"query": "otter", "session_id": "\0", "agent_id": "\0", "user_id": "\0"}),
        ("/v1/context", {"query": "\0otter\0"}),
        ("/v1/summaries/search", {"query": "\0otter\0"}),
        ("/v1/forget", {"query": "otter\0", "dry_run": True}),
        ("/v1/forget", {"title": "otter\0", "dry_run": True}),
        ("/v1/forget", {"author": "otter\0", "dry_run": True}),
        ("/v1/forget", {"author_name": "otter\0", "dry_run": True}),
        ("/v1/forget", {"source": "a\0/b", "dry_run": True}),
        ("/v1/forget", {"ids": ["otter\0"], "dry_run": True}),
    ):  # fmt: skip
        answer = client.post(path, json=body)
        assert answer.status_code < 500, (path, body, answer.text)


def test_no_text_with_a_nul_is_a_fault_in_python(memory: Appliance, client: TestClient) -> None:
    for text in ("\0", "otter\0sleeps", '"otter\0"', "the otter 8\0841"):
        for ask in (
            lambda text=text: memory.search(text),
            lambda text=text: memory.timeline(entities=[text]),
            lambda text=text: memory.timeline(topics=[text]),
            lambda text=text: memory.timeline(files=[text]),
            lambda text=text: memory.sessions.list(title=text),
            lambda text=text: memory.erasure.preview(query=text),
            lambda text=text: memory.erasure.preview(title=text),
        ):
            try:
                ask()
            except StoreError as error:
                raise AssertionError(f"{text!r} is taken for damage") from error
            except ApplianceError:
                pass


@pytest.mark.parametrize("number", [10**30, 2**63, 2**63 - 1])
def test_a_number_beyond_the_database_is_refused(client: TestClient, number: int) -> None:
    for body in ({"generation": number}, {"offset": number}, {"generation": 1e30}, {"offset": 1e30}):
        answer = client.post("/v1/search", json={"query": "x", **body})
        assert answer.status_code == 422 and "must be at most" in answer.json()["detail"], answer.text
    for path, body in (
        ("/v1/context", {"query": "x", "recall_limit": number}),
        ("/v1/core/person/revert", {"revision": number}),
    ):
        assert client.post(path, json=body).status_code == 422
    assert client.put("/v1/core/person", json={"value": "x", "revision": number}).status_code == 422
    assert client.get(f"/v1/attachments?offset={number}").status_code == 422


def test_the_largest_numbers_that_are_taken_are_no_fault(client: TestClient) -> None:
    largest = 2**53 - 1
    assert client.post("/v1/search", json={"query": "otter", "offset": largest}).json()["hits"] == []
    assert client.post("/v1/search", json={"query": "otter", "generation": largest}).status_code == 404
    assert client.get(f"/v1/attachments?offset={largest}").json()["attachments"] == []


@pytest.mark.parametrize("number", [10**30, 2**63, -(2**70)])
def test_python_refuses_such_a_number_too(memory: Appliance, number: int) -> None:
    for ask in (
        lambda: memory.search("otter", generation=number),
        lambda: memory.sessions.create(ttl=number),
        lambda: memory.context("otter", recall_limit=number),
    ):
        with pytest.raises(UsageError, match="the number must be between"):
            ask()


@pytest.mark.parametrize("number", [10**30, 2**63, 2**63 - 1])
def test_a_page_behind_the_last_one_is_empty_and_a_limit_may_be_any(
    memory: Appliance, client: TestClient, number: int
) -> None:
    assert not memory.search("otter", offset=number).hits and not memory.attachments.list(offset=number)
    assert not memory.archive.list(limit=number, offset=number) and not memory.summaries.list(limit=number)
    assert len(memory.search("otter", limit=number)) == len(memory.sessions.list(limit=number)) == 1


@pytest.mark.parametrize("source", ["x" * 5_000, "x/" * 5_000, "~nobody-here/x", "\0", "a\0/b", "~"])
def test_a_source_that_no_file_can_have_is_none(memory: Appliance, client: TestClient, source: str) -> None:
    answer = client.post("/v1/forget", json={"source": source, "dry_run": True})
    assert (answer.status_code, answer.json()["error"]) == (404, "NotFound"), answer.text
    assert answer.json()["detail"].startswith("No message came from")
    with pytest.raises(NotFound, match="No message came from"):
        memory.erasure.preview(source=source)


def body_bounds(schema: dict[str, Any], schemas: dict[str, Any], where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every whole number in a schema, with its place."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "integer":
        yield where, schema
    for name, inner in schema.get("properties", {}).items():
        yield from body_bounds(inner, schemas, f"{where}.{name}")
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if isinstance(schema.get("items"), dict) else ())):
        yield from body_bounds(inner, schemas, where)


def test_the_document_bounds_every_whole_number(memory: Appliance) -> None:
    document = application(memory).openapi()
    schemas = document["components"]["schemas"]
    numbers = []
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                numbers += body_bounds(parameter["schema"], schemas, f"{path}?{parameter['name']}")
            for content in operation.get("requestBody", {}).get("content", {}).values():
                numbers += body_bounds(content["schema"], schemas, path)
    assert len(numbers) > 20
    assert {where for where, schema in numbers if "maximum" not in schema} <= {"/v1/forget.confirm"}

"""A token of one user and one namespace: nothing of anybody else's is reached with it, by any route."""

from __future__ import annotations

import json
import os
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import given as drawn
from hypothesis import strategies as st
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.types import ROLES
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.examples import examples
from tests.homes import copied
from tests.http_calls import application, calling, given, owner
from tests.summary_talk import chat, write

pytestmark = pytest.mark.usefixtures("every_field_index")

SECRET = "zanzibar"
"""A word of the others, which nothing that Ana is answered may hold."""

OTHERS = (("ben", ""), ("ana", "work"), ("me", ""))
"""Whose things are out of Ana's reach, hers in another namespace among them."""

EVERYBODY = (*((user, namespace, SECRET) for user, namespace in OTHERS), ("ana", "", "apricot"))
"""A user, a namespace and the word that all of their things hold."""


@dataclass(frozen=True)
class Things:
    """Ids of what somebody has, by kind."""

    session: str
    external: str
    message: str
    external_message: str
    summary: str
    fact: str
    private: str
    private_message: str

    def __iter__(self) -> Iterator[str]:
        return iter(astuple(self))


@dataclass
class House:
    """A memory of several people, and clients with their tokens."""

    memory: Appliance
    owner: TestClient
    ana: TestClient
    reader: TestClient
    others: list[Things]
    own: Things
    taken: set[str] = field(default_factory=set)
    """Names that conversations of Ana's have got meanwhile."""


def furnish(memory: Appliance, folder: Path, user: str, namespace: str, word: str) -> Things:
    """Give somebody one thing of each kind, all about a word."""
    name = f"talk-of-{user}-{namespace or 'plain'}"
    talk = chat(name, 24)
    path = write(folder / f"{name}.jsonl", [{**line, "content": f"{word} {line['content']}"} for line in talk])
    memory.ingest(path, user_id=user, namespace=namespace)
    info = next(one for one in memory.sessions.list(user_id=user, namespace=namespace) if one.external_id == name)
    summary = memory.summaries.make(info.id)[0]
    message = memory.sessions.messages(info.id)[0]
    memory.pin(message.id)
    (fact,) = memory.facts.add(attribute=f"{word} box", value=word, user_id=user, namespace=namespace)
    return Things(info.id, name, message.id, message.external_id, summary.id, fact.id, "", "")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Things]]:
    """A home in which everybody has one thing of each kind, and the ids of the things; Ana's own are the last."""
    folder = tmp_path_factory.mktemp("built")
    with Appliance.open(folder / "home", worker=False, embedder=HashEmbedder()) as memory:
        things = [furnish(memory, folder, user, namespace, word) for user, namespace, word in EVERYBODY]
    return folder / "home", things


def with_private(things: Things, memory: Appliance, user: str, namespace: str, word: str) -> Things:
    """The same things and a private session, which no home keeps."""
    session = memory.sessions.create(private=True, user_id=user, namespace=namespace, title=word)
    message = session.add("user", word)
    return replace(things, private=session.id, private_message=message.id)


@pytest.fixture
def house(built: tuple[Path, list[Things]], home: Path) -> Iterator[House]:
    with ExitStack() as stack:
        memory = stack.enter_context(Appliance.open(copied(built[0], home), worker=False, embedder=HashEmbedder()))
        *others, own = [with_private(things, memory, *whose) for things, whose in zip(built[1], EVERYBODY, strict=True)]
        app = application(memory)
        host, ana, reader = (
            stack.enter_context(calling(app, headers))
            for headers in (
                owner(memory),
                given(memory, "ana", user_id="ana"),
                given(memory, "wall", user_id="ana", read_only=True),
            )
        )
        yield House(memory, host, ana, reader, others, own)


def told(response: httpx.Response) -> str:
    """What an answer says, without what each answer has of its own."""
    text = re.sub(r'"(request_id|took_ms|seconds)":[^,}]*', "", response.text)
    return f"{response.status_code} {text}"


def every_call(document: Mapping[str, Any], id: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """A well-formed request to each operation that names a thing by its id, in every place where one can stand."""
    bodies: dict[str, list[dict[str, Any]]] = {
        "POST /v1/sessions/{id}/messages": [{"text": "mine"}],
        "POST /v1/sessions/{id}/branch": [{}],
        "PATCH /v1/sessions/{id}": [{"title": "taken"}],
        "POST /v1/sessions/{id}/tags": [{"tags": ["taken"]}],
        "POST /v1/facts/{id}/correct": [{"value": "taken"}],
        "POST /v1/search": [{"query": SECRET, name: id} for name in ("session_id", "asked_in", "why_not")],
        "POST /v1/context": [{"query": SECRET, "session_id": id}],
        "POST /v1/summaries/search": [{"query": SECRET, "session_id": id}],
        "POST /v1/forget": [{"ids": [id]}, {"ids": [id], "dry_run": True}],
    }
    for path, methods in document["paths"].items():
        for method in map(str.upper, methods):
            label = f"{method} {path}"
            if label in bodies:
                for body in bodies[label]:
                    yield method, path.replace("{id}", id).replace("{kind}", "used"), {"json": body}
            elif "{id}" in path and path != "/v1/models/{id}":  # that of a language model
                yield method, path.replace("{id}", id).replace("{kind}", "used"), {}
    yield "GET", "/v1/summaries", {"params": {"session_id": id}}
    for format in ("jsonl", "markdown", "html"):
        yield "GET", "/v1/export", {"params": {"id": id, "format": format}}
    if re.match(r"s\d|private-", id):  # another name would be that of a new session
        yield "POST", "/v1/messages", {"json": {"text": "mine", "session_id": id}}


NOT_THERE = {"s": "s99999", "m": "m99999", "sum": "sum99999", "f": "f99999", "private-": "private-0123456789abcdef"}


@pytest.mark.slow
def test_what_is_anothers_is_answered_as_if_it_were_not_there(house: House) -> None:
    document = house.owner.get("/openapi.json").json()
    asked = 0
    for things in house.others:
        for id in set(things) - {things.external, things.external_message}:
            kind = re.match(r"private-|[a-z]+", id)
            assert kind is not None
            nothing = NOT_THERE[kind[0]]
            for there, gone in zip(every_call(document, id), every_call(document, nothing), strict=True):
                (method, path, body), (_, other, blank) = there, gone
                answer, missing = (house.ana.request(method, path, **body), house.ana.request(method, other, **blank))
                assert told(answer).replace(id, "ID") == told(missing).replace(nothing, "ID"), (method, path, body)
                assert answer.status_code in (403, 404), (method, path, answer.text)
                asked += 1
    assert asked > 300
    check_untouched(house)


def test_an_external_id_of_anothers_names_nothing(house: House) -> None:
    for things in house.others:
        for id in (things.external, things.external_message):
            for path in ("/v1/sessions/{}", "/v1/messages/{}", "/v1/sessions/{}/messages"):
                assert house.ana.get(path.format(id)).status_code == 404
        answer = house.ana.post("/v1/messages", json={"text": "a session of my own", "session_id": things.external})
        made = house.owner.get(f"/v1/sessions/{answer.json()['session_id']}").json()
        assert (made["user_id"], made["namespace"], made["messages"]) == ("ana", "", 1)
        # Now there are two of this name, and hers is found by it.
        assert house.ana.get(f"/v1/sessions/{things.external}").json()["id"] == made["id"]
    check_untouched(house)


def test_an_export_has_ones_own_and_all_only_for_the_owner(house: House) -> None:
    own = house.own
    for format, word in (("jsonl", '"content":'), ("markdown", "# "), ("html", "<article")):
        answer = house.ana.get("/v1/export", params={"id": [own.session, own.message], "format": format})
        assert answer.status_code == 200 and word in answer.text and "apricot" in answer.text
        assert SECRET not in answer.text
        assert house.ana.get("/v1/export", params={"format": format}).status_code == 403
        everything = house.owner.get("/v1/export", params={"format": format})
        assert everything.status_code == 200 and SECRET in everything.text and "apricot" in everything.text
    mixed = house.ana.get("/v1/export", params={"id": [own.session, house.others[0].message]})
    assert mixed.status_code == 404 and "apricot" not in mixed.text
    private = house.owner.get("/v1/export", params={"id": own.private, "format": "html"})
    assert private.status_code == 409  # it is in no file, and gets into none


def test_a_session_of_ones_own_that_is_called_like_anothers_id(house: House) -> None:
    taken, free = house.others[0].session, "s88888"
    found = []
    for name in (taken, free):
        made = house.ana.post("/v1/sessions", json={"external_id": name}).json()
        found.append(house.ana.get(f"/v1/sessions/{name}").json()["id"] == made["id"])
    assert found == [True, True]


def test_lists_and_searches_hold_ones_own_alone(house: House) -> None:
    calls: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/v1/sessions", {"params": {"limit": 1000}}),
        ("GET", "/v1/sessions", {"params": {"title": SECRET}}),
        ("GET", "/v1/facts", {}),
        ("GET", "/v1/facts", {"params": {"as_of": "2999-01-01"}}),
        ("GET", "/v1/summaries", {"params": {"limit": 1000}}),
        ("GET", "/v1/status", {}),
        ("GET", "/health", {}),
        ("POST", "/v1/search", {"json": {"query": SECRET, "limit": 1000, "roles": [*ROLES]}}),
        ("POST", "/v1/search", {"json": {"query": f'"{SECRET}"', "mode": "lexical"}}),
        ("POST", "/v1/context", {"json": {"query": f"what is in the {SECRET} box?"}}),
        ("POST", "/v1/summaries/search", {"json": {"query": SECRET, "limit": 1000}}),
        ("POST", "/v1/forget", {"json": {"everything": True, "dry_run": True}}),
    ]
    ids = {id for things in house.others for id in things}
    for client in (house.ana, house.reader):
        for method, path, body in calls:
            if client is house.reader and path == "/v1/forget":
                continue
            answer = client.request(method, path, **body)
            assert answer.status_code == 200, answer.text
            if path == "/v1/search":
                assert {os.path.dirname(hit["source"]["path"]) for hit in answer.json()["hits"]} <= {""}
            mentions = set(re.findall(r'"((?:private-)?[a-z]*\d+)"', answer.text))
            assert not mentions & ids, (path, mentions & ids)
            said = answer.text.replace(json.dumps(body.get("json", {}).get("query", "?"))[1:-1], "")
            assert SECRET not in said, path
            assert str(house.memory.home.root) not in answer.text


def test_another_user_or_namespace_can_not_be_named(house: House) -> None:
    for whose in (
        {"user_id": "ben"},
        {"user_id": "me"},
        {"namespace": "work"},
        {"user_id": "ana", "namespace": "work"},
    ):
        for path in ("/v1/sessions", "/v1/facts", "/v1/summaries"):
            assert house.ana.get(path, params=whose).status_code == 403, (path, whose)
        for path, body in (
            ("/v1/search", {"query": "x"}), ("/v1/context", {"query": "x"}), ("/v1/summaries/search", {"query": "x"}),
            ("/v1/messages", {"text": "x"}), ("/v1/sessions", {}), ("/v1/facts", {"text": "I live in Rome"}),
            ("/v1/facts", {"attribute": "a", "value": "b"}), ("/v1/forget", {"everything": True}),
        ):  # fmt: skip
            assert house.ana.post(path, json={**body, **whose}).status_code == 403, (path, whose)
        assert house.ana.post("/v1/import", params=whose, content=b"{}").status_code == 403
    assert house.ana.post("/v1/search", json={"query": "apricot", "user_id": "ana", "namespace": ""}).json()["hits"]
    check_untouched(house)


def test_what_is_for_the_owner_is_refused(house: House) -> None:
    receipts = ("/v1/forget/receipts", "/v1/forget/receipts/e1", "/v1/forget/receipts/e99")
    for path in ("/v1/events", "/v1/discover", *receipts):
        answer = house.ana.get(path)
        assert answer.status_code == 403 and answer.json()["error"] == "Forbidden"
    assert set(house.ana.get("/v1/status").json()) == {"version", "health", "name", "user_id", "namespace", "read_only"}


def test_an_export_that_names_other_owners_goes_to_ones_own_memory(house: House) -> None:
    whose = {"user_id": "ben", "namespace": "work"}
    line = {"session_id": "x", "role": "user", "content": "mine now", "metadata": whose}
    answer = house.ana.post("/v1/import", params={"filename": "a.jsonl"}, content=json.dumps(line).encode())
    assert answer.json()["totals"]["new"] == 1
    (hit,) = house.ana.post("/v1/search", json={"query": "mine now", "limit": 1}).json()["hits"]
    assert hit["source"]["path"] == "a.jsonl"
    assert answer.json()["totals"]["pending"] is None
    made = house.owner.get(f"/v1/sessions/{hit['session_id']}").json()
    assert (made["user_id"], made["namespace"]) == ("ana", "")
    check_untouched(house)


def test_forgetting_everything_forgets_ones_own(house: House) -> None:
    all_of = {"everything": True}
    refused = house.ana.post("/v1/forget", json=all_of)
    assert refused.status_code == 409 and "dry_run" in refused.json()["hint"]
    code = house.ana.post("/v1/forget", json={**all_of, "dry_run": True}).json()["confirm"]
    assert house.ana.post("/v1/forget", json={"author_name": "Ana", "confirm": code}).status_code in (404, 409)
    answer = house.ana.post("/v1/forget", json={**all_of, "confirm": code})
    receipt = answer.json()["receipt"]
    assert receipt["messages"] >= 24 and receipt["proof"]["files"] == 0 and answer.json()["files"] == []
    assert house.ana.get("/v1/sessions").json()["sessions"] == []
    check_untouched(house)


def test_a_folder_stands_for_ones_own_files_and_its_files_are_named_to_the_owner_alone(
    house: House, built: tuple[Path, list[Things]]
) -> None:
    body = {"source": str(built[0].parent), "dry_run": True}
    would = house.ana.post("/v1/forget", json=body).json()["would_forget"]
    assert len(would["messages"]) == 24 and would["files"] == would["source_files"] == []
    (file,) = house.owner.post("/v1/forget", json=body).json()["would_forget"]["source_files"]
    assert file == str(built[0].parent / "talk-of-me-plain.jsonl")
    check_untouched(house)


def test_a_token_that_only_reads_changes_nothing(house: House) -> None:
    document = house.owner.get("/openapi.json").json()
    own = house.own
    before = [house.owner.get(path).json() for path in watched(own)]
    refused = 0
    for id in (own.session, own.message, own.fact):
        for method, path, body in every_call(document, id):
            reads = method == "GET" or path in ("/v1/search", "/v1/context", "/v1/summaries/search")
            answer = house.reader.request(method, path, **body)
            is_owners = "receipts" in path or path == "/v1/discover"
            assert (answer.status_code == 403) is (not reads or is_owners), (method, path, answer.text)
            refused += answer.status_code == 403
    told = {"text": "I live in Rome"}
    for path, body in (("/v1/messages", {"text": "x"}), ("/v1/sessions", {}), ("/v1/facts", told)):
        assert house.reader.post(path, json=body).status_code == 403
    assert house.reader.post("/v1/import", content=b"x").status_code == 403
    assert refused > 10
    assert "apricot" in house.reader.post("/v1/context", json={"query": "apricot harbour crane"}).json()["text"]
    assert house.reader.get(f"/v1/messages/{own.message}").status_code == 200
    engine_of(house.memory).pins.write_counts(lambda: True)
    assert [house.owner.get(path).json() for path in watched(own)] == before


def watched(own: Things) -> list[str]:
    return [
        f"/v1/sessions/{own.session}",
        f"/v1/sessions/{own.session}/messages?limit=1000",
        f"/v1/messages/{own.message}/importance",
        f"/v1/facts/{own.fact}",
    ]


def disguised(id: str) -> st.SearchStrategy[str]:
    """Ways to write an id that a careless reader might take for it."""
    around = (" {}", "{} ", "{}%00", "{};", "./{}", "{}/.", "{}?x=1", "{}\u200b", "{}.0", "*{}*", "{}' OR '1'='1")
    inside = (id, id.upper(), f"{id[0]}0{id[1:]}", f"{id[0]}+{id[1:]}", f"%{id[1:]}")
    return st.sampled_from([*(shape.format(id) for shape in around), *inside])


@settings(
    max_examples=examples(40, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@drawn(data=st.data())
def test_no_way_to_write_a_name_reaches_what_is_anothers(house: House, data: st.DataObject) -> None:
    document = house.owner.get("/openapi.json").json()
    things = data.draw(st.sampled_from(house.others))
    id = data.draw(st.sampled_from([*things]))
    written = data.draw(disguised(id))
    assume(written not in house.taken)
    method, path, body = data.draw(st.sampled_from([*every_call(document, written)]))
    whose = data.draw(st.sampled_from([{}, {"agent_id": ""}, {"agent_id": "x"}]))
    if "json" in body and path in ("/v1/search", "/v1/context", "/v1/summaries/search"):
        body = {"json": {**body["json"], **whose}}
    answer = house.ana.request(method, urllib.parse.quote(path, safe="/?=%;."), **body)
    assert answer.status_code < 500
    said = answer.text.replace(json.dumps(written)[1:-1], "").replace(written, "")
    assert SECRET not in said, (method, path, said)
    if answer.is_success:  # a name that nothing of hers had is now that of a conversation of hers
        assert path in ("/v1/messages", "/v1/sessions"), (method, path, said)
        house.taken.add(written)
    check_untouched(house)


def check_untouched(house: House) -> None:
    """The others have all that they had, as it was."""
    for things, (user, namespace) in zip(house.others, OTHERS, strict=True):
        session = house.owner.get(f"/v1/sessions/{things.session}").json()
        assert (session["user_id"], session["namespace"], session["messages"]) == (user, namespace, 24)
        assert session["title"] is None or "taken" not in session["title"]
        assert house.owner.get(f"/v1/messages/{things.message}").json()["pinned"] is True
        fact = house.owner.get(f"/v1/facts/{things.fact}").json()
        assert (fact["value"], fact["state"]) == (SECRET, "held")
        assert house.owner.get(f"/v1/summaries/{things.summary}").status_code == 200
        assert house.owner.get(f"/v1/sessions/{things.private}").json()["messages"] == 1

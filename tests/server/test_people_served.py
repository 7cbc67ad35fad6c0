"""People over HTTP and MCP: the same as in Python, and nothing of others or of what is withheld."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance
from tests.http_calls import application, calling, given, owner
from tests.people_exports import whatsapp, write_exports
from tests.server.mcp_runs import Caller, talk


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write_exports(tmp_path / "exports"))
    return memory


def test_people_are_listed_shown_and_decided_over_http(filled: Appliance) -> None:
    with calling(application(filled), owner(filled)) as client:
        listed = client.get("/v1/people").json()
        assert set(listed) == {"people", "proposals", "maybe_me"}
        mum, ben = (next(one for one in listed["people"] if one["name"] == name) for name in ("Mum", "Ben Carter"))
        shown = client.get(f"/v1/people/{mum['id']}").json()
        assert shown["person"] == mum and shown["evidence"]
        assert client.get("/v1/people/helga@brandt.example").json()["person"] == mum
        assert client.get("/v1/people/me").json()["me"]["name"] == "Ana Silva"
        merged = client.post(f"/v1/people/{ben['id']}/merge", json={"other": mum["id"]}).json()
        assert merged["people"][0]["messages"] == 4
        assert client.post("/v1/people/undo", json={}).json()["change"] == "undone"
        renamed = client.post(f"/v1/people/{mum['id']}/rename", json={"name": "Helga"}).json()
        assert renamed["people"][0]["name"] == "Helga"
        split = client.post(f"/v1/people/{mum['id']}/split", json={"identities": ["helga@brandt.example"]})
        assert len(split.json()["people"]) == 2
        assert client.put("/v1/people/me", json={"person": ben["id"]}).json()["people"][0]["me"] is True
        assert client.get("/v1/people/zoe").status_code == 404
        assert client.post("/v1/people/zoe/rename", json={"name": "x"}).status_code == 404


def test_a_search_over_http_keeps_to_people(filled: Appliance) -> None:
    with calling(application(filled), owner(filled)) as client:
        body = {"query": "boiler parrot", "authors": ["mum"], "min_score": 0}
        hits = client.post("/v1/search", json=body).json()["hits"]
        assert {hit["author"] for hit in hits} == {"Mum", "Helga Brandt"}
        hits = client.post("/v1/search", json=body | {"participants": ["ana"]}).json()["hits"]
        assert {hit["author"] for hit in hits} == {"Mum"}, "nobody answered the mail"


def test_a_token_sees_only_its_own_people(filled: Appliance, tmp_path: Path) -> None:
    filled.ingest(whatsapp(tmp_path / "WhatsApp Chat - Zoe.txt", ("Zoe", "Hi"), ("Ana", "Hello")), user_id="zoe")
    with calling(application(filled), given(filled, "zoe", user_id="zoe")) as client:
        assert {one["name"] for one in client.get("/v1/people").json()["people"]} == {"Zoe", "Ana"}
        for person in filled.people.list():
            assert client.get(f"/v1/people/{person.id}").status_code == 404
            assert client.post(f"/v1/people/{person.id}/rename", json={"name": "x"}).status_code == 404
            assert client.post(f"/v1/people/{person.id}/merge", json={"other": "Zoe"}).status_code == 404
        assert client.get("/v1/people?user_id=me").status_code == 403


def test_people_over_mcp(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        listed = await caller.call("memory_people")
        mum = next(one for one in listed["people"] if one["name"] == "Mum")
        assert "Helga Brandt" in mum["also"] and mum["messages"] == 3
        shown = await caller.call("memory_people", action="show", person="helga brandt")
        assert shown["people"][0]["id"] == mum["id"] and shown["evidence"] and shown["conversations"]
        hits = await caller.call("memory_search", query="boiler parrot", authors=[mum["id"]], weak=True)
        assert {hit["who"] for hit in hits["hits"]} == {"Mum", "Helga Brandt"}
        merged = await caller.call("memory_people", action="merge", person=mum["id"], other="Ben Carter")
        assert "are one person" in merged["done"] and merged["people"][0]["messages"] == 4
        assert "undone" in (await caller.call("memory_people", action="undo"))["done"]
        assert "needs other" in await caller.refused("memory_people", action="merge", person=mum["id"])
        assert "no person 'Zoe'" in await caller.refused("memory_people", action="show", person="Zoe")

    talk(filled, work)


def test_an_assistant_is_told_of_nobody_from_withheld_conversations(filled: Appliance) -> None:
    for info in filled.sessions.list():
        if info.format == "whatsapp" or info.title == "Release":
            filled.sessions.get(info.id).set_storage_scope("summaries_only")

    async def work(caller: Caller) -> None:
        listed = await caller.call("memory_people")
        assert {one["name"]: one["messages"] for one in listed["people"]} == {"Mum": 1, "Ana Silva": 2}
        assert "no person" in await caller.refused("memory_people", action="show", person="Ben Carter")
        for query in ("everything Ben wrote", "what did Ben say about the release"):
            assert "Carter" not in repr(await caller.call("memory_search", query=query, weak=True))

    talk(filled, work)

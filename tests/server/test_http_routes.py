"""Each route once round: what goes in comes out, in the shapes of the contract."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from appliance import Appliance, __version__
from appliance.engine.index_service import IndexService
from appliance.server.http import readiness, responses
from appliance_models import HashEmbedder
from tests.http_calls import application, calling, owner
from tests.summary_talk import chat, write
from tests.waits import PATIENCE, until


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def said(client: TestClient, text: str, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/messages", json={"text": text, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_search_answers_what_python_answers(memory: Appliance, client: TestClient) -> None:
    for text in ("the lease ends in May", "the cat is called Minou", "the boiler was mended in May"):
        said(client, text, session_id="house")
    asked = {"query": "when does the lease end", "limit": 2, "roles": ["user"], "since": "2020-01-01"}
    answer = client.post("/v1/search", json=asked).json()
    found = memory.search(asked["query"], limit=2, roles=["user"], since="2020-01-01")
    assert [(hit["message_id"], hit["text"], hit["score"]) for hit in answer["hits"]] == [
        (hit.message_id, hit.text, hit.score) for hit in found
    ]
    assert set(answer) == {
        "query", "mode", "hits", "took_ms", "notes", "times", "summaries", "total", "total_is_exact", "likely",
        "more", "found",
    }  # fmt: skip
    assert set(answer["hits"][0]) == {
        "rank", "score", "message_id", "external_id", "session_id", "external_session_id", "session_title", "role",
        "author", "timestamp", "text", "snippet", "source", "tier", "why", "before", "after", "time", "corrected",
        "document", "folded",
    }  # fmt: skip
    why = client.post("/v1/search", json={"query": "lease", "why_not": "m2"}).json()["why_not"]
    assert why["message_id"] == "m2"


def test_a_search_keeps_to_a_minimum_score(client: TestClient) -> None:
    for text in ("the lease ends in May", "the cat is called Minou", "the boiler was mended in May"):
        said(client, text, session_id="house")
    everything = client.post("/v1/search", json={"query": "the lease", "min_score": 0}).json()
    least = everything["hits"][0]["score"]
    best = client.post("/v1/search", json={"query": "the lease", "min_score": least}).json()
    assert best["found"] and {hit["score"] >= least for hit in best["hits"]} == {True}
    assert 0 < len(best["hits"]) < len(everything["hits"])
    none = client.post("/v1/search", json={"query": "the lease", "min_score": 1}).json()
    assert (none["hits"], none["found"]) == ([], False)
    for wrong in (-0.1, 1.5, "high"):
        assert client.post("/v1/search", json={"query": "lease", "min_score": wrong}).status_code == 422


def test_a_search_keeps_to_its_authors(client: TestClient) -> None:
    said(client, "the boat is mine", author="Ana Gómez")
    said(client, "the boat is hers", author="Ben")
    answer = client.post("/v1/search", json={"query": "boat", "authors": ["ana", "bem"]}).json()
    assert [hit["author"] for hit in answer["hits"]] == ["Ana Gómez"]
    assert "no author 'bem'; did you mean Ben?" in answer["notes"]
    assert client.post("/v1/search", json={"query": "boat", "authors": [""]}).status_code == 422


def test_a_search_goes_on_behind_an_offset_with_the_turns_around_each_hit(client: TestClient) -> None:
    for number in range(5):
        said(client, f"the boat has {number} sails", session_id="harbour")
    asked = {"query": "boat", "sort": "time", "limit": 2, "neighbours": 1, "count": True}
    first = client.post("/v1/search", json=asked).json()
    assert (len(first["hits"]), first["total"], first["total_is_exact"], first["more"]) == (2, 5, True, True)
    assert [turn["text"] for turn in first["hits"][1]["before"]] == ["the boat has 2 sails"]
    assert [turn["text"] for turn in first["hits"][1]["after"]] == ["the boat has 4 sails"]
    last = client.post("/v1/search", json={**asked, "offset": 4}).json()
    assert [hit["text"] for hit in last["hits"]] == ["the boat has 0 sails"] and not last["more"]
    assert client.post("/v1/search", json={"query": "boat", "offset": -1}).status_code == 422


def test_a_context_answers_what_python_answers(memory: Appliance, client: TestClient) -> None:
    said(client, "my deadline is March 15th", session_id="work")
    asked = {"query": "when is my deadline?", "session_id": "work", "budget": 500, "preset": "tutor"}
    answer = client.post("/v1/context", json=asked).json()
    assert 0 < answer["tokens"] <= 500 and "March 15th" in answer["text"]
    assert answer["text"] == memory.context(asked["query"], session_id="work", budget=500, preset="tutor").text
    assert [layer["name"] for layer in answer["layers"]] == ["core", "profile", "retrieved", "summary", "recent"]


def test_a_context_keeps_to_a_limit_and_a_score(client: TestClient) -> None:
    for number in range(3):
        said(client, f"boat {number} is in the harbour", session_id=f"harbour-{number}")

    def recalled(**options: object) -> int:
        answer = client.post("/v1/context", json={"query": "which boat is in the harbour?", **options}).json()
        return sum(len(layer["items"]) for layer in answer["layers"] if layer["name"] == "retrieved")

    assert recalled() == 3 and recalled(recall_limit=2) == 2 and recalled(recall_limit=0) == 0
    assert recalled(min_score=1) == 0
    refused = [{"recall_limit": -1}, {"min_score": 2}]
    assert [client.post("/v1/context", json={"query": "x", **one}).status_code for one in refused] == [422, 422]


def test_a_context_counts_what_it_hands_out_unless_told_not_to(client: TestClient) -> None:
    id = said(client, "the wine cellar has twelve bottles left", session_id="old")["id"]
    said(client, "good morning", session_id="now")
    asked = {"query": "how many bottles are in the wine cellar", "session_id": "now"}
    client.post("/v1/context", json={**asked, "counted": False})
    assert client.get(f"/v1/messages/{id}/importance").json()["times"] == 0
    client.post("/v1/context", json=asked)
    assert client.get(f"/v1/messages/{id}/importance").json()["times"] == 1


def test_a_message_is_stored_read_pinned_and_edited(client: TestClient) -> None:
    first = said(
        client, "the key hangs by the door", session_id="house", author="Ana", metadata={"room": [1, {"a": None}]}
    )
    assert first["metadata"] == {"room": [1, {"a": None}]} and first["author"] == "Ana"
    assert client.get(f"/v1/messages/{first['id']}").json() == first
    assert client.put(f"/v1/messages/{first['id']}/pin").json()["pinned"] is True
    assert client.get(f"/v1/messages/{first['id']}/importance").json()["score"] == 1.0
    assert client.delete(f"/v1/messages/{first['id']}/pin").json()["pinned"] is False
    edited = said(client, "the key lies under the mat", session_id="house", external_id=first["external_id"])
    assert edited["id"] == first["id"] and edited["timestamp"] == first["timestamp"]


def test_feedback_moves_the_importance_of_a_message(client: TestClient) -> None:
    id = said(client, "the key hangs by the door", session_id="house")["id"]
    before = client.get(f"/v1/messages/{id}/importance").json()
    answer = client.post("/v1/feedback", json={"message_id": id, "kind": "outdated"}).json()
    assert answer["score"] < before["score"] and answer["parts"]["feedback"] < 0
    assert (answer["feedback"], answer["judgement"]) == ({"outdated": 1}, "outdated")
    assert client.get(f"/v1/messages/{id}/importance").json()["judgement"] == "outdated"
    assert client.post("/v1/feedback", json={"message_id": "m99", "kind": "used"}).status_code == 404
    for wrong in ({"message_id": id, "kind": "good"}, {"message_id": id}, {"kind": "used"}):
        assert client.post("/v1/feedback", json=wrong).status_code == 422
    scraped = client.get("/metrics").text
    assert (
        "appliance_recall_consistency_ratio 0.0\n" in scraped and 'appliance_feedback_total{kind="outdated"}' in scraped
    )
    assert client.delete(f"/v1/feedback/{id}/outdated").json() == before
    assert client.delete(f"/v1/feedback/{id}/outdated").status_code == 404
    assert client.delete(f"/v1/feedback/{id}/good").status_code == 422


def test_a_message_goes_to_a_named_session_or_to_a_new_one(client: TestClient) -> None:
    one, two = said(client, "one", session_id="house"), said(client, "two", session_id="house")
    assert one["session_id"] == two["session_id"]
    assert said(client, "three", session_id=one["session_id"])["session_id"] == one["session_id"]
    assert said(client, "four")["session_id"] != said(client, "five")["session_id"]
    assert client.post("/v1/messages", json={"text": "six", "session_id": "s999"}).status_code == 404
    elsewhere = said(client, "seven", session_id="house", namespace="work")
    assert elsewhere["session_id"] != one["session_id"]
    assert said(client, "eight", session_id="house", user_id="ana")["session_id"] != one["session_id"]
    assert said(client, "nine", session_id=elsewhere["session_id"])["session_id"] == elsewhere["session_id"]


def test_what_was_said_twice_are_variants(memory: Appliance, client: TestClient) -> None:
    one, two = (said(client, "Where is the blue key?", session_id=name) for name in "ab")
    memory.embed_pending()
    assert [v["id"] for v in client.get(f"/v1/messages/{two['id']}/variants").json()] == [one["id"], two["id"]]


def test_sessions_are_listed_page_by_page(client: TestClient) -> None:
    for number in range(7):
        client.post("/v1/sessions", json={"title": f"talk {number}", "metadata": {"even": number % 2 == 0}})
    found: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = client.get("/v1/sessions", params={"limit": 3, "sort": "title", **after}).json()
        assert len(page["sessions"]) <= 3
        found += [one["title"] for one in page["sessions"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
    assert found == [f"talk {number}" for number in range(7)]
    even = client.get("/v1/sessions", params={"metadata": "even=true"}).json()["sessions"]
    assert len(even) == 4
    assert client.get("/v1/sessions", params={"after": "nonsense"}).status_code == 404


def test_a_session_from_its_beginning_to_its_end(client: TestClient) -> None:
    begun = client.post("/v1/sessions", json={"title": "Garden", "ttl": 3600, "options": {"auto_recall": False}})
    assert begun.status_code == 201
    path = f"/v1/sessions/{begun.json()['id']}"
    for number in range(5):
        assert (
            client.post(path + "/messages", json={"role": "user", "text": f"bed {number} needs water"}).status_code
            == 201
        )
    page = client.get(path + "/messages", params={"limit": 2}).json()
    rest = client.get(path + "/messages", params={"limit": 9, "after": page["next"]}).json()
    texts = [one["text"] for one in page["messages"] + rest["messages"]]
    assert texts == [f"bed {number} needs water" for number in range(5)] and rest["next"] is None
    branch = client.post(path + "/branch", json={"at": page["messages"][1]["id"], "title": "Pond"}).json()
    assert (branch["title"], branch["shared"], branch["branch_of"]) == ("Pond", 2, begun.json()["id"])
    assert [turn["text"] for turn in client.get(path + "/window").json()["turns"]] == texts
    wanted = {"title": "Orchard", "pinned": True, "ttl": None, "storage_scope": "none"}
    changed = client.patch(path, json={**wanted, "options": {"auto_recall": None}}).json()
    assert {name: changed[name] for name in wanted} == wanted and changed["options"] == {}
    assert client.post(path + "/clear", params={"dry_run": True}).json()["messages"] == 3
    assert client.get(path).json()["messages"] == 5 - branch["shared"] + 2
    assert client.delete(path).json()["messages"] >= 3
    assert client.get(path).status_code == 404


def test_a_private_session_is_kept_nowhere(memory: Appliance, client: TestClient) -> None:
    begun = client.post("/v1/sessions", json={"private": True}).json()
    path = f"/v1/sessions/{begun['id']}"
    message = client.post(path + "/messages", json={"text": "the surprise is a red bicycle"}).json()
    assert client.get(f"/v1/messages/{message['id']}").json() == message
    assert client.put(f"/v1/messages/{message['id']}/pin").status_code == 409
    for id in (begun["id"], message["id"]):
        assert client.get("/v1/export", params={"id": id}).status_code == 409
        assert client.post("/v1/feedback", json={"message_id": id, "kind": "used"}).status_code == 409
        assert client.delete(f"/v1/feedback/{id}/used").status_code == 409
    for blank in ("\x85", "\ufeff", " # "):
        assert client.post(path + "/tags", json={"tags": [blank]}).status_code == 422
    given = client.post("/v1/context", json={"query": "bicycle", "session_id": begun["id"]}).json()
    assert "red bicycle" in given["text"]
    assert client.get(path + "/summaries").json() == {"summaries": []}
    assert client.patch(path, json={"pinned": True}).status_code == 409
    assert not client.post("/v1/search", json={"query": "red bicycle"}).json()["hits"]
    assert not client.post("/v1/search", json={"query": "red bicycle", "asked_in": begun["id"]}).json()["hits"]
    for asked in ({"session_id": begun["id"]}, {"asked_in": "private-0123456789abcdef"}):
        assert client.post("/v1/search", json={"query": "red bicycle", **asked}).status_code in (404, 409)
    assert client.get("/v1/sessions").json()["sessions"] == []
    client.delete(path)
    assert client.get(path).status_code == 404


def test_facts_are_told_corrected_and_rejected(client: TestClient) -> None:
    (told,) = client.post("/v1/facts", json={"text": "I live in Berlin"}).json()
    assert client.get(f"/v1/facts/{told['id']}").json() == told
    right = client.post(f"/v1/facts/{told['id']}/correct", json={"value": "Potsdam"}).json()
    assert right["value"] == "Potsdam"
    assert client.post(f"/v1/facts/{right['id']}/confirm").json()["state"] == "held"
    history = client.get(f"/v1/facts/{right['id']}/history").json()
    assert right["id"] in [one["id"] for one in history]
    held = client.get("/v1/facts").json()
    assert [one["value"] for one in held["facts"]] == ["Potsdam"] and held["pending"] == 0
    client.post(f"/v1/facts/{right['id']}/reject")
    assert right["value"] not in [one["value"] for one in client.get("/v1/facts").json()["facts"]]
    (given,) = client.post("/v1/facts", json={"attribute": "car", "value": "an old Volvo", "kind": "profile"}).json()
    assert given["attribute"] == "car"
    then = client.get("/v1/facts", params={"as_of": "2999-01-01"}).json()["facts"]
    assert given["id"] in [one["id"] for one in then]


def test_summaries_are_listed_found_and_read(memory: Appliance, client: TestClient, tmp_path: Path) -> None:
    memory.ingest(write(tmp_path / "harbour.jsonl", chat("harbour", 24)))
    memory.summaries.make("harbour")
    listed = client.get("/v1/summaries", params={"session_id": "harbour"}).json()["summaries"]
    assert listed and client.get("/v1/sessions/harbour/summaries").json()["summaries"] == listed
    assert client.get(f"/v1/summaries/{listed[0]['id']}").json() == listed[0]
    found = client.post("/v1/summaries/search", json={"query": "harbour crane"}).json()
    assert found["summaries"] and {"rank", "why", "id", "quotes"} <= set(found["summaries"][0])


def test_forgetting_says_what_would_go_and_then_proves_it(client: TestClient) -> None:
    id = said(client, "the safe opens with twelve and then forty", session_id="safe")["id"]
    would = client.post("/v1/forget", json={"ids": [id], "dry_run": True}).json()["would_forget"]
    assert would["messages"] == [id] and "touched" not in would and would["titles"] == {}
    whole = client.post("/v1/forget", json={"ids": ["safe"], "dry_run": True}).json()["would_forget"]
    title = "The safe opens with twelve and then forty"
    assert whole["titles"] == {whole["sessions"][0]: title}
    for part, ids in (("saf", []), ("the safe", whole["sessions"])):
        named = client.post("/v1/forget", json={"title": part, "dry_run": True}).json()["would_forget"]
        assert named["sessions"] == ids
    assert client.get(f"/v1/messages/{id}").status_code == 200
    receipt = client.post("/v1/forget", json={"ids": [id]}).json()["receipt"]
    assert (receipt["messages"], receipt["state"], receipt["proof"]["traces"]) == (1, "done", [])
    assert client.get("/v1/forget/receipts").json() == [receipt]
    assert client.get(f"/v1/forget/receipts/{receipt['id']}").json() == receipt
    assert client.get(f"/v1/messages/{id}").status_code == 404
    for number in range(22):
        said(client, f"the purple walrus {number}", session_id="zoo")
    many = {"query": "purple walrus"}
    for selection in (many, {"everything": True}):
        refused = client.post("/v1/forget", json=selection)
        assert refused.status_code == 409 and "22 messages" in refused.json()["detail"]
        assert "dry_run" in refused.json()["hint"]
    assert client.post("/v1/forget", json={**many, "confirm": 21}).status_code == 409
    would = client.post("/v1/forget", json={**many, "dry_run": True}).json()
    assert len(would["would_forget"]["messages"]) == 22
    said(client, "a purple walrus that came since", session_id="zoo")
    changed = client.post("/v1/forget", json={**many, "confirm": would["confirm"]})
    assert changed.status_code == 409 and "changed since" in changed.json()["detail"]
    assert client.post("/v1/forget", json={**many, "confirm": "no code"}).status_code == 409
    wrong = client.post("/v1/forget", json={**many, "confirm": 2.5})
    assert wrong.status_code == 422 and wrong.json()["errors"][0]["where"] == "body.confirm.str"
    code = client.post("/v1/forget", json={**many, "dry_run": True}).json()["confirm"]
    assert client.post("/v1/forget", json={**many, "confirm": code}).json()["receipt"]["messages"] == 23
    nothing = client.post("/v1/forget", json={"everything": True, "user_id": "nobody"}).json()
    assert nothing["forgotten"]["messages"] == []
    assert client.post("/v1/forget", json={}).status_code == 422
    assert client.post("/v1/forget", json={"everything": False}).status_code == 422


def test_the_status_is_what_the_command_line_prints(memory: Appliance, client: TestClient) -> None:
    said(client, "hello", session_id="a")
    answer = client.get("/v1/status").json()
    assert answer["version"] == __version__ and answer["counts"]["messages"] == 1
    there = json.loads(json.dumps(responses.status_shape(memory.status(), str(memory.home.root))))
    # What the process takes differs between two looks.
    assert answer.pop("memory").keys() == there.pop("memory").keys()
    assert answer == there
    assert client.get("/health").json()["version"] == __version__


@pytest.mark.parametrize("encoding", ["klingon", "cl999k_base", "p50k_base", ""])
def test_a_context_counts_in_no_other_encoding_than_is_asked_for(client: TestClient, encoding: str) -> None:
    refused = client.post("/v1/context", json={"query": "otters", "encoding": encoding})
    assert (refused.status_code, refused.json()["detail"]) == (409, f"The encoding of {encoding!r} is unknown.")
    assert "cl100k_base or o200k_base" in refused.json()["hint"]
    for known, counted in (("gpt-4o-mini", "o200k_base"), ("cl100k_base", "cl100k_base")):
        answer = client.post("/v1/context", json={"query": "otters", "encoding": known})
        assert answer.json()["encoding"] == counted


def test_health_says_whether_the_memory_answers(memory: Appliance, client: TestClient) -> None:
    assert client.get("/health/ready").json() == {"status": "ok"}
    memory.close()
    assert client.get("/health/live").status_code == 200
    refused = client.get("/health/ready")
    assert refused.status_code == 503 and refused.json()["detail"] == "The memory does not answer."


def test_ready_is_a_memory_that_answers_searches(
    memory: Appliance, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(client, "the otter sleeps")
    monkeypatch.setattr(readiness, "KEPT_SECONDS", 0.0)
    until(lambda: client.get("/health/ready").status_code == 200, "searches that are answered")
    with monkeypatch.context() as patch:
        patch.setattr("appliance.retrieval.pipeline.search", _fails)
        refused = client.get("/health/ready")
    assert (refused.status_code, refused.json()["detail"]) == (503, "The memory answers no search yet.")
    assert client.get("/v1/sessions").status_code == 200

    asked, held = [], threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr("appliance.retrieval.pipeline.search", lambda *_, **__: asked.append(held.wait(PATIENCE)))
        patch.setattr(readiness, "PATIENCE_SECONDS", 0.01)
        assert [client.get("/health/ready").status_code for _ in range(3)] == [503] * 3
        held.set()
        until(lambda: asked, "the end of the search")
    assert asked == [True], "one search at a time"
    until(lambda: client.get("/health/ready").status_code == 200, "searches that are answered again")


def _fails(*_: object, **__: object) -> None:
    raise RuntimeError


def test_health_is_well_while_an_import_is_embedded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()
    drain = IndexService.drain_while

    def slow(*arguments: Any, **options: Any) -> Any:
        held.wait(PATIENCE)
        return drain(*arguments, **options)

    monkeypatch.setattr(IndexService, "drain_while", slow)
    with Appliance.open(home, embedder=HashEmbedder()) as memory, calling(application(memory), owner(memory)) as client:
        said(client, "the otter sleeps")
        assert client.get("/v1/status").json()["counts"]["pending"] == 1
        answer = client.get("/health").json()
        held.set()
        assert (answer["status"], answer["health"]) == ("ok", "ok")


def test_a_path_that_is_not_there_and_a_method_that_is_not(client: TestClient) -> None:
    nowhere = client.get("/v1/nothing")
    assert nowhere.status_code == 404 and nowhere.json()["error"] == "NotFound"
    wrong = client.put("/v1/sessions")
    assert wrong.status_code == 405 and wrong.headers["allow"] == "GET, POST"
    assert client.get("/v1/sessions/").status_code in (404, 405)

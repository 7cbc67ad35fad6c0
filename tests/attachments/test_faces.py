"""Attachments, counts and tags on the command line and over HTTP."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.cli.app import run
from tests.attachments.exports import FILES, PHOTO, native, whatsapp
from tests.http_calls import application, calling, given, owner


@pytest.fixture
def chat(home: Path, tmp_path: Path) -> Path:
    """A memory with a chat that has two files."""
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    return tmp_path / "chat"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert run(arguments) == code
    return capsys.readouterr().out


def test_the_command_line_lists_and_finds_files(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "attachments").splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["m4.1", "m2.1"]
    listed = json.loads(printed(capsys, "attachments", "--kind", "image", "--json"))
    assert listed["total"] == 1
    assert listed["attachments"][0]["size"] == len(FILES[PHOTO])
    assert printed(capsys, "attachments", "path", "m2.1").strip() == str(chat / PHOTO)
    printed(capsys, "attachments", "path", "m1.1", code=4)
    printed(capsys, "attachments", "--kind", "smell", code=2)
    hits = json.loads(printed(capsys, "search", "roses", "--has", "link", "--min-score", "0", "--json"))["hits"]
    assert [hit["message_id"] for hit in hits] == ["m3"]


def test_the_command_line_counts(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = list(csv.DictReader(io.StringIO(printed(capsys, "stats", "--by", "author,month", "--csv"))))
    assert [(row["author"], row["month"], row["messages"]) for row in rows] == [
        ("Ana", "2025-03", "2"), ("Ben", "2025-03", "2"),
    ]  # fmt: skip
    counted = json.loads(printed(capsys, "stats", "--json"))
    assert (counted["messages"], counted["attachments"]) == (4, 2)
    assert "Wed" in printed(capsys, "stats", "--by", "weekday")
    assert "Look at the roses" in printed(capsys, "on-this-day", "2026-03-05")
    assert json.loads(printed(capsys, "on-this-day", "2025-03-05", "--json"))["days"] == []
    months = json.loads(printed(capsys, "timeline", "--person", "ben", "--json"))["months"]
    assert [(one["month"], one["messages"]) for one in months] == [("2025-03", 2)]
    printed(capsys, "stats", "--by", "mood", code=2)
    printed(capsys, "on-this-day", "someday", code=2)


def test_the_command_line_tags(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, "tag", "add", "s1", "#Garden", "to do").endswith(" (s1) has the tags garden, to do.\n")
    assert printed(capsys, "tag", "remove", "s1", "To Do").endswith(" (s1) has the tag garden.\n")
    assert json.loads(printed(capsys, "tag", "--json"))["tags"] == [{"tag": "garden", "sessions": 1}]
    assert printed(capsys, "tag", "list", "s1") == "garden\n"
    assert len(json.loads(printed(capsys, "sessions", "--tag", "garden", "--json"))["sessions"]) == 1
    printed(capsys, "tag", "add", "s9", "garden", code=4)
    printed(capsys, "tag", "add", "s1", "#", code=2)


def test_over_http_each_sees_their_own(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    line = {"session_id": "e", "message_id": "e1", "timestamp": "2025-03-05T10:00:00Z",
            "metadata": {"attachments": [{"name": "eve.png"}]}}  # fmt: skip
    memory.ingest(native(tmp_path / "eve.jsonl", [line]), user_id="eve", wait=False)
    memory.sessions.get("e").tag(["secret"])
    app = application(memory)
    with calling(app, owner(memory)) as http:
        page = http.get("/v1/attachments", params={"kind": "image"}).json()
        assert [(one["name"], one["source"]) for one in page["attachments"]] == [
            (PHOTO, str(tmp_path / "chat" / "_chat.txt"))
        ]
        assert http.get("/v1/attachments", params={"user_id": "eve"}).json()["total"] == 1
        assert http.post("/v1/sessions/s1/tags", json={"tags": ["#Garden"]}).json() == {"tags": ["garden"]}
        body: dict[str, Any] = {"query": "roses", "has": ["link"], "tags": ["garden"], "min_score": 0}
        assert [hit["message_id"] for hit in http.post("/v1/search", json=body).json()["hits"]] == ["m3"]
        assert http.get("/v1/stats", params={"by": ["author"]}).json()["messages"] == 4
        assert len(http.get("/v1/on-this-day", params={"day": "2026-03-05"}).json()["days"]) == 1
        said = http.get("/v1/day", params={"day": "2025-03-05", "limit": 1}).json()["sessions"]
        assert [(one["session"]["id"], one["count"], len(one["messages"])) for one in said] == [("s1", 3, 1)]
        said = http.get("/v1/day", params={"day": "2025-03-05", "author": ["ben"]}).json()["sessions"]
        assert [one["count"] for one in said] == [1]
        assert http.get("/v1/day").status_code == http.get("/v1/day", params={"day": "soon"}).status_code == 422
        assert http.get("/v1/day", params={"day": "2026-02-30"}).status_code == 409
        start = http.get("/v1/start-page", params={"limit": 1}).json()
        assert (start["sessions"], start["recent"][0]["session"]["id"]) == (1, "s1")
        assert http.get("/v1/start-page", params={"limit": 0}).status_code == 422
        assert http.delete("/v1/sessions/s1/tags/garden").json() == {"tags": []}
        assert http.get("/v1/stats", params={"by": ["mood"]}).status_code == 422
    with calling(app, given(memory, "tablet", user_id="eve")) as http:
        page = http.get("/v1/attachments").json()
        assert [(one["name"], one["source"]) for one in page["attachments"]] == [("eve.png", "eve.jsonl")]
        assert http.get("/v1/tags").json() == {"tags": [{"tag": "secret", "sessions": 1}]}
        assert http.get("/v1/stats").json()["messages"] == 1
        said = http.get("/v1/day", params={"day": "2025-03-05"}).json()["sessions"]
        assert [one["session"]["external_id"] for one in said] == ["e"]
        assert http.get("/v1/attachments", params={"user_id": "me"}).status_code == 403
        assert http.get("/v1/start-page").status_code == 403
        assert http.get("/v1/attachments", params={"session_id": "s1"}).status_code == 404
        assert http.post("/v1/sessions/s1/tags", json={"tags": ["x"]}).status_code == 404
        memory.sessions.get("e").set_storage_scope("none")
        assert http.get("/v1/tags").json() == {"tags": []}
        assert http.get("/v1/attachments").json()["total"] == 0
        assert http.get("/v1/attachments", params={"session_id": "e"}).status_code == 404
    with calling(app, given(memory, "reader", user_id="eve", read_only=True)) as http:
        assert http.post("/v1/sessions/e/tags", json={"tags": ["x"]}).status_code == 403

"""Exports sent over HTTP: streamed to the disk, read, and gone from there whatever happens."""

from __future__ import annotations

import http.client
import io
import json
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from appliance import Appliance
from appliance.paths import as_paths
from appliance.requests import IngestRequest
from appliance.server.access import tokens
from appliance.server.http.routes import imports
from appliance.types import OnProgress
from tests.engines import engine_of
from tests.http_calls import application, calling, owner, running
from tests.waits import PATIENCE, until

LINE = b'{"session_id":"x","role":"user","content":"the otter sleeps"}\n'


@pytest.fixture
def client(memory: Appliance) -> Iterator[TestClient]:
    with calling(application(memory), owner(memory)) as opened:
        yield opened


def left(memory: Appliance) -> list[Path]:
    return list(memory.home.uploads.glob("*"))


def test_an_export_is_read_and_told_like_the_command_line_does(memory: Appliance, client: TestClient) -> None:
    answer = client.post("/v1/import", params={"filename": "chat.jsonl", "wait": True}, content=LINE)
    assert answer.status_code == 200
    told = answer.json()
    assert told["files"] == [
        {"path": "chat.jsonl", "format": "native", "status": "ok", "conversations": 1, "messages": 1, "new": 1,
         "updated": 0, "duplicates": 0, "documents": 0, "pages": 0, "kept": 0, "errors": [], "notes": [],
         "read_with": ""}
    ]  # fmt: skip
    assert told["totals"]["embedded"] == 1 and told["totals"]["pending"] == 0 and told["seconds"] > 0
    assert memory.search("otter") and not left(memory)
    assert (
        client.post("/v1/import", params={"filename": "chat.jsonl"}, content=LINE).json()["totals"]["duplicates"] == 1
    )


def test_a_zip_a_format_and_a_name_that_says_something(memory: Appliance, client: TestClient) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("deep/a.jsonl", LINE)
    told = client.post("/v1/import", params={"filename": "all.zip"}, content=packed.getvalue()).json()
    assert told["totals"]["new"] == 1 and str(memory.home.root) not in json.dumps(told)
    chat = "2026-02-06, 10:30 - Ana: the lamp is broken\n2026-02-06, 10:31 - Ben: I'll mend it\n"
    name = "WhatsApp Chat with Ana Ñandú.txt"
    told = client.post("/v1/import", params={"filename": name, "format": "whatsapp"}, content=chat.encode()).json()
    assert told["files"][0]["path"] == name and told["totals"]["new"] == 2


def test_a_dry_run_stores_nothing(memory: Appliance, client: TestClient) -> None:
    told = client.post("/v1/import", params={"dry_run": True}, content=LINE).json()
    assert told["totals"]["new"] == 1 and memory.status()["counts"]["messages"] == 0 and not left(memory)


def test_what_can_not_be_read_is_told_and_removed(memory: Appliance, client: TestClient) -> None:
    answer = client.post("/v1/import", params={"filename": "x.zip"}, content=b"PK\x03\x04 and then nothing")
    told = answer.json()
    assert (answer.status_code, told["error"], told["status"]) == (422, "InputError", 422)
    assert "the zip is cut off after 21 bytes" in told["detail"]
    assert told["files"][0]["status"] == "failed" and told["files"][0]["errors"][0]["message"]
    assert str(memory.home.root) not in json.dumps(told)
    assert client.post("/v1/import", params={"format": "nothing"}, content=LINE).status_code == 422
    assert client.post("/v1/import", content=b"").status_code == 422
    assert not left(memory)


@pytest.mark.parametrize("name", ["../../escape", "a/b", "a\\b", "..", ".", " ", "a\x00b", "line\nbreak", "x" * 300])
def test_a_name_that_is_a_path_is_refused(memory: Appliance, client: TestClient, name: str) -> None:
    answer = client.post("/v1/import", params={"filename": name}, content=LINE)
    assert answer.status_code == 422 and not left(memory)
    assert memory.status()["counts"]["messages"] == 0


def test_a_name_longer_than_a_folder_holds_is_refused(client: TestClient) -> None:
    assert client.post("/v1/import", params={"filename": "雨" * 150}, content=LINE).status_code == 409


def test_an_upload_lies_in_the_home_for_its_owner_alone(
    memory: Appliance, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[int, int, Path]] = []
    ingest = engine_of(memory).ingest

    def watching(request: IngestRequest, on_progress: OnProgress) -> object:
        (source,) = as_paths(request.source)
        seen.append((stat.S_IMODE(source.stat().st_mode), stat.S_IMODE(source.parent.stat().st_mode), source))
        return ingest(request, on_progress)

    monkeypatch.setattr(engine_of(memory), "ingest", watching)
    client.post("/v1/import", content=LINE)
    ((file, folder, path),) = seen
    assert (file, folder) == (0o600, 0o700) and memory.home.root in path.parents
    assert stat.S_IMODE(memory.home.uploads.stat().st_mode) == 0o700


def test_a_bug_while_reading_leaves_no_file(
    memory: Appliance, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(engine_of(memory), "ingest", broken)
    assert client.post("/v1/import", content=LINE).status_code == 500
    assert not left(memory)


def test_leftovers_of_a_crash_are_removed_at_the_start(memory: Appliance) -> None:
    folder = memory.home.uploads / "abc"
    folder.mkdir(parents=True)
    (folder / "half.zip").write_bytes(b"PK")
    application(memory)
    assert not memory.home.uploads.exists()


def test_a_full_disk_is_told(memory: Appliance, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(imports, "FILE_MODE", 0o400)
    monkeypatch.setattr(imports.os, "O_WRONLY", 0)  # a file that can't be written to, as on a disk that is full
    answer = client.post("/v1/import", content=LINE)
    assert (answer.status_code, answer.json()["error"]) == (503, "StoreError")
    assert answer.json()["hint"] == "Check free space and permissions." and not left(memory)


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_client_that_goes_while_sending_leaves_nothing(memory: Appliance) -> None:
    with running(application(memory)) as url:
        host, port = url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        connection.putrequest("POST", "/v1/import")
        for name, value in owner(memory).items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", "1000000")
        connection.endheaders()
        connection.send(LINE * 100)
        until(lambda: left(memory), "a file that is being received")
        connection.close()
        until(lambda: not left(memory), "its removal")
    assert memory.status()["counts"]["messages"] == 0 and tokens.owner_token(memory.home)


@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_an_upload_larger_than_other_bodies_may_be(memory: Appliance) -> None:
    with running(application(memory, body=1024)) as url:
        host, port = url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=PATIENCE)
        said = ({"session_id": "x", "message_id": str(n), "role": "user", "content": f"otter {n}"} for n in range(3000))
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in said)
        connection.request("POST", "/v1/import?filename=many.jsonl", body=lines, headers=owner(memory))
        told = json.loads(connection.getresponse().read())
        connection.close()
    assert told["totals"]["new"] == 3000 and len(lines) > 100_000

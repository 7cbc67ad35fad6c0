"""``index``: where it is, moving it, and what is said when the server is away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runs import Run, document

from appliance.store.index import nodes
from tests import qdrant_server
from tests.qdrant_server import QdrantServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

KEY = "s3cret-k3y"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[QdrantServer]:
    monkeypatch.setattr(nodes, "RETRY_SECONDS", 0.0)
    monkeypatch.setenv("APPLIANCE_INDEX_API_KEY", KEY)
    with qdrant_server.serving(api_key=KEY) as running:
        yield running


@pytest.mark.slow
def test_the_index_is_moved_and_its_place_is_printed(run: Run, filled: Path, server: QdrantServer) -> None:
    embedded = document(run("index", "--json"))
    assert embedded["points"] == embedded["expected"] == 10 and not embedded["trouble"]
    printed = [row.split(maxsplit=1) for row in run("index").stdout.splitlines()]
    assert printed == [["index", "embedded"], ["points", "10 of 10"], ["state", "ok"]]
    moved = document(run("index", "move", server.url, "--json"))
    assert (moved["place"], moved["points"]) == (server.url, moved["expected"])
    assert document(run("index", "status", "--json")) == moved
    printed = run("status").stdout
    assert server.url in printed and KEY not in printed
    assert run("verify").exit_code == 0
    home_again = document(run("index", "move", "embedded", "--json"))
    assert home_again == embedded and server.collections() == []


def test_a_key_is_never_printed(run: Run, filled: Path, server: QdrantServer) -> None:
    run("index", "move", server.url)
    for arguments in (("config",), ("config", "--json"), ("index",), ("status", "--json"), ("verify", "--json")):
        assert KEY not in run(*arguments).output
    assert KEY not in (filled / "config.toml").read_text()
    listed = document(run("config", "--json"))["settings"]
    assert listed["index.api_key"] == {"value": "(set)", "origin": "APPLIANCE_INDEX_API_KEY"}


def test_a_server_that_is_away_is_said_and_forgetting_is_not_finished(
    run: Run, filled: Path, server: QdrantServer
) -> None:
    run("index", "move", server.url)
    server.stop()
    result = run("index")
    assert result.exit_code == 3 and "does not answer" in result.stdout
    assert "only full text was searched" in run("search", "Lisbon").stderr
    first = document(run("search", "Lisbon", "--json"))["hits"][0]["message_id"]
    result = run("forget", first, "--yes")
    assert result.exit_code == 1 and "not erased yet: the server is away" in result.stdout
    server.start()
    assert run("reindex", "--pending").exit_code == 0
    (receipt,) = document(run("forget", "--receipts", "--json"))["receipts"]
    assert receipt["state"] == "done" and receipt["proof"]["points"] > 0
    assert run("verify").exit_code == 0


def test_a_forget_says_what_it_looked_at_on_the_server(run: Run, filled: Path, server: QdrantServer) -> None:
    run("index", "move", server.url)
    first = document(run("search", "Lisbon", "--json"))["hits"][0]["message_id"]
    assert "looked at, none of them erased" in run("forget", first, "--yes").stdout


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ('url = "qdrant.example"', "index.url must be a URL"),
        ('url = "https://u:p@qdrant.example"', "index.api_key"),
        ('prefix = "a b"', "index.prefix must be letters"),
        ('quantization = "product"', "index.quantization must be"),
        ("shards = 0", "index.shards must be at least 1"),
    ],
)
def test_a_wrong_setting_is_an_error_that_names_it(run: Run, filled: Path, written: str, says: str) -> None:
    (filled / "config.toml").write_text(f"[index]\n{written}\n")
    result = run("status", "--json")
    assert result.exit_code == 2 and says in json.dumps(result.output)


def test_a_message_is_added_while_the_server_is_away(run: Run, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_INDEX_URL", "http://127.0.0.1:9")
    added = run("add", "a walrus in the bathtub")
    assert added.exit_code == 0 and " added to " in added.stdout
    assert "does not answer" in added.stderr and "stored" in added.stderr
    assert "walrus" in run("search", "walrus").stdout


def test_a_move_that_fails_says_that_nothing_has_changed(run: Run, filled: Path) -> None:
    refused = run("index", "move", "http://127.0.0.1:9")
    assert refused.exit_code == 3 and "nothing has changed" in refused.stderr
    assert run("index").stdout.splitlines()[0].split() == ["index", "embedded"]

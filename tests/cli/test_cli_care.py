"""``status``, ``verify``, ``reindex`` and ``models``."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sqlite3
from pathlib import Path

import pytest
from cli_runs import Run, document

from appliance import Appliance, __version__
from appliance.cli.maintenance import VERIFIED
from appliance.store import check
from appliance_models.files import SHIPPED_PACKS
from tests.damages import break_text
from tests.tiny_models import crossencoder_folder

PACK = "minilm-l6-dialogue-int8"
OLD_PACK = "all-minilm-l6-v2-int8"
COUNTS = [
    "sources",
    "sessions",
    "messages",
    "chunks",
    "embedded",
    "pending",
    "variants",
    "summaries",
    "archived",
    "attachments",
    "hidden_sessions",
    "documents",
    "document_pages",
    "kept_attachments",
    "facts",
]


def test_status_prints_the_contracts_shape(run: Run, kept: Path) -> None:
    report = document(run("status", "--json"))
    contract = ["version", "home", "counts", "model", "disk_bytes", "daemon", "health"]
    assert list(report) == [
        *contract,
        "owner",
        "files",
        "summaries",
        "facts",
        "latency",
        "queues",
        "recall",
        "memory",
        "apparent_bytes",
        "backup",
        "generations",
        "index",
        "network",
        "api",
        "loopback",
        "troubles",
        "chunked_otherwise",
        "unchecked_tables",
        "profile",
        "power",
        "settings_changed",
    ]
    assert list(report["counts"]) == COUNTS
    assert list(report["model"]) == ["name", "dimension", "generation"]
    assert (report["version"], report["home"]) == (__version__, str(kept))
    assert (report["daemon"], report["health"]) == (None, "ok")
    assert report["owner"] == {"pid": os.getpid(), "purpose": "appliance status"}
    assert report["counts"]["messages"] == 10


def test_status_reads_well(run: Run, kept: Path) -> None:
    shown = run("status").stdout
    assert re.search(r"^health +ok$", shown, re.M)
    assert re.search(rf"^model +{PACK}, 384 dimensions", shown, re.M)


def test_status_shows_disk_use_and_apparent_size(run: Run, kept: Path) -> None:
    before = document(run("status", "--json"))
    hole = kept / "index" / "g1" / "hole"
    hole.touch()
    os.truncate(hole, 300_000_000)
    after = document(run("status", "--json"))
    assert after["disk_bytes"].keys() == after["apparent_bytes"].keys() == {
        "database", "vectors", "index", "attachments",
    }  # fmt: skip
    assert after["apparent_bytes"]["index"] == before["apparent_bytes"]["index"] + 300_000_000
    assert after["disk_bytes"]["index"] < before["disk_bytes"]["index"] + 1_000_000
    assert re.search(
        r"\ndisk +[\d.]+ [KM]B: database .+\nsize of files +30\d MB, space reserved in them included\n",
        run("status").stdout,
    )


def test_verify_says_how_many_chunks_wait_for_the_index(run: Run, home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [f'{{"session_id": "s{n}", "role": "user", "content": "the harbour"}}\n' for n in (1, 2)]
    path.write_text(lines[0], encoding="utf-8")
    run("ingest", path, "--no-wait")
    assert run("verify").stdout.endswith("\nno problems; 1 chunk still waits for the index\n")
    path.write_text("".join(lines), encoding="utf-8")
    run("ingest", path, "--no-wait")
    assert run("verify").stdout.endswith("\nno problems; 2 chunks still wait for the index\n")


def test_verify_finds_that_all_agrees(run: Run, kept: Path) -> None:
    assert run("verify").stdout.endswith("\nno problems\n")
    counted = document(run("verify", "--json"))["checked"]
    rows = [row.split(maxsplit=2) for row in run("verify").stdout.splitlines()[:-1]]
    assert [(name, number) for name, number, _ in rows] == [(name, f"{count:,}") for name, count in counted.items()]
    assert counted["points"] == counted["chunks"] + counted.get("summary_chunks", 0) - counted.get("archived_chunks", 0)
    assert counted["vectors"] == counted["texts"] + counted["earlier_texts"]
    report = document(run("verify", "--json"))
    assert list(report) == ["ok", "checked", "sources", "problems", "seconds"]
    assert all(book["covered"] == book["characters"] for book in report["sources"])
    assert sum(book["messages"] for book in report["sources"]) == report["checked"]["messages"]
    assert (report["ok"], report["problems"]) == (True, [])


def test_verify_names_what_does_not_agree(run: Run, filled: Path) -> None:
    with sqlite3.connect(filled / "recall.db") as db:
        db.execute("DELETE FROM chunk WHERE message_id = 3")
    db.close()
    result = run("verify")
    assert result.exit_code == 3
    assert "m3" in result.stdout
    assert document(run("verify", "--json"))["ok"] is False


@pytest.mark.parametrize("options", [[], ["--vectors"], ["--pending"]])
def test_reindex_leaves_a_whole_memory(run: Run, filled: Path, options: list[str]) -> None:
    report = document(run("reindex", *options, "--json"))
    assert list(report) == ["chunks", "pending", "model", "seconds", "kept", "dropped"]
    assert report["pending"] == 0
    assert report["chunks"] == (0 if options == ["--pending"] else 10)
    assert run("verify").exit_code == 0
    assert "10 chunks indexed" in run("reindex").stdout


def test_reindex_refuses_two_ways_at_once(run: Run, kept: Path) -> None:
    assert run("reindex", "--pending", "--vectors").exit_code == 2


def test_an_unknown_model_changes_nothing(run: Run, kept: Path) -> None:
    result = run("reindex", "--model", "no-such-model", "--json")
    assert result.exit_code == 5
    assert document(result)["error"]["type"] == "ModelUnavailable"
    assert document(run("status", "--json"))["model"]["name"] == PACK


def test_ingest_without_its_model_reads_nothing(
    run: Run, home: Path, chats: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", "no-such-model")
    result = run("ingest", chats)
    assert result.exit_code == 5
    assert "appliance models list" in result.stderr


def test_models_lists_the_shipped_ones(run: Run, home: Path) -> None:
    report = document(run("models", "list", "--json"))
    assert report["configured"] == PACK
    models = [(model["name"], model["shipped"], model["configured"]) for model in report["models"]]
    assert models == [(OLD_PACK, True, False), (PACK, True, True)]
    assert {model["dimension"] for model in report["models"]} == {384}
    assert PACK in run("models").stdout
    assert not home.exists()


def test_models_verify_hashes_the_files(run: Run, home: Path) -> None:
    assert run("models", "verify", PACK).exit_code == 0
    report = document(run("models", "verify", "--json"))
    assert report["ok"] is True
    assert {file["file"] for file in report["files"]} >= {"model.onnx", "tokenizer.json"}
    assert run("models", "verify", "no-such-model").exit_code == 5


def test_a_model_is_imported_verified_and_moved_to(run: Run, filled: Path, tmp_path: Path) -> None:
    other = tmp_path / "other-pack"
    shutil.copytree(SHIPPED_PACKS / PACK, other)
    manifest = other / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"name": "{PACK}"', '"name": "other-pack"'))
    assert "imported other-pack, 384 dimensions" in run("models", "import", other).stdout
    assert run("models", "import", other).exit_code == 2
    moved = run("reindex", "--model", "other-pack")
    assert moved.exit_code == 0
    assert "The settings still name" in moved.stderr
    assert document(run("status", "--json"))["model"] == {"name": "other-pack", "dimension": 384, "generation": 2}
    assert run("verify").exit_code == 0
    tokenizer = filled / "models" / "other-pack" / "tokenizer.json"
    tokenizer.write_bytes(tokenizer.read_bytes() + b" ")
    damaged = run("models", "verify", "other-pack", "--json")
    assert damaged.exit_code == 5
    assert [file["status"] for file in document(damaged)["files"]].count("changed") == 1


@pytest.mark.slow
def test_a_change_of_the_model_is_compared_taken_back_and_forgotten(run: Run, filled: Path) -> None:
    moved = run("reindex", "--model", OLD_PACK)
    assert f"10 chunks indexed with {OLD_PACK}" in moved.stdout
    assert f"Generation 1 ({PACK}," in moved.stderr and "--rollback" in moved.stderr
    shown = run("status").stdout
    assert f"kept: {PACK}, 384 dimensions, 10 messages, " in shown
    compared = run("search", "the", "--generation", "1", "--min-score", "0")
    assert f"Generation 1 ({PACK}) has what was stored until" in compared.stderr
    assert run("search", "the", "--generation", "9").exit_code == 4
    assert f"Generation 1 ({PACK}) serves again; 0 chunks added" in run("reindex", "--rollback").stdout
    refused = run("reindex", "--model", PACK)
    assert refused.exit_code == 2 and f"uses {PACK} already" in refused.stderr
    dropped = document(run("reindex", "--drop-old", "--json"))
    assert [(one["id"], one["model"]) for one in dropped["dropped"]] == [(2, OLD_PACK)] and dropped["chunks"] == 0
    assert run("reindex", "--drop-old").stdout == "No vectors are kept besides those that serve.\n"
    refused = run("reindex", "--rollback")
    assert refused.exit_code == 2 and "no earlier generation" in refused.stderr
    assert run("verify").exit_code == 0


def test_a_reranker_is_imported_and_used_for_nothing_else(
    run: Run, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imported = run("models", "import", crossencoder_folder(tmp_path / "tiny"))
    assert imported.stdout == "imported tiny, a reranker\n"
    assert 'rerank.model = "tiny"' in imported.stderr
    kinds = {model["name"]: model["kind"] for model in document(run("models", "--json"))["models"]}
    assert kinds == {PACK: "embedder", OLD_PACK: "embedder", "tiny": "reranker"}
    refused = run("reindex", "--model", "tiny")
    assert refused.exit_code == 5
    assert "tiny" in refused.stderr and "is a reranker" in refused.stderr
    assert document(run("status", "--json"))["model"]["name"] == PACK
    monkeypatch.setenv("APPLIANCE_RERANK_MODEL", "tiny")
    monkeypatch.setenv("APPLIANCE_RERANK_BUDGET_MS", "60000")
    found = document(run("search", "the", "--json"))
    assert any("reranked by tiny" in note for note in found["notes"])
    assert all("rerank" in hit["why"]["score"] for hit in found["hits"])
    monkeypatch.setenv("APPLIANCE_RERANK_MODEL", "gone")
    without = run("search", "the")
    assert without.exit_code == 0
    assert "not reranked: There is no model 'gone'" in without.stderr
    assert "The settings name gone" in run("models").stderr


def test_models_import_says_what_is_wrong(run: Run, home: Path, tmp_path: Path) -> None:
    assert run("models", "import", tmp_path / "nowhere").exit_code == 4
    (tmp_path / "empty").mkdir()
    assert run("models", "import", tmp_path / "empty").exit_code == 5
    assert run("models", "import", tmp_path / "empty", "--name", "../evil").exit_code == 2


def test_recover_saves_a_damaged_memory_into_a_new_one(run: Run, filled: Path, tmp_path: Path) -> None:
    break_text(filled, "reservation QX-4471", b"reservation Q\xff\xfe4471")
    result = run("recover", filled, "--home", tmp_path / "new", "--json")
    report = document(result)
    assert result.exit_code == 1
    assert (report["home"], report["messages"]) == (str(tmp_path / "new"), 10)
    assert [part["where"] for part in report["lost"]] == ["m3"]
    assert "reservation" in run("show", "m3", "--home", tmp_path / "new").stdout
    assert "Lisbon" in run("search", "Lisbon", "--mode", "lexical", "--home", tmp_path / "new").stdout
    refused = run("recover", filled, "--home", filled)
    assert refused.exit_code == 3 and "already a memory" in refused.stderr
    assert run("recover", tmp_path / "nowhere", "--home", tmp_path / "other").exit_code == 4


def test_recover_of_a_sound_memory_loses_nothing(run: Run, filled: Path, tmp_path: Path) -> None:
    result = run("recover", filled / "recall.db", "--home", tmp_path / "new")
    assert result.exit_code == 0 and "10 messages recovered" in result.stdout
    assert run("export", "-", "--home", tmp_path / "new").stdout == run("export", "-").stdout


def test_each_number_of_verify_is_explained() -> None:
    counted = re.findall(r'\bcount\("([^"]+)"|"(kept_vectors)"|counted: str = "([^"]+)"', inspect.getsource(check))
    assert len(counted) > 12
    names = {name for found in counted for name in found if name}
    assert names | {"chunked_otherwise", "sessions", "messages", "revisions"} == set(VERIFIED)


def test_where_no_message_was_recovered_no_vectors_are_missing(run: Run, home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False):
        pass
    result = run("recover", home, "--home", tmp_path / "new")
    assert "0 messages recovered" in result.stdout and "reindex" not in result.stderr

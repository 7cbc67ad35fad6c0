"""``models import``, ``use`` and ``remove``: what is measured, chosen and kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import Run, document, line, write

from appliance import Appliance
from appliance_models import DEFAULT_MODEL
from tests.homes import copied
from tests.tiny_models import crossencoder_folder, encoder_folder

TALK = [
    line("boat", number, what, role="user" if number % 2 == 0 else "assistant")
    for number, what in enumerate(
        [
            "Which paint keeps barnacles away from the wooden hull over winter?",
            "Copper antifouling in two coats, sanded lightly between them, keeps barnacles off a wooden hull.",
            "How often should the bilge pump's float switch be cleaned of grime?",
            "Clean the float switch monthly and test the bilge pump with a bucket of fresh water.",
            "The sailmaker in Horta repaired the torn spinnaker and reinforced its three corners with webbing.",
            "Good: a reinforced spinnaker with webbing at the corners survives squalls off the Azores.",
        ]
    )
]


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a talk that questions can be made from, and a tiny model beside it."""
    folder = tmp_path_factory.mktemp("harbour")
    encoder_folder(folder / "tiny")
    with Appliance.open(folder / "home", worker=False) as memory:
        memory.ingest(write(folder / "talk.jsonl", TALK))
    return folder


@pytest.fixture
def boat(harbour: Path, home: Path) -> Path:
    """A copy of that home."""
    copied(harbour / "home", home)
    return home


def test_an_imported_model_is_compared_with_the_present_one(run: Run, harbour: Path, boat: Path) -> None:
    result = run("models", "import", harbour / "tiny", "--json")
    imported = document(result)
    assert imported["facts"]["pooling"] == {"value": "mean", "from": "assumed; --pooling says otherwise"}
    measures = imported["measures"]
    assert (measures["present"]["name"], measures["candidate"]["name"]) == (DEFAULT_MODEL, "tiny")
    assert measures["messages"] == len(TALK)
    assert measures["questions"] == measures["present"]["figures"]["dense"]["overall"]["questions"] > 0
    # A random table knows no meaning; the shipped model does.
    for system in ("dense", "evidence"):
        found = [measures[which]["figures"][system]["overall"]["mrr"] for which in ("present", "candidate")]
        assert found[0] >= found[1]
    assert measures["forecast"]["chunks"] == len(TALK)
    assert measures["candidate"]["texts_per_second"] > 0
    assert "Measured on" not in result.stdout and "reindex --model tiny" in result.stderr
    # The copies of the messages are gone.
    assert list((boat / "uploads").iterdir()) == []


def test_a_comparison_is_printed_and_can_be_left_out(run: Run, harbour: Path, boat: Path) -> None:
    printed = run("models", "import", harbour / "tiny")
    assert "by meaning alone, recall@10" in printed.stdout.lower()
    assert f"embeds {len(TALK)} chunks: about" in printed.stderr
    skipped = run("models", "import", harbour / "tiny", "--name", "other", "--no-measure", "--query-prefix", "q: ")
    assert "recall" not in skipped.stdout
    assert "q: " in skipped.stdout and "(given)" in skipped.stdout


def test_an_empty_memory_measures_nothing(run: Run, home: Path, harbour: Path) -> None:
    result = run("models", "import", harbour / "tiny", "--json")
    assert document(result)["measures"] is None
    assert "The memory is empty" in result.stderr


def test_a_comparison_that_fails_leaves_the_import(
    run: Run, harbour: Path, boat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_INDEX_URL", "http://127.0.0.1:1")
    result = run("models", "import", harbour / "tiny", "--json")
    assert document(result)["measures"] is None
    assert "not compared" in result.stderr
    assert (boat / "models" / "tiny" / "manifest.json").is_file()


def test_wrong_options_are_said(run: Run, harbour: Path, home: Path) -> None:
    for options, message in (
        (("--pooling", "median"), "no pooling 'median'"),
        (("--max-tokens", "9999"), "reads at most 64 tokens"),
        (("--graph", "onnx/none.onnx"), "none.onnx is missing"),
    ):
        result = run("models", "import", harbour / "tiny", *options)
        assert result.exit_code in (2, 5)
        assert message in " ".join(result.stderr.split())


def test_use_sets_the_model_and_says_what_a_reindex_would_do(run: Run, harbour: Path, boat: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    used = run("models", "use", "tiny", "--json")
    assert document(used) == {
        "configured": "tiny", "dimension": 8, "serving": DEFAULT_MODEL, "reindex": True, "chunks": len(TALK)
    }  # fmt: skip
    assert f"still uses {DEFAULT_MODEL}" in used.stderr
    assert 'name = "tiny"' in (boat / "config.toml").read_text(encoding="utf-8")
    listed = {one["name"]: (one["in_use"], one["configured"]) for one in document(run("models", "--json"))["models"]}
    assert listed[DEFAULT_MODEL] == (True, False)
    assert listed["tiny"] == (False, True)
    assert run("models", "use", "no-such-model").exit_code == 5
    assert run("reindex", "--model", "tiny").exit_code == 0
    again = run("models", "use", "tiny", "--json")
    assert (document(again)["serving"], document(again)["reindex"]) == ("tiny", False)
    assert "in use, configured" in run("models").stdout


def test_use_says_if_the_environment_counts_before_it(
    run: Run, home: Path, harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    result = run("models", "use", "tiny")
    assert result.exit_code == 0
    assert "APPLIANCE_MODEL_NAME sets" in result.stderr


def test_use_refuses_a_reranker(run: Run, home: Path, tmp_path: Path) -> None:
    run("models", "import", crossencoder_folder(tmp_path / "reads"))
    result = run("models", "use", "reads")
    assert result.exit_code == 5
    assert "is a reranker" in " ".join(result.stderr.split())


def test_a_model_is_removed_unless_it_is_needed(run: Run, harbour: Path, boat: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    run("models", "use", "tiny")
    for name, code, reason in (
        (DEFAULT_MODEL, 2, "comes with the program"),
        ("tiny", 2, "The settings name tiny"),
        ("nobody", 4, "There is no model 'nobody'"),
    ):
        refused = run("models", "remove", name)
        assert refused.exit_code == code and reason in refused.stderr
    run("reindex", "--model", "tiny")
    run("models", "use", DEFAULT_MODEL)
    refused = run("models", "remove", "tiny")
    assert refused.exit_code == 2 and "Vectors of this memory were made with tiny" in refused.stderr
    run("reindex", "--model", DEFAULT_MODEL)
    assert "kept for a rollback" in run("models").stdout
    refused = run("models", "remove", "tiny")
    assert refused.exit_code == 2 and "--drop-old" in refused.stderr
    run("reindex", "--drop-old")
    assert json.loads(run("models", "remove", "tiny", "--json").stdout) == {"removed": "tiny"}
    assert not (boat / "models" / "tiny").exists()


def test_fewer_dimensions_are_a_model_of_their_own(run: Run, harbour: Path, boat: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    used = document(run("models", "use", "tiny/4", "--json"))
    assert (used["configured"], used["dimension"], used["reindex"]) == ("tiny/4", 4, True)
    assert document(run("reindex", "--model", "tiny/4", "--json"))["model"]["name"] == "tiny/4"
    refused = run("models", "use", "tiny/9")
    assert refused.exit_code == 5 and "has 8 dimensions" in refused.stderr
    listed = {one["name"]: (one["in_use"], one["configured"]) for one in document(run("models", "--json"))["models"]}
    assert listed["tiny"] == (True, True)
    refused = run("models", "remove", "tiny")
    assert refused.exit_code == 2 and "were made with tiny" in refused.stderr
    assert document(run("verify", "--json"))["problems"] == []


def test_late_chunking_is_a_model_of_its_own(run: Run, boat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used = run("models", "use", f"{DEFAULT_MODEL}+late")
    assert f"still uses {DEFAULT_MODEL}" in used.stderr
    assert f"configured as {DEFAULT_MODEL}+late" in run("models").stdout
    assert "the settings name the model" in document(run("status", "--json"))["health"]
    moved = run("reindex", "--model", f"{DEFAULT_MODEL}+late")
    assert f"indexed with {DEFAULT_MODEL}+late" in moved.stdout and f"({DEFAULT_MODEL}, " in moved.stderr
    status = document(run("status", "--json"))
    assert (status["model"]["name"], status["health"]) == (f"{DEFAULT_MODEL}+late", "ok")
    assert f"in use as {DEFAULT_MODEL}+late, kept for a rollback" in run("models").stdout
    listed = {one["name"]: one["used_as"] for one in document(run("models", "--json"))["models"]}
    late = f"{DEFAULT_MODEL}+late"
    assert listed[DEFAULT_MODEL] == {"active": late, "kept": DEFAULT_MODEL, "configured": late}
    assert f"{DEFAULT_MODEL}) serves again" in run("reindex", "--rollback").stdout
    run("models", "use", DEFAULT_MODEL)
    monkeypatch.setenv("APPLIANCE_MODEL_LATE_CHUNKING", "true")
    assert "uses minilm-l6-dialogue-int8+late already" not in run("reindex", "--model", DEFAULT_MODEL).stderr
    assert document(run("status", "--json"))["model"]["name"] == late


def test_the_setting_for_dimensions_is_part_of_the_name(
    run: Run, harbour: Path, boat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_DIMENSIONS", "128")
    assert document(run("reindex", "--model", DEFAULT_MODEL, "--json"))["model"]["name"] == f"{DEFAULT_MODEL}/128"
    status = document(run("status", "--json"))
    assert (status["model"]["dimension"], status["health"]) == (128, "ok")
    assert document(run("search", "spinnaker", "--json"))["found"]


def test_a_model_that_is_asked_over_the_network_is_used_by_name_and_says_so(
    run: Run, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_DIMENSIONS", "128")
    used = run("models", "use", "jina:jina-embeddings-v3", "--json")
    assert document(used)["configured"] == "jina:jina-embeddings-v3/128"
    assert "every message is sent to" in " ".join(used.stderr.split())
    assert "not installed" not in run("models").stderr

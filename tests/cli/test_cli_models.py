"""``models import``, ``use`` and ``remove``: what is measured, chosen and kept."""

from __future__ import annotations

import fcntl
import json
import math
import os
import random
import shutil
import struct
from pathlib import Path

import pytest
from cli_runs import Run, document, line, write

import appliance_models
from appliance import Appliance
from appliance.bench.model_comparison import ModelComparison, ModelMeasures, MoveForecast
from appliance.cli import model_reports
from appliance_models import DEFAULT_MODEL
from appliance_models.importer import PROBE_TEXT
from appliance_models.wordpieces import encode_ids, load_tokenizer
from tests.homes import copied
from tests.tiny_models import ENCODER_DIMENSION, ENCODER_ROWS, crossencoder_folder, encoder_folder


def one_line(text: str) -> str:
    return " ".join(text.split())


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_messages_longer_than_the_model_reads_are_measured_too(run: Run, harbour: Path, boat: Path) -> None:
    run("add", " ".join(f"The mast number {number} was varnished twice." for number in range(60)))
    result = run("models", "import", harbour / "tiny", "--json")
    measures = document(result)["measures"]
    assert measures is not None, result.stderr
    assert measures["candidate"]["chunks"] > measures["messages"] == len(TALK) + 1


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


def test_a_memory_that_is_open_names_the_configured_model_at_once(run: Run, harbour: Path, boat: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    with Appliance.open(boat, worker=False) as owner:
        assert owner.status()["health"] == "ok"
        run("models", "use", "tiny")
        assert "the settings name the model tiny" in owner.status()["health"]
        assert "the settings name the model tiny" in document(run("status", "--json"))["health"]
        moved = run("reindex", "--model", "tiny")
        assert moved.exit_code == 0 and "The settings still name" not in moved.stderr
        assert owner.status()["health"] == "ok"
        (boat / "config.toml").write_text("[model\n")
        assert owner.status()["counts"]["messages"] == len(TALK), "settings that can't be read are for the next opening"


def test_use_in_an_empty_memory_says_when_a_daemon_follows(run: Run, home: Path, harbour: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    assert "daemon" not in run("models", "use", "tiny").stderr
    (home / "daemon.json").write_text("{}")
    assert "'kill -HUP' it, or restart it" in one_line(run("models", "use", DEFAULT_MODEL).stderr)


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
    shipped = Path(appliance_models.__file__).parent / "packs" / DEFAULT_MODEL
    shutil.copytree(shipped, boat / "models" / DEFAULT_MODEL)  # as an earlier version imported it
    assert run("models", "remove", DEFAULT_MODEL).exit_code == 0
    assert not (boat / "models" / DEFAULT_MODEL).exists() and (shipped / "manifest.json").exists()
    run("reindex", "--model", "tiny")
    run("models", "use", DEFAULT_MODEL)
    refused = run("models", "remove", "tiny")
    assert refused.exit_code == 2 and "Vectors of this memory were made with tiny" in refused.stderr
    run("reindex", "--model", DEFAULT_MODEL)
    assert "kept for a rollback" in run("models").stdout
    generations = {one["id"]: one for one in document(run("models", "--json"))["generations"]}
    assert [(one["model"], one["state"]) for one in generations.values()] == [
        (DEFAULT_MODEL, "kept"), ("tiny", "kept"), (DEFAULT_MODEL, "active")
    ]  # fmt: skip
    printed = [row.split() for row in run("models").stdout.splitlines()]
    assert [row[:4] for row in printed if row[:2] == ["2", "tiny"]] == [["2", "tiny", "8", str(len(TALK))]]
    refused = run("reindex", "--rollback", "--generation", "9")
    assert refused.exit_code == 4 and f"2 (tiny, 8 dimensions, {len(TALK)} messages, " in one_line(refused.stderr)
    assert run("reindex", "--generation", "1").exit_code == 2
    dropped = document(run("reindex", "--drop-old", "--generation", "1", "--json"))
    assert [one["id"] for one in dropped["dropped"]] == [1] and [one["id"] for one in dropped["kept"]] == [2]
    rolled_back = run("reindex", "--rollback", "--generation", "2")
    assert rolled_back.exit_code == 0 and "Generation 2 (tiny) serves again" in rolled_back.stdout
    kept = f"{DEFAULT_MODEL}, 384 dimensions, {len(TALK)} messages, "
    assert f"Generation 3 ({kept}" in one_line(rolled_back.stderr) and f"kept: {kept}" in run("status").stdout
    run("reindex", "--rollback")
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
    assert refused.exit_code == 5 and "of which 1 to 8 can be kept" in one_line(refused.stderr)
    for odd in ("0", "-1", "lots"):
        refused = run("reindex", "--model", f"tiny/{odd}")
        assert refused.exit_code == 5 and f"There is no tiny/{odd}: tiny has 8 dimensions" in one_line(refused.stderr)
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
    assert "every message is sent to" in one_line(used.stderr)
    assert "not installed" not in run("models").stderr


@pytest.mark.parametrize("odd", ["jina-embeddings-v3/0", "jina-embeddings-v3/16", "jina-embeddings-v3/x"])
def test_use_refuses_dimensions_that_a_model_of_the_api_does_not_have(run: Run, home: Path, odd: str) -> None:
    refused = run("models", "use", f"jina:{odd}")
    assert refused.exit_code == 5 and "of which 32 to 1,024 can be kept" in one_line(refused.stderr)
    assert run("models", "use", "jina:jina-embeddings-v99").exit_code == 5
    assert not (home / "config.toml").exists()


def test_a_pack_is_imported_under_another_name(run: Run, harbour: Path, boat: Path) -> None:
    run("models", "import", harbour / "tiny", "--no-measure")
    pack = boat / "models" / "tiny"
    assert document(run("models", "import", pack, "--name", "small", "--no-measure", "--json"))["name"] == "small"
    assert run("models", "verify", "small").exit_code == 0
    assert document(run("reindex", "--model", "small", "--json"))["model"]["name"] == "small"
    for name in ("a/b", "jina:x", "x@y", ".x", "a\\b"):
        refused = run("models", "import", pack, "--name", name)
        assert refused.exit_code == 2 and "plain folder name" in one_line(refused.stderr)


def test_a_model_that_was_not_measured_is_not_offered_and_can_be_measured_later(
    run: Run, harbour: Path, boat: Path
) -> None:
    result = run("models", "import", harbour / "tiny", "--no-measure")
    assert "models measure tiny" in result.stderr and "reindex" not in result.stderr
    assert run("models", "measure", "nothing").exit_code == 5
    present = run("models", "measure", DEFAULT_MODEL)
    assert present.exit_code == 0 and "already" in present.stderr


@pytest.mark.slow
def test_a_model_whose_numbers_are_not_finite_for_some_messages_is_not_offered(
    run: Run, harbour: Path, boat: Path, tmp_path: Path
) -> None:
    graph = encoder_folder(tmp_path / "odd") / "onnx" / "model.onnx"
    graph.write_bytes(with_bad_rows(graph.read_bytes(), tmp_path / "odd"))
    result = run("models", "import", tmp_path / "odd", "--json")
    assert result.exit_code == 1 and document(result)["measures"] is None
    assert "odd gives numbers that are not finite for some of your messages" in one_line(result.stderr)
    assert "models remove odd" in result.stderr and "reindex" not in result.stderr
    assert not any((boat / "uploads").glob("*"))


def with_bad_rows(graph: bytes, folder: Path) -> bytes:
    """The graph of a tiny encoder with rows that are not finite for words of the talk, but for none of the probe."""
    content, table = bytearray(graph), random.Random(0)
    raw = [struct.pack(f"<{ENCODER_DIMENSION}f", *(table.gauss(0, 1) for _ in range(ENCODER_DIMENSION)))
           for _ in range(ENCODER_ROWS)]  # fmt: skip
    read = encode_ids(load_tokenizer(folder / "tokenizer.json"), [PROBE_TEXT, TALK[1]["content"]])
    probe, talk = ({token % ENCODER_ROWS for token in ids} for ids in read)
    for row in talk - probe:
        at = content.index(raw[row])
        content[at : at + 4] = struct.pack("<f", math.nan)
    return bytes(content)


def test_what_a_killed_import_left_goes_with_the_next_one(run: Run, harbour: Path, boat: Path) -> None:
    left = boat / "models" / ".import-killed" / "tiny"
    left.mkdir(parents=True)
    (left / "model.onnx").write_bytes(b"half of it")
    running = boat / "models" / ".import-running"
    running.mkdir()
    (boat / "models" / ".import-new").mkdir()
    for folder in (left.parent, running):
        os.utime(folder, (0, 0))
    descriptor = os.open(running, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        assert run("models", "import", harbour / "tiny", "--no-measure").exit_code == 0
    finally:
        os.close(descriptor)
    assert sorted(path.name for path in (boat / "models").iterdir()) == [".import-new", ".import-running", "tiny"]


def test_a_folder_around_the_model_is_told_from_it(run: Run, harbour: Path, home: Path) -> None:
    (harbour / "around").mkdir()
    encoder_folder(harbour / "around" / "tiny")
    result = run("models", "import", harbour / "around")
    assert result.exit_code == 5 and f"{harbour / 'around' / 'tiny'}: import that folder" in one_line(result.stderr)


def test_a_reranker_of_the_settings_is_kept(run: Run, harbour: Path, home: Path) -> None:
    run("models", "import", crossencoder_folder(harbour / "again"), "--name", "again")
    (home / "config.toml").write_text('[rerank]\nmodel = "again"\n')
    refused = run("models", "remove", "again")
    assert refused.exit_code == 2 and "rerank.model" in refused.stderr and "models use" not in refused.stderr


@pytest.mark.parametrize(
    ("recalls", "speeds", "verdict", "text"),
    [
        ((0.5, 0.65), (50, 40), "better", "new finds more than old: 65 of 100 answers among the first ten"),
        ((0.5, 0.55), (50, 40), "alike", "new finds about as much as old: moving to it gains nothing"),
        ((0.5, 0.45), (50, 150), "alike", "new finds about as much as old, and is 3.0 times as fast"),
        ((0.5, 0.3), (50, 150), "worse", "in place of 50. Keep old."),
    ],
)
def test_the_figures_of_a_comparison_are_said_in_a_sentence(
    recalls: tuple[float, float], speeds: tuple[float, float], verdict: str, text: str
) -> None:
    models = [
        ModelMeasures(name, 8, speed, None, 9, 1.0, {"evidence": {"overall": {"recall@10": recall}}})
        for name, speed, recall in zip(("old", "new"), speeds, recalls, strict=True)
    ]
    outcome = ModelComparison(300, 60, *models, MoveForecast(9, 1.0, 1000))
    assert outcome.verdict == verdict and text in model_reports._verdict_text(outcome)

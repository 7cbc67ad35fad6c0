"""Packs on disk: found, checked, and never used when they are not what their manifest says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from appliance_models import (
    DEFAULT_MODEL,
    ModelCorrupt,
    ModelMissing,
    OnnxEmbedder,
    UnknownModel,
    list_models,
    load,
    read_manifest,
    verify_pack,
)
from appliance_models.files import SHIPPED_PACKS
from appliance_models.manifest import parse_manifest, render_manifest


def test_the_shipped_pack_is_whole() -> None:
    reports = verify_pack(SHIPPED_PACKS / DEFAULT_MODEL)
    assert {report.name for report in reports} >= {"model.onnx", "tokenizer.json", "LICENSE", "NOTICE"}
    assert {report.status for report in reports} == {"ok"}


def test_a_missing_file_is_named_with_its_place(pack: Path) -> None:
    (pack / "tokenizer.json").unlink()
    with pytest.raises(ModelMissing, match=r"tokenizer\.json is missing, looked for at ") as caught:
        OnnxEmbedder(pack)
    assert str(pack) in str(caught.value)
    assert {report.name: report.status for report in verify_pack(pack)}["tokenizer.json"] == "missing"


def test_a_file_of_another_size_is_named(pack: Path) -> None:
    with (pack / "model.onnx").open("ab") as file:
        file.write(b"!")
    with pytest.raises(ModelCorrupt, match=r"model\.onnx is damaged: it has [\d,]+ bytes instead of [\d,]+"):
        OnnxEmbedder(pack)


def test_one_changed_byte_is_seen_at_load(pack: Path) -> None:
    with (pack / "model.onnx").open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 1]))
    with pytest.raises(ModelCorrupt, match=r"model\.onnx is damaged: its content is not that of the model"):
        OnnxEmbedder(pack)
    changed = [report for report in verify_pack(pack) if report.status != "ok"]
    assert [report.name for report in changed] == ["model.onnx"]


def test_files_of_the_right_hash_that_are_no_model_are_refused(pack: Path) -> None:
    from appliance_models.manifest import describe_files

    (pack / "model.onnx").write_bytes(b"not a graph")
    raw = json.loads((pack / "manifest.json").read_text())
    raw["files"] = {name: {"sha256": file.sha256, "bytes": file.bytes} for name, file in describe_files(pack).items()}
    (pack / "manifest.json").write_text(json.dumps(raw))
    with pytest.raises(ModelCorrupt, match=r"model\.onnx is not a model onnxruntime can run"):
        OnnxEmbedder(pack).embed_query("hello")


def test_an_unknown_name_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UnknownModel, match=f"There is no model 'nope'.*{DEFAULT_MODEL}.*models import") as caught:
        load("nope", [tmp_path])
    assert str(tmp_path) in str(caught.value)


def test_extra_folders_are_listed_after_the_shipped_ones(pack: Path) -> None:
    other = pack.rename(pack.with_name("other"))
    (other / "manifest.json").write_text("{")
    models = list_models([other.parent, other.parent / "absent"])
    assert [(model.name, model.shipped) for model in models] == [
        ("all-minilm-l6-v2-int8", True),
        (DEFAULT_MODEL, True),
        ("other", False),
    ]
    assert models[0].problem == ""
    assert models[2].manifest is None
    assert "manifest.json can't be read" in models[2].problem


def test_a_manifest_reads_back_as_written() -> None:
    manifest = read_manifest(SHIPPED_PACKS / DEFAULT_MODEL)
    assert parse_manifest(json.loads(render_manifest(manifest)), Path("m")) == manifest
    assert (manifest.max_tokens, manifest.max_positions, manifest.licence) == (256, 512, "Apache-2.0")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("name", "../up", "plain folder name"),
        ("dimension", 0, "'dimension' should be positive"),
        ("dimension", True, "'dimension' should be int"),
        ("dimension", "384", "'dimension' should be int"),
        ("pooling", "max", "should be one of mean, cls"),
        ("max_tokens", 600, "not above"),
        ("normalise", None, "'normalise' should be bool"),
        ("files", {}, "does not list model.onnx"),
        ("files", {"../x": {}}, "outside of the pack"),
        ("files", {"x": {"sha256": "zz", "bytes": 1}}, "no SHA-256"),
        ("files", {"x": {"sha256": "0" * 64, "bytes": -1}}, "no size"),
    ],
)
def test_an_impossible_manifest_is_refused(key: str, value: object, message: str) -> None:
    raw: dict[str, Any] = json.loads((SHIPPED_PACKS / DEFAULT_MODEL / "manifest.json").read_text())
    raw[key] = value
    with pytest.raises(ModelCorrupt, match=message):
        parse_manifest(raw, Path("manifest.json"))


@pytest.mark.parametrize(("key", "value"), [("query_prefix", "q: "), ("pooling", "cls"), ("normalise", False)])
def test_identity_follows_what_alters_vectors(key: str, value: object) -> None:
    raw = json.loads((SHIPPED_PACKS / DEFAULT_MODEL / "manifest.json").read_text())
    before = parse_manifest(raw, Path("m")).identity
    assert parse_manifest(raw | {key: value}, Path("m")).identity != before
    assert parse_manifest(raw | {"licence": "other"}, Path("m")).identity == before
    assert before.startswith(f"{DEFAULT_MODEL}@")

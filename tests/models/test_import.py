"""Importing a model folder: whole and good, or not at all."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from appliance_models import (
    DEFAULT_MODEL,
    ModelCorrupt,
    ModelError,
    ModelMissing,
    OnnxEmbedder,
    SpannedText,
    import_pack,
    load,
)
from appliance_models.files import SHIPPED_PACKS, verify_pack
from appliance_models.manifest import read_manifest

SHIPPED = SHIPPED_PACKS / DEFAULT_MODEL


@pytest.fixture
def hub_folder(tmp_path: Path) -> Path:
    """A model folder laid out as on a model hub, around the shipped graph."""
    folder = tmp_path / "some-model"
    (folder / "onnx").mkdir(parents=True)
    (folder / "1_Pooling").mkdir()
    shutil.copyfile(SHIPPED / "model.onnx", folder / "onnx" / "model.onnx")
    shutil.copyfile(SHIPPED / "tokenizer.json", folder / "tokenizer.json")
    shutil.copyfile(SHIPPED / "tokenizer_config.json", folder / "tokenizer_config.json")
    config = {"hidden_size": 384, "max_position_embeddings": 512, "model_type": "bert"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "query: "}}')
    (folder / "README.md").write_text("---\nlicense: mit\n---\n# Some model\n")
    return folder


def test_an_imported_folder_is_a_model(hub_folder: Path, tmp_path: Path) -> None:
    manifest = import_pack(hub_folder, tmp_path / "models").manifest
    assert (manifest.name, manifest.max_tokens, manifest.max_positions) == ("some-model", 128, 512)
    assert (manifest.pooling, manifest.licence, manifest.query_prefix) == ("mean", "mit", "query: ")
    embedder = load("some-model", [tmp_path / "models"])
    assert embedder.embed_query("hello").shape == (384,)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["some-model"]


def test_query_prefixes_are_put_before_queries_only(hub_folder: Path, tmp_path: Path) -> None:
    import_pack(hub_folder, tmp_path / "models")
    embedder = load("some-model", [tmp_path / "models"])
    prefixed, plain = embedder.embed_passages(["query: hello", "hello"])
    assert np.array_equal(embedder.embed_query("hello"), prefixed)
    assert not np.array_equal(embedder.embed_query("hello"), plain)


def test_cls_pooling_takes_the_first_token(hub_folder: Path, tmp_path: Path) -> None:
    (hub_folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
    import_pack(hub_folder, tmp_path / "models")
    embedder = OnnxEmbedder(tmp_path / "models" / "some-model")
    mean = OnnxEmbedder(SHIPPED).embed_passages(["hello there"])[0]
    assert not np.allclose(embedder.embed_passages(["hello there"])[0], mean, atol=0.01)
    with pytest.raises(ModelError, match="pools by 'cls'"):
        embedder.embed_spans([SpannedText("hello there", [(0, 5)])])


def test_the_name_of_a_model_that_comes_with_the_program_is_refused(hub_folder: Path, tmp_path: Path) -> None:
    for folder, name in ((SHIPPED, None), (hub_folder, DEFAULT_MODEL)):
        with pytest.raises(ModelError, match=f"comes with the program is named {DEFAULT_MODEL}"):
            import_pack(folder, tmp_path / "models", name)
    assert not (tmp_path / "models").exists()


def test_an_existing_name_is_not_overwritten(hub_folder: Path, tmp_path: Path) -> None:
    import_pack(hub_folder, tmp_path / "models")
    with pytest.raises(ModelError, match="already"):
        import_pack(hub_folder, tmp_path / "models")


@pytest.mark.parametrize("name", ["tokenizer.json", "config.json", "onnx/model.onnx"])
def test_an_incomplete_folder_leaves_nothing_behind(hub_folder: Path, tmp_path: Path, name: str) -> None:
    (hub_folder / name).unlink()
    with pytest.raises(ModelMissing, match=str(hub_folder)):
        import_pack(hub_folder, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("onnx/model.onnx", "not a graph"),
        ("tokenizer.json", "{}"),
        ("config.json", "["),
        ("config.json", '{"hidden_size": 99, "max_position_embeddings": 512}'),
        ("1_Pooling/config.json", '{"pooling_mode_max_tokens": true}'),
    ],
)
def test_a_bad_folder_leaves_nothing_behind(hub_folder: Path, tmp_path: Path, name: str, content: str) -> None:
    (hub_folder / name).write_text(content)
    with pytest.raises(ModelCorrupt):
        import_pack(hub_folder, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_a_pack_is_imported_under_its_own_name_or_another_one(tmp_path: Path) -> None:
    renamed = shutil.copytree(SHIPPED, tmp_path / "downloaded")
    models = tmp_path / "models"
    manifest = import_pack(renamed, models, "mine").manifest
    assert import_pack(models / "mine", tmp_path / "others").manifest == manifest
    assert manifest.name == "mine" and read_manifest(models / "mine") == manifest
    assert not [report for report in verify_pack(models / "mine") if report.status != "ok"]
    shipped, mine = load(DEFAULT_MODEL), load("mine", [models])
    assert np.array_equal(shipped.embed_query("hello"), mine.embed_query("hello"))
    assert shipped.identity.partition("@")[2] == mine.identity.partition("@")[2] and mine.identity.startswith("mine@")
    with pytest.raises(ModelError, match="already"):
        import_pack(SHIPPED, models, "mine")

"""Model folders as others lay them out: what is found in each, what is known without it, and what is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance_models import (
    ImportOptions,
    ImportReport,
    ModelCorrupt,
    ModelError,
    ModelMissing,
    OnnxEmbedder,
    SpannedText,
    graph_choice,
    import_pack,
    verify_pack,
)
from appliance_models.external_data import external_data_files
from appliance_models.families import FAMILIES, find_family
from tests.tiny_models import ENCODER_DIMENSION, encoder_folder, encoder_graph

BGE_QUERY = "Represent this sentence for searching relevant passages: "


def write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def imported(folder: Path, tmp_path: Path, **options: Any) -> tuple[ImportReport, OnnxEmbedder]:
    report = import_pack(folder, tmp_path / "models", options=ImportOptions(**options))
    return report, OnnxEmbedder(tmp_path / "models" / report.manifest.name)


def hub_cache(root: Path, repository: str, **options: Any) -> Path:
    """A repository in the cache of a hub: files are links into ``blobs``."""
    cache = root / f"models--{repository.replace('/', '--')}"
    made = encoder_folder(root / "made", **options)
    snapshot = cache / "snapshots" / "5c38ec7"
    for number, path in enumerate(sorted(path for path in made.rglob("*") if path.is_file())):
        blob = cache / "blobs" / f"{number:040d}"
        blob.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, blob)
        link = snapshot / path.relative_to(made)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blob)
    shutil.rmtree(made)
    write(cache / "refs" / "main", "5c38ec7")
    return cache


@pytest.mark.parametrize("given", ["the repository", "the snapshot", "the cache"])
def test_a_hubs_cache_is_read_through_its_links(tmp_path: Path, given: str) -> None:
    cache = hub_cache(tmp_path / "cache", "qdrant/bge-small-en-v1.5-onnx-q", graph="model_optimized.onnx")
    (cache / "snapshots" / "0000000").mkdir()  # an update that did not end
    folder = {"the repository": cache, "the snapshot": cache / "snapshots" / "5c38ec7", "the cache": cache.parent}[
        given
    ]
    report, embedder = imported(folder, tmp_path)
    manifest = report.manifest
    assert (manifest.name, manifest.source) == ("bge-small-en-v1.5-onnx-q", "qdrant/bge-small-en-v1.5-onnx-q")
    assert (manifest.pooling, manifest.query_prefix, manifest.passage_prefix) == ("cls", BGE_QUERY, "")
    assert report.origins["pooling"] == report.origins["query_prefix"] == "known of the family bge-en"
    assert report.graph == "model_optimized.onnx"
    assert not any(path.is_symlink() for path in embedder.folder.iterdir())
    assert {one.status for one in verify_pack(embedder.folder)} == {"ok"}


def test_a_plain_folder_of_fastembed_is_read(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "cache" / "fast-bge-small-en", graph="model_optimized.onnx")
    report, embedder = imported(folder.parent, tmp_path)
    assert (report.manifest.name, report.manifest.pooling) == ("bge-small-en", "cls")
    assert embedder.dimension == ENCODER_DIMENSION


def test_a_cache_of_several_models_is_not_guessed_from(tmp_path: Path) -> None:
    for name in ("fast-bge-small-en", "fast-all-MiniLM-L6-v2"):
        encoder_folder(tmp_path / name)
    with pytest.raises(
        ModelMissing, match=r"cache of 2 models\. Import one .*: fast-all-MiniLM-L6-v2, fast-bge-small-en"
    ):
        import_pack(tmp_path, tmp_path / "models")


def test_an_export_of_sentence_transformers_says_it_all(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "mine")
    for name in ("model_qint8_avx512_vnni", "model_quint8_avx2", "model_qint8_arm64", "model_O4"):
        (folder / "onnx" / f"{name}.onnx").write_bytes(encoder_graph(seed=1)[0])
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    write(folder / "modules.json", modules)
    write(folder / "1_Pooling" / "config.json", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False})
    write(folder / "sentence_bert_config.json", {"max_seq_length": 32})
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "q: ", "document": "d: "}})
    report, embedder = imported(folder, tmp_path)
    manifest = report.manifest
    assert (manifest.pooling, manifest.max_tokens, manifest.max_positions) == ("cls", 32, 64)
    assert (manifest.query_prefix, manifest.passage_prefix) == ("q: ", "d: ")
    assert report.origins["query_prefix"] == "config_sentence_transformers.json"
    assert len(report.other_graphs) == 4
    assert np.allclose(embedder.embed_passages(["x"])[0], OnnxEmbedder(embedder.folder).embed_passages(["x"])[0])


def test_empty_prompts_leave_the_word_to_what_is_known(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "multilingual-e5-small")
    write(folder / "config_sentence_transformers.json", {"prompts": {"query": "", "document": ""}})
    report, _ = imported(folder, tmp_path)
    assert (report.manifest.query_prefix, report.manifest.passage_prefix) == ("query: ", "passage: ")


@pytest.mark.parametrize(
    ("features", "chosen"),
    [
        ({"avx2", "avx512_vnni"}, "onnx/model_qint8_avx512_vnni.onnx"),
        ({"avx2"}, "onnx/model_quint8_avx2.onnx"),
        ({"arm"}, "onnx/model_qint8_arm64.onnx"),
    ],
)
def test_the_graph_is_chosen_for_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, features: set[str], chosen: str
) -> None:
    monkeypatch.setattr(graph_choice, "processor_features", lambda: frozenset(features))
    names = ("", "_O1", "_O4", "_qint8_arm64", "_qint8_avx512", "_qint8_avx512_vnni", "_quint8_avx2", "_fp16", "_q4")
    for name in names:
        write(tmp_path / "onnx" / f"model{name}.onnx", "")
    path, others = graph_choice.choose_graph(tmp_path)
    assert path == tmp_path / chosen
    assert len(others) == len(names) - 1
    (tmp_path / chosen).unlink()
    for name in ("onnx/model_qint8_arm64.onnx", "onnx/model_qint8_avx512_vnni.onnx", "onnx/model_quint8_avx2.onnx"):
        (tmp_path / name).unlink(missing_ok=True)
    (tmp_path / "onnx" / "model_qint8_avx512.onnx").unlink()
    assert graph_choice.choose_graph(tmp_path)[0].name == "model.onnx"


def test_a_graph_can_be_given(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "two")
    (folder / "onnx" / "model_int8.onnx").write_bytes(encoder_graph(seed=1)[0])
    assert imported(folder, tmp_path)[0].graph == "onnx/model_int8.onnx"
    given = import_pack(folder, tmp_path / "models", "plain", ImportOptions(model_file="onnx/model.onnx"))
    assert (given.graph, given.other_graphs) == ("onnx/model.onnx", ("onnx/model_int8.onnx",))
    with pytest.raises(ModelMissing, match=r"onnx/nope\.onnx is missing\. There are onnx/model\.onnx, onnx/model_int8"):
        import_pack(folder, tmp_path / "models", "none", ImportOptions(model_file="onnx/nope.onnx"))


@pytest.mark.parametrize("weights", ["model.onnx_data", "model.onnx.data", "weights.bin", "onnx__MatMul_123"])
def test_weights_beside_the_graph_are_part_of_the_model(tmp_path: Path, weights: str) -> None:
    folder = encoder_folder(tmp_path / "large", weights=weights)
    assert external_data_files(folder / "onnx" / "model.onnx") == [weights]
    _, embedder = imported(folder, tmp_path)
    plain, other = tmp_path / "plain", tmp_path / "other"
    _, same = imported(encoder_folder(plain), tmp_path)
    assert np.array_equal(embedder.embed_passages(["the ferry"]), same.embed_passages(["the ferry"]))
    # Other weights are another model.
    shutil.move(encoder_folder(other / "large", weights=weights, seed=1), other / "again")
    report = import_pack(other / "again", tmp_path / "elsewhere", "large")
    assert report.manifest.identity != embedder.identity
    (folder / "onnx" / weights).unlink()
    with pytest.raises(ModelMissing, match=rf"has its weights in .*{weights}, which is missing"):
        import_pack(folder, tmp_path / "models", "again")


@pytest.mark.parametrize("weights", ["../secret", "/etc/passwd", "a/../../b"])
def test_weights_outside_of_the_folder_are_refused(tmp_path: Path, weights: str) -> None:
    (tmp_path / "model.onnx").write_bytes(encoder_graph(weights=weights)[0])
    with pytest.raises(ModelCorrupt, match="outside of its folder"):
        external_data_files(tmp_path / "model.onnx")


@pytest.mark.parametrize("inputs", [("input_ids",), ("input_ids", "attention_mask", "position_ids")])
def test_inputs_that_a_model_lacks_or_has_are_no_matter(tmp_path: Path, inputs: tuple[str, ...]) -> None:
    _, embedder = imported(encoder_folder(tmp_path / "some", inputs=inputs), tmp_path)
    assert embedder.embed_query("hello").shape == (ENCODER_DIMENSION,)


def test_a_graph_that_pools_by_itself_is_an_embedder(tmp_path: Path) -> None:
    report, pooled = imported(encoder_folder(tmp_path / "pooled", outputs=["sentence_embedding"]), tmp_path)
    assert (report.manifest.pooling, report.manifest.output) == ("output", "sentence_embedding")
    _, by_tokens = imported(encoder_folder(tmp_path / "tokens"), tmp_path)
    texts = ["The ferry leaves at seven.", "", "Where? " * 40]
    assert np.allclose(pooled.embed_passages(texts[:2]), by_tokens.embed_passages(texts[:2]), atol=1e-6)
    assert np.allclose(pooled.embed_query(texts[2]), by_tokens.embed_query(texts[2]), atol=1e-6)
    with pytest.raises(ModelError, match="pools by 'output'"):
        pooled.embed_spans([SpannedText("hello", [(0, 5)])])
    with pytest.raises(ModelError, match="has no token-level output"):
        import_pack(tmp_path / "pooled", tmp_path / "models", "again", ImportOptions(pooling="mean"))


def test_what_the_graph_leaves_out_is_refused_unless_it_pools_by_itself(tmp_path: Path) -> None:
    def dense(folder: Path) -> Path:
        write(folder / "modules.json", [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
        return folder

    with pytest.raises(ModelCorrupt, match="has a Dense layer after pooling, which its graph leaves out"):
        import_pack(dense(encoder_folder(tmp_path / "dense")), tmp_path / "models")
    outputs = ["token_embeddings", "sentence_embedding"]
    report, _ = imported(dense(encoder_folder(tmp_path / "whole", outputs=outputs)), tmp_path)
    assert (report.manifest.pooling, report.origins["pooling"]) == ("output", "the graph pools by itself")


def test_what_is_given_comes_before_what_is_found(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "e5-small-v2")
    report, embedder = imported(
        folder, tmp_path, pooling="last", query_prefix="", passage_prefix="said: ", max_tokens=20
    )
    manifest = report.manifest
    assert (manifest.pooling, manifest.query_prefix, manifest.passage_prefix) == ("last", "", "said: ")
    assert (manifest.max_tokens, manifest.max_positions) == (20, 64)
    assert set(report.origins.values()) == {"given"}
    # The last token is the same of every text.
    first, second = embedder.embed_passages(["one", "another text"])
    assert np.array_equal(first, second)
    with pytest.raises(ModelError, match="reads at most 64 tokens, so --max-tokens can't be 100"):
        import_pack(folder, tmp_path / "models", "again", ImportOptions(max_tokens=100))
    with pytest.raises(ModelError, match=r"no pooling 'median'\. Use one of mean, cls, last, output"):
        import_pack(folder, tmp_path / "models", "again", ImportOptions(pooling="median"))


def test_a_model_that_nobody_knows_is_pooled_by_the_mean_and_says_so(tmp_path: Path) -> None:
    report, _ = imported(encoder_folder(tmp_path / "mystery"), tmp_path)
    assert (report.manifest.pooling, report.manifest.query_prefix) == ("mean", "")
    assert report.origins == {
        "pooling": "assumed; --pooling says otherwise", "query_prefix": "assumed", "passage_prefix": "assumed"
    }  # fmt: skip


def test_the_length_is_that_of_the_tokenizer_where_the_model_says_none(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "unsaid")
    write(folder / "config.json", {"hidden_size": ENCODER_DIMENSION})
    with pytest.raises(ModelCorrupt, match=r"doesn't say how many tokens .* --max-tokens"):
        import_pack(folder, tmp_path / "models")
    write(folder / "tokenizer_config.json", {"model_max_length": 1e30})
    with pytest.raises(ModelCorrupt, match=r"--max-tokens"):
        import_pack(folder, tmp_path / "models")
    write(folder / "tokenizer_config.json", {"model_max_length": 128})
    assert imported(folder, tmp_path)[0].manifest.max_positions == 128


def test_a_missing_tokenizer_says_how_to_get_one(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "bare")
    (folder / "tokenizer.json").rename(folder / "vocab.txt")
    with pytest.raises(ModelMissing, match=r"tokenizer\.json is missing.*AutoTokenizer"):
        import_pack(folder, tmp_path / "models")


@pytest.mark.parametrize("content", [b"", b"\xff" * 40, b"not a graph at all"])
def test_what_is_no_graph_is_refused(tmp_path: Path, content: bytes) -> None:
    folder = encoder_folder(tmp_path / "broken")
    (folder / "onnx" / "model.onnx").write_bytes(content)
    with pytest.raises(ModelCorrupt, match=r"model\.onnx"):
        import_pack(folder, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("BAAI/bge-base-en-v1.5", "bge-en"), ("bge-small-zh-v1.5", "bge-zh"), ("BAAI/bge-m3", "bge-m3"),
        ("intfloat/e5-large-v2", "e5"), ("Xenova/multilingual-e5-small", "e5"),
        ("intfloat/multilingual-e5-large-instruct", "e5-instruct"), ("thenlper/gte-base", "gte"),
        ("Alibaba-NLP/gte-large-en-v1.5", "gte-v1.5"), ("nomic-ai/nomic-embed-text-v1.5", "nomic-embed-text"),
        ("Xenova/jina-embeddings-v2-small-en", "jina-embeddings-v2"), ("snowflake-arctic-embed-xs", "arctic-embed"),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "arctic-embed-v2"),
        ("mixedbread-ai/mxbai-embed-large-v1", "mxbai-embed"),
        ("Qdrant/all-MiniLM-L6-v2-onnx", "sentence-transformers"), ("Qwen/Qwen3-Embedding-0.6B", "qwen3-embedding"),
        ("some-model", None), ("cabbage-small-en", None), ("rougette-base", None),
    ],
)  # fmt: skip
def test_families_are_known_by_name(name: str, family: str | None) -> None:
    found = find_family([name])
    assert (found.name if found else None) == family
    assert all(one.source for one in FAMILIES)

"""Rerankers: told from embedders, scoring what is asked, whole passages, without the network."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance_models import (
    DEFAULT_MODEL,
    CrossEncoder,
    Manifest,
    ModelCorrupt,
    ModelError,
    TextTooLong,
    UnknownModel,
    import_pack,
    list_models,
    load,
    load_reranker,
    verify_pack,
)
from appliance_models.wordpieces import load_tokenizer
from tests.examples import examples
from tests.tiny_models import INPUTS, crossencoder_folder

WORDS = ["harbour", "night", "ferry", "ticket", "dog", "café", "夜"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=20).map(" ".join)


@pytest.fixture
def imported(tmp_path: Path) -> Manifest:
    return import_pack(crossencoder_folder(tmp_path / "tiny"), tmp_path / "models").manifest


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> CrossEncoder:
    folder = tmp_path_factory.mktemp("reranker")
    import_pack(crossencoder_folder(folder / "tiny"), folder / "models")
    return load_reranker("tiny", [folder / "models"])


def shared(model: CrossEncoder, query: str, passage: str) -> int:
    """What the tiny model counts, counted again: the separator behind each text is one of the shared pieces."""
    tokenizer = load_tokenizer(model.folder / "tokenizer.json")
    first, second = (
        [*tokenizer.encode(text, add_special_tokens=False).ids, tokenizer.token_to_id("[SEP]")]
        for text in (query, passage)
    )
    return sum(one == other for one in first for other in second)


def test_an_imported_cross_encoder_is_a_reranker(imported: Manifest, tmp_path: Path) -> None:
    assert (imported.kind, imported.dimension, imported.max_tokens) == ("reranker", 1, 64)
    infos = {info.name: info for info in list_models([tmp_path / "models"])}
    kinds = {name: info.manifest.kind for name, info in infos.items() if info.manifest}
    assert kinds == {DEFAULT_MODEL: "embedder", "all-minilm-l6-v2-int8": "embedder", "tiny": "reranker"}
    assert {report.status for report in verify_pack(infos["tiny"].folder)} == {"ok"}
    again = import_pack(infos["tiny"].folder, tmp_path / "elsewhere").manifest
    assert again == imported


@given(query=TEXTS, passages=st.lists(TEXTS, max_size=6))
@settings(max_examples=examples(30, costly=True), deadline=None)
def test_scores_are_the_models_own_in_the_order_given(model: CrossEncoder, query: str, passages: list[str]) -> None:
    scores = model.score(query, passages)
    assert scores.dtype == np.float32
    assert scores.tolist() == [shared(model, query, passage) for passage in passages]


def test_a_passage_that_does_not_fit_is_read_to_its_end(model: CrossEncoder) -> None:
    filler = "nothing else of note here " * 40
    at_end, nowhere = model.score("harbour harbour", [filler + "harbour", filler])
    assert at_end == nowhere + 2
    assert model.score("harbour", ["harbour " * 1000])[0] < 64, "one window at a time"


def test_threads_change_nothing(model: CrossEncoder) -> None:
    passages = [" ".join(WORDS[: n % 7]) for n in range(20)]
    alone = CrossEncoder(model.folder, threads=1)
    assert np.array_equal(alone.score("the ferry", passages), model.score("the ferry", passages))


def test_a_question_that_leaves_no_room_is_refused(model: CrossEncoder) -> None:
    assert model.accepts_query("a question") and not model.accepts_query("too long " * 32)
    with pytest.raises(TextTooLong, match="at most 32"):
        model.score("too long " * 32, ["a passage"])


def test_strange_texts_are_read(model: CrossEncoder) -> None:
    assert np.isfinite(model.score("\ud800", ["", "\udfff", "\0", "🙂" * 500])).all()
    assert model.score("harbour", []).shape == (0,)


def test_neither_kind_is_taken_for_the_other(imported: Manifest, tmp_path: Path) -> None:
    for name in ("tiny", "fastembed:tiny"):
        with pytest.raises(ModelError, match=r'tiny .* is a reranker.*rerank\.model = "tiny"'):
            load(name, [tmp_path / "models"])
    with pytest.raises(ModelError, match="is an embedder"):
        load_reranker(DEFAULT_MODEL)
    with pytest.raises(UnknownModel, match="There is no model 'nobody'"):
        load_reranker("nobody", [tmp_path / "models"])


def test_a_classifier_into_several_labels_is_no_reranker(tmp_path: Path) -> None:
    folder = crossencoder_folder(tmp_path / "mood", labels=3)
    with pytest.raises(ModelCorrupt, match=r"config\.json describes a classifier .* into 3 labels"):
        import_pack(folder, tmp_path / "models")
    config = json.loads((folder / "config.json").read_text())
    del config["id2label"]
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelCorrupt, match="into 2 labels"):
        import_pack(folder, tmp_path / "models")


def test_a_graph_that_does_something_else_is_not_imported(tmp_path: Path) -> None:
    with pytest.raises(ModelCorrupt, match="gives 2 numbers for a pair"):
        import_pack(crossencoder_folder(tmp_path / "two", logits=2), tmp_path / "models")
    with pytest.raises(ModelCorrupt, match="supported are attention_mask"):
        import_pack(crossencoder_folder(tmp_path / "more", inputs=(*INPUTS, "pixels")), tmp_path / "models")
    with pytest.raises(ModelCorrupt, match="not finite"):
        import_pack(crossencoder_folder(tmp_path / "nan", unit=float("nan")), tmp_path / "models")
    encoder = crossencoder_folder(tmp_path / "encoder")
    graph = Path(load(DEFAULT_MODEL).folder, "model.onnx")  # type: ignore[attr-defined]
    (encoder / "onnx" / "model.onnx").write_bytes(graph.read_bytes())
    with pytest.raises(ModelCorrupt, match="one row a pair"):
        import_pack(encoder, tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [("kind", "oracle", "'kind'"), ("kind", 3, "'kind'"), ("dimension", 2, "reranker"), ("pooling", "mean", "pair")],
)
def test_a_manifest_that_can_not_be_is_refused(
    imported: Manifest, tmp_path: Path, key: str, value: object, says: str
) -> None:
    path = tmp_path / "models" / "tiny" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(ModelCorrupt, match=says):
        load_reranker("tiny", [tmp_path / "models"])


def test_a_damaged_one_is_not_loaded(imported: Manifest, tmp_path: Path) -> None:
    with (tmp_path / "models" / "tiny" / "model.onnx").open("ab") as file:
        file.write(b"more")
    with pytest.raises(ModelCorrupt, match="tiny"):
        load_reranker("tiny", [tmp_path / "models"])

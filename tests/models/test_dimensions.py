"""Fewer numbers of a model's vectors: by name, of unit length, with the same token vectors; never more than it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from appliance_models import DEFAULT_MODEL, ModelError, OnnxEmbedder, ShortenedEmbedder, UnknownModel, load, split_name

TEXTS = ["The ferry leaves at seven.", "", "Zwei Karten, bitte."]


def test_a_name_carries_the_dimensions(embedder: OnnxEmbedder) -> None:
    short, whole = load(f"{DEFAULT_MODEL}/128"), load(DEFAULT_MODEL)
    assert isinstance(short, ShortenedEmbedder)
    assert (short.name, short.identity) == (f"{DEFAULT_MODEL}/128", f"{whole.identity}/128")
    assert (short.dimension, short.max_tokens, short.max_positions) == (128, 256, 512)
    kept = whole.embed_passages(TEXTS)[:, :128]
    assert np.allclose(short.embed_passages(TEXTS), kept / np.linalg.norm(kept, axis=1, keepdims=True), atol=1e-6)
    assert float(np.linalg.norm(short.embed_query("ferry"))) == pytest.approx(1, abs=1e-6)
    assert short.embed_passages([]).shape == (0, 128)
    assert short.count_tokens(TEXTS) == whole.count_tokens(TEXTS)


def test_token_vectors_are_the_models_own() -> None:
    short, whole = load(f"{DEFAULT_MODEL}/64"), load(DEFAULT_MODEL)
    assert isinstance(short, ShortenedEmbedder) and isinstance(whole, OnnxEmbedder)
    assert (short.token_dimension, short.token_identity) == (whole.token_dimension, whole.token_identity)
    vectors, tokens = short.embed_passages_with_tokens(TEXTS)
    assert vectors.shape == (3, 64)
    assert all(map(np.array_equal, tokens, whole.embed_passages_with_tokens(TEXTS)[1]))
    query = short.embed_query_with_tokens("ferry")
    assert query.vector.shape == (64,)
    assert np.array_equal(query.tokens, whole.embed_query_with_tokens("ferry").tokens)


def test_more_numbers_than_a_model_has_are_refused() -> None:
    assert load(f"{DEFAULT_MODEL}/384").dimension == 384
    with pytest.raises(ModelError, match=f"There is no {DEFAULT_MODEL}/385: {DEFAULT_MODEL} has 384 dimensions"):
        load(f"{DEFAULT_MODEL}/385")
    with pytest.raises(UnknownModel, match="no model 'nobody'"):
        load("nobody/8")


@pytest.mark.parametrize("odd", ["0", "-3", "many", "", "1.5", "0256", "128/2", "1e2"])
def test_what_is_no_number_of_dimensions_is_told_from_an_unknown_model(odd: str) -> None:
    for base in (DEFAULT_MODEL, f"fastembed:{DEFAULT_MODEL}"):
        with pytest.raises(ModelError, match=f"There is no {base}/{odd}: .* of which 1 to 384 can be kept") as refused:
            load(f"{base}/{odd}")
        assert not isinstance(refused.value, UnknownModel)
    with pytest.raises(UnknownModel, match="no model 'nobody/"):
        load(f"nobody/{odd}")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("bge-m3/256", ("bge-m3", 256)), ("bge-m3", ("bge-m3", 0)), ("bge-m3/0", ("bge-m3/0", 0)),
        ("fastembed:org/model@/folder/256", ("fastembed:org/model@/folder/256", 0)), ("a/b/256", ("a/b/256", 0)),
        ("fastembed:pack/64", ("fastembed:pack", 64)),
    ],
)  # fmt: skip
def test_names_are_split_at_their_dimensions(name: str, parts: tuple[str, int], tmp_path: Path) -> None:
    assert split_name(name) == parts

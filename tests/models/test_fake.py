"""The embedder for tests: deterministic, quick, and with the manners of a real one."""

from __future__ import annotations

import numpy as np
import pytest

from appliance_models import Embedder, HashEmbedder, TextTooLong


def test_likeness_follows_shared_words() -> None:
    embedder: Embedder = HashEmbedder()
    query = embedder.embed_query("red bicycle in the garden")
    near, far = embedder.embed_passages(["a red bicycle stands in our garden", "quarterly tax forms were due"])
    assert near @ query > far @ query + 0.2


def test_vectors_are_the_same_in_every_run() -> None:
    vector = HashEmbedder(8).embed_query("stable across runs and machines")
    expected = [-0.333, 0.333, 0, 0.667, -0.333, 0, -0.333, -0.333]
    assert np.allclose(vector, expected, atol=1e-3)


def test_shape_norm_and_identity_follow_the_dimension() -> None:
    embedder = HashEmbedder(dimension=7)
    vectors = embedder.embed_passages(["a", "", "\ud800 👍"])
    assert vectors.shape == (3, 7)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert embedder.identity != HashEmbedder(dimension=8).identity
    assert embedder.embed_passages([]).shape == (0, 7)


def test_it_refuses_what_a_real_model_would() -> None:
    embedder = HashEmbedder(max_tokens=4, max_positions=6)
    assert embedder.count_tokens(["one, two", ""]) == [5, 2]
    with pytest.raises(TextTooLong, match="Text 1 has 7 tokens and hash reads at most 6"):
        embedder.embed_passages(["fine", "a b c d e"])
    assert embedder.embed_query("a b c d e f g").shape == (32,)

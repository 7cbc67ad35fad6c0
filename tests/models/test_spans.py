"""Late chunking in the models: a span's vector is the mean of its tokens' vectors from a window that has it whole."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from appliance_models import ModelError, OnnxEmbedder, SpannedText, UnknownModel, load, split_late
from appliance_models.spans import plan_windows
from appliance_models.token_vectors import SINGLE_THREAD_PRODUCTS, TokenProjection, to_bytes
from appliance_models.wordpieces import encode_spans

WORDS = (
    "river",
    "otter",
    "Müller-Lüdenscheidt",
    "—",
    "sleeps",
    "漢字",
    "42",
    "antidisestablishmentarianism",
    "\n\n",
    "👍",
)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    found = load("minilm-l6-dialogue-int8+late")
    assert isinstance(found, OnnxEmbedder)
    return found


def reference(model: OnnxEmbedder, text: SpannedText, span: tuple[int, int]) -> list[NDArray[np.float32]]:
    """A span's vector by each window in which it may be read: any run of the text's tokens that is as long as fits, has
    the span whole, and begins at a multiple of half a window; computed straight from the model's token vectors."""
    encoding = encode_spans(model.tokenizer, text.lead + text.text)
    tokens = list(zip(encoding.ids, encoding.offsets, strict=True))
    head, body, tail = tokens[0], tokens[1:-1], tokens[-1]
    lead = [id for id, (_, end) in body if end <= len(text.lead)]
    own = [(id, start - len(text.lead), end - len(text.lead)) for id, (start, end) in body[len(lead) :]]
    room, found = model.max_positions - 2 - len(lead), []
    for begin in range(0, max(len(own), 1), room // 2):
        window = own[begin : begin + room]
        inside = [place for place, (_, start, end) in enumerate(window) if start < span[1] and end > span[0]]
        if len(inside) < sum(start < span[1] and end > span[0] for _, start, end in own):
            continue
        hidden = model.token_vectors([head[0], *lead, *(id for id, _, _ in window), tail[0]])
        rows = [1 + len(lead) + place for place in inside]
        if 0 in inside:
            rows.append(0)
        if len(window) - 1 in inside:
            rows.append(len(hidden) - 1)
        mean = hidden[rows].mean(axis=0) if inside else hidden.mean(axis=0)
        found.append(mean / np.linalg.norm(mean))
    return found


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=500),
    st.lists(st.integers(0, 4000), min_size=1, max_size=4),
    st.sampled_from(["", 'Ana said, "']),
)
def test_late_vectors_are_the_means_of_token_vectors(
    embedder: OnnxEmbedder, words: list[str], cuts: list[int], lead: str
) -> None:
    text = " ".join(words)
    edges = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    spans = [span for pair in pairwise(edges) for span in _at_most(pair, 300)] or [(0, len(text))]
    spanned = SpannedText(text, spans, lead)
    for span, vector in zip(spans, embedder.embed_spans([spanned]), strict=True):
        assert max(float(vector @ other) for other in reference(embedder, spanned, span)) > 1 - 1e-5


def _at_most(span: tuple[int, int], size: int) -> list[tuple[int, int]]:
    """A span in parts that half a window holds."""
    return [(start, min(start + size, span[1])) for start in range(span[0], span[1], size)]


def test_a_text_that_fits_is_read_once(embedder: OnnxEmbedder) -> None:
    text = "one two three. " * 60
    (window,) = plan_windows(encode_spans(embedder.tokenizer, text), 0, [(0, 400), (380, len(text))], 512)
    assert len(window.pieces) == 2


@pytest.mark.parametrize("count", [509, 510, 511, 512, 766, 1_500])
def test_every_token_of_a_span_counts_whatever_its_length(embedder: OnnxEmbedder, count: int) -> None:
    encoding = encode_spans(embedder.tokenizer, "tree " * count)
    whole = (0, 5 * count)
    windows = plan_windows(encoding, 0, [whole, (0, 5), (5 * count - 5, 5 * count), (50, 2_500)], 512)
    assert max(len(window.ids) for window in windows) <= 512
    for span, tokens in ((0, count), (1, 1), (2, 1), (3, 490)):
        pieces = [piece for window in windows for piece in window.pieces if piece.span == span]
        assert sum(len(piece.own_rows) for piece in pieces) == tokens
    assert np.allclose(np.linalg.norm(embedder.embed_spans([SpannedText("tree " * count, [whole])]), axis=1), 1)


def test_the_lead_is_read_in_every_window_and_belongs_to_no_span(embedder: OnnxEmbedder) -> None:
    lead, text = 'Ana said, "', "word " * 900
    encoding = encode_spans(embedder.tokenizer, lead + text)
    windows = plan_windows(encoding, len(lead), [(0, 500), (4_000, 4_500)], 512)
    own = encode_spans(embedder.tokenizer, lead).ids[1:-1]
    assert len(windows) == 2 and all(window.ids[1 : 1 + len(own)] == own for window in windows)
    for window in windows:
        (piece,) = window.pieces
        assert not set(piece.rows) & set(range(1, 1 + len(own)))
        assert list(piece.own_rows[: len(own)]) == list(range(1, 1 + len(own)))


def test_texts_are_told_apart_and_their_order_is_kept(embedder: OnnxEmbedder) -> None:
    texts = [
        SpannedText(f"{word} and more of it. " * 80, [(0, 200), (200, 900)]) for word in ("otter", "violin", "tax")
    ]
    together = embedder.embed_spans(texts)
    assert np.allclose(together, np.concatenate([embedder.embed_spans([text]) for text in texts]), atol=1e-6)
    vectors, tokens = embedder.embed_spans_with_tokens(texts)
    assert np.array_equal(vectors, together) and len(tokens) == 6


def test_token_vectors_come_from_the_same_pass(embedder: OnnxEmbedder) -> None:
    text = "The otter sleeps. " * 8
    ids = encode_spans(embedder.tokenizer, text).ids
    _, (first, second) = embedder.embed_spans_with_tokens([SpannedText(text, [(0, 72), (72, len(text))])])
    assert embedder._projection is not None
    expected = to_bytes(embedder._projection.project(embedder.token_vectors(ids)[1:-1]))
    assert np.array_equal(np.concatenate([first, second]), expected)


def test_a_name_says_late_chunking_before_the_dimensions(embedder: OnnxEmbedder) -> None:
    assert split_late("bge-m3+late") == ("bge-m3", True) and split_late("bge-m3") == ("bge-m3", False)
    plain = load()
    assert embedder.late_chunking and embedder.identity == plain.identity
    short = load("minilm-l6-dialogue-int8+late/128")
    assert (short.name, short.dimension) == ("minilm-l6-dialogue-int8+late/128", 128)
    text = SpannedText("The otter sleeps. " * 40, [(0, 300), (300, 700)])
    expected = embedder.embed_spans([text])[:, :128]
    shortened = short.embed_spans([text])  # type: ignore[attr-defined]
    assert np.allclose(shortened, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)


def test_models_without_token_vectors_can_not_do_it() -> None:
    with pytest.raises(ModelError, match="late chunking"):
        load("fastembed:minilm-l6-dialogue-int8+late")
    with pytest.raises(UnknownModel):
        load("no-such-model+late")
    with pytest.raises(UnknownModel, match=r"minilm-l6-dialogue-int8\+late/128"):
        load("minilm-l6-dialogue-int8/128+late")


@pytest.mark.parametrize("tokens", [0, 1, 43, 126, 300])
def test_token_vectors_are_projected_in_small_products(tokens: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    hidden = random.standard_normal((tokens, 384)).astype(np.float32)
    directions = random.standard_normal((384, 32)).astype(np.float32)
    offset = random.standard_normal(32).astype(np.float32)
    whole = hidden @ directions - offset
    whole /= np.maximum(np.linalg.norm(whole, axis=1, keepdims=True), 1e-12)
    sizes: list[int] = []
    multiply = np.matmul

    def watched(left: NDArray[np.float32], right: NDArray[np.float32], **more: NDArray[np.float32]) -> object:
        sizes.append(left.size * right.shape[1])
        return multiply(left, right, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(np, "matmul", watched)
    assert np.allclose(TokenProjection(directions, offset).project(hidden), whole, atol=1e-6)
    assert max(sizes, default=0) <= SINGLE_THREAD_PRODUCTS and sum(sizes) == hidden.size * 32

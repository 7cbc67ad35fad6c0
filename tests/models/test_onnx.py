"""The default model: right vectors, whole texts, and the same answer whatever else is in the call."""

from __future__ import annotations

import json
import threading
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from appliance_models import DEFAULT_MODEL, OnnxEmbedder, SpannedText, TextTooLong, load
from appliance_models.files import SHIPPED_PACKS
from appliance_models.wordpieces import token_windows

if TYPE_CHECKING:
    from numpy.typing import NDArray

PACKS = ("all-minilm-l6-v2-int8", "minilm-l6-dialogue-int8")
GOLDEN = {
    name: json.loads(Path(__file__).with_name(f"golden_{name}.json").read_text(encoding="utf-8")) for name in PACKS
}
GOLDEN_ROWS = [(name, row) for name in PACKS for row in GOLDEN[name]["texts"]]

# Weights have 7 bits, so integer sums are exact on every processor; only rounding in softmax, GELU and normalisation
# differs, and may move an activation by one step. Other kernels and fusions of onnxruntime moved components by 0.0005
# at most, a component being 0.05 on average: eight times that is a different processor, more is a different model.
GOLDEN_TOLERANCE = 0.004

# Quantisation leaves these texts at cosine 0.989 to fp32 and better; the shortest, of four tokens, is at 0.963.
FP32_COSINE = 0.96

TEXTS = [
    "Short.",
    "The ferry leaves at seven and we still have no tickets for the dog.",
    "word " * 120,
    "",
    "Ein Satz auf Deutsch, damit nicht alles Englisch ist.",
    "No, on Tuesday.",
] * 3


@cache
def shipped(name: str) -> OnnxEmbedder:
    return OnnxEmbedder(SHIPPED_PACKS / name)


@pytest.mark.parametrize(
    ("name", "row"), GOLDEN_ROWS, ids=lambda one: one if isinstance(one, str) else one["text"][:20]
)
def test_golden_vectors(name: str, row: dict[str, Any]) -> None:
    embedder = shipped(name)
    vector = embedder.embed_passages([row["text"]])[0]
    assert embedder.count_tokens([row["text"]]) == [row["tokens"]]
    assert np.allclose(vector[:16], row["first"], atol=GOLDEN_TOLERANCE)
    assert float(np.linalg.norm(vector)) == pytest.approx(row["norm"], abs=1e-5)
    assert float(vector @ np.array(row["fp32"])) >= FP32_COSINE


@pytest.mark.parametrize("name", PACKS)
def test_identity_is_that_of_the_golden_vectors(name: str) -> None:
    embedder = shipped(name)
    assert embedder.identity == GOLDEN[name]["identity"]
    assert (embedder.name, embedder.dimension, embedder.max_tokens) == (name, 384, 256)


@pytest.mark.parametrize("name", PACKS)
def test_a_pack_comes_with_its_projection_licence_and_notice(name: str) -> None:
    assert shipped(name).token_dimension == 32
    assert (SHIPPED_PACKS / name / "NOTICE").is_file()
    assert "Apache License" in (SHIPPED_PACKS / name / "LICENSE").read_text(encoding="utf-8")


def test_meaning_is_found_across_words(embedder: OnnxEmbedder) -> None:
    query = embedder.embed_query("Where did she leave her bicycle?")
    near, far = embedder.embed_passages(["Her bike stands behind the school.", "The soup needs more salt."])
    assert near @ query > far @ query + 0.2


def test_a_vector_depends_on_its_text_alone(embedder: OnnxEmbedder) -> None:
    together = embedder.embed_passages(TEXTS)
    backwards = embedder.embed_passages(TEXTS[::-1])[::-1]
    alone = np.vstack([embedder.embed_passages([text]) for text in TEXTS])
    # Exactly equal: nothing may depend on neighbours in a batch, on order or on threads.
    assert np.array_equal(together, backwards)
    assert np.array_equal(together, alone)


def test_threads_change_nothing(embedder: OnnxEmbedder) -> None:
    one = OnnxEmbedder(embedder.folder, threads=1)
    assert np.array_equal(one.embed_passages(TEXTS), embedder.embed_passages(TEXTS))


def test_many_callers_at_once_load_one_model(embedder: OnnxEmbedder) -> None:
    fresh = OnnxEmbedder(embedder.folder)
    found: list[NDArray[np.float32]] = []

    def call() -> None:
        found.append(fresh.embed_query(TEXTS[1]))

    callers = [threading.Thread(target=call) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(found) == len(callers)
    assert all(np.array_equal(vector, embedder.embed_query(TEXTS[1])) for vector in found)


def test_nothing_to_embed_is_an_empty_matrix(embedder: OnnxEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, 384)
    assert embedder.count_tokens([]) == []


@pytest.mark.parametrize(
    "text", ["", "   \n\t", "👍🏽👩‍👩‍👧", "\ud800", "a\udfffb", "\x00", "﷽", "ｆｕｌｌ", "e\u0301" * 30]
)
def test_odd_texts_have_unit_vectors(embedder: OnnxEmbedder, text: str) -> None:
    for vector in (embedder.embed_query(text), embedder.embed_passages([text])[0]):
        assert vector.shape == (384,)
        assert vector.dtype == np.float32
        assert float(np.linalg.norm(vector)) == pytest.approx(1.0, abs=1e-5)


def test_counts_are_never_cut(embedder: OnnxEmbedder) -> None:
    # tokenizer.json says "cut at 128" and "pad to 128": neither may show.
    assert embedder.count_tokens(["one", "one " * 126, "one " * 5000]) == [3, 128, 5002]


def test_passages_are_read_to_the_last_word(embedder: OnnxEmbedder) -> None:
    base = "tree " * 500
    first, second = embedder.embed_passages([base + "violin", base + "tax"])
    assert not np.array_equal(first, second)


def test_a_passage_beyond_the_positions_is_refused(embedder: OnnxEmbedder) -> None:
    assert embedder.embed_passages(["tree " * 510]).shape == (1, 384)
    with pytest.raises(TextTooLong, match=r"Text 1 has 513 tokens .* at most 512.*Split") as caught:
        embedder.embed_passages(["fine", "tree " * 511])
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 513, 512)


def test_a_long_query_is_read_to_its_end(embedder: OnnxEmbedder) -> None:
    filler = "We talked about the weather and the trains for a while. " * 120
    plain = embedder.embed_query(filler)
    ended = embedder.embed_query(filler + "Violin lessons with Mara. " * 20)
    topic = embedder.embed_query("violin lessons")
    assert float(np.linalg.norm(ended)) == pytest.approx(1.0, abs=1e-5)
    assert ended @ topic > plain @ topic + 0.02


@pytest.mark.parametrize("text", ["short one " * 400, "x" * 3000, "👍" * 900, "漢字" * 700, "a-b" * 500])
def test_windows_cover_everything_and_fit(embedder: OnnxEmbedder, text: str) -> None:
    windows = token_windows(embedder.tokenizer, text, 256)
    assert "".join(windows) == text
    assert all(windows)
    assert max(embedder.count_tokens(windows)) <= 256


def test_one_span_over_all_is_the_passage(embedder: OnnxEmbedder) -> None:
    text = TEXTS[1]
    whole = embedder.embed_spans([SpannedText(text, [(0, len(text))])])
    assert np.allclose(whole[0], embedder.embed_passages([text])[0], atol=1e-6)


def test_spans_carry_their_own_meaning_and_their_context(embedder: OnnxEmbedder) -> None:
    parts = ["Berlin is the capital of Germany. ", "The city has 3.7 million people. ", "My cat sleeps all day."]
    text = "".join(parts)
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    spans = list(pairwise(edges))
    late = embedder.embed_spans([SpannedText(text, spans)])
    query = embedder.embed_query("How many people live in Berlin?")
    assert late.shape == (3, 384)
    assert np.allclose(np.linalg.norm(late, axis=1), 1.0, atol=1e-5)
    # The second sentence never names Berlin; read in one pass it knows.
    assert late[1] @ query > embedder.embed_passages([parts[1]])[0] @ query
    assert late[1] @ query > late[2] @ query


def test_blank_spans_and_empty_texts_still_get_a_vector(embedder: OnnxEmbedder) -> None:
    assert np.isfinite(embedder.embed_spans([SpannedText("a     b", [(2, 4), (0, 1), (3, 3)])])).all()
    assert embedder.embed_spans([SpannedText("", [(0, 0)])]).shape == (1, 384)
    assert embedder.embed_spans([SpannedText("text", [])]).shape == (0, 384)


def test_load_gives_the_default_model() -> None:
    assert load().name == DEFAULT_MODEL
    assert (SHIPPED_PACKS / DEFAULT_MODEL / "NOTICE").is_file()
    assert "Apache License" in (SHIPPED_PACKS / DEFAULT_MODEL / "LICENSE").read_text(encoding="utf-8")

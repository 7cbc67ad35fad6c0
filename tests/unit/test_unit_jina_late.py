"""Late chunking through the Jina API: what is sent together, and which vector a span gets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance_models import SpannedText
from appliance_models.errors import ApiUnavailable
from appliance_models.jina import MAX_TEXT_TOKENS, MAX_WINDOW_TEXTS, WINDOW_OVERLAP_TOKENS, _runs
from appliance_models.jina_tokens import estimate_tokens
from tests.jina_clients import asking
from tests.jina_server import Served, changed, refusal, serving, vectors

pytestmark = pytest.mark.usefixtures("socket_enabled")


@pytest.fixture
def api() -> Iterator[Served]:
    with serving() as served:
        yield served


def text_of(count: int, about: str = "otter", lead: str = 'Ana said, "') -> SpannedText:
    """A text of so many spans of about two hundred tokens."""
    parts = [" ".join(f"{about} river{number} sleeps" for _ in range(40)) + " " for number in range(count)]
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    return SpannedText("".join(parts), list(pairwise(edges)), lead)


def inputs(text: SpannedText) -> list[str]:
    """The spans of a text as they are sent, if it is one request."""
    (first, *others) = [text.text[start:end] for start, end in text.spans]
    return [text.lead + first, *others]


def expected(texts: list[str]) -> Any:
    """What the API answers to these inputs with late chunking."""
    return vectors({"input": texts, "task": "retrieval.passage", "dimensions": 32, "late_chunking": True})


def test_each_text_is_a_request_of_its_own(api: Served) -> None:
    texts = [text_of(3), text_of(5, "violin"), text_of(1, "tax", lead="")]
    with asking(api.url, late_chunking=True, concurrency=2) as it:
        assert it.embedder.name == "jina:jina-embeddings-v3+late" and it.embedder.late_chunking
        found = it.embedder.embed_spans(texts)
        plain = it.embedder.embed_passages(["one", "two"])
    late, (last,) = [body for body in api.asked if body["late_chunking"]], api.asked[3:]
    assert sorted(body["input"] for body in late) == sorted(map(inputs, texts))
    assert last == {**late[0], "late_chunking": False, "input": ["one", "two"]} and plain.shape == (2, 32)
    np.testing.assert_allclose(found, np.concatenate([expected(inputs(text)) for text in texts]), atol=1e-6)


def test_the_order_of_an_answer_is_told_by_its_numbers(api: Served) -> None:
    api.faults.append(changed(lambda answer: random.Random(1).shuffle(answer["data"])))
    text = text_of(9)
    with asking(api.url, late_chunking=True) as it:
        found = it.embedder.embed_spans([text])
    np.testing.assert_allclose(found, expected(inputs(text)), atol=1e-6)


def test_a_text_longer_than_the_api_reads_goes_in_windows_that_overlap(api: Served) -> None:
    text = text_of(120)
    with asking(api.url, late_chunking=True, tokens_a_minute=0) as it:
        found = it.embedder.embed_spans([text])
        assert it.account.tokens == api.tokens
        (forecast,) = it.embedder.count_span_tokens([text])
    assert forecast == sum(sum(estimate_tokens(body["input"])) for body in api.asked)
    assert len(api.asked) > 2 and all(body["late_chunking"] for body in api.asked)
    said = [text.text[start:end] for start, end in text.spans]
    windows = []
    for body in api.asked:
        assert sum(estimate_tokens(body["input"])) <= MAX_TEXT_TOKENS and body["input"][0].startswith('Ana said, "')
        windows.append([said.index(part.removeprefix('Ana said, "')) for part in body["input"]])
    windows.sort()
    assert all(window == list(range(window[0], window[-1] + 1)) for window in windows)
    for before, after in pairwise(windows):
        repeated = sum(estimate_tokens([said[number] for number in after if number in before]))
        assert WINDOW_OVERLAP_TOKENS / 2 < repeated <= WINDOW_OVERLAP_TOKENS
    answers = {tuple(body["input"]): expected(body["input"]) for body in api.asked}
    for number, vector in enumerate(found):
        holding = [
            (parts, place) for parts in answers for place, part in enumerate(parts) if part.endswith(said[number])
        ]
        ends = {parts: np.cumsum([0, *estimate_tokens(parts)]) for parts, _ in holding}
        middle = min(holding, key=lambda one: abs(ends[one[0]][[one[1], one[1] + 1]].sum() - ends[one[0]][-1]))
        np.testing.assert_allclose(vector, answers[middle[0]][middle[1]], atol=1e-6)


def test_what_the_api_finds_too_long_is_halved(api: Served) -> None:
    api.max_tokens = 500
    text = text_of(8)
    with asking(api.url, late_chunking=True) as it:
        found = it.embedder.embed_spans([text])
    taken = [body["input"] for body in api.asked if sum(len(part.split()) for part in body["input"]) + 2 <= 500]
    assert list(chain.from_iterable(taken)) == inputs(text) and all(body["late_chunking"] for body in api.asked)
    np.testing.assert_allclose(found, np.concatenate([expected(parts) for parts in taken]), atol=1e-6)


def test_blank_spans_are_not_sent_and_secrets_are_taken_out(api: Served) -> None:
    text = SpannedText("the key \n\n  is hidden", [(0, 8), (8, 12), (12, 21)])
    with asking(api.url, late_chunking=True, redact=lambda said: said.replace("hidden", "......")) as it:
        found = it.embedder.embed_spans([text, SpannedText("  ", [(0, 1), (1, 2)])])
        assert it.embedder.embed_spans([]).shape == (0, 32)
    assert [body["input"] for body in api.asked] == [["the key ", "is ......"]]
    assert found.shape == (5, 32) and np.isfinite(found).all() and (found[1] == found[3]).all()


def test_a_failure_is_tried_again_and_then_told(api: Served) -> None:
    api.faults.append(refusal("503 Service Unavailable"))
    with asking(api.url, late_chunking=True) as it:
        assert it.embedder.embed_spans([text_of(2)]).shape == (2, 32)
        api.always = refusal("503 Service Unavailable")
        with pytest.raises(ApiUnavailable):
            it.embedder.embed_spans([text_of(3)])


@given(st.lists(st.integers(3, 9_000), max_size=80), st.integers(100, 8_192))
def test_windows_have_every_span_and_fit(tokens: list[int], limit: int) -> None:
    runs = list(_runs(tokens, limit))
    assert {number for first, end in runs for number in range(first, end)} == set(range(len(tokens)))
    for first, end in runs:
        assert end - first == 1 or (sum(tokens[first:end]) <= limit and end - first <= MAX_WINDOW_TEXTS)
    assert all(one[0] < other[0] <= one[1] < other[1] for one, other in pairwise(runs))


def test_many_small_spans_are_windows_of_bounded_size() -> None:
    runs = list(_runs([3] * 2_000, MAX_TEXT_TOKENS))
    assert max(end - first for first, end in runs) == MAX_WINDOW_TEXTS and len(runs) < 20

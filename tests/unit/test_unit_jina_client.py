"""The Jina API over real sockets: what is sent, and what becomes of every answer that it may give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from appliance_models.errors import ApiError, ApiUnavailable, UnknownModel
from appliance_models.jina import MAX_REQUEST_TEXTS, MAX_REQUEST_TOKENS, JinaEmbedder, JinaOptions
from appliance_models.jina_tokens import estimate_tokens
from tests.jina_clients import WORDS, Account, Asked, Observer, asking
from tests.jina_server import KEY, Served, changed, cut, limited, refusal, response, serving, silence, vector
from tests.llm_server import nobody

pytestmark = pytest.mark.usefixtures("socket_enabled")


@pytest.fixture
def api() -> Iterator[Served]:
    with serving() as served:
        yield served


# --- what is sent ---------------------------------------------------------------------------------------------


def test_it_asks_as_the_api_is_documented(api: Served) -> None:
    with asking(api.url) as it:
        passages = it.embedder.embed_passages([WORDS, "another"])
        query = it.embedder.embed_query(WORDS)
    first, second = api.asked
    assert first == {
        "model": "jina-embeddings-v3", "task": "retrieval.passage", "dimensions": 32, "late_chunking": False,
        "embedding_type": "float", "truncate": False, "input": [WORDS, "another"],
    }  # fmt: skip
    assert (second["task"], second["input"]) == ("retrieval.query", [WORDS])
    assert api.heads[0].startswith("POST /v1/embeddings HTTP/1.1")
    assert f"authorization: bearer {KEY}".lower() in api.heads[0].lower()
    assert passages.dtype == np.float32 and passages.shape == (2, 32)
    np.testing.assert_allclose(passages[0], vector(WORDS, "retrieval.passage", 32), atol=1e-6)
    np.testing.assert_allclose(query, vector(WORDS, "retrieval.query", 32), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-6)


def test_texts_go_in_requests_of_bounded_size_and_come_back_in_order(api: Served) -> None:
    texts = [f"text {number}" for number in range(2 * MAX_REQUEST_TEXTS + 3)] + ["long " * 4_000] * 9 + ["last"]
    with asking(api.url, concurrency=3) as it:
        found = it.embedder.embed_passages(texts)
    assert max(len(body["input"]) for body in api.asked) == MAX_REQUEST_TEXTS
    assert max(sum(estimate_tokens(body["input"])) for body in api.asked) <= MAX_REQUEST_TOKENS
    assert len(api.asked) > 3
    for number in (0, 64, 130, len(texts) - 1):
        np.testing.assert_allclose(found[number], vector(texts[number], "retrieval.passage", 32), atol=1e-6)


def test_a_text_longer_than_the_api_reads_is_sent_whole_in_parts(api: Served) -> None:
    text = " ".join(f"word{number}" for number in range(6_000))
    with asking(api.url) as it:
        (found,) = it.embedder.embed_passages([text])
        query = it.embedder.embed_query(text)
    passages = [body["input"] for body in api.asked if body["task"] == "retrieval.passage"]
    assert "".join(part for parts in passages for part in parts) == text
    queries = [part for body in api.asked if body["task"] == "retrieval.query" for part in body["input"]]
    assert "".join(queries) == text and len(queries) > 1
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-6) and np.linalg.norm(query) == pytest.approx(1, abs=1e-6)


def test_a_blank_text_is_not_sent_and_has_a_vector(api: Served) -> None:
    with asking(api.url) as it:
        found = it.embedder.embed_passages(["", " \n", "word"])
        assert it.embedder.embed_query("  ").shape == (32,)
        assert it.embedder.embed_passages([]).shape == (0, 32)
    assert api.texts == ["word"]
    assert np.isfinite(found).all() and (found[0] == found[1]).all()


def test_lone_surrogates_do_not_stop_a_batch(api: Served) -> None:
    with asking(api.url) as it:
        it.embedder.embed_passages(["broken \ud800 sign"])
    assert api.texts == ["broken \ufffd sign"]


def test_what_is_redacted_is_not_sent(api: Served) -> None:
    with asking(api.url, redact=lambda text: text.replace("hunter2", "*******"), redaction="masked/1") as it:
        it.embedder.embed_passages(["my password is hunter2"])
        it.embedder.embed_query("hunter2")
        assert "masked/1" in it.embedder.identity
    assert api.texts == ["my password is *******", "*******"]


def test_the_identity_tells_vectors_apart() -> None:
    def identity(**options: Any) -> str:
        return Asked("https://api.jina.ai/v1", **options).embedder.identity

    assert identity() == "jina:jina-embeddings-v3@32 retrieval.passage retrieval.query"
    assert len({identity(), identity(dimension=64), identity(redaction="masked/1")}) == 3
    assert identity() == identity(requests_a_minute=7, timeout=1.0, name="jina:jina-embeddings-v3/32")


@pytest.mark.parametrize(
    ("model", "options", "says"),
    [
        ("jina-embeddings-v99", {}, "jina:jina-embeddings-v3"),
        ("jina-embeddings-v3", {"dimension": 2_048}, "model.dimensions"),
        ("jina-embeddings-v3", {"dimension": 8}, "32 to 1,024"),
    ],
)
def test_a_model_that_the_api_has_not_is_named(model: str, options: Any, says: str) -> None:
    with pytest.raises(UnknownModel, match=says):
        JinaEmbedder(JinaOptions(model, **options), Account(), Observer())


@pytest.mark.parametrize(
    "url", ["api.jina.ai/v1", "ftp://api.jina.ai", "http://api.jina.ai/v1", "https://", "https://u:p@x", "https://[1"]
)
def test_an_address_that_would_leak_or_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(ApiError, match=r"jina\.url") as refused:
        Asked(url)
    assert refused.value.hint


# --- answers that are none ------------------------------------------------------------------------------------


def shuffled(answer: dict[str, Any]) -> None:
    answer["data"].reverse()


def test_reordered_indexes_are_put_right(api: Served) -> None:
    texts = ["one", "two", "three"]
    api.faults.append(changed(shuffled))
    with asking(api.url) as it:
        found = it.embedder.embed_passages(texts)
    for text, row in zip(texts, found, strict=True):
        np.testing.assert_allclose(row, vector(text, "retrieval.passage", 32), atol=1e-6)


def put(value: Any, *path: Any) -> Any:
    def change(answer: dict[str, Any]) -> None:
        at: Any = answer
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value

    return changed(change)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (changed(lambda answer: answer["data"].pop()), "1 vectors for 2 texts"),
        (changed(lambda answer: answer["data"].append(answer["data"][0])), "3 vectors for 2 texts"),
        (put(0, "data", 1, "index"), "number its vectors"),
        (put(2, "data", 1, "index"), "number its vectors"),
        (put(True, "data", 1, "index"), "number its vectors"),
        (put(None, "data", 0), "number its vectors"),
        (put([0.5] * 31, "data", 0, "embedding"), "31 numbers, not 32"),
        (put([float("nan")] * 32, "data", 0, "embedding"), "NaN"),
        (put([float("inf")] * 32, "data", 0, "embedding"), "NaN"),
        (put([1e308] * 32, "data", 0, "embedding"), "NaN"),
        (put([10**400] * 32, "data", 0, "embedding"), "without bounds"),
        (put([0.0] * 32, "data", 0, "embedding"), "zeros"),
        (put(["0.5"] * 32, "data", 0, "embedding"), "something else than numbers"),
        (put("AAAA", "data", 0, "embedding"), "something else than numbers"),
        (put({}, "data"), "no list of vectors"),
        (lambda body: response(b"{oh no"), "not JSON"),
        (lambda body: response(b"\xff\xfe{}"), "not JSON"),
        (lambda body: response(b"[" * 100_000), "not JSON"),
        (lambda body: response(b"[]"), "no list of vectors"),
        (lambda body: response(b"<html>captive portal</html>"), "not JSON"),
    ],
)
def test_an_answer_of_another_form_is_refused_and_paid(api: Served, fault: Any, says: str) -> None:
    api.faults.append(fault)
    with asking(api.url) as it, pytest.raises(ApiError, match=says) as refused:
        it.embedder.embed_passages([WORDS, "another"])
    assert not isinstance(refused.value, ApiUnavailable) and "cellar" not in str(refused.value)
    assert len(api.asked) == 1, "what is malformed is not asked for again"
    assert it.account.tokens > 0, "the API may have counted it"


def test_without_usage_the_estimate_counts(api: Served) -> None:
    api.faults.append(changed(lambda answer: answer.pop("usage")))
    with asking(api.url) as it:
        it.embedder.embed_passages([WORDS])
        assert it.account.tokens == it.embedder.count_tokens([WORDS])[0]


@pytest.mark.parametrize(
    ("fault", "says", "hint"),
    [
        (refusal("401 Unauthorized", code="AUTH_INVALID_API_KEY"), "does not accept the key", "JINA_API_KEY"),
        (refusal("403 Forbidden", code="AUTHZ_MODEL"), "does not accept the key", "JINA_API_KEY"),
        (refusal("403 Forbidden", code="AUTHZ_INSUFFICIENT_BALANCE"), "balance", "Top up"),
        (refusal("402 Payment Required"), "balance", "Top up"),
        (refusal("404 Not Found"), "HTTP 404", "jina.url"),
        (refusal("422 Unprocessable", code="INPUT_INVALID"), "HTTP 422, INPUT_INVALID", "newer version"),
        (refusal("302 Found", head="Location: http://192.0.2.1/\r\n"), "redirects", "jina.url"),
    ],
)
def test_a_refusal_says_what_to_do_and_is_not_repeated(api: Served, fault: Any, says: str, hint: str) -> None:
    api.always = fault
    with asking(api.url) as it, pytest.raises(ApiError, match=says) as refused:
        it.embedder.embed_passages([WORDS])
    assert hint in refused.value.hint and not isinstance(refused.value, ApiUnavailable)
    assert KEY not in str(refused.value) + refused.value.hint
    assert len(api.asked) == 1 and not it.clock.waits and it.account.tokens == 0


# --- attempts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [limited(), refusal("500 Internal"), refusal("503 Unavailable"), refusal("529 Busy"), refusal("408 Timeout"), cut],
)
def test_what_may_pass_is_tried_again_with_growing_pauses(api: Served, fault: Any) -> None:
    api.faults.extend([fault] * 3)
    with asking(api.url) as it:
        it.embedder.embed_passages([WORDS])
    assert len(api.asked) == 4
    assert it.clock.waits == [0.5, 1.0, 2.0], "a random share, here a half, of 1, 2 and 4 s"
    assert it.observer.seen == ["failed", "retried"] * 3 + ["answered"]


def test_attempts_end(api: Served) -> None:
    api.always = refusal("503 Unavailable")
    with asking(api.url) as it, pytest.raises(ApiUnavailable, match=r"overloaded or down \(HTTP 503\)"):
        it.embedder.embed_passages([WORDS])
    assert len(api.asked) == 6 and it.clock.waits == [0.5, 1.0, 2.0, 4.0, 8.0]


def test_nobody_listens() -> None:
    with nobody() as url, asking(url) as it:
        with pytest.raises(ApiUnavailable, match="can't be reached"):
            it.embedder.embed_passages([WORDS])
        assert it.clock.waits == [0.5, 1.0] and it.account.tokens == 0


@pytest.mark.parametrize("seconds", [7, "7", " 7 "])
def test_the_api_says_when_to_come_back(api: Served, seconds: object) -> None:
    api.faults.append(limited(seconds))
    with asking(api.url) as it:
        it.embedder.embed_passages([WORDS])
    assert it.clock.waits == [7.5]


def test_the_api_says_to_come_back_much_later(api: Served) -> None:
    api.always = limited(3_600)
    with asking(api.url) as it:
        with pytest.raises(ApiUnavailable, match="limits the requests"):
            it.embedder.embed_passages([WORDS])
        assert not it.clock.waits
        with pytest.raises(ApiUnavailable, match="limits the requests"):
            it.embedder.embed_query(WORDS)
    assert len(api.asked) == 1


def test_no_answer_in_time_is_tried_again_and_stays_counted(api: Served) -> None:
    api.faults.append(silence)
    with asking(api.url, timeout=0.2) as it:
        it.embedder.embed_passages([WORDS])
        estimate = it.embedder.count_tokens([WORDS])[0]
        assert it.account.tokens == estimate + api.tokens // 2, "of the first nobody knows"
    assert len(api.asked) == 2


# --- texts that the API refuses -------------------------------------------------------------------------------


def test_a_text_that_is_too_long_for_the_api_is_split_never_cut(api: Served) -> None:
    api.max_tokens = 40
    long = " ".join(f"w{number}" for number in range(100))
    with asking(api.url) as it:
        found = it.embedder.embed_passages(["before", long, "after"])
    parts = [text for body in api.asked for text in body["input"] if len(text.split()) <= 38 and text.startswith("w")]
    assert sorted(" ".join(parts).split()) == sorted(long.split())
    np.testing.assert_allclose(found[0], vector("before", "retrieval.passage", 32), atol=1e-6)
    np.testing.assert_allclose(found[2], vector("after", "retrieval.passage", 32), atol=1e-6)
    assert np.linalg.norm(found[1]) == pytest.approx(1, abs=1e-6)


def test_a_request_that_is_too_large_is_sent_in_halves(api: Served) -> None:
    def small(body: dict[str, Any]) -> bytes:
        from tests.jina_server import answer_to

        return answer_to(body) if len(body["input"]) <= 2 else response({"detail": "too large"}, "413 Too Large")

    api.always = small
    texts = [f"text {number}" for number in range(7)]
    with asking(api.url) as it:
        found = it.embedder.embed_passages(texts)
    for text, row in zip(texts, found, strict=True):
        np.testing.assert_allclose(row, vector(text, "retrieval.passage", 32), atol=1e-6)


def test_a_request_that_the_api_never_takes_is_not_sent_over_and_over(api: Served) -> None:
    api.always = refusal("422 Unprocessable", detail="unknown field")
    with asking(api.url) as it, pytest.raises(ApiError, match="HTTP 422"):
        it.embedder.embed_passages([f"text {number}" for number in range(64)])
    assert len(api.asked) == 7, "halved down to one text"

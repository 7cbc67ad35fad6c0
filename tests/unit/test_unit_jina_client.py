"""The Jina API over real sockets: what is sent, and what becomes of every answer that it may give."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

from appliance_models.errors import ApiError, ApiUnavailable, UnknownModel
from appliance_models.jina import MAX_REQUEST_TEXTS, MAX_REQUEST_TOKENS, JinaEmbedder, JinaOptions
from appliance_models.jina_limits import Timing
from appliance_models.jina_tokens import estimate_tokens
from tests.jina_server import KEY, Served, changed, cut, limited, refusal, response, serving, silence, vector
from tests.llm_server import nobody
from tests.waits import until

pytestmark = pytest.mark.usefixtures("socket_enabled")

WORDS = "the cellar key hangs behind the clock"


class Clock:
    """A time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.waits: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def timing(self) -> Timing:
        return Timing(lambda: self.now, self.sleep, lambda: 0.5)


class Account:
    """Counts in memory."""

    def __init__(self, cap: int = 10**9) -> None:
        self.cap, self.tokens, self.settled = cap, 0, 0

    def reserve(self, tokens: int) -> None:
        if self.tokens + tokens > self.cap:
            raise ApiError("The cap is reached.")
        self.tokens += tokens

    def settle(self, reserved: int, counted: int | None) -> None:
        self.settled += 1
        if counted is not None:
            self.tokens += counted - reserved


class Observer:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def answered(self, seconds: float, tokens: int) -> None:
        self.seen.append("answered")

    def failed(self) -> None:
        self.seen.append("failed")

    def retried(self) -> None:
        self.seen.append("retried")


class Asked:
    """An embedder with what it needs, over a clock of its own."""

    def __init__(self, url: str, cap: int = 10**9, **options: Any) -> None:
        self.clock, self.account, self.observer = Clock(), Account(cap), Observer()
        given = {"dimension": 32, "query_timeout": 5.0, **options}
        self.embedder = JinaEmbedder(
            JinaOptions("jina-embeddings-v3", url, **given),
            self.account,
            self.observer,
            self.clock.timing(),
            lambda: KEY,
        )


@contextmanager
def asking(url: str, **options: Any) -> Iterator[Asked]:
    asked = Asked(url, **options)
    try:
        yield asked
    finally:
        asked.embedder.close()


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
        ("jina-embeddings-v3", {"dimension": 8}, "32 to 1024"),
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


# --- limits ---------------------------------------------------------------------------------------------------


def test_requests_of_a_minute_are_limited_and_a_query_does_not_wait(api: Served) -> None:
    with asking(api.url, requests_a_minute=10, tokens_a_minute=0) as it:
        for _ in range(9):
            it.embedder.embed_passages([WORDS])
        assert not it.clock.waits
        it.embedder.embed_query("a question")
        assert not it.clock.waits
        it.embedder.embed_passages([WORDS])
        assert sum(it.clock.waits) == pytest.approx(60)


def test_tokens_of_a_minute_are_limited(api: Served) -> None:
    text = "word " * 400
    with asking(api.url, requests_a_minute=0, tokens_a_minute=1_000) as it:
        (tokens,) = it.embedder.count_tokens([text])
        assert 400 < tokens < 450
        it.embedder.embed_passages([text])
        it.embedder.embed_passages([text])
        assert not it.clock.waits
        it.embedder.embed_passages([text])
        assert sum(it.clock.waits) == pytest.approx(60)
        it.embedder.embed_passages(["word " * 4_000])
        assert sum(it.clock.waits) == pytest.approx(120), "larger than the limit: alone in its minute"


def test_the_cap_ends_it_before_anything_is_sent(api: Served) -> None:
    with asking(api.url, cap=20) as it:
        it.embedder.embed_passages(["few words"])
        with pytest.raises(ApiError, match="cap"):
            it.embedder.embed_passages([WORDS * 10])
        with pytest.raises(ApiError, match="cap"):
            it.embedder.embed_query(WORDS * 10)
    assert api.texts == ["few words"]


# --- queries --------------------------------------------------------------------------------------------------


def test_a_query_is_tried_once_and_then_not_for_a_while(api: Served) -> None:
    api.always = refusal("503 Unavailable")
    with asking(api.url) as it:
        for pause in (15.0, 30.0, 60.0, 120.0, 240.0, 300.0, 300.0):
            asked = len(api.asked)
            for _ in range(3):
                with pytest.raises(ApiUnavailable, match="HTTP 503"):
                    it.embedder.embed_query(WORDS)
            assert len(api.asked) == asked + 1
            it.clock.now += pause
        api.always = None
        assert it.embedder.embed_query(WORDS).shape == (32,)
        api.faults.append(refusal("503 Unavailable"))
        with pytest.raises(ApiUnavailable):
            it.embedder.embed_query("another")
        it.clock.now += 15.0
        it.embedder.embed_query("another")
    assert not it.clock.waits


def test_passages_that_are_answered_let_queries_be_asked_again(api: Served) -> None:
    api.faults.append(refusal("503 Unavailable"))
    with asking(api.url) as it:
        with pytest.raises(ApiUnavailable):
            it.embedder.embed_query(WORDS)
        it.embedder.embed_passages([WORDS])
        it.embedder.embed_query(WORDS)


def test_a_query_is_sent_again_where_the_connection_broke(api: Served) -> None:
    api.faults.append(cut)
    with asking(api.url) as it:
        it.embedder.embed_query(WORDS)
        api.faults.extend([cut, cut])
        with pytest.raises(ApiUnavailable, match="broke"):
            it.embedder.embed_query("another")
    assert len(api.asked) == 4 and not it.clock.waits


def test_passages_are_left_alone_for_a_while_after_all_attempts_failed(api: Served) -> None:
    api.always = refusal("503 Unavailable")
    with asking(api.url) as it:
        with pytest.raises(ApiUnavailable, match="HTTP 503"):
            it.embedder.embed_passages([WORDS])
        asked = len(api.asked)
        for _ in range(3):
            with pytest.raises(ApiUnavailable, match="HTTP 503"):
                it.embedder.embed_passages([WORDS])
        assert len(api.asked) == asked
        api.always = None
        it.embedder.retry()
        it.embedder.embed_passages([WORDS])
        api.always = refusal("503 Unavailable")
        with pytest.raises(ApiUnavailable, match="HTTP 503"):
            it.embedder.embed_passages([WORDS])
        it.clock.now += 30
        api.always = None
        it.embedder.embed_passages([WORDS])


def test_a_query_waits_a_short_time_only(api: Served) -> None:
    api.always = silence
    with asking(api.url, query_timeout=0.15) as it:
        began = time.perf_counter()
        with pytest.raises(ApiUnavailable, match=r"did not answer within 0\.15 s"):
            it.embedder.embed_query(WORDS)
        with pytest.raises(ApiUnavailable, match=r"did not answer within 0\.15 s"):
            it.embedder.embed_query("another")
        assert time.perf_counter() - began < 2.0
    assert len(api.asked) == 1


def test_a_look_up_of_a_name_that_hangs_delays_neither_a_query_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = threading.Event()

    def hang(*_: Any) -> Any:
        hanging.wait(20)
        raise OSError("no name server")

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    began = time.perf_counter()
    with asking("https://api.jina.invalid/v1", query_timeout=0.1) as it, pytest.raises(ApiUnavailable, match="within"):
        it.embedder.embed_query(WORDS)
    assert time.perf_counter() - began < 5.0
    hanging.set()


# --- the end --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["request", "pause"])
def test_cancelling_ends_requests_and_pauses_at_once(api: Served, when: str) -> None:
    api.always = silence if when == "request" else limited(60)
    options = JinaOptions("jina-embeddings-v3", api.url, 32)
    embedder = JinaEmbedder(options, account := Account(), Observer(), find_key=lambda: KEY)
    ended: list[Exception] = []

    def embed() -> None:
        try:
            embedder.embed_passages([WORDS])
        except ApiUnavailable as error:
            ended.append(error)

    thread = threading.Thread(target=embed)
    thread.start()
    until(lambda: api.asked)
    embedder.cancel()
    thread.join(5)
    assert [str(error) for error in ended] == ["The memory is being closed."]
    with pytest.raises(ApiUnavailable, match="closed"):
        embedder.embed_query(WORDS)
    embedder.close()
    embedder.close()
    assert account.settled == 1


def test_the_key_is_in_no_log_and_no_error(
    api: Served, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("JINA_API_KEY", KEY)
    for fault in (None, refusal("401 Unauthorized"), refusal("422 Unprocessable"), refusal("500 Internal"), cut):
        api.always = fault
        embedder = JinaEmbedder(JinaOptions("jina-embeddings-v3", api.url, 32), Account(), Observer(), Clock().timing())
        with nullcontext() if fault is None else pytest.raises(ApiError) as caught:
            embedder.embed_passages([WORDS])
        if caught is not None:
            assert KEY not in f"{caught.value!r} {caught.value.hint} {caught.value.__cause__!r}"
        assert KEY not in repr(embedder) + repr(vars(embedder))
        embedder.close()
    assert caplog.records, "the libraries log at this level"
    assert KEY not in caplog.text and "cellar" not in caplog.text


def test_several_threads_at_once(api: Served) -> None:
    found: dict[int, Any] = {}
    with asking(api.url, concurrency=2, requests_a_minute=0, tokens_a_minute=0) as it:

        def embed(number: int) -> None:
            found[number] = it.embedder.embed_passages([f"text {number} {each}" for each in range(70)])

        threads = [threading.Thread(target=embed, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for number in range(6):
        np.testing.assert_allclose(found[number][69], vector(f"text {number} 69", "retrieval.passage", 32), atol=1e-6)

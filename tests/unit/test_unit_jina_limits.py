"""The Jina API over real sockets: its limits, queries that have little time, and the end of requests."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from appliance_models.errors import ApiError, ApiUnavailable
from appliance_models.jina import JinaEmbedder, JinaOptions
from tests.jina_clients import WORDS, Account, Clock, Observer, asking
from tests.jina_server import KEY, Served, cut, limited, refusal, serving, silence, vector
from tests.waits import until

pytestmark = pytest.mark.usefixtures("socket_enabled")


@pytest.fixture
def api() -> Iterator[Served]:
    with serving() as served:
        yield served


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

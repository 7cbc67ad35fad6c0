"""A whole memory whose vectors come from the Jina API: in, out, and with the network away."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import EmbeddingApiError
from appliance.store.token_account import read_usage
from appliance_models import DEFAULT_MODEL
from tests.homes import holding
from tests.jina_server import KEY, Served, answer_to, limited, put_in, refusal, serving, silence
from tests.waits import until

pytestmark = pytest.mark.usefixtures("socket_enabled")

MODEL = "jina:jina-embeddings-v3/64"
DOWN = refusal("503 Service Unavailable")


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """The API, which the settings and the environment of every memory of a test lead to."""
    with serving() as served:
        monkeypatch.setenv("APPLIANCE_JINA_URL", served.url)
        monkeypatch.setenv("APPLIANCE_MODEL_NAME", MODEL)
        monkeypatch.setenv("JINA_API_KEY", KEY)
        # Pauses between attempts are of no time.
        monkeypatch.setattr("appliance_models.jina_limits.FIRST_PAUSE_SECONDS", 0.0)
        yield served


def chat(folder: Path, count: int = 6, name: str = "chat") -> Path:
    path = folder / f"{name}.jsonl"
    lines = [
        {"session_id": name, "message_id": f"{name}{number}", "role": "user", "author": "Ana",
         "content": f"the otter number {number} sleeps beside the river of {name}"}
        for number in range(count)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def opened(home: Path, *, worker: bool = False) -> Appliance:
    return Appliance.open(home, worker=worker)


def test_a_memory_is_filled_and_searched_through_the_api(home: Path, tmp_path: Path, api: Served) -> None:
    with opened(home) as memory:
        report = memory.ingest(chat(tmp_path))
        assert (report.chunks, report.embedded, report.pending, report.pending_reason) == (6, 6, 0, "")
        hits = memory.search("otter number 3")
        assert not hits.notes and "number 3" in hits[0].text
        assert hits[0].why["legs"]["dense"]["score"] > 0.3
        assert memory.context("otter").text
        status = memory.status()
        assert status["model"] == {"name": MODEL, "dimension": 64, "generation": 1}
        assert status["health"] == "ok" and status["network"] == [] and status["api"]["tokens"] == api.tokens
        assert not memory.verify(deep=True).problems
        counters = memory.metrics().counters
        assert counters["api_requests"] == len(api.asked) == memory.metrics().api.count
        assert counters["api_tokens"] == api.tokens and not counters["api_failures"]
    assert all(body["dimensions"] == 64 and body["truncate"] is False for body in api.asked)
    assert read_usage(home / "jina.json").tokens == api.tokens


def test_a_text_is_sent_once_in_its_life(home: Path, tmp_path: Path, api: Served) -> None:
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        memory.ingest(chat(tmp_path))
        memory.reindex()
        memory.search("otter")
        memory.search("otter")
    assert len(api.texts) == len(set(api.texts)) == 7


def test_secrets_do_not_leave_the_machine_unless_they_are_kept(home: Path, api: Served) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with opened(home) as memory:
        session = memory.sessions.create(title="keys")
        session.add("user", f"my token is {secret} for the build")
        memory.embed_pending()
        memory.search(f"is {secret} still valid")
    assert api.texts and not any(secret[:20] in text for text in api.texts)
    assert any("my token is" in text for text in api.texts)


# --- the network is away --------------------------------------------------------------------------------------


def test_without_a_network_everything_is_stored_and_found_by_words(home: Path, tmp_path: Path, api: Served) -> None:
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        api.always = DOWN
        report = memory.ingest(chat(tmp_path, name="lake"))
        assert report.complete and (report.total("new"), report.embedded, report.pending) == (6, 0, 6)
        assert "HTTP 503" in report.pending_reason
        hits = memory.search("otter of lake")
        assert any("lake" in hit.text for hit in hits)
        assert [note for note in hits.notes if "Jina API" in note] == [
            "searched by words only: The Jina API is overloaded or down (HTTP 503)."
        ]
        assert memory.status()["health"].startswith("6 chunks wait for their vectors: The Jina API is overloaded")
        with pytest.raises(EmbeddingApiError):
            memory.embed_pending()
    with opened(home) as memory:
        assert "HTTP 503" in memory.status()["health"], "another process knows why"
        api.always = None
        assert memory.embed_pending() == 6
        assert memory.status()["health"] == "ok"
        assert not memory.search("otter of lake").notes


def test_a_search_does_not_wait_for_an_api_that_does_not_answer(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_JINA_QUERY_TIMEOUT", "0.2")
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        memory.search("warm")
        api.always = silence
        session = memory.sessions.create(title="new")
        session.add("user", "the heron waits too")
        asked = len(api.asked)
        began = time.perf_counter()
        for words in ("heron", "otter", "river", "sleeps"):
            assert memory.search(words).notes
        assert time.perf_counter() - began < 5.0
        assert len(api.asked) == asked + 1, "once, and then not for a while"
        assert memory.search("heron")[0].text == "the heron waits too"


def test_the_background_goes_on_when_the_network_is_back(
    home: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.runtime.workers.RETRY_SECONDS", 0.05)
    monkeypatch.setattr("appliance_models.jina_client.PASSAGES_OPEN_SECONDS", 0.0)
    api.always = DOWN
    with opened(home, worker=True) as memory:
        memory.sessions.create(title="new").add("user", "the heron waits")
        until(lambda: "HTTP 503" in memory.status()["health"])
        api.always = None
        until(lambda: not memory.status()["counts"]["pending"])
        until(lambda: memory.status()["health"] == "ok")
        assert not memory.search("heron").notes


@pytest.mark.parametrize("fault", [silence, limited(100)], ids=["request", "pause"])
def test_closing_does_not_wait_for_requests(home: Path, api: Served, fault: Any) -> None:
    api.always = fault
    memory = opened(home, worker=True)
    memory.sessions.create(title="new").add("user", "the heron waits")
    until(lambda: api.asked)
    began = time.perf_counter()
    memory.close()
    assert time.perf_counter() - began < 5.0
    assert not read_usage(home / "jina.json").trouble, "closing is no trouble"


def test_without_a_key_words_go_on(home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JINA_API_KEY")
    with opened(home) as memory:
        report = memory.ingest(chat(tmp_path))
        assert report.pending == 6 and report.pending_reason == "There is no key for the Jina API."
        assert memory.search("otter").notes[0] == "searched by words only: There is no key for the Jina API."
        with pytest.raises(EmbeddingApiError, match="no key") as refused:
            memory.embed_pending()
        assert "JINA_API_KEY" in str(refused.value.hint)
    assert not api.asked


@pytest.mark.slow
def test_forgetting_works_with_the_network_away(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.ingest.indexer.API_CALLS_PER_BATCH", 1)
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 30, "lake"))
        api.always = DOWN
        memory.ingest(chat(tmp_path, 90, "pond"))  # more than a batch, and newer: they are asked for first
        receipt = memory.erasure.forget(memory.erasure.preview("lake29"))
        assert receipt.messages == 1 and not receipt.proof.traces
        assert not any("number 29 sleeps beside the river of lake" in hit.text for hit in memory.search("number 29"))
        counts = memory.status()["counts"]
        assert (counts["chunks"], counts["pending"]) == (119, 90), "what has a vector has its point again"
        asked = len(api.texts)
        api.always = None
        memory.embed_pending()
        assert sum("lake" in text for text in api.texts[asked:]) == 0, "no vector is paid for twice"
        assert not memory.verify().problems


# --- what the API must not do ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", ["dimension", pytest.param("nan", marks=pytest.mark.slow), pytest.param("count", marks=pytest.mark.slow)]
)
def test_a_wrong_answer_stores_nothing(home: Path, tmp_path: Path, api: Served, what: str) -> None:
    api.always = put_in(what)
    with opened(home) as memory:
        report = memory.ingest(chat(tmp_path))
        assert report.pending == 6 and "Nothing of it is stored" in report.pending_reason
        assert memory.status()["counts"]["embedded"] == 0
        api.always = None
        memory.embed_pending()
        assert not memory.verify().problems


def test_no_file_log_or_error_has_the_key(
    home: Path, tmp_path: Path, api: Served, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    said = []
    with opened(home) as memory:
        for fault in (None, refusal("401 Unauthorized"), refusal("402 Payment Required"), DOWN):
            api.always = fault
            report = memory.ingest(chat(tmp_path, 2, f"chat{len(said)}"))
            said += [report.pending_reason, *memory.search(f"otter {len(said)}").notes, str(memory.status())]
    assert "does not accept the key" in " ".join(said)
    assert KEY not in caplog.text + " ".join(said)
    assert not holding(home, KEY.encode(), KEY.encode("utf-16-le"))


# --- the cap --------------------------------------------------------------------------------------------------


def test_the_cap_ends_sending_and_raising_it_goes_on(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_JINA_TOKEN_CAP", "120")
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 3))
        report = memory.ingest(chat(tmp_path, 200, "lake"))
        assert report.pending == 200 and "The cap of 120 tokens" in report.pending_reason
        assert memory.status()["api"] == {
            "tokens": api.tokens, "token_cap": 120, "trouble": report.pending_reason,
        }  # fmt: skip
        assert any("lake" in hit.text for hit in memory.search("otter of lake"))
    monkeypatch.setenv("APPLIANCE_JINA_TOKEN_CAP", "1000000")
    with opened(home) as memory:
        assert memory.embed_pending() == 200
        assert memory.status()["health"] == "ok"


def test_a_rebuild_beyond_the_cap_is_refused_before_anything_is_sent(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    monkeypatch.setenv("APPLIANCE_JINA_TOKEN_CAP", "500")
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 40))
        forecast = memory.forecast_reindex(MODEL)
        assert forecast.exceeds_cap and forecast.texts == 40 and forecast.tokens_sent == 0
        with pytest.raises(EmbeddingApiError, match="cap of 500"):
            memory.reindex(model=MODEL)
        assert not api.asked
        assert memory.status()["model"]["name"] == DEFAULT_MODEL
        assert not memory.forecast_reindex().address, "the model on this machine sends nothing"


# --- moving ---------------------------------------------------------------------------------------------------


def test_a_memory_moves_to_the_api_and_back(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    monkeypatch.setenv("APPLIANCE_JINA_PRICE_PER_MILLION", "20")
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        assert not api.asked and memory.status()["api"] is None
        forecast = memory.forecast_reindex(MODEL)
        assert forecast.texts == 6 and forecast.address == api.url
        assert forecast.price == pytest.approx(forecast.tokens * 20 / 1e6)
        assert memory.reindex(model=MODEL) == 6
        assert api.tokens <= forecast.tokens <= 3 * api.tokens
        assert not memory.search("otter number 2").notes
        assert memory.status()["model"]["name"] == MODEL
        memory.reindex(model=DEFAULT_MODEL)
        asked = len(api.asked)
        memory.search("otter number 4")
        assert len(api.asked) == asked and memory.status()["api"] is None


def test_a_rollback_to_the_api_is_forecast_and_kept_within_the_cap(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
        memory.reindex(model=DEFAULT_MODEL)
        assert memory.forecast_reindex(rollback=True).texts == 0, "it has everything"
        memory.ingest(chat(tmp_path, 3, "lake"))
        asked = len(api.texts)
        forecast = memory.forecast_reindex(rollback=True)
        assert (forecast.texts, forecast.address, forecast.all_messages) == (3, api.url, False)
        assert memory.forecast_reindex(generation=1) == forecast, "as to compare it"
        assert memory.forecast_reindex(MODEL).texts == 9
    monkeypatch.setenv("APPLIANCE_JINA_TOKEN_CAP", str(read_usage(home / "jina.json").tokens + 5))
    with opened(home) as memory:
        with pytest.raises(EmbeddingApiError, match="leaves 5, and"):
            memory.reindex(rollback=True)
        assert len(api.texts) == asked and memory.status()["model"]["name"] == DEFAULT_MODEL
    monkeypatch.delenv("APPLIANCE_JINA_TOKEN_CAP")
    with opened(home) as memory:
        assert memory.reindex(rollback=True) == 3
        assert len(api.texts) == asked + 3 and memory.status()["model"]["name"] == MODEL


@pytest.mark.parametrize("refused_by", ["key", "no key", "address", "later"])
def test_a_move_that_the_api_refuses_at_once_leaves_nothing_behind(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch, refused_by: str
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    if refused_by == "key":
        monkeypatch.setenv("JINA_API_KEY", "jina_wrong")
    elif refused_by == "no key":
        monkeypatch.delenv("JINA_API_KEY")
    elif refused_by == "address":
        monkeypatch.setenv("APPLIANCE_JINA_URL", "http://127.0.0.1:1/v1")
    else:
        api.faults += [answer_to, refusal("401 Unauthorized")]
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        with pytest.raises(EmbeddingApiError):
            memory.reindex(model=MODEL)
        assert [one["state"] for one in memory.status()["generations"]] == ["active"]
        assert memory.status()["health"] == "ok"
        assert len(api.texts) == {"key": 1, "later": 7}.get(refused_by, 0), "of the memory only what came later"
        assert not [text for text in api.texts[:1] if "otter" in text]


def test_a_move_that_the_api_interrupts_goes_on_and_its_forecast_says_what_is_left(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    monkeypatch.setattr("appliance.ingest.indexer.API_CALLS_PER_BATCH", 1)
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 100))
        api.faults += [answer_to, answer_to, refusal("401 Unauthorized")]
        with pytest.raises(EmbeddingApiError):
            memory.reindex(model=MODEL)
        assert "is not finished" in memory.status()["health"]
        assert memory.forecast_reindex(MODEL).texts == 36
        memory.reindex(model=MODEL)
        assert len(set(api.texts)) == 101 and not memory.verify().problems


def test_the_name_of_the_model_may_give_its_dimensions(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", "jina:jina-embeddings-v3/32")
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 2))
        assert (
            memory.status()["model"]["name"] == "jina:jina-embeddings-v3/32"
            and memory.status()["model"]["dimension"] == 32
        )
        assert not memory.search("otter number 1").notes
    assert {body["dimensions"] for body in api.asked} == {32}


@pytest.mark.slow
def test_a_failed_move_keeps_what_serves(home: Path, tmp_path: Path, api: Served, monkeypatch: Any) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
        api.always = DOWN
        with pytest.raises(EmbeddingApiError):
            memory.reindex(model=MODEL)
        assert memory.status()["model"]["name"] == DEFAULT_MODEL
        assert not memory.search("otter number 2").notes
        api.always = None
        assert memory.reindex(model=MODEL) == 6


@pytest.mark.slow
def test_vectors_made_under_another_policy_are_an_error_that_says_so(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(home) as memory:
        memory.ingest(chat(tmp_path))
    monkeypatch.setenv("APPLIANCE_SECRETS_POLICY", "keep")
    with opened(home) as memory:
        notes = memory.search("otter").notes
        assert any("is not the one that made the stored vectors" in note for note in notes)
        report = memory.ingest(chat(tmp_path, name="lake"))
        assert (report.total("new"), report.pending) == (6, 6), "stored, and found by words until they have vectors"
        assert [hit for hit in memory.search("lake") if "lake" in hit.text]
        health = memory.status()["health"]
        assert "found by words only" in health and "reindex --vectors" in health
        memory.reindex(vectors=True)
        assert memory.status()["model"] == {"name": MODEL, "dimension": 64, "generation": 2}
        assert not memory.search("otter").notes


@pytest.mark.slow
def test_paid_vectors_are_kept_when_a_rebuild_of_the_index_is_due(home: Path, tmp_path: Path, api: Served) -> None:
    with opened(home) as memory:
        memory.ingest(chat(tmp_path, 20))
    texts = len(api.texts)
    api.always = DOWN
    with opened(home) as memory:
        memory.reindex()
        assert memory.status()["counts"]["pending"] == 0 and len(api.texts) == texts

"""``/metrics`` and what ``status`` says of the process: numbers that are true, names that stay, and no words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from appliance import Appliance
from appliance.errors import UsageError
from appliance.runtime.metrics import PERCENTILE_SAMPLES, HistogramRecorder, Metrics
from appliance.types import Event
from tests.http_calls import application, calling, given, owner

SECRET = "the harbourmaster keeps a heron in the boathouse"


@contextmanager
def served(memory: Appliance, headers: dict[str, str] | None = None) -> Iterator[TestClient]:
    """``headers`` are the owner's unless given."""
    with calling(application(memory), owner(memory) if headers is None else headers) as client:
        yield client


def read(client: TestClient) -> dict[tuple[str, ...], float]:
    """Every sample's value by its name and its labels' values."""
    answer = client.get("/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def export(folder: Path) -> Path:
    path = folder / "chat.jsonl"
    lines = [{"session_id": "s", "message_id": str(n), "role": "user", "content": f"{SECRET} {n}"} for n in range(5)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_what_was_done_is_counted(memory: Appliance, tmp_path: Path) -> None:
    file = export(tmp_path)
    memory.ingest(file)
    memory.ingest(file)
    for _ in range(3):
        memory.search("heron")
    context = memory.context("who keeps a heron?")
    session = memory.sessions.create()
    session.add("user", "soon gone")
    session.delete()
    memory.erasure.forget(memory.erasure.preview("m1"))
    with served(memory) as client:
        found = read(client)
    assert found["appliance_messages_read_total", "new"] == 6
    assert found["appliance_messages_read_total", "duplicate"] == 5
    assert found["appliance_texts_embedded_total",] == 5
    assert found["appliance_search_seconds_count", "whole"] >= 4
    assert found["appliance_search_seconds_count", "candidates"] >= 4
    assert found["appliance_query_cache_total", "hit"] >= 2 and found["appliance_query_cache_total", "miss"] >= 2
    assert found["appliance_context_tokens_sum",] == context.tokens
    assert found["appliance_messages_removed_total", "deleted"] == 1
    assert found["appliance_messages_removed_total", "forgotten"] == 1
    assert found["appliance_sessions_removed_total", "deleted"] == 1
    assert found["appliance_stored", "messages"] == 4
    assert found["appliance_queue", "chunks"] == 0
    assert found["appliance_disk_bytes", "database"] > 0
    assert found["appliance_disk_bytes_per_message",] > 0


def test_what_waits_is_told_and_a_failure_is_counted(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(export(tmp_path), wait=False)
    with pytest.raises(UsageError, match="no profile"):
        memory.context("heron", profile="nothing")
    with served(memory) as client:
        found = read(client)
    assert found["appliance_queue", "chunks"] == 5
    assert found["appliance_queue", "sessions"] == 1 and found["appliance_queue", "facts"] == 5
    assert 0 < found["appliance_summaries_lag_seconds",] < 3_600
    assert found["appliance_failures_total", "context"] == 1


def test_no_word_of_anybody_is_told(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(export(tmp_path))
    memory.search(SECRET)
    with served(memory) as client:
        text = client.get("/metrics").text
    assert not any(word in text for word in ("harbourmaster", "heron", "boathouse"))


def test_only_the_owner_reads_it(memory: Appliance) -> None:
    for headers, status in (
        ({}, 401),
        (given(memory, "bot", user_id="ana"), 403),
        (given(memory, "reader", user_id="ana", read_only=True), 403),
    ):
        with served(memory, headers) as client:
            answer = client.get("/metrics")
        assert answer.status_code == status and "appliance_" not in answer.text


def test_scraping_again_does_not_count_again(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    status = memory.status
    monkeypatch.setattr(memory, "status", lambda: asked.append(1) or status())
    with served(memory) as client:
        for _ in range(5):
            read(client)
    assert len(asked) == 1


def test_a_family_is_described_once_and_buckets_add_up(memory: Appliance) -> None:
    memory.sessions.create().add("user", SECRET)
    memory.search("heron")
    with served(memory) as client:
        text = client.get("/metrics").text
    helped = [line.split()[2] for line in text.splitlines() if line.startswith("# HELP")]
    assert len(helped) == len(set(helped)) and all(name.startswith("appliance_") for name in helped)
    whole = [
        float(line.rpartition(" ")[2])
        for line in text.splitlines()
        if line.startswith("appliance_search_seconds_bucket") and 'stage="whole"' in line
    ]
    assert whole == sorted(whole) and whole[-1] == 1


def test_percentiles_are_of_the_latest_values() -> None:
    times = HistogramRecorder((1.0, 2.0))
    assert times.histogram().p50 is None
    for _ in range(PERCENTILE_SAMPLES):
        times.add(5.0)
    for value in range(PERCENTILE_SAMPLES):
        times.add(value / PERCENTILE_SAMPLES)
    spread = times.histogram()
    assert spread.count == 2 * PERCENTILE_SAMPLES and list(spread.buckets) == [
        PERCENTILE_SAMPLES,
        PERCENTILE_SAMPLES,
        2 * PERCENTILE_SAMPLES,
    ]
    assert spread.p50 is not None and spread.p50 == pytest.approx(0.5, abs=0.01)
    assert spread.p99 is not None and spread.p99 == pytest.approx(0.99, abs=0.01)


def test_of_a_working_memorys_folding_no_summary_is_counted() -> None:
    measures = Metrics()
    measures.count_event(Event("summarised", "s1", {"what": "working", "compacted": 3, "all": 9}))
    measures.count_event(Event("summarised", "s1", {"exchange": 2, "session": 1, "made_by": "extractive"}))
    assert measures.counter_value("summaries_made") == 3


def test_status_says_the_same_to_a_person(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(export(tmp_path))
    memory.search("heron")
    memory.context("heron")
    found: dict[str, Any] = memory.status()
    assert set(found["latency"]) == {"search", "context", "embedding"}
    assert set(found["latency"]["search"]) == {"calls", "p50", "p95", "p99"}
    assert found["latency"]["search"]["calls"] == 2 and found["latency"]["search"]["p95"] > 0
    assert found["queues"]["chunks"] == 0 and found["queues"]["sessions"] == 1
    assert found["memory"] is None or found["memory"]["anonymous"] > 1_000_000

"""A whole memory whose chunks the Jina API reads together: what is sent, what that costs, and what an interruption
sends again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from appliance import Appliance
from appliance.store.token_account import read_usage
from appliance_models import DEFAULT_MODEL
from tests.jina_server import KEY, Served, answer_to, refusal, serving, vectors

pytestmark = pytest.mark.usefixtures("socket_enabled")

PLAIN, LATE = "jina:jina-embeddings-v3/64", "jina:jina-embeddings-v3+late/64"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serving() as served:
        monkeypatch.setenv("APPLIANCE_JINA_URL", served.url)
        monkeypatch.setenv("APPLIANCE_JINA_TOKENS_A_MINUTE", "0")
        monkeypatch.setenv("APPLIANCE_JINA_REQUESTS_A_MINUTE", "0")
        monkeypatch.setenv("APPLIANCE_MODEL_NAME", PLAIN)
        monkeypatch.setenv("APPLIANCE_MODEL_LATE_CHUNKING", "true")
        monkeypatch.setenv("JINA_API_KEY", KEY)
        monkeypatch.setattr("appliance_models.jina_limits.FIRST_PAUSE_SECONDS", 0.0)
        yield served


def notes(folder: Path, long: int, short: int = 5, words: int = 1_000) -> Path:
    path = folder / "notes.jsonl"
    texts = [" ".join(f"otter{number}x{word}" for word in range(words)) for number in range(long)]
    texts += [f"a short note number {number}" for number in range(short)]
    lines = [{"session_id": "n", "message_id": str(n), "role": "user", "content": text} for n, text in enumerate(texts)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_long_messages_go_one_a_request_and_short_ones_together(home: Path, tmp_path: Path, api: Served) -> None:
    with Appliance.open(home, worker=False) as memory:
        report = memory.ingest(notes(tmp_path, long=3))
        assert memory.status()["model"]["name"] == LATE and report.pending == 0
        late = [body for body in api.asked if body["late_chunking"]]
        assert len(late) == 3 and all(len({part.split("x")[0] for part in body["input"]}) == 1 for body in late)
        (plain,) = [body for body in api.asked if not body["late_chunking"]]
        assert len(plain["input"]) == 5
        assert report.chunks == sum(len(body["input"]) for body in api.asked)
        hits = memory.search("otter1x7 otter1x8", mode="dense")
        assert hits[0].external_id == "1" and api.asked[-1]["task"] == "retrieval.query"
        assert not api.asked[-1]["late_chunking"]
        assert not memory.verify(deep=True).problems
        assert np.isfinite(np.array(vectors(late[0]))).all()
    assert read_usage(home / "jina.json").tokens == api.tokens


def test_a_message_is_sent_once_and_wholly_again_after_an_edit(home: Path, api: Served) -> None:
    text = " ".join(f"otter{word}" for word in range(1_000))
    with Appliance.open(home, worker=False) as memory:
        session = memory.sessions.create(title="notes")
        session.add("user", text, external_id="x")
        memory.embed_pending()
        memory.reindex()
        memory.sessions.create(title="again").add("user", text)
        memory.embed_pending()
        assert len(api.asked) == 1
        session.add("user", text + " and a word", external_id="x")
        memory.embed_pending()
        assert len(api.asked) == 2 and len(api.asked[1]["input"]) >= len(api.asked[0]["input"])


@pytest.mark.slow
def test_the_forecast_counts_what_is_sent_with_windows(
    home: Path, tmp_path: Path, api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", DEFAULT_MODEL)
    monkeypatch.setenv("APPLIANCE_MODEL_LATE_CHUNKING", "false")
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(notes(tmp_path, long=1, words=3_000))
        plain, late = memory.forecast_reindex(PLAIN), memory.forecast_reindex(LATE)
        assert not api.asked and plain.texts == late.texts
        assert 1.05 < late.tokens / plain.tokens < 1.2, "what windows repeat"
        memory.reindex(model=LATE)
        assert api.tokens <= late.tokens
        assert memory.status()["model"]["name"] == LATE
        asked = len(api.asked)
        memory.reindex(model=PLAIN)
        assert memory.status()["model"]["name"] == PLAIN
        assert not any(body["late_chunking"] for body in api.asked[asked:])
        sent = api.tokens
        memory.reindex(rollback=True)
        assert (memory.status()["model"]["name"], api.tokens) == (LATE, sent), "the vectors were kept"


def test_after_an_interruption_what_has_its_vectors_is_not_sent_again(home: Path, tmp_path: Path, api: Served) -> None:
    with Appliance.open(home, worker=False) as memory:

        def down_after_two(body: dict[str, Any]) -> bytes | None:
            if len(api.asked) == 2:
                api.always = refusal("503 Service Unavailable")
            return answer_to(body)

        api.always = down_after_two
        memory.ingest(notes(tmp_path, long=4, short=0))
        assert memory.status()["counts"]["pending"] > 0
    taken = [body["input"] for body in api.asked[:2]]
    api.always = None
    before = len(api.asked)
    with Appliance.open(home, worker=False) as memory:
        memory.embed_pending()
        assert memory.status()["counts"]["pending"] == 0
    assert not [body for body in api.asked[before:] if body["input"] in taken]
    assert len(api.asked) - before == 2

"""A damaged model: what is said is stored and found by its words, and embedded once the model is whole."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import ModelUnavailable
from appliance_models import import_pack
from tests.http_calls import application, calling, owner
from tests.tiny_models import encoder_folder

LONG = " ".join(f"buoy {number}" for number in range(200))


@pytest.mark.slow
def test_a_damaged_model_stops_no_message(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_MODEL_NAME", "tiny")
    home.mkdir(mode=0o700)
    import_pack(encoder_folder(tmp_path / "tiny"), home / "models")
    with Appliance.open(home, worker=False) as memory:
        memory.sessions.create(external_id="s").add("user", "the ferry leaves at nine")
        memory.embed_pending()
    graph = home / "models" / "tiny" / "model.onnx"
    whole = graph.read_bytes()
    os.truncate(graph, 1_000)
    exported = tmp_path / "log.jsonl"
    exported.write_text(f'{{"session_id":"t","role":"user","content":"{LONG}"}}\n')
    says = r"The model tiny can't be used: .*model\.onnx is damaged: it has 1,000 bytes instead of .*models import DIR"
    with Appliance.open(home, worker=False) as memory:
        report = memory.ingest(exported)
        assert (report.total("new"), report.pending) == (1, 1)
        with calling(application(memory), owner(memory)) as client:
            said = client.post("/v1/messages", json={"text": "the lighthouse opens at seven"})
            assert said.status_code == 201 and client.get("/health/ready").json() == {"status": "words only"}
            health = client.get("/health").json()
            assert (health["status"], "2 wait for their vectors" in health["health"]) == ("not well", True)
            found = client.post("/v1/search", json={"query": "lighthouse"}).json()
        assert found["hits"][0]["message_id"] == said.json()["id"]
        for text in (report.pending_reason, health["health"], found["notes"][0]):
            assert re.search(says, text), text
        gone = memory.erasure.forget(memory.erasure.preview(said.json()["id"]))
        assert (gone.state, gone.proof.traces) == ("done", ())
        with pytest.raises(ModelUnavailable, match="can't be used"):
            memory.embed_pending()
    graph.write_bytes(whole)
    with Appliance.open(home, worker=False) as memory:
        memory.embed_pending()
        counts = memory.status()["counts"]
        assert counts["pending"] == 0 and counts["embedded"] > 2, "the long message is split for the model"
        assert memory.status()["health"] == "ok" and not memory.verify().problems

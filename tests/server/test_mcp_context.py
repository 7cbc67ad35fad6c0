"""What an assistant gets for a question that the memory can't answer, and how it limits what it gets."""

from __future__ import annotations

from typing import cast

import pytest

from appliance import Appliance
from appliance.retrieval import confidence
from appliance_models import DEFAULT_MODEL
from tests.server.mcp_runs import Caller, talk


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    trip = memory.sessions.create(title="Lisbon", external_id="trip")
    trip.add("user", "We leave for Lisbon on Thursday", author="Ana")
    trip.add("user", "The blue one near the river, reservation QX-4471", author="Ana")
    memory.embed_pending()
    return memory


def test_a_context_says_when_the_memory_knows_nothing(filled: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    shipped = confidence.CALIBRATIONS[DEFAULT_MODEL]
    monkeypatch.setitem(cast("dict[str, object]", confidence.CALIBRATIONS), "hash", shipped)

    async def work(caller: Caller) -> None:
        nothing = await caller.call("memory_context", query="zorblax quantum flux")
        assert nothing["found"] is False
        assert (await caller.said("memory_context", query="zorblax quantum flux")).startswith("found: false")
        nearest = await caller.call("memory_context", query="zorblax quantum flux", weak=True)
        assert nearest["found"] is False and len(nearest["ids"]) > len(nothing.get("ids", []))
        good = await caller.call("memory_context", query="reservation QX-4471", recall_limit=1)
        assert "found" not in good and "QX-4471" in good["text"]
        none = await caller.call("memory_context", query="reservation QX-4471", min_score=1)
        assert none["found"] is False and "QX-4471" not in none["text"]

    talk(filled, work)

"""What an assistant says that messages were worth, with the tool and by what it cites."""

from __future__ import annotations

import pytest

from appliance import Appliance
from tests.server.mcp_runs import Caller, talk


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    trip = memory.sessions.create(title="Lisbon", external_id="trip")
    trip.add("user", "We leave for Lisbon on Thursday", author="Ana")
    trip.add("user", "Did you book the hotel?", author="Ben")
    trip.add("user", "The blue one near the river, reservation QX-4471", author="Ana")
    return memory


def test_feedback_is_noted_for_all_messages_or_none(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        noted = await caller.call("memory_feedback", ids=["m1", "m3", "m1"], kind="wrong")
        assert [line["id"] for line in noted["messages"]] == ["m1", "m3"]
        assert filled.pins.importance("m3").feedback == {"wrong": 1}
        assert noted["messages"][1]["importance"] == pytest.approx(filled.pins.importance("m3").score, abs=0.001)
        assert "m99" in await caller.refused("memory_feedback", ids=["m2", "m99"], kind="used")
        assert filled.pins.importance("m2").feedback == {}

    talk(filled, work)


@pytest.mark.slow
def test_what_a_remembered_answer_cites_counts_as_used(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        await caller.call("memory_get", ids=["m3"])
        await caller.call("memory_add", text="That is in m3, not in m2.", role="assistant")

    talk(filled, work)
    assert [filled.pins.importance(id).feedback for id in ("m2", "m3")] == [{}, {"used": 1}]

"""Items of a LangGraph store with a time to live: they expire, a read begins it anew, and nothing of them is left."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from langgraph.store.base import PutOp

from appliance import Appliance
from appliance.integrations.langgraph import METADATA_KEY, ApplianceStore

pytestmark = pytest.mark.slow  # every process of a run would load the framework

ANA = ("users", "ana")


@pytest.fixture
def pass_minutes(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    passed = [0]
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + passed[0])

    def move(minutes: float) -> None:
        passed[0] += int(minutes * 60e9)

    return move


def keys(store: ApplianceStore, **search: object) -> list[str]:
    return sorted(item.key for item in store.search(("users",), **search))  # type: ignore[arg-type]


def test_an_item_expires_and_leaves_nothing(memory: Appliance, pass_minutes: Callable[[float], None]) -> None:
    store = ApplianceStore(memory)
    store.put(ANA, "pet", {"text": "the otter is called Lutz"})
    store.put(ANA, "mood", {"text": "Ana is tired of the otter"}, ttl=5)
    memory.embed_pending()
    assert keys(store, query="otter") == ["mood", "pet"]
    pass_minutes(4.9)
    assert keys(store, query="otter", refresh_ttl=False) == ["mood", "pet"]
    pass_minutes(0.2)
    assert store.get(ANA, "mood") is None
    assert keys(store, query="otter") == keys(store) == ["pet"]
    assert store.list_namespaces() == [ANA]
    assert not [hit for hit in memory.search("tired", namespace=METADATA_KEY) if "tired" in hit.text]
    memory.run_pending_jobs()
    assert memory.overview.counts()["messages"] == 1


def test_a_read_begins_it_anew_unless_it_is_told_not_to(
    memory: Appliance, pass_minutes: Callable[[float], None]
) -> None:
    store = ApplianceStore(memory)
    for key in ("got", "searched", "left"):
        store.put(ANA, key, {"text": key}, ttl=2)
    for _ in range(3):
        pass_minutes(0.9)
        assert store.get(ANA, "got") is not None
        assert [item.key for item in store.search(ANA, filter={"text": "searched"})] == ["searched"]
        store.get(ANA, "left", refresh_ttl=False)
    assert keys(store) == ["got", "searched"]


def test_the_settings_of_the_store_hold_where_an_item_says_nothing(
    memory: Appliance, pass_minutes: Callable[[float], None]
) -> None:
    store = ApplianceStore(memory, ttl={"default_ttl": 1, "refresh_on_read": False})
    store.put(ANA, "short", {"text": "a"})
    store.put(ANA, "long", {"text": "b"}, ttl=None)
    pass_minutes(0.5)
    assert keys(store) == ["long", "short"]
    pass_minutes(0.6)
    assert keys(store) == ["long"]


def test_a_put_changes_the_time_to_live_and_nothing_comes_twice(
    memory: Appliance, pass_minutes: Callable[[float], None]
) -> None:
    store = ApplianceStore(memory)
    store.put(ANA, "pet", {"text": "an otter"})
    first = store.get(ANA, "pet")
    for ttl in (3, 30, None, 3):
        store.put(ANA, "pet", {"text": f"an otter for {ttl}"}, ttl=ttl)
        (item,) = store.search(ANA)
        assert item.value == {"text": f"an otter for {ttl}"}
        assert first is not None and item.created_at == first.created_at
        if ttl is None:
            pass_minutes(100)
            assert store.get(ANA, "pet") is not None
    pass_minutes(3.1)
    assert store.get(ANA, "pet") is None
    store.put(ANA, "pet", {"text": "a new otter"}, ttl=3)
    assert store.search(ANA, query="otter")[0].value == {"text": "a new otter"}
    store.delete(ANA, "pet")
    assert store.search(ANA) == [] and store.list_namespaces() == []


def test_items_without_one_outlive_what_the_settings_say_of_sessions(
    memory: Appliance, pass_minutes: Callable[[float], None]
) -> None:
    ApplianceStore(memory).put(ANA, "pet", {"text": "an otter"})
    (info,) = memory.sessions.list(namespace=METADATA_KEY)
    assert info.ttl == 0 and info.expires_at is None


def test_a_search_ranks_only_the_items_below_its_prefix(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    page = "which animal eats at home and elsewhere"
    store.batch([PutOp(("docs", f"d{number}"), "page", {"text": f"{page} {number}"}) for number in range(120)])
    for number in range(12):
        store.put(("users", f"u{number}"), "pet", {"text": f"otter{number} likes fish"}, ttl=60)
    memory.embed_pending()
    found = store.search(("users",), query="which animal eats at home?", limit=20)
    assert len(found) == 12 and all(item.score is not None for item in found)

"""LangGraph's BaseStore over the memory; where LangGraph has a store of its own, that one says what is right."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import GetOp, InvalidNamespaceError, Item, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.langgraph import ApplianceStore
from tests.integrations.store_notes import NOTES

pytestmark = pytest.mark.slow  # every process of a run would load the framework

ITEMS: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("users", "ana"), "food", {"text": "Ana likes noodles", "rank": 1, "tags": ["a", "b"]}),
    (("users", "ana"), "pet", {"text": "Ana's otter is called Lutz", "rank": 2, "at": {"home": True}}),
    (("users", "ben"), "food", {"text": "Ben likes rice", "rank": 3}),
    (("users", "ben", "old"), "food", {"text": "Ben liked bread", "rank": 4.5}),
    (("docs",), "guide", {"text": "How to feed an otter", "rank": 5, "none": None}),
]


def filled(store: Any) -> Any:
    for namespace, key, value in ITEMS:
        store.put(namespace, key, value)
    return store


def named(items: list[Any]) -> list[tuple[tuple[str, ...], str, dict[str, Any]]]:
    return [(item.namespace, item.key, item.value) for item in items]


def test_items_come_back_as_they_were_put(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    for namespace, key, value in ITEMS:
        item = store.get(namespace, key)
        assert isinstance(item, Item)
        assert (item.namespace, item.key, item.value) == (namespace, key, value)
        assert item.created_at == item.updated_at and item.created_at.tzinfo is not None
    assert store.get(("users", "ana"), "none") is None
    assert store.get(("users",), "food") is None


def test_a_put_of_the_same_key_updates_it(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    before = store.get(("users", "ana"), "food")
    store.put(("users", "ana"), "food", {"text": "Ana likes soup"})
    after = store.get(("users", "ana"), "food")
    assert after.value == {"text": "Ana likes soup"}
    assert after.created_at == before.created_at and after.updated_at > before.updated_at
    assert len(store.search(("users", "ana"))) == 2
    memory.embed_pending()
    found = store.search(("users", "ana"), query="noodles")
    assert all("noodles" not in item.value["text"] for item in found)


def test_a_deleted_item_is_found_no_more_and_can_be_put_again(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    memory.embed_pending()
    store.delete(("users", "ana"), "pet")
    store.delete(("users", "ana"), "pet")
    store.delete(("never",), "there")
    assert len(memory.sessions.list(namespace="langgraph")) == len({path for path, _, _ in ITEMS})
    for _ in range(2):
        assert store.get(("users", "ana"), "pet") is None
        assert "pet" not in [item.key for item in store.search((), query="otter Lutz")]
        assert not [hit for hit in memory.search("Lutz", namespace="langgraph") if "Lutz" in hit.text]
        memory.embed_pending()
    store.put(("users", "ana"), "pet", {"text": "Ana's otter is called Luise"})
    assert store.get(("users", "ana"), "pet").value == {"text": "Ana's otter is called Luise"}
    assert store.search((), query="Luise")[0].key == "pet"


@pytest.mark.parametrize(
    "search",
    [
        {},
        {"limit": 2},
        {"limit": 2, "offset": 2},
        {"offset": 9},
        {"filter": {"rank": 2}},
        {"filter": {"rank": {"$gt": 1, "$lte": 4.5}}},
        {"filter": {"rank": {"$ne": 3}}},
        {"filter": {"rank": {"$eq": 3}}},
        {"filter": {"at": {"home": True}}},
        {"filter": {"tags": ["a", "b"]}},
        {"filter": {"none": None, "rank": {"$gte": 5}}},
        {"filter": {"rank": 2, "text": "no"}},
    ],
    ids=str,
)
@pytest.mark.parametrize("prefix", [(), ("users",), ("users", "ben"), ("nowhere",)], ids=str)
def test_search_without_a_question_is_that_of_langgraphs_own_store(
    memory: Appliance, prefix: tuple[str, ...], search: dict[str, Any]
) -> None:
    expected = filled(InMemoryStore()).search(prefix, **search)
    assert named(filled(ApplianceStore(memory)).search(prefix, **search)) == named(expected)


@pytest.mark.parametrize(
    "listing",
    [
        {},
        {"prefix": ("users",)},
        {"suffix": ("food",)},
        {"suffix": ("ben",)},
        {"prefix": ("users", "*", "old")},
        {"max_depth": 1},
        {"max_depth": 2, "prefix": ("users",)},
        {"limit": 2, "offset": 1},
    ],
    ids=str,
)
def test_namespaces_are_listed_as_langgraphs_own_store_does(memory: Appliance, listing: dict[str, Any]) -> None:
    store = filled(ApplianceStore(memory))
    assert store.list_namespaces(**listing) == filled(InMemoryStore()).list_namespaces(**listing)


def test_a_namespace_without_items_is_not_listed(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    store.delete(("docs",), "guide")
    assert ("docs",) not in store.list_namespaces()


def test_a_question_finds_by_meaning_within_the_namespace_and_says_how_well(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    memory.embed_pending()
    first, *rest = store.search(("users",), query="what is the otter called?")
    assert first.key == "pet" and first.score is not None
    assert len(rest) == 3  # what was not found comes behind, as in LangGraph's own store
    assert all(one.score is None or one.score <= first.score for one in rest)
    assert named(store.search(("users",), query="otter", filter={"rank": {"$gt": 2}}))[0][0][0] == "users"
    pages = [store.search((), query="otter", limit=2, offset=offset) for offset in (0, 2, 4)]
    assert sorted(item.key for page in pages for item in page) == sorted(key for _, key, _ in ITEMS)


def test_many_namespaces_are_searched_together(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    for number in range(12):
        store.put(("users", f"u{number}"), "pet", {"text": f"the otter of house {number} is called O{number}x"})
    assert store.search(("users",), query="O7x")[0].namespace == ("users", "u7")


def test_what_is_read_of_an_item_is_what_index_names(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    value = {"text": "the otter", "note": "a secret kite", "rows": [{"word": "lantern"}]}
    store.put(("a",), "part", value, index=["text", "rows[*].word"])
    store.put(("a",), "none", value, index=False)
    memory.embed_pending()
    assert [item.key for item in store.search(("a",), query="lantern") if item.score is not None] == ["part"]
    assert [item.key for item in store.search(("a",), query="kite") if item.score is not None] != ["none"]
    assert {item.key for item in store.search(("a",), query="lantern")} == {"part", "none"}
    assert store.get(("a",), "none").value == value


def test_items_are_apart_from_conversations_users_and_other_stores(memory: Appliance) -> None:
    store = filled(ApplianceStore(memory))
    session = memory.sessions.create()
    session.add("user", "my otter is called Otto")
    filled(ApplianceStore(memory, user_id="ben"))
    ApplianceStore(memory, namespace="other").put(("users", "ana"), "food", {"text": "Ana likes cake"})
    assert [hit.text for hit in memory.search("otter")] == ["my otter is called Otto"]
    assert "Lutz" not in memory.context("what is the otter called?").text
    assert len(store.search((), limit=100)) == len(ITEMS)
    assert store.get(("users", "ana"), "food").value["text"] == "Ana likes noodles"
    assert all("Otto" not in item.value["text"] for item in store.search((), query="Otto"))
    assert ApplianceStore(memory, user_id="carla").list_namespaces() == []
    with pytest.raises(UsageError, match="namespace"):
        ApplianceStore(memory, namespace="")


def test_a_batch_reads_what_was_there_before_it(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    operations = [
        PutOp(("a",), "x", {"text": "one"}),
        GetOp(("a",), "x"),
        PutOp(("a",), "x", {"text": "two"}),
        SearchOp(("a",)),
    ]
    assert store.batch(operations) == [None, None, None, []] == InMemoryStore().batch(operations)
    assert store.get(("a",), "x").value == {"text": "two"}


def test_the_async_ways_are_the_same(memory: Appliance) -> None:
    store = ApplianceStore(memory)

    async def work() -> list[tuple[str, ...]]:
        await store.aput(("a",), "x", {"text": "one"})
        assert (await store.aget(("a",), "x")).value == {"text": "one"}
        assert [item.key for item in await store.asearch(("a",), query="one")] == ["x"]
        await store.adelete(("a",), "x")
        return await store.alist_namespaces()

    assert asyncio.run(work()) == []


def test_what_cannot_be_is_refused(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    with pytest.raises(UsageError, match="would change when it is read back"):
        store.put(("a",), "x", {"pair": (1, 2)})
    with pytest.raises(UsageError, match="can't be stored"):
        store.put(("a",), "x", {"it": object()})
    for minutes in (-1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="time to live"):
            store.put(("a",), "x", {"text": "one"}, ttl=minutes)
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "x", {"text": "one"})])
    store.put(("a",), "x", {"text": "one"})
    with pytest.raises(UsageError, match="operator"):
        store.search(("a",), filter={"text": {"$like": "o"}})


def test_a_graph_reads_and_writes_it(memory: Appliance) -> None:
    def node(state: dict[str, Any], *, store: Any) -> dict[str, Any]:
        found = store.search(("memories",), query=state["text"], limit=1)
        store.put(("memories",), f"k{state['turn']}", {"text": state["text"]})
        return {"found": found[0].value["text"] if found else ""}

    from langgraph.store.base import BaseStore

    node.__annotations__["store"] = BaseStore
    graph = StateGraph(dict)
    graph.add_node("remember", node)
    graph.add_edge(START, "remember")
    graph.add_edge("remember", END)
    run = graph.compile(store=ApplianceStore(memory))
    assert run.invoke({"text": "the otter is called Lutz", "turn": 1})["found"] == ""
    assert run.invoke({"text": "what is the otter called?", "turn": 2})["found"] == "the otter is called Lutz"


def test_no_item_is_found_by_the_words_of_another(memory: Appliance) -> None:
    store = ApplianceStore(memory)
    for number, text in enumerate(["a dog Rex", "a zany zebra Xerxes", "a dog Max", "a dog Bello"]):
        store.put(("pets",), f"k{number}", {"text": text})
    pending = memory.search("zany Xerxes", namespace="langgraph", mode="lexical")
    assert [hit.text for hit in pending] == ["a zany zebra Xerxes"]
    memory.embed_pending()
    assert store.search(("pets",), query="zany Xerxes")[0].key == "k1"
    hits = memory.search("zany Xerxes", namespace="langgraph")
    parts = {hit.text: hit.why["score"] for hit in hits}
    assert parts.keys() > {"a zany zebra Xerxes", "a dog Rex"}
    for text, features in parts.items():
        assert features["neighbour_dense"] == 0.0
        assert (features["window"] > 0) == (text == "a zany zebra Xerxes")


def test_what_answers_comes_first_among_items(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        store = ApplianceStore(memory)
        for number, (text, _) in enumerate(NOTES):
            store.put(("notes",), str(number), {"text": text})
        memory.embed_pending()
        first = [store.search(("notes",), query=question)[0].key for _, question in NOTES]
    assert sum(key == str(number) for number, key in enumerate(first)) == len(
        NOTES
    )  # 20 with the words of the neighbours

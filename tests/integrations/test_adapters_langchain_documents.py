"""LangChain's vector store over the memory, beyond LangChain's standard tests."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index

from appliance import Appliance
from appliance.errors import UsageError
from appliance.integrations.langchain_documents import METADATA_KEY, ApplianceVectorStore
from tests.integrations.store_notes import NOTES

pytestmark = pytest.mark.slow  # every process of a run would load the framework

TEXTS = ["Noodles with peas", "Rice with beans", "Bread and butter", "A soup of leeks"]


def filled(memory: Appliance, *collection: str, **named: str) -> ApplianceVectorStore:
    store = ApplianceVectorStore(memory, *collection, **named)
    store.add_texts(TEXTS, [{"warm": number != 2, "number": number} for number in range(4)], ids=list("abcd"))
    return store


def test_a_search_is_filtered_by_metadata_or_a_function(memory: Appliance) -> None:
    store = filled(memory)
    assert [found.id for found in store.similarity_search("butter bread", k=1)] == ["c"]
    warm = store.similarity_search("butter bread", k=4, filter={"warm": True})
    assert sorted(found.id or "" for found in warm) == ["a", "b", "d"]
    late = store.similarity_search("noodles", k=4, filter=lambda document: document.metadata["number"] > 1)
    assert sorted(found.id or "" for found in late) == ["c", "d"]
    assert store.similarity_search("noodles", k=0) == []
    assert len(store.similarity_search("", k=3)) == 3


def test_scores_are_from_zero_to_one_and_a_retriever_can_ask_for_good_ones(memory: Appliance) -> None:
    store = filled(memory)
    scored = store.similarity_search_with_score("noodles with peas", k=4)
    assert [score for _, score in scored] == sorted((score for _, score in scored), reverse=True)
    assert all(0 <= score <= 1 for _, score in scored)
    retriever = store.as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": scored[0][1], "k": 4}
    )
    assert [found.id for found in retriever.invoke("noodles with peas")] == ["a"]
    assert len(store.as_retriever(search_kwargs={"k": 2}).invoke("peas")) == 2


def test_collections_users_namespaces_and_conversations_are_apart(memory: Appliance) -> None:
    store = filled(memory)
    filled(memory, "other")
    filled(memory, user_id="ben")
    memory.sessions.create().add("user", "I like noodles")
    assert len(store.similarity_search("noodles", k=20)) == 4
    store.delete(["a"])
    for other in (ApplianceVectorStore(memory, "other"), ApplianceVectorStore(memory, user_id="ben")):
        assert [found.id for found in other.get_by_ids(["a"])] == ["a"]
    assert ApplianceVectorStore(memory, "new").similarity_search("noodles") == []
    assert [hit.text for hit in memory.search("noodles")] == ["I like noodles"]
    assert not memory.search("noodles", namespace=METADATA_KEY, session_id=store._prefix, roles=("user",))


def test_what_is_deleted_is_gone_and_can_come_again(memory: Appliance) -> None:
    store = filled(memory)
    store.delete(["a", "never"])
    assert store.get_by_ids(["a"]) == [] and len(store.similarity_search("noodles", k=9)) == 3
    store.add_texts(["Noodles again"], ids=["a"])
    assert store.get_by_ids(["a"]) == [Document(id="a", page_content="Noodles again")]
    store.delete()
    assert store.similarity_search("noodles", k=9) == [] and store.get_by_ids(["b"]) == []


def test_texts_alike_and_without_words_are_all_there(memory: Appliance) -> None:
    store = ApplianceVectorStore(memory)
    texts = ["the same text", "the same text", " ", "the same text!"]
    ids = store.add_texts(texts)
    memory.embed_pending()
    found = store.similarity_search("the same text", k=4)
    assert sorted(document.id or "" for document in found) == sorted(ids)
    assert [document.page_content for document in store.get_by_ids(ids)] == texts


def test_langchains_index_keeps_it_up_to_date(memory: Appliance) -> None:
    store, records = ApplianceVectorStore(memory), InMemoryRecordManager("recipes")
    records.create_schema()
    documents = [Document(text, metadata={"source": text[:5]}) for text in TEXTS]
    first = index(documents, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
    again = index(documents[1:], records, store, cleanup="full", source_id_key="source", key_encoder="sha256")
    assert (first["num_added"], again["num_skipped"], again["num_deleted"]) == (4, 3, 1)
    assert len(store.similarity_search("noodles", k=9)) == 3


def test_the_async_ways_and_the_class_methods(memory: Appliance) -> None:
    async def work() -> list[Document]:
        store = await ApplianceVectorStore.afrom_texts(TEXTS, None, memory=memory, collection="soups")  # type: ignore[arg-type]
        return await store.asimilarity_search("leeks", k=1)

    assert [found.page_content for found in asyncio.run(work())] == ["A soup of leeks"]
    (one,) = ApplianceVectorStore.from_documents([Document("x y", id="z")], None, memory=memory).get_by_ids(["z"])  # type: ignore[arg-type]
    assert one.page_content == "x y"


def test_what_cannot_be_is_refused(memory: Appliance) -> None:
    store = ApplianceVectorStore(memory)
    with pytest.raises(UsageError, match="2 texts, 1 metadata"):
        store.add_texts(["a", "b"], [{}])
    with pytest.raises(UsageError, match="can't be stored"):
        store.add_texts(["a"], [{"it": object()}])
    with pytest.raises(UsageError, match="its own model"):
        ApplianceVectorStore.from_texts(["a"], DeterministicFakeEmbedding(size=3), memory=memory)
    with pytest.raises(UsageError, match="must not be empty"):
        ApplianceVectorStore(memory, namespace="")
    assert store.similarity_search("a") == []


def test_what_answers_comes_first_among_documents(home: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        store = ApplianceVectorStore.from_texts([text for text, _ in NOTES], memory=memory)
        memory.embed_pending()
        first = [store.similarity_search(question, k=1)[0].page_content for _, question in NOTES]
    assert first == [text for text, _ in NOTES]

"""LangChain's own standard tests of a vector store and of a retriever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.integrations.langchain import ApplianceRetriever
from appliance.integrations.langchain_documents import ApplianceVectorStore
from appliance_models import HashEmbedder

suite = pytest.importorskip("langchain_tests.integration_tests", exc_type=ImportError)

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestVectorStore(suite.VectorStoreIntegrationTests):  # type: ignore[misc]
    @pytest.fixture
    def vectorstore(self, memory: Appliance) -> ApplianceVectorStore:
        return ApplianceVectorStore(memory)


class TestRetriever(suite.RetrieversIntegrationTests):  # type: ignore[misc]
    @pytest.fixture(autouse=True)
    def filled(self, home: Path) -> Any:
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as self.memory:
            session = self.memory.sessions.create()
            for text in ("Lutz is the otter of the zoo", "a zebra ate my hat", "lions sleep", "we fed every parrot"):
                session.add("user", text)
            yield

    retriever_constructor = ApplianceRetriever
    retriever_query_example = "which animals has the zoo?"

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

"""LangChain: a vector store. Needs the extra ``langchain``.

    store = ApplianceVectorStore(memory, "recipes")
    store.add_texts(["Noodles with peas", "Rice with beans"])
    store.similarity_search("what goes with peas?", k=1)

A collection is a session, and a document a message in it. All these sessions are in one namespace of the memory, apart
from conversations. The memory embeds the texts itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from appliance.errors import NotFound, UsageError
from appliance.integrations import missing_extra_message, turns

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("langchain")) from error

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Message, Mode

METADATA_KEY = "langchain_documents"
"""The metadata key of a document. Also the default namespace of the documents in the memory."""

FILTERED_LIMIT = 1000
"""The limit of a search whose hits are filtered: more than it ever ranks."""

DocumentFilter = Mapping[str, Any] | Callable[[Document], bool]


class ApplianceVectorStore(VectorStore):
    """The documents of a collection, stored in the memory and found by meaning and words.

    A document with an id that the collection has replaces the one before. A deleted document is no longer found; its
    text stays, like the earlier revision of an edited message, until it is erased.
    """

    def __init__(
        self,
        memory: Appliance,
        collection: str = "documents",
        *,
        user_id: str | None = None,
        namespace: str = METADATA_KEY,
        mode: Mode = "hybrid",
    ) -> None:
        """``user_id`` defaults to the configured user. Documents of other users and namespaces are not visible. With
        the mode "dense" they are ranked by meaning only.

        Raises:
            UsageError: The namespace or the name of the collection is empty; conversations have the empty namespace.
        """
        if not namespace or not collection.strip():
            raise UsageError("The namespace and the collection must not be empty.", hint="Name both, or neither.")
        self._memory = memory
        self._collection = collection
        self._namespace = namespace
        self._user = memory.settings.user if user_id is None else user_id
        self._mode: Mode = mode
        place = "\x1f".join((self._user, namespace, collection)).encode()
        self._prefix = f"{METADATA_KEY}:{hashlib.blake2b(place, digest_size=16).hexdigest()}"

    @property
    def embeddings(self) -> Embeddings | None:
        """None: the memory embeds texts itself."""
        return None

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store documents, and return their ids. Without an id, a document gets a new one.

        Raises:
            UsageError: There are not as many ids or metadata as texts, or metadata contains a value that JSON can't
                represent; nothing was stored.
        """
        listed = list(texts)
        metadata_of = [dict(one) for one in metadatas or [{}] * len(listed)]
        names = [id or str(uuid4()) for id in ids or [None] * len(listed)]
        if not len(listed) == len(metadata_of) == len(names):
            raise UsageError(
                f"There are {len(listed)} texts, {len(metadata_of)} metadata and {len(names)} ids.",
                hint="Give each text its own.",
            )
        for one in metadata_of:
            turns.check_json_value(one, "The metadata of a document")
        session = self._memory.sessions.create(
            external_id=self._prefix,
            title=self._collection,
            user_id=self._user,
            namespace=self._namespace,
            ttl=0,
            options={"independent": True},
        )
        for text, metadata, name in zip(listed, metadata_of, names, strict=True):
            is_empty = not text.strip()
            session.add(
                "assistant",
                turns.PLACEHOLDER_TEXT if is_empty else text,
                external_id=self._reference(name),
                metadata={
                    METADATA_KEY: {"id": name, "metadata": metadata, **({"text": text} if is_empty else {})},
                    **({"hidden": True} if is_empty else {}),
                },
            )
        return names

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents with these ids, in their order. Those that are not there are left out."""
        return [_document(turn) for turn in map(self._turn, ids) if turn is not None]

    def delete(self, ids: list[str] | None = None, **kwargs: Any) -> bool | None:
        """Delete documents by their ids; without ids the whole collection. What is not there is passed over."""
        if ids is None:
            session = self._memory.sessions.create(
                external_id=self._prefix, user_id=self._user, namespace=self._namespace
            )
            session.clear()
            return True
        for turn in map(self._turn, ids):
            if turn is not None:
                turns.withdraw(self._memory.sessions.get(turn.session_id), turn)
        return True

    def similarity_search(
        self, query: str, k: int = 4, filter: DocumentFilter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The ``k`` documents that match best; fewer only where the collection has fewer.

        Args:
            query: What is looked for, in plain words.
            k: The most documents.
            filter: Only documents whose metadata has these values, or for which this function returns True.
        """
        return [document for document, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: DocumentFilter | None = None
    ) -> list[tuple[Document, float]]:
        """The same with scores: how likely each is what was asked for, 0 to 1; 0 if it was no match at all."""
        found: dict[str, tuple[Document, float]] = {}
        for id, document, score in self._ranked(query, k, filter):
            found.setdefault(id, (document, score))
            if len(found) >= k:
                break
        return list(found.values())

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return self.similarity_search_with_score(query, k, **kwargs)

    @classmethod
    def from_texts(  # type: ignore[override]
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        memory: Appliance,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Store texts in a collection, and return it; ``kwargs`` are those of the class.

        Raises:
            UsageError: An embedding is given, which the memory does not use.
        """
        if embedding is not None:
            raise UsageError("The memory embeds texts with its own model.", hint="Give None as embedding.")
        store = cls(memory, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _ranked(self, query: str, k: int, filter: DocumentFilter | None) -> Iterator[tuple[str, Document, float]]:
        """Documents by their rank, then all others: a hit that folds variants has the others behind it."""
        if k <= 0 or not self._exists():
            return
        if query.strip():
            hits = self._memory.search(
                query, limit=k if filter is None else FILTERED_LIMIT, mode=self._mode, profile="items", min_score=0,
                user_id=self._user, namespace=self._namespace, session_id=self._prefix,
            )  # fmt: skip
            ranked = [(id, hit.score) for hit in hits for id in (hit.message_id, *hit.why.get("variants", ()))]
            for page in (ranked[at : at + 500] for at in range(0, len(ranked), 500)):
                messages = {turn.id: turn for turn in self._memory.overview.messages([id for id, _ in page])}
                for id, score in page:
                    if id in messages and _is_document(messages[id]) and _passes(messages[id], filter):
                        yield id, _document(messages[id]), score
        for turn in self._memory.sessions.messages(self._prefix):
            if _is_document(turn) and _passes(turn, filter):
                yield turn.id, _document(turn), 0.0

    def _exists(self) -> bool:
        try:
            self._memory.sessions.info(self._prefix, user_id=self._user, namespace=self._namespace)
        except NotFound:
            return False
        return True

    def _turn(self, id: str) -> Message | None:
        try:
            turn = self._memory.message(self._reference(id))
        except NotFound:
            return None
        return turn if _is_document(turn) else None

    def _reference(self, id: str) -> str:
        return f"{self._prefix}:{id}"


def _is_document(turn: Message) -> bool:
    return METADATA_KEY in turn.metadata and not turn.metadata.get("deleted")


def _document(turn: Message) -> Document:
    form: Any = turn.metadata[METADATA_KEY]
    return Document(id=form["id"], page_content=form.get("text", turn.text), metadata=form["metadata"])


def _passes(turn: Message, filter: DocumentFilter | None) -> bool:
    if filter is None:
        return True
    document = _document(turn)
    if isinstance(filter, Mapping):
        return all(document.metadata.get(name) == value for name, value in filter.items())
    return filter(document)

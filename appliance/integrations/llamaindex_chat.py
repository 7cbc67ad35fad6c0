"""LlamaIndex: a retriever, a chat store and a chat memory. Needs the extra ``llamaindex``.

retriever = ApplianceRetriever(memory, limit=5)
buffer = ChatMemoryBuffer.from_defaults(chat_store=ApplianceChatStore(memory=memory), chat_store_key="zoo")
chat = ApplianceMemory(memory=memory, session_id="zoo", budget=3000)
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from appliance.integrations import missing_extra_message, turns
from appliance.integrations.llamaindex import METADATA_KEY, ROLES, message_form

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemory
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from llama_index.core.storage.chat_store import BaseChatStore
    from pydantic import ConfigDict, Field, SkipValidation
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("llamaindex")) from error

from appliance.client import Appliance
from appliance.types import Message, Mode, Role

if TYPE_CHECKING:
    from appliance.resources import Session
    from appliance.types import Hit


class ApplianceRetriever(BaseRetriever):
    """Finds messages of the memory as nodes with scores (0 to 1), best first.

    ``metadata`` of a node has ``session``, ``time`` (ISO 8601, or None), ``role``, ``author``, ``title`` (of the
    session) and ``source`` (the format's name), and its id is the message's.
    """

    def __init__(
        self,
        memory: Appliance,
        *,
        limit: int = 10,
        mode: Mode = "hybrid",
        profile: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        session_id: str | None = None,
        roles: Sequence[Role] | None = None,
        sources: Sequence[str] | None = None,
        since: str | None = None,
        until: str | None = None,
        min_score: float | None = 0.0,
        **kwargs: Any,
    ) -> None:
        """The arguments are those of a search. With ``min_score`` None there is no node if nothing is a good match."""
        super().__init__(**kwargs)
        self._memory = memory
        self._search: dict[str, Any] = {
            "limit": limit, "mode": mode, "profile": profile, "user_id": user_id, "namespace": namespace,
            "session_id": session_id, "roles": roles, "sources": sources, "since": since, "until": until,
            "min_score": min_score,
        }  # fmt: skip

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._memory.masked().search(query_bundle.query_str, **self._search)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class ApplianceChatStore(BaseChatStore):
    """The histories of chats, stored in the memory: a key is a session. Messages come back equal.

    A deleted message is no longer found; its text stays until it is erased. ``delete_messages`` removes.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: SkipValidation[Appliance] = Field(exclude=True)
    user_id: str | None = None
    namespace: str = ""

    @classmethod
    def class_name(cls) -> str:
        """The name of the class, as LlamaIndex stores it."""
        return "ApplianceChatStore"

    def get_messages(self, key: str) -> list[ChatMessage]:
        """All messages of a chat, in order, including those that were not added by this class."""
        return [_chat_message(turn) for turn in turns.visible_turns(self._session(key))]

    def add_message(self, key: str, message: ChatMessage) -> None:
        """Append a message.

        Raises:
            UsageError: It contains a value that JSON can't represent, or the key is empty.
        """
        _add(self._session(key), [message])

    def set_messages(self, key: str, messages: list[ChatMessage]) -> None:
        """Make these the messages of a chat. If they begin with those that it has, the others are appended; otherwise
        those that it has are removed.

        Raises:
            UsageError: A message contains a value that JSON can't represent; nothing was changed.
        """
        for message in messages:
            message_form(message)
        stored = self.get_messages(key)
        session = self._session(key)
        if messages[: len(stored)] != stored:
            session.clear()
            stored = []
        _add(session, messages[len(stored) :])

    def delete_messages(self, key: str) -> list[ChatMessage] | None:
        """Remove all messages of a chat, and return them."""
        stored = self.get_messages(key)
        self._session(key).delete()
        return stored

    def delete_message(self, key: str, idx: int) -> ChatMessage | None:
        """Withdraw the message at a place (from 0), and return it; None if there is none."""
        session = self._session(key)
        stored = turns.visible_turns(session)
        if not 0 <= idx < len(stored):
            return None
        turns.withdraw(session, stored[idx])
        return _chat_message(stored[idx])

    def delete_last_message(self, key: str) -> ChatMessage | None:
        """Withdraw the last message, and return it; None if there is none."""
        return self.delete_message(key, len(turns.visible_turns(self._session(key))) - 1)

    def get_keys(self) -> list[str]:
        """The keys of the chats that were begun by this class and have messages."""
        infos = self.memory.sessions.list(user_id=self.user_id, namespace=self.namespace, sort="created", reverse=True)
        return [info.metadata[METADATA_KEY] for info in infos if METADATA_KEY in info.metadata and info.messages]

    def _session(self, key: str) -> Session:
        session = turns.open_conversation(self.memory, key, self.user_id, self.namespace)
        if METADATA_KEY not in session.info.metadata:
            self.memory.sessions.create(
                external_id=key, user_id=self.user_id, namespace=self.namespace, metadata={METADATA_KEY: key}
            )
        return session


class ApplianceMemory(BaseMemory):
    """A chat's memory: what is known for the last question, from all of the user's sessions, and this chat's latest
    turns, in at most ``budget`` tokens. All turns are stored."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: SkipValidation[Appliance] = Field(exclude=True)
    session_id: str = METADATA_KEY
    budget: int = Field(default=3000, ge=64)
    user_id: str | None = None
    namespace: str = ""

    @classmethod
    def class_name(cls) -> str:
        """The name of the class, as LlamaIndex stores it."""
        return "ApplianceMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> Self:
        """Make one; ``kwargs`` are the fields."""
        return cls(**kwargs)

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:
        """What an assistant is given for ``input``, by default for what the user said last: what is known, then the
        latest turns, which are as they were put if the budget has room for all of their text."""
        session = self._session()
        stored = {turn.id: turn for turn in turns.visible_turns(session)}
        said = (turn.text for turn in reversed(stored.values()) if turn.role == "user")
        query = input if input and input.strip() else next(said, "")
        if not query:
            return [_chat_message(turn) for turn in stored.values()]
        context = session.context(query, budget=self.budget)
        (recent,) = (layer.items for layer in context.layers if layer.name == "recent")
        messages = [ChatMessage(content=one["content"], role=one["role"]) for one in context.messages]
        known, latest = messages[: len(messages) - len(recent)], messages[len(messages) - len(recent) :]
        return known + [
            _chat_message(stored[item.message_id]) if item.fidelity == "full" and item.message_id in stored else message
            for item, message in zip(recent, latest, strict=True)
        ]

    def get_all(self) -> list[ChatMessage]:
        """All turns of this chat, as they were put."""
        return [_chat_message(turn) for turn in turns.visible_turns(self._session())]

    def put(self, message: ChatMessage) -> None:
        """Store a turn.

        Raises:
            UsageError: It contains a value that JSON can't represent.
        """
        _add(self._session(), [message])

    def set(self, messages: list[ChatMessage]) -> None:
        """Make these the turns of this chat, as ``ApplianceChatStore.set_messages`` does."""
        store = ApplianceChatStore(memory=self.memory, user_id=self.user_id, namespace=self.namespace)
        store.set_messages(self.session_id, messages)

    def reset(self) -> None:
        """Remove all turns of this chat from the memory."""
        self._session().clear()

    def _session(self) -> Session:
        return turns.open_conversation(self.memory, self.session_id, self.user_id, self.namespace)


def _add(session: Session, messages: Sequence[ChatMessage]) -> None:
    for message, form in [(message, message_form(message)) for message in messages]:
        role: Role = ROLES.get(message.role.value, "tool")
        turns.add_turn(session, role, message.content or "", {METADATA_KEY: form})


def _chat_message(turn: Message) -> ChatMessage:
    form = turn.metadata.get(METADATA_KEY)
    if form is not None:
        return ChatMessage.model_validate(form)
    return ChatMessage(content=turn.text, role="assistant" if turn.role == "tool" else turn.role)


def _node(hit: Hit) -> NodeWithScore:
    metadata = {
        "session": hit.session_id,
        "time": hit.timestamp,
        "role": hit.role,
        "author": hit.author,
        "title": hit.session_title,
        "source": hit.source.format,
    }
    return NodeWithScore(node=TextNode(id_=hit.message_id, text=hit.text, metadata=metadata), score=hit.score)

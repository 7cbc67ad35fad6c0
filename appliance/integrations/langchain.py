"""LangChain: the history of a chat, and a retriever. Needs the extra ``langchain``.

history = ApplianceChatMessageHistory(memory, "support-7")
retriever = ApplianceRetriever(memory=memory, k=5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.integrations import needs, turns
from appliance.types import Message, Mode, Role

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.chat_history import BaseChatMessageHistory
    from langchain_core.documents import Document
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        ChatMessage,
        HumanMessage,
        SystemMessage,
        message_to_dict,
        messages_from_dict,
    )
    from langchain_core.retrievers import BaseRetriever
    from pydantic import SkipValidation
except ModuleNotFoundError as error:
    raise ImportError(needs("langchain")) from error

from appliance.server.client import Appliance

if TYPE_CHECKING:
    from appliance.types import Hit

KEPT = "langchain"
"""The place in a message's metadata where LangChain's own form of it stands."""

ROLES: dict[str, Role] = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"
}  # fmt: skip
"""Kinds of LangChain's messages, and roles of its ChatMessage, whose role is not "tool"."""


class ApplianceChatMessageHistory(BaseChatMessageHistory):
    """The history of one chat, kept in the memory. What is added comes back equal: roles, tool calls, ids and
    ``additional_kwargs`` are kept with the words."""

    def __init__(
        self, memory: Appliance, session_id: str, *, user_id: str | None = None, namespace: str = ""
    ) -> None:
        """``session_id`` is any name of your own; the memory has it as the conversation's external id.

        Raises:
            UsageError: the name is empty.
        """
        super().__init__()
        self._session = turns.conversation(memory, session_id, user_id, namespace)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, in order; those that came in another way too."""
        return [_message(turn) for turn in turns.of(self._session)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages behind those that are there.

        Raises:
            UsageError: one holds what JSON can't say; none was stored then.
        """
        forms = [turns.as_kept(message_to_dict(message), "the message") for message in messages]
        for message, form in zip(messages, forms, strict=True):
            role, text = _said(message)
            turns.add(self._session, role, text, {KEPT: form}, message.name)

    def clear(self) -> None:
        """Remove all messages of this chat from the memory."""
        self._session.clear()


class ApplianceRetriever(BaseRetriever):
    """Finds messages of the memory as Documents, best first.

    ``metadata`` of a Document has ``id``, ``session``, ``score`` and ``time`` (ISO 8601, or None), and ``role``,
    ``author``, ``title`` (of the session) and ``source`` (the format's name).
    """

    memory: SkipValidation[Appliance]
    k: int = 10
    mode: Mode = "hybrid"
    profile: str | None = None
    user_id: str | None = None
    namespace: str = ""
    session_id: str | None = None
    roles: tuple[Role, ...] | None = None
    sources: tuple[str, ...] | None = None
    since: str | None = None
    until: str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        hits = self.memory.search(
            query,
            limit=self.k,
            mode=self.mode,
            profile=self.profile,
            user_id=self.user_id,
            namespace=self.namespace,
            session_id=self.session_id,
            roles=self.roles,
            sources=self.sources,
            since=self.since,
            until=self.until,
        )
        return [_document(hit) for hit in hits]


def _document(hit: Hit) -> Document:
    return Document(
        id=hit.message_id,
        page_content=hit.text,
        metadata={
            "id": hit.message_id,
            "session": hit.session_id,
            "score": hit.score,
            "time": hit.timestamp,
            "role": hit.role,
            "author": hit.author,
            "title": hit.session_title,
            "source": hit.source.format,
        },
    )


def _said(message: BaseMessage) -> tuple[Role, str]:
    """Role and words of a message. One that only calls tools is a tool's record, of the calls."""
    text = str(message.text)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    if calls and not text.strip():
        return "tool", "\n".join(f"{call['name']} {call['args']}" for call in calls)
    kind = message.role if isinstance(message, ChatMessage) else message.type
    return ROLES.get(kind, "tool"), text


def _message(turn: Message) -> BaseMessage:
    form: Any = turn.metadata.get(KEPT)
    if form is not None:
        return messages_from_dict([form])[0]
    match turn.role:
        case "user":
            return HumanMessage(turn.text, name=turn.author)
        case "assistant":
            return AIMessage(turn.text, name=turn.author)
        case "system":
            return SystemMessage(turn.text)
        case _:
            return ChatMessage(role="tool", content=turn.text)

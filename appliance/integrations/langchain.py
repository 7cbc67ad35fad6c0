"""LangChain: a chat message history and a retriever. Needs the extra ``langchain``.

history = ApplianceChatMessageHistory(memory, "support-7")
retriever = ApplianceRetriever(memory=memory, k=5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from appliance.integrations import missing_extra_message, turns
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
    raise ImportError(missing_extra_message("langchain")) from error

from appliance.client import Appliance

if TYPE_CHECKING:
    from appliance.types import Hit

METADATA_KEY = "langchain"
"""The metadata key of a message's LangChain form."""

ROLES: dict[str, Role] = {
    "human": "user", "user": "user", "ai": "assistant", "assistant": "assistant", "system": "system"
}  # fmt: skip
"""The roles of LangChain's message types and of its ChatMessage; all others are "tool"."""


class ApplianceChatMessageHistory(BaseChatMessageHistory):
    """The history of one chat, stored in the memory. Messages come back equal: roles, tool calls, ids and
    ``additional_kwargs`` are stored with the text."""

    def __init__(self, memory: Appliance, session_id: str, *, user_id: str | None = None, namespace: str = "") -> None:
        """``session_id`` is any name; the memory stores it as the session's external id.

        Raises:
            UsageError: The name is empty.
        """
        super().__init__()
        self._session = turns.open_conversation(memory, session_id, user_id, namespace)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages of the session, in order, including those that were not added by this class."""
        return [_to_langchain(turn) for turn in turns.visible_turns(self._session)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages.

        Raises:
            UsageError: A message contains a value that JSON can't represent; none was stored.
        """
        forms = [turns.check_json_value(message_to_dict(message), "The message") for message in messages]
        for message, form in zip(messages, forms, strict=True):
            role, text = _role_and_text(message)
            turns.add_turn(self._session, role, text, {METADATA_KEY: form}, message.name)

    def clear(self) -> None:
        """Remove all messages of this chat from the memory."""
        self._session.clear()


class ApplianceRetriever(BaseRetriever):
    """Finds messages of the memory as Documents, best first.

    ``metadata`` of a Document has ``id``, ``session``, ``score`` and ``time`` (ISO 8601, or None), and ``role``,
    ``author``, ``title`` (of the session) and ``source`` (the format's name). By default there are ``k`` of them, as
    from any retriever; with ``min_score`` None there is none if nothing is a good match.
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
    min_score: float | None = 0.0

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        hits = self.memory.masked().search(
            query,
            limit=self.k if k is None else k,
            mode=self.mode,
            profile=self.profile,
            user_id=self.user_id,
            namespace=self.namespace,
            session_id=self.session_id,
            roles=self.roles,
            sources=self.sources,
            since=self.since,
            until=self.until,
            min_score=self.min_score,
        )
        return [_to_document(hit) for hit in hits]


def _to_document(hit: Hit) -> Document:
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


def _role_and_text(message: BaseMessage) -> tuple[Role, str]:
    """Role and text of a message. A message that only calls tools is stored as a tool record of the calls."""
    text = str(message.text)
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    if calls and not text.strip():
        return "tool", "\n".join(f"{call['name']} {call['args']}" for call in calls)
    kind = message.role if isinstance(message, ChatMessage) else message.type
    return ROLES.get(kind, "tool"), text


def _to_langchain(turn: Message) -> BaseMessage:
    form: Any = turn.metadata.get(METADATA_KEY)
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

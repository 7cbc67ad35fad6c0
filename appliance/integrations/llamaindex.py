"""LlamaIndex: a memory block. Needs the extra ``llamaindex``.

block = ApplianceMemoryBlock(memory=memory, budget=1000)
chat = Memory.from_defaults(session_id="garden", memory_blocks=[block])
"""

from __future__ import annotations

import asyncio
from typing import Any

from appliance.errors import UsageError
from appliance.integrations import missing_extra_message, turns
from appliance.types import Role

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import Field, SkipValidation
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("llamaindex")) from error

from appliance.client import Appliance

METADATA_KEY = "llamaindex"
"""The metadata key of a message's LlamaIndex form."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class ApplianceMemoryBlock(BaseMemoryBlock[str]):
    """Stores the messages that leave a chat's short-term memory, and returns a context for the latest question: facts,
    memories from all of the user's sessions, and this chat's earlier turns, in at most ``budget`` tokens."""

    name: str = "appliance"
    memory: SkipValidation[Appliance]
    budget: int = Field(default=2000, ge=64)
    user_id: str | None = None
    namespace: str = ""
    session_id: str = METADATA_KEY
    """The chat to use if LlamaIndex names none."""

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        user_texts = (message.content or "" for message in messages or [] if message.role.value == "user")
        queries = [text for text in user_texts if text.strip()]
        return await asyncio.to_thread(self._context, queries, session_id or self.session_id) if queries else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        forms = [message_form(message) for message in messages]
        await asyncio.to_thread(self._put, messages, forms)

    def _context(self, queries: list[str], name: str) -> str:
        session = turns.open_conversation(self.memory, name, self.user_id, self.namespace)
        return session.context(queries[-1], budget=self.budget).text

    def _put(self, messages: list[ChatMessage], forms: list[Any]) -> None:
        for message, form in zip(messages, forms, strict=True):
            name = message.additional_kwargs.get("session_id") or self.session_id
            session = turns.open_conversation(self.memory, str(name), self.user_id, self.namespace)
            role: Role = ROLES.get(message.role.value, "tool")
            turns.add_turn(session, role, message.content or "", {METADATA_KEY: form})


def message_form(message: ChatMessage) -> Any:
    """A message in a form that JSON can hold.

    Raises:
        UsageError: It would change when it is read back.
    """
    form = turns.check_json_value(message.model_dump(mode="json"), "The message")
    if ChatMessage.model_validate(form) != message:
        raise UsageError(
            "The message would change when it is read back.",
            hint="Use values that JSON can express: lists, not tuples.",
        )
    return form

"""LlamaIndex: a memory block. Needs the extra ``llamaindex``.

block = ApplianceMemoryBlock(memory=memory, budget=1000)
chat = Memory.from_defaults(session_id="garden", memory_blocks=[block])
"""

from __future__ import annotations

import asyncio
from typing import Any

from appliance.integrations import needs, turns
from appliance.types import Role

try:
    from llama_index.core.base.llms.types import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from pydantic import Field, SkipValidation
except ModuleNotFoundError as error:
    raise ImportError(needs("llamaindex")) from error

from appliance.server.client import Appliance

KEPT = "llamaindex"
"""The place in a message's metadata where LlamaIndex's own form of it stands."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class ApplianceMemoryBlock(BaseMemoryBlock[str]):
    """Keeps what leaves a chat's short-term memory, and gives back what is known for the present question: facts,
    memories of all conversations of the user, and this chat's earlier turns, in at most ``budget`` tokens."""

    name: str = "appliance"
    memory: SkipValidation[Appliance]
    budget: int = Field(default=2000, ge=64)
    user_id: str | None = None
    namespace: str = ""
    session_id: str = KEPT
    """The chat that is meant when LlamaIndex names none."""

    async def _aget(
        self, messages: list[ChatMessage] | None = None, session_id: str | None = None, **block_kwargs: Any
    ) -> str:
        said = (message.content or "" for message in messages or [] if message.role.value == "user")
        asked = [text for text in said if text.strip()]
        return await asyncio.to_thread(self._context, asked, session_id or self.session_id) if asked else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        forms = [turns.as_kept(message.model_dump(mode="json"), "the message") for message in messages]
        await asyncio.to_thread(self._put, messages, forms)

    def _context(self, asked: list[str], name: str) -> str:
        session = turns.conversation(self.memory, name, self.user_id, self.namespace)
        return session.context(asked[-1], budget=self.budget).text

    def _put(self, messages: list[ChatMessage], forms: list[Any]) -> None:
        for message, form in zip(messages, forms, strict=True):
            name = message.additional_kwargs.get("session_id") or self.session_id
            session = turns.conversation(self.memory, str(name), self.user_id, self.namespace)
            role: Role = ROLES.get(message.role.value, "tool")
            turns.add(session, role, message.content or "", {KEPT: form})

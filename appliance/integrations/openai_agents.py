"""OpenAI Agents SDK: a Session. Needs the extra ``openai-agents``.

session = ApplianceSession(memory, "trip-to-lisbon")
await Runner.run(agent, "Where do we stay?", session=session)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from appliance.integrations import needs, turns
from appliance.types import Message, Role

try:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import resolve_session_limit
except ModuleNotFoundError as error:
    raise ImportError(needs("openai-agents")) from error

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from appliance.server.client import Appliance

KEPT = "openai_agents"
"""The place in a message's metadata where the SDK's own form of it stands."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class ApplianceSession:
    """The items of one conversation, kept in the memory; what is added comes back equal.

    Messages can be found as what a person or an assistant said; calls, their results and reasoning are kept as tool
    records. An item that is popped is found no more; its words stay until they are forgotten.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        memory: Appliance,
        session_id: str,
        *,
        user_id: str | None = None,
        namespace: str = "",
        session_settings: SessionSettings | None = None,
    ) -> None:
        """``session_id`` is any name of your own; the memory has it as the conversation's external id.

        Raises:
            UsageError: the name is empty.
        """
        self.session_id = session_id
        self.session_settings = session_settings
        self._session = turns.conversation(memory, session_id, user_id, namespace)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items in order, or the latest ``limit`` of them; turns that came in another way too."""
        most = resolve_session_limit(limit, self.session_settings)
        kept = await asyncio.to_thread(turns.of, self._session)
        latest = kept if most is None else kept[-most:] if most > 0 else []
        return [_item(turn) for turn in latest]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items behind those that are there.

        Raises:
            UsageError: one holds what JSON can't say; none was stored then.
        """
        forms = [turns.as_kept(item, "the item") for item in items]
        await asyncio.to_thread(self._add, forms)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item back; None where there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items of this conversation from the memory."""
        await asyncio.to_thread(self._session.clear)

    def _add(self, items: list[Any]) -> None:
        for item in items:
            role: Role = ROLES.get(item.get("role", ""), "tool")
            turns.add(self._session, role, _text(item), {KEPT: item})

    def _pop(self) -> TResponseInputItem | None:
        kept = turns.of(self._session)
        if not kept:
            return None
        turns.withdraw(self._session, kept[-1])
        return _item(kept[-1])


def _item(turn: Message) -> TResponseInputItem:
    form = turn.metadata.get(KEPT)
    if (
        form is None
    ):  # a tool's record of another kind can't be a call of this SDK's, but its words can be told
        form = {"role": "assistant" if turn.role == "tool" else turn.role, "content": turn.text}
    return cast("TResponseInputItem", form)


def _text(item: dict[str, Any]) -> str:
    """The words of an item: what was said, what was called with what, what came of it."""
    content = item.get("content") or item.get("output") or item.get("summary") or ""
    if isinstance(content, list):
        parts = [part.get("text") or part.get("refusal") or "" for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if isinstance(part, str) and part)
    called = [item[name] for name in ("name", "arguments") if isinstance(item.get(name), str)]
    return " ".join([*called, content]).strip() if isinstance(content, str) else " ".join(called)

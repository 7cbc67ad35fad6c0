"""OpenAI Agents SDK: a Session. Needs the extra ``openai-agents``.

session = ApplianceSession(memory, "trip-to-lisbon")
await Runner.run(agent, "Where do we stay?", session=session)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from appliance.integrations import missing_extra_message, turns
from appliance.types import Message, Role

try:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import resolve_session_limit
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("openai-agents")) from error

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from appliance.client import Appliance

METADATA_KEY = "openai_agents"
"""The metadata key of an item in the SDK's form."""

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}


class ApplianceSession:
    """The items of one session, stored in the memory. Items come back equal.

    Messages are stored with their roles; calls, their results and reasoning as tool records. A popped item is no longer
    found; its text stays until it is erased.
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
        """``session_id`` is any name; the memory stores it as the session's external id.

        Raises:
            UsageError: The name is empty.
        """
        self.session_id = session_id
        self.session_settings = session_settings
        self._session = turns.open_conversation(memory, session_id, user_id, namespace)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """All items in order, or the latest ``limit``, including turns that were not added by this class."""
        max_items = resolve_session_limit(limit, self.session_settings)
        stored_turns = await asyncio.to_thread(turns.visible_turns, self._session)
        latest = stored_turns if max_items is None else stored_turns[-max_items:] if max_items > 0 else []
        return [_item(turn) for turn in latest]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items.

        Raises:
            UsageError: An item contains a value that JSON can't represent; none was stored.
        """
        forms = [turns.check_json_value(item, "The item") for item in items]
        await asyncio.to_thread(self._add, forms)

    async def pop_item(self) -> TResponseInputItem | None:
        """Withdraw and return the latest item; None if there is none."""
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Remove all items of this conversation from the memory."""
        await asyncio.to_thread(self._session.clear)

    def _add(self, items: list[Any]) -> None:
        for item in items:
            role: Role = ROLES.get(item.get("role", ""), "tool")
            turns.add_turn(self._session, role, _text(item), {METADATA_KEY: item})

    def _pop(self) -> TResponseInputItem | None:
        stored_turns = turns.visible_turns(self._session)
        if not stored_turns:
            return None
        turns.withdraw(self._session, stored_turns[-1])
        return _item(stored_turns[-1])


def _item(turn: Message) -> TResponseInputItem:
    form = turn.metadata.get(METADATA_KEY)
    if form is None:  # a tool record from elsewhere is not a call of this SDK, so only its text is returned
        form = {"role": "assistant" if turn.role == "tool" else turn.role, "content": turn.text}
    return cast("TResponseInputItem", form)


def _text(item: dict[str, Any]) -> str:
    """The text of an item: its content, or a call with its arguments, or the output of a call."""
    content = item.get("content") or item.get("output") or item.get("summary") or ""
    if isinstance(content, list):
        parts = [part.get("text") or part.get("refusal") or "" for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if isinstance(part, str) and part)
    called = [item[name] for name in ("name", "arguments") if isinstance(item.get(name), str)]
    return " ".join([*called, content]).strip() if isinstance(content, str) else " ".join(called)

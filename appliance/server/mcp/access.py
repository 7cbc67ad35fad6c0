"""What an assistant sees over MCP, and how an error names the tool that helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from appliance.errors import NotFound
from appliance.lazy_dataclasses import dataclass
from appliance.server.access.policy import AccessPolicy

if TYPE_CHECKING:
    from appliance.types import SessionInfo

_HINTS = {
    "message": "memory_search gives the ids of messages.",
    "session": "memory_sessions lists the sessions.",
    "fact": "memory_facts lists the facts.",
}


@dataclass(frozen=True, slots=True)
class McpAccess(AccessPolicy):
    """The access policy as the tools, resources and prompts use it. ``conversation`` names the client's present one,
    ``client`` the program."""

    conversation: str
    client: str = ""

    @property
    def assistant(self) -> str:
        """The name of the assistant: that of its token, else of its program."""
        return self.client if self.grant.is_owner else self.grant.name

    @property
    def sees_everything(self) -> bool:
        """No: what a session does not share reaches no assistant, not even with the owner's grant."""
        return False

    def not_found(self, kind: str, reference: str) -> NotFound:
        name = repr(reference) if kind == "session" else reference
        return NotFound(f"There is no {kind} {name}.", hint=_HINTS[kind])

    def require_readable(self, info: SessionInfo) -> SessionInfo:
        if not self.allows_messages(info):
            raise NotFound(
                f"Session {info.id} shares only its summaries.",
                hint=f"memory_sessions with session {info.id} has its summary.",
            )
        return info

    def record_recall(self, ids: Sequence[str]) -> None:
        """Count messages as given to an assistant in full."""
        if ids:
            self.memory.pins.note_recalled(ids)

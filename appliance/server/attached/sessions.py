"""The conversations of a memory that another process owns."""

from __future__ import annotations

from typing import Any

from appliance.memory.private import PrivateSession
from appliance.memory.session import PrivateHost, Session
from appliance.memory.sessions import Sessions
from appliance.server.attached.verbs import asking, carried_out, remote
from appliance.server.line import Line


@carried_out("sessions")
class AttachedSessions(Sessions):
    """Those that are kept are the daemon's. A private one is in this process, and nowhere else."""

    def __init__(self, line: Line, owner: str, private: PrivateHost) -> None:
        self._line = line
        self._owner = owner
        self._private_host = private
        self._private = {}

    def get(self, id: str, *, user_id: str | None = None) -> Session | PrivateSession:
        """As Sessions.get."""
        if id in self._private and user_id in (None, self._private[id].info.user_id):
            return self._private[id]
        found: Session = remote("session")(self._line, self.info(id, user_id=user_id).id)
        return found

    def create(self, **given: Any) -> Any:
        """As Sessions.create."""
        return super().create(**given) if given.get("private") else _begin(self, **given)


_begin = asking("sessions", "create", Sessions.create)

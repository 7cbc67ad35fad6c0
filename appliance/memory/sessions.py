"""Conversations as a program holds them: create one, add turns, read them back, build a context.

A ``Session`` is a handle, not a copy: everything it shows is read from the store when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from appliance.types import Context, Message, Role, SessionInfo


class Host(Protocol):
    """What a session needs of the engine that it lives in."""

    def create_session(
        self,
        *,
        title: str | None,
        user_id: str | None,
        namespace: str,
        agent_id: str,
        metadata: Mapping[str, Any],
    ) -> SessionInfo: ...

    def session_info(self, reference: str) -> SessionInfo: ...

    def list_sessions(
        self, *, user_id: str | None, namespace: str, agent_id: str | None, limit: int | None
    ) -> list[SessionInfo]: ...

    def session_messages(self, reference: str) -> list[Message]: ...

    def add_message(
        self,
        reference: str,
        role: Role,
        text: str,
        *,
        author: str | None,
        external_id: str | None,
        timestamp: datetime | None,
        reply_to: str | None,
        metadata: Mapping[str, Any],
    ) -> Message: ...

    def context(
        self, query: str, *, session_id: str | None, budget: int | None, encoding: str | None
    ) -> Context: ...


class Session:
    """One conversation. ``id`` is "s12"; it never names another."""

    def __init__(self, host: Host, id: str) -> None:
        self._host = host
        self.id = id

    @property
    def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now."""
        return self._host.session_info(self.id)

    @property
    def title(self) -> str | None:
        return self.info.title

    def add(
        self,
        role: Role,
        text: str,
        *,
        author: str | None = None,
        external_id: str | None = None,
        timestamp: datetime | None = None,
        reply_to: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Message:
        """Store a turn; when this returns it is on the disk and can be found.

        ``timestamp`` is now unless given; one without a zone is kept as local time of an unknown zone.
        An ``external_id`` that the session already has makes this an edit: the message keeps its time
        unless another is given, and the earlier form is kept as a revision.

        Raises:
            UsageError: the role is unknown, or the text is not valid Unicode.
        """
        return self._host.add_message(
            self.id,
            role,
            text,
            author=author,
            external_id=external_id,
            timestamp=timestamp,
            reply_to=reply_to,
            metadata=metadata or {},
        )

    def messages(self) -> list[Message]:
        """All turns, in order."""
        return self._host.session_messages(self.id)

    def context(self, query: str, *, budget: int | None = None, encoding: str | None = None) -> Context:
        """What an assistant in this conversation would be given for ``query``; see Appliance.context."""
        return self._host.context(query, session_id=self.id, budget=budget, encoding=encoding)

    def __repr__(self) -> str:
        return f"Session({self.id!r})"


class Sessions:
    """The conversations of a memory."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def create(
        self,
        *,
        title: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> Session:
        """Begin a conversation. ``user_id`` is the configured user unless given."""
        info = self._host.create_session(
            title=title, user_id=user_id, namespace=namespace, agent_id=agent_id, metadata=metadata or {}
        )
        return Session(self._host, info.id)

    def get(self, id: str) -> Session:
        """The conversation of an id ("s12"), or of its external id.

        Raises:
            NotFound: there is none.
        """
        return Session(self._host, self._host.session_info(id).id)

    def list(
        self,
        *,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        limit: int | None = None,
    ) -> Sequence[SessionInfo]:
        """A user's conversations (the configured user's unless named), the last active first."""
        return self._host.list_sessions(user_id=user_id, namespace=namespace, agent_id=agent_id, limit=limit)

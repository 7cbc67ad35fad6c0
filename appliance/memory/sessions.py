"""Conversations as a program holds them: create one, add turns, read them back, build a context.

A ``Session`` is a handle, not a copy: everything it shows is read from the store when it is asked for.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from appliance.errors import UsageError
from appliance.store import messages, sessions
from appliance.store.database import Database
from appliance.types import (
    LOCAL,
    ROLES,
    Context,
    Message,
    MessageRecord,
    Role,
    Scope,
    SessionInfo,
    SessionRecord,
    Window,
)


class Take(Protocol):
    """Stores a message in a session; its key."""

    def __call__(self, record: MessageRecord, info: SessionInfo) -> int: ...


class BuildContext(Protocol):
    """``Appliance.context``, as far as a session needs it."""

    def __call__(
        self, query: str, *, session_id: str, budget: int | None, encoding: str | None
    ) -> Context: ...


@dataclass(frozen=True, slots=True)
class Host:
    """What sessions need of the engine that they live in; ``owner`` is the configured user."""

    database: Database
    owner: str
    take: Take
    context: BuildContext
    window: Callable[[int], Window]


class Session:
    """One conversation. ``id`` is "s12"; it never names another."""

    def __init__(self, sessions: Sessions, id: str) -> None:
        self._sessions = sessions
        self.id = id

    @property
    def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now."""
        return self._sessions.info(self.id)

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
        if role not in ROLES:
            raise UsageError(f"no role {role!r}", hint="one of " + ", ".join(ROLES))
        info = self.info
        record = MessageRecord(
            session=info.external_id,
            role=role,
            text=text,
            external_id=external_id,
            author=author,
            sent_at=timestamp,
            reply_to=reply_to,
            metadata=metadata or {},
        )
        return self._sessions.taken(record, info)

    def messages(self) -> list[Message]:
        """All turns, in order."""
        return [*self._sessions.messages(self.id)]

    def context(self, query: str, *, budget: int | None = None, encoding: str | None = None) -> Context:
        """What an assistant in this conversation would be given for ``query``; see Appliance.context."""
        return self._sessions.context(self.id, query, budget, encoding)

    def window(self) -> Window:
        """Its working memory: the running summary and the latest turns, as its option ``working`` or the settings have
        it.

        Raises:
            UsageError: the option can't be.
        """
        return self._sessions.window(self.id)

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
        external_id: str | None = None,
    ) -> Session:
        """Begin a conversation, or find the one of this ``external_id`` again. ``user_id`` is the configured user
        unless given.

        Raises:
            UsageError: a name is not valid Unicode.
        """
        scope = Scope(self._user(user_id), namespace, agent_id)
        record = SessionRecord(external_id or secrets.token_hex(8), title, metadata=metadata or {})
        try:
            with self._host.database.write() as tx:
                key, _ = sessions.enter(tx, scope, LOCAL, record)
        except UnicodeEncodeError as error:
            raise UsageError(f"{error.object!r} is not valid Unicode at character {error.start}") from error
        return Session(self, sessions.public_id(key))

    def get(self, id: str) -> Session:
        """The conversation of an id ("s12"), or of its external id.

        Raises:
            NotFound: there is none.
        """
        return Session(self, self.info(id).id)

    def info(self, reference: str, *, user_id: str | None = None) -> SessionInfo:
        """The session of an id ("s12"), or of its external id; only ``user_id``'s where one is named.

        Raises:
            NotFound: there is none.
            UsageError: several conversations have this external id.
        """
        return sessions.find(self._host.database.read(), reference, user_id, owner=self._host.owner)

    def list(
        self,
        *,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        limit: int | None = None,
    ) -> Sequence[SessionInfo]:
        """A user's conversations (the configured user's unless named), the last active first."""
        scope = Scope(self._user(user_id), namespace, agent_id)
        return sessions.listed(self._host.database.read(), scope, -1 if limit is None else limit)

    def messages(self, reference: str) -> Sequence[Message]:
        """A session's messages, in order."""
        rows = messages.of_session(self._host.database.read(), sessions.key(self.info(reference)))
        return [messages.public(row) for row in rows]

    def taken(self, record: MessageRecord, info: SessionInfo) -> Message:
        """A message once it is stored."""
        key = messages.message_id(self._host.take(record, info))
        return messages.public(messages.message(self._host.database.read(), key))

    def context(self, id: str, query: str, budget: int | None, encoding: str | None) -> Context:
        """See ``Session.context``."""
        return self._host.context(query, session_id=id, budget=budget, encoding=encoding)

    def window(self, id: str) -> Window:
        """See ``Session.window``."""
        return self._host.window(sessions.key(self.info(id)))

    def _user(self, user_id: str | None) -> str:
        return self._host.owner if user_id is None else user_id

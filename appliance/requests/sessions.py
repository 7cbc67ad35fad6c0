"""Requests about sessions. Those about one session name it first, by its id ("s12")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime
from typing import Any, ClassVar

from appliance.requests.base import Request
from appliance.types import (
    Message,
    Metadata,
    RemovalResult,
    Role,
    SessionInfo,
    SessionOrder,
    SessionPage,
    StorageScope,
    Window,
)


@dataclass(frozen=True, slots=True)
class CreateSessionRequest(Request[SessionInfo]):
    """Begin a session, or find the one with this ``external_id`` again and set what is given.

    Args:
        title: Its title. Without one, a title is taken from what the user says first.
        user_id: Whose it is; by default the configured user's.
        namespace: The namespace within that user's memory.
        agent_id: The agent that takes part from the beginning.
        metadata: What is kept with it; anything that JSON can express.
        external_id: The caller's own id for it.
        ttl: The seconds that it is kept without a new message: 0 for ever, None as the settings say.
        storage_scope: What it shares with other sessions; "all" by default.
        options: Its options: ``auto_recall``; ``independent`` if its messages are notes or other items by themselves,
            none of which is found by the words of another; and under ``working`` the settings of its working memory.
        auto_recall: The option of that name.
        private: Keep it in this process's memory only. Nothing of it reaches the disk.

    Raises:
        UsageError: A text is not valid Unicode, or a value is invalid.
    """

    name: ClassVar[str] = "sessions.create"

    _: KW_ONLY
    title: str | None = None
    user_id: str | None = None
    namespace: str = ""
    agent_id: str = ""
    metadata: Mapping[str, Any] | None = None
    external_id: str | None = None
    ttl: int | None = None
    storage_scope: StorageScope | None = None
    options: Mapping[str, Any] | None = None
    auto_recall: bool | None = None
    private: bool = False


@dataclass(frozen=True, slots=True)
class SessionRequest(Request[SessionInfo]):
    """Read what is known of a session, without its messages.

    Args:
        reference: Its id ("s12") or its external id.
        user_id: Only if it is this user's.
        namespace: Only if it is in this namespace.

    Raises:
        NotFound: There is none.
        UsageError: Several sessions have this external id.
    """

    name: ClassVar[str] = "sessions.info"

    reference: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class ResumeSessionRequest(Request[SessionInfo]):
    """Find a session by its name, or the last active one of those that were begun here.

    Args:
        reference: Its id or external id; None for the last active one.
        user_id: Whose it is; by default the configured user's.
        namespace: The namespace within that user's memory.
        agent_id: Only sessions in which this agent takes part.

    Raises:
        NotFound: There is none.
    """

    name: ClassVar[str] = "sessions.resume"

    reference: str | None = None
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class ListSessionsRequest(Request[SessionPage]):
    """List a user's sessions.

    Args:
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        agent_id: Only sessions in which this agent takes part; "" for those without an agent.
        metadata: Only sessions with these values.
        sources: Only sessions of these formats; "local" for those begun here.
        since: Only sessions last active from this day or time on.
        until: Only sessions last active up to this time, or to the end of this day.
        tags: Only sessions with any of these tags.
        pinned: Only pinned ones (True), or only the others (False).
        hidden: Also sessions whose messages are all of tools, systems and subagents, or were hidden from people.
        title: Only sessions with all of these words in their title.
        sort: "active" (by the last message), "started" (by the first one), "created" (by when the memory got them),
            "title", "messages" or "importance" (by their ten most important messages, pinned sessions first). The
            latest, the first letter and the most come first.
        reverse: Turn the order round.
        limit: The most sessions on a page; None for all.
        after: The ``next`` of the page before this one. A message that arrives between two pages moves no session
            from one page to the other.

    Raises:
        UsageError: A date, an order, a limit or a cursor is invalid.
    """

    name: ClassVar[str] = "sessions.list"

    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    agent_id: str | None = None
    metadata: Metadata | None = None
    sources: Sequence[str] = ()
    since: str | date | None = None
    until: str | date | None = None
    pinned: bool | None = None
    hidden: bool = True
    title: str = ""
    tags: Sequence[str] = ()
    sort: SessionOrder = "active"
    reverse: bool = False
    limit: int | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class SessionMessagesRequest(Request[Sequence[Message]]):
    """Read a session's messages in order. A branch begins with those that it shares.

    Args:
        reference: The session's id or external id.

    Raises:
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "sessions.messages"

    reference: str


@dataclass(frozen=True, slots=True)
class AddMessageRequest(Request[Message]):
    """Store a message. It is on the disk and can be found when this returns.

    What is added now comes after everything that was added before, even if the clock went back. An agent that adds a
    message takes part in the session from then on.

    Args:
        role: user, assistant, system or tool.
        text: What was said.
        author: The name of the person or program that said it.
        external_id: The caller's own id. One that the session already has makes this an edit: the message keeps its
            time unless another is given, and its earlier form is kept as a revision.
        timestamp: When it was said; by default now. A time without a zone is kept as local time of an unknown zone.
        reply_to: The external id of the message that it answers.
        metadata: What is kept with it; anything that JSON can express.
        agent_id: The agent that adds it.

    Raises:
        UsageError: The role is unknown, the text is empty or not valid Unicode, or the ``external_id`` belongs to a
            message that a branch shares.
        NotFound: The session was deleted.
    """

    name: ClassVar[str] = "sessions.add"

    session_id: str
    role: Role
    text: str
    _: KW_ONLY
    author: str | None = None
    external_id: str | None = None
    timestamp: datetime | None = None
    reply_to: str | None = None
    metadata: Mapping[str, Any] | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class WindowRequest(Request[Window]):
    """Read a session's working memory: its running summary and its latest turns.

    Raises:
        UsageError: The session's option ``working`` is invalid.
        NotFound: The session was deleted.
    """

    name: ClassVar[str] = "sessions.window"

    session_id: str


@dataclass(frozen=True, slots=True)
class BranchRequest(Request[SessionInfo]):
    """Begin a session with the same past and a future of its own.

    The past is shared, not copied: an edit of a shared message is seen in both sessions.

    Args:
        at: The last message that is shared; by default the last one.
        title: The branch's title.
        external_id: The branch's external id; by default a random one.

    Raises:
        UsageError: There is no message yet, ``at`` is of another session, or the external id is taken.
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "sessions.branch"
    repeatable: ClassVar[bool] = False

    session_id: str
    at: str | None = None
    _: KW_ONLY
    title: str | None = None
    external_id: str | None = None


@dataclass(frozen=True, slots=True)
class RenameSessionRequest(Request[None]):
    """Give a session another title. It stays, whatever an export calls the session later.

    Args:
        title: The title.
        found: Give it back the title that was made of its first words, which an export may replace, or None.

    Raises:
        UsageError: The title is empty or not valid Unicode, or None where it is not ``found``.
    """

    name: ClassVar[str] = "sessions.rename"

    session_id: str
    title: str | None
    _: KW_ONLY
    found: bool = False


@dataclass(frozen=True, slots=True)
class PinSessionRequest(Request[None]):
    """Keep a session, however long it is not used."""

    name: ClassVar[str] = "sessions.pin"

    session_id: str


@dataclass(frozen=True, slots=True)
class UnpinSessionRequest(Request[None]):
    """Let a session expire again. Its time to live counts from now."""

    name: ClassVar[str] = "sessions.unpin"

    session_id: str


@dataclass(frozen=True, slots=True)
class SetTtlRequest(Request[None]):
    """Set how long a session is kept without a new message, counted from now.

    Args:
        seconds: 0 for ever, None as the settings say.

    Raises:
        UsageError: It is below 0, or the session was imported: imported sessions never expire.
    """

    name: ClassVar[str] = "sessions.set_ttl"

    session_id: str
    seconds: int | None


@dataclass(frozen=True, slots=True)
class SetStorageScopeRequest(Request[None]):
    """Set what a session shares with other sessions, from now on and for what it already holds.

    A session always finds all of its own messages.

    Args:
        scope: "all", "conversational", "summaries_only" or "none".

    Raises:
        UsageError: There is no such scope.
    """

    name: ClassVar[str] = "sessions.set_storage_scope"

    session_id: str
    scope: StorageScope


@dataclass(frozen=True, slots=True)
class ConfigureSessionRequest(Request[None]):
    """Set some of a session's options, and leave the others as they are.

    Args:
        options: The options by name; None removes one.

    Raises:
        UsageError: An option's value is invalid.
    """

    name: ClassVar[str] = "sessions.configure"

    session_id: str
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClearSessionRequest(Request[RemovalResult]):
    """Remove all of a session's messages, with everything that was made of them. Messages that a branch shares move
    to the branch.

    Args:
        dry_run: Only report what would be removed.
    """

    name: ClassVar[str] = "sessions.clear"
    repeatable: ClassVar[bool] = False

    session_id: str
    _: KW_ONLY
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class DeleteSessionRequest(Request[RemovalResult]):
    """Remove a session with all of its messages, as ``clear`` does. Ingesting its export again does not bring them
    back, unless it is told to bring back what was forgotten (``again``).

    Args:
        dry_run: Only report what would be removed.
    """

    name: ClassVar[str] = "sessions.delete"
    repeatable: ClassVar[bool] = False

    session_id: str
    _: KW_ONLY
    dry_run: bool = False

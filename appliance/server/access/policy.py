"""The access policy: what the bearer of a token may see. HTTP, MCP and the chat proxy all decide by it.

The owner sees everything. Any other grant sees one user's memory in one namespace, and of it only what each session
shares (its storage scope): "all" everything, "conversational" its conversational messages, "summaries_only" its title,
counts and summaries, "none" nothing. What a grant may not see is answered as if it did not exist.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

from appliance.errors import NotFound, UsageError
from appliance.requests import is_private_id
from appliance.types import StorageScope

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from appliance.client import Appliance
    from appliance.server.access.grants import Grant
    from appliance.types import Fact, Hits, Message, SessionInfo, Summary


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """A memory as far as a grant opens it. ``HttpCaller`` and ``McpAccess`` add what only their protocol has."""

    memory: Appliance
    grant: Grant

    @property
    def sees_everything(self) -> bool:
        return self.grant.is_owner

    @property
    def user(self) -> str:
        """The grant's user; the configured user for the owner."""
        return self.memory.settings.user if self.grant.user_id is None else self.grant.user_id

    @property
    def namespace(self) -> str:
        return self.grant.namespace or ""

    def not_found(self, kind: str, reference: str) -> NotFound:
        """The error for what does not exist and for what may not be seen; a protocol can word it its own way."""
        return NotFound(f"There is no {kind} {reference!r}.")

    # --- sessions ---------------------------------------------------------------------------------------------

    def allows_session(self, info: SessionInfo) -> bool:
        """Whether the grant may see that a session exists, its title, its counts and its summaries."""
        if self.sees_everything:
            return True
        return (info.user_id, info.namespace) == (self.user, self.namespace) and (
            # A private session is never listed, and only the client that began it knows its id.
            info.storage_scope != "none" or is_private_id(info.id)
        )

    def allows_messages(self, info: SessionInfo) -> bool:
        """Whether the grant may read messages of a session."""
        if self.sees_everything:
            return True
        is_shared = shares_messages(info.storage_scope) or is_private_id(info.id)
        return is_shared and self.allows_session(info)

    def session(self, reference: str) -> SessionInfo:
        """A session that the grant may see, by its id or external id.

        Raises:
            NotFound: There is none.
            UsageError: Several sessions have this external id.
        """
        if self.sees_everything:
            return self.memory.sessions.info(reference)
        try:
            info = self.memory.sessions.info(reference, user_id=self.user, namespace=self.namespace)
        except NotFound:
            raise self.not_found("session", reference) from None
        if not self.allows_session(info):
            raise self.not_found("session", reference)
        return info

    def readable_session(self, reference: str) -> SessionInfo:
        """A session whose messages the grant may read, by its id or external id.

        Raises:
            NotFound: There is none.
            UsageError: Several sessions have this external id.
        """
        return self.require_readable(self.session(reference))

    def require_readable(self, info: SessionInfo) -> SessionInfo:
        """
        Raises:
            NotFound: The session shares its summaries only.
        """
        if not self.allows_messages(info):
            raise NotFound(f"Session {info.id} shares only its summaries.")
        return info

    def visible_sessions(self, infos: Iterable[SessionInfo]) -> list[SessionInfo]:
        return [info for info in infos if self.allows_session(info)]

    def allows_scope_change(self, current: StorageScope, new: StorageScope) -> bool:
        """Whether the grant may set a session's storage scope: only the owner may let a session share more."""
        strictness = get_args(StorageScope).index
        return self.grant.is_owner or strictness(new) >= strictness(current)

    # --- messages ---------------------------------------------------------------------------------------------

    def allows_message(self, message: Message, info: SessionInfo) -> bool:
        """Whether the grant may read a message of ``info``."""
        return self.allows_messages(info) and not (
            self._is_conversational_only(info) and not is_conversational(message)
        )

    def message_with_session(self, reference: str) -> tuple[Message, SessionInfo]:
        """A message that the grant may read, and its session. Only the owner may name it by its external id.

        Raises:
            NotFound: There is none.
            UsageError: Several messages have this external id.
        """
        if self.sees_everything:
            message = self.memory.message(reference)
            return message, self.memory.sessions.info(message.session_id)
        try:
            message = self.memory.message(reference)
            info = self.memory.sessions.info(message.session_id)
        except (NotFound, UsageError):
            raise self.not_found("message", reference) from None
        # An external id could match another user's message and so decide whether one's own is found.
        if message.id != reference or not self.allows_message(message, info):
            raise self.not_found("message", reference)
        return message, info

    def messages(self, info: SessionInfo, *, records: bool = True) -> Sequence[Message]:
        """The messages of a session that the grant may read, in order.

        Args:
            info: A session from ``readable_session``.
            records: Whether to include tool output, reasoning and injected context, if the session shares them.
        """
        messages = self.memory.sessions.messages(info.id)
        if records:
            return self.shared_messages(info, messages)
        return [message for message in messages if is_conversational(message)]

    def shared_messages(self, info: SessionInfo, messages: Sequence[Message]) -> Sequence[Message]:
        """Those of a readable session's messages that it shares."""
        if not self._is_conversational_only(info):
            return messages
        return [message for message in messages if is_conversational(message)]

    def readable_messages(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Those of some messages, of any sessions, that the grant may read."""
        if self.sees_everything:
            return messages
        infos = {id: self.memory.sessions.info(id) for id in {message.session_id for message in messages}}
        return [message for message in messages if self.allows_message(message, infos[message.session_id])]

    def readable_hits(self, hits: Hits, *searched: SessionInfo | None) -> Hits:
        """The hits that the grant may read. A search leaves out by itself what sessions don't share, except for the
        ``searched`` ones, which it was narrowed to or asked in."""
        own = {info.id: info for info in searched if info is not None and self._is_conversational_only(info)}
        if not own:
            return hits
        readable = (
            hit
            for hit in hits.hits
            if hit.session_id not in own or is_conversational(self.memory.message(hit.message_id))
        )
        return replace(hits, hits=tuple(readable))

    def _is_conversational_only(self, info: SessionInfo) -> bool:
        return not self.sees_everything and info.storage_scope == "conversational"

    # --- summaries and facts ------------------------------------------------------------------------------------

    def summary(self, id: str) -> Summary:
        """
        Raises:
            NotFound: There is no such summary that the grant may see.
        """
        if self.sees_everything:
            return self.memory.summaries.get(id)
        try:
            summary = self.memory.summaries.get(id)
            info = self.memory.sessions.info(summary.session_id)
        except NotFound:
            raise self.not_found("summary", id) from None
        if not self.allows_session(info):
            raise self.not_found("summary", id)
        return summary

    def visible_summaries(self, summaries: Sequence[Summary]) -> Sequence[Summary]:
        """Those of some summaries that the grant may see."""
        if self.sees_everything:
            return summaries
        ids = {summary.session_id for summary in summaries}
        allowed = {id for id in ids if self.allows_session(self.memory.sessions.info(id))}
        return [summary for summary in summaries if summary.session_id in allowed]

    def fact(self, id: str) -> Fact:
        """
        Raises:
            NotFound: There is no such fact that the grant may see.
        """
        if self.sees_everything:
            return self.memory.facts.get(id)
        try:
            return self.memory.facts.get(id, user_id=self.user, namespace=self.namespace)
        except NotFound:
            raise self.not_found("fact", id) from None


def shares_messages(scope: StorageScope) -> bool:
    """Whether a session with this storage scope shares any of its messages."""
    return scope in ("all", "conversational")


def is_conversational(message: Message) -> bool:
    """Whether a person or an assistant said a message openly."""
    from appliance.ingest import normalize  # loads the engine: an idle MCP server must not

    return normalize.is_conversational(message)

"""What a caller reaches: one user's memory in one namespace. Every tool, resource and prompt asks through here.

What is another's, what has expired and what its session keeps to itself answer alike: there is no such thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from appliance.errors import NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from appliance.engine import Engine
    from appliance.server.service import Grant
    from appliance.types import Fact, Message, SessionInfo

SEARCH_FIRST = "memory_search gives the ids of messages"
LIST_FIRST = "memory_sessions lists them"


@dataclass(frozen=True, slots=True)
class Reach:
    """A memory as far as a grant opens it. ``conversation`` names the client's present conversation."""

    memory: Engine
    grant: Grant
    conversation: str

    @property
    def user(self) -> str:
        return self.memory.settings.user if self.grant.user_id is None else self.grant.user_id

    @property
    def namespace(self) -> str:
        return self.grant.namespace or ""

    def session(self, reference: str) -> SessionInfo:
        """A session of the caller's, by its id or external id.

        Raises:
            NotFound: there is none.
        """
        try:
            info = self.memory.sessions.info(reference, user_id=self.user)
        except NotFound:
            info = None
        except UsageError:  # several of the user's are called so, in one namespace or in several
            listed = self.memory.sessions.list(user_id=self.user, namespace=self.namespace)
            named = [one for one in listed if one.external_id == reference]
            if len(named) > 1:
                ids = ", ".join(one.id for one in named)
                raise UsageError(
                    f"several sessions are called {reference!r}", hint=f"name one by its id: {ids}"
                ) from None
            info = named[0] if named else None
        if info is None or info.namespace != self.namespace or info.storage_scope == "none":
            raise NotFound(f"no session {reference!r}", hint=LIST_FIRST)
        return info

    def open_session(self, reference: str) -> SessionInfo:
        """A session whose messages others may read.

        Raises:
            NotFound: there is none.
        """
        info = self.session(reference)
        if info.storage_scope == "summaries_only":
            raise NotFound(
                f"{info.id} keeps its messages to itself",
                hint=f"memory_sessions with session {info.id} has its summary",
            )
        return info

    def messages(self, info: SessionInfo, *, records: bool) -> Sequence[Message]:
        """The messages of a session that the caller may read, in order; talk alone, unless ``records`` too."""
        found = self.memory.sessions.messages(info.id)
        if records and info.storage_scope == "all":
            return found
        return [one for one in found if is_talk(one)]

    def message(self, id: str) -> tuple[Message, SessionInfo]:
        """A message of the caller's, and its session.

        Raises:
            NotFound: there is none.
        """
        try:
            message = self.memory.message(id)
            info = self.open_session(message.session_id)
        except NotFound as error:
            raise NotFound(f"no message {id}", hint=SEARCH_FIRST) from error
        if message.id != id or (info.storage_scope != "all" and not is_talk(message)):
            raise NotFound(f"no message {id}", hint=SEARCH_FIRST)
        return message, info

    def fact(self, id: str) -> Fact:
        """A fact of the caller's.

        Raises:
            NotFound: there is none.
        """
        try:
            return self.memory.facts.get(id, user_id=self.user, namespace=self.namespace)
        except NotFound as error:
            raise NotFound(f"no fact {id}", hint="memory_facts lists them") from error

    def note_recalled(self, ids: Sequence[str]) -> None:
        """Count messages as given to an assistant in full."""
        if ids:
            self.memory.keeping.recalled(ids)


def is_talk(message: Message) -> bool:
    """Whether a person or an assistant said it in the open."""
    from appliance.ingest import normalise  # with the engine, which is not loaded before it is needed

    return normalise.is_talk(message)

"""What a person looks over who does not search: the verbs of a screen, each of which reads."""

from __future__ import annotations

from collections.abc import Sequence

from appliance.errors import UsageError
from appliance.paths import Home
from appliance.store import browsing, chunks, messages, sessions
from appliance.store.database import Database
from appliance.types import Activity, Choices, Message, Outline, Scope, WatchedFile

AT_ONCE = 500
"""Messages that are read at once: some screens full."""


class Browsing:
    """Looks over an open memory. Safe to use from several threads."""

    def __init__(self, home: Home, database: Database, owner: str, watched: Sequence[str]) -> None:
        """``watched`` are the folders of the settings."""
        self._home = home
        self._database = database
        self._owner = owner
        self._watched = watched

    def counts(self) -> dict[str, int]:
        """How many ``messages`` there are of everybody, and how many of their chunks are ``pending``: not found by what
        they mean yet. ``status`` tells more, and takes longer."""
        db = self._database.read()
        generation = chunks.generation(db)
        return {
            "messages": messages.count(db),
            "pending": chunks.pending(db, generation.id) if generation else 0,
        }

    def outline(self, session: str) -> Outline:
        """A conversation's messages in order, those first that it shares as a branch, without their texts.

        Raises:
            NotFound: there is no such session.
        """
        db = self._database.read()
        info = sessions.find(db, session)
        return browsing.outline(db, sessions.key(info), info.id)

    def messages(self, ids: Sequence[str]) -> list[Message]:
        """The messages of the given ids, in the same order; those that are not there any more are left out.

        Raises:
            UsageError: they are more than ``AT_ONCE``.
        """
        if len(ids) > AT_ONCE:
            raise UsageError(f"at most {AT_ONCE} messages are read at once, not {len(ids)}")
        keys = [key for id in ids if (key := messages.message_key(id)) is not None]
        rows = messages.get(self._database.read(), keys)
        return [messages.public(rows[key]) for key in keys if key in rows]

    def choices(self, *, user_id: str | None = None, namespace: str = "") -> Choices:
        """What a search can be narrowed to."""
        return browsing.choices(self._database.read(), self._scope(user_id, namespace))

    def activity(self, *, user_id: str | None = None, namespace: str = "") -> list[Activity]:
        """How many messages were said in each month, by source."""
        return browsing.activity(self._database.read(), self._scope(user_id, namespace))

    def files(self, *, limit: int = 1_000) -> list[WatchedFile]:
        """The files that were found in watched folders, those first that wait, then the latest read."""
        return browsing.files(self._database.read(), limit)

    def folders(self) -> list[str]:
        """The folders that are watched: the inbox in the home, and those of the settings."""
        return [str(self._home.inbox), *self._watched]

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._owner if user_id is None else user_id, namespace)

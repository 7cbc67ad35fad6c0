"""The conversations of a memory: begun, found again, listed, and cleared away when their time is over."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Literal, overload

from appliance import moments
from appliance.errors import NotFound, UsageError
from appliance.memory.private import PrivateSession
from appliance.memory.session import (
    AUTO_RECALL,
    Host,
    PrivateHost,
    Session,
    as_usage,
    check_metadata,
    check_storage_scope,
    check_ttl,
    deleted,
    one_line,
    options_text,
)
from appliance.store import chunks, listing, messages, removal, sessions
from appliance.store.listing import Sort, Wanted
from appliance.types import (
    LOCAL,
    Message,
    Metadata,
    Scope,
    SessionInfo,
    SessionPage,
    SessionRecord,
    StorageScope,
)

CLEARED_AT_ONCE = 20
"""How many expired sessions a turn of the background deletes, each in a transaction of its own."""


class Sessions:
    """The conversations of a memory."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._owner = host.owner
        self._private_host = PrivateHost(host.context, host.working.making)
        self._private: dict[str, PrivateSession] = {}

    @overload
    def create(
        self,
        *,
        title: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str = "",
        metadata: Mapping[str, Any] | None = None,
        external_id: str | None = None,
        ttl: int | None = None,
        storage_scope: StorageScope | None = None,
        options: Mapping[str, Any] | None = None,
        auto_recall: bool | None = None,
        private: Literal[False] = False,
    ) -> Session: ...

    @overload
    def create(
        self,
        *,
        title: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str = "",
        metadata: Mapping[str, Any] | None = None,
        external_id: str | None = None,
        ttl: int | None = None,
        storage_scope: StorageScope | None = None,
        options: Mapping[str, Any] | None = None,
        auto_recall: bool | None = None,
        private: Literal[True],
    ) -> PrivateSession: ...

    def create(
        self,
        *,
        title: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str = "",
        metadata: Mapping[str, Any] | None = None,
        external_id: str | None = None,
        ttl: int | None = None,
        storage_scope: StorageScope | None = None,
        options: Mapping[str, Any] | None = None,
        auto_recall: bool | None = None,
        private: bool = False,
    ) -> Session | PrivateSession:
        """Begin a conversation, or find the one of this ``external_id`` again and set what is given. ``user_id``
        is the configured user unless given.

        Without a ``title``, one is found in what the user says first. ``ttl`` is how many seconds it stays
        without a new message (0: for ever; None: as the settings say), ``storage_scope`` what it gives to
        others ("all" unless given). ``options`` are kept with it: its working memory reads ``working``, contexts
        read ``auto_recall``. A ``private`` one is kept in memory only and is gone when the program ends.

        Raises:
            UsageError: a name is not valid Unicode, or a value can't be.
        """
        check_ttl(ttl)
        check_storage_scope(storage_scope or "all")
        check_metadata(metadata or {})
        options = {**(options or {}), **({} if auto_recall is None else {AUTO_RECALL: auto_recall})}
        kept = options_text(self._private_host.making, options)
        title = None if title is None else one_line(title)
        scope = Scope(self._user(user_id), namespace, agent_id)
        if private:
            begun = PrivateSession(self._private_host, scope, title, metadata or {}, options, self._private)
            self._private[begun.id] = begun
            return begun
        record = SessionRecord(external_id or secrets.token_hex(8), title, metadata=metadata or {})
        with as_usage(), self._host.database.write() as tx:
            old = sessions.expired_twin(tx, scope, record.external_id)
            if old is not None:
                removal.delete(tx, old)
            key, _ = sessions.enter(tx, scope, LOCAL, record)
            if ttl is not None:
                sessions.change(tx, key, ttl=ttl)
            if options:
                sessions.change(tx, key, options=kept)
            if storage_scope is not None:
                sessions.change(tx, key, storage_scope=storage_scope)
                chunks.requeue_session(tx, key)
            sessions.touch(tx, key, self._host.ttl)
        return Session(self._host, sessions.public_id(key))

    def get(self, id: str, *, user_id: str | None = None) -> Session | PrivateSession:
        """The conversation of an id ("s12"), or of its external id; only ``user_id``'s where one is named.

        Raises:
            NotFound: there is none.
        """
        if id in self._private and user_id in (None, self._private[id].info.user_id):
            return self._private[id]
        return Session(self._host, self.info(id, user_id=user_id).id)

    def info(
        self, reference: str, *, user_id: str | None = None, namespace: str | None = None
    ) -> SessionInfo:
        """The session of an id ("s12"), or of its external id; only ``user_id``'s and only one of ``namespace``
        where they are named.

        Raises:
            NotFound: there is none.
            UsageError: several conversations have this external id.
        """
        return sessions.find(
            self._host.database.read(), reference, user_id, owner=self._owner, namespace=namespace
        )

    def resume(
        self,
        reference: str | None = None,
        *,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
    ) -> Session:
        """The conversation of a name (as in ``info``), or else the last active one of those that were begun here.

        Raises:
            NotFound: there is none.
        """
        if reference is not None:
            return Session(self._host, self.info(reference, user_id=user_id).id)
        last = self.list(user_id=user_id, namespace=namespace, agent_id=agent_id, sources=(LOCAL,), limit=1)
        if not last:
            raise NotFound(f"{self._user(user_id)} has begun no session here", hint="begin one, or name one")
        return Session(self._host, last[0].id)

    def list(
        self,
        *,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        metadata: Metadata | None = None,
        sources: Sequence[str] = (),
        since: str | date | None = None,
        until: str | date | None = None,
        pinned: bool | None = None,
        title: str = "",
        sort: Sort = "active",
        reverse: bool = False,
        limit: int | None = None,
        after: str | None = None,
    ) -> SessionPage:
        """A user's conversations (the configured user's unless named), the last active first.

        ``agent_id`` keeps those in which that agent takes part ("" those without any), ``metadata`` those that
        have these values, ``sources`` those of these formats ("local" was begun here), ``since`` and ``until``
        those last active then, ``title`` those with all of these words in it. ``sort`` by "active", "created",
        "title", "messages" or "importance": the latest, the first letter, the most come first, the last with
        ``reverse``. How important a session is, its ten most important messages say; a pinned one comes before those
        that are not. With a ``limit``, the page's ``next`` is the ``after`` of the page behind it; what is said between
        two pages moves nothing from one to the other.

        Raises:
            UsageError: a date, an order, a limit or a cursor that can't be.
        """
        if limit is not None and limit < 1:
            raise UsageError(f"a limit of {limit} lists nothing")
        wanted = Wanted(
            Scope(self._user(user_id), namespace, agent_id),
            metadata=metadata or {},
            sources=tuple(sources),
            since=moments.bound(since, end=False),
            until=moments.bound(until, end=True),
            pinned=pinned,
            words=title,
        )
        backwards = (sort != "title") != reverse
        db = self._host.database.read()
        return listing.listed(db, wanted, sort, backwards=backwards, limit=limit, cursor=after)

    def messages(self, reference: str) -> Sequence[Message]:
        """A session's messages, in order; of a branch, those first that it shares."""
        rows = messages.of_session(self._host.database.read(), sessions.key(self.info(reference)))
        return [messages.public(row) for row in rows]

    def clear_away(self, goes_on: Callable[[], bool]) -> int:
        """Delete some of the sessions that have outlived their time; how many. What is left of them was not shown
        any more."""
        done = 0
        while done < CLEARED_AT_ONCE and goes_on():
            with self._host.database.write() as tx:
                key = sessions.expired(tx)
                if key is None:
                    break
                removed = removal.delete(tx, key)
            self._host.tell(deleted(sessions.public_id(key), removed, session=True))
            done += 1
        if done:
            self._host.wake()
        return done

    def _user(self, user_id: str | None) -> str:
        return self._owner if user_id is None else user_id

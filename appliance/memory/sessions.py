"""The sessions of a memory: created, found, listed, written to, branched, cleared and deleted."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from appliance import requests as r
from appliance import timestamps
from appliance.errors import NotFound, UsageError
from appliance.memory.session_checks import (
    branch_title,
    check_external_id,
    check_metadata,
    check_storage_scope,
    check_ttl,
    check_turn,
    encode_options,
    normalize_title,
    unicode_errors_as_usage,
)
from appliance.memory.working_memory import WorkingMemory
from appliance.requests import recall_options
from appliance.store import branches, chunks, deletion, messages, session_listing, sessions, tags
from appliance.store.database import Database
from appliance.store.session_listing import SessionFilter
from appliance.store.sql import to_json
from appliance.types import (
    LOCAL,
    Event,
    Message,
    MessageRecord,
    RemovalResult,
    Scope,
    SessionInfo,
    SessionPage,
    SessionRecord,
    TagCount,
    Window,
)
from appliance.types.vocabulary import MAX_FILTER_VALUES

MAX_DELETED_PER_RUN = 20
"""The expired sessions that one run of the background job deletes, each in a transaction of its own."""

BeforeStoreHook = Callable[[sqlite3.Connection], None]
"""Called within the transaction of a new message, before it is stored."""


class StoreMessage(Protocol):
    """Stores a message in a session, and returns its key."""

    def __call__(self, record: MessageRecord, info: SessionInfo, before: BeforeStoreHook) -> int: ...


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What the session service needs of the engine.

    Attributes:
        owner: The configured user.
        ttl: The seconds that a session is kept which sets no time to live; 0 for ever.
        wake_workers: Lets the background look for jobs.
        publish: Publishes an event.
        note_answer: Is told the text of an assistant's stored answer, and whose memory it is in.
    """

    database: Database
    owner: str
    ttl: int
    store_message: StoreMessage
    wake_workers: Callable[[], None]
    working_memory: WorkingMemory
    publish: Callable[[Event], None] = lambda event: None
    note_answer: Callable[[str, Scope], object] = lambda text, scope: None


_delete_for_good = partial(deletion.delete, for_good=True)


class SessionService:
    """The sessions of a memory. Safe to use from several threads."""

    def __init__(self, context: SessionContext) -> None:
        self._context = context
        self._database = context.database

    # --- found ----------------------------------------------------------------------------------------

    def create(self, request: r.CreateSessionRequest) -> SessionInfo:
        """See ``CreateSessionRequest``."""
        check_external_id(request.external_id)
        check_ttl(request.ttl)
        check_storage_scope(request.storage_scope or "all")
        check_metadata(request.metadata or {})
        auto_recall = {} if request.auto_recall is None else {recall_options.AUTO_RECALL: request.auto_recall}
        options = {**(request.options or {}), **auto_recall}
        title = None if request.title is None else normalize_title(request.title)
        scope = Scope(self._user(request.user_id), request.namespace, request.agent_id)
        record = SessionRecord(request.external_id or secrets.token_hex(8), title, metadata=request.metadata or {})
        with unicode_errors_as_usage(), self._database.write() as tx:
            expired = sessions.find_expired(tx, scope, record.external_id)
            if expired is not None:
                deletion.delete(tx, expired)
            key, _ = sessions.upsert(tx, scope, LOCAL, record)
            if request.ttl is not None:
                sessions.update(tx, key, ttl=request.ttl)
            if options:
                self._set_options(tx, key, options)
            if request.storage_scope is not None:
                sessions.update(tx, key, storage_scope=request.storage_scope)
                chunks.requeue_session(tx, key)
            sessions.touch(tx, key, self._context.ttl)
        return self._find(sessions.public_id(key))

    def info(self, request: r.SessionRequest) -> SessionInfo:
        """See ``SessionRequest``."""
        return sessions.find(
            self._database.read(), request.reference, request.user_id, owner=self._context.owner,
            namespace=request.namespace,
        )  # fmt: skip

    def resume(self, request: r.ResumeSessionRequest) -> SessionInfo:
        """See ``ResumeSessionRequest``."""
        if request.reference is not None:
            return self.info(r.SessionRequest(request.reference, user_id=request.user_id))
        page = self.list(
            r.ListSessionsRequest(
                user_id=request.user_id,
                namespace=request.namespace,
                agent_id=request.agent_id,
                sources=(LOCAL,),
                limit=1,
            )
        )
        if not page:
            user = self._user(request.user_id)
            raise NotFound(f"User {user!r} has no session that was started here.", hint="Create one, or name one.")
        return page[0]

    def list(self, request: r.ListSessionsRequest) -> SessionPage:
        """See ``ListSessionsRequest``."""
        if request.limit is not None and request.limit < 1:
            raise UsageError(f"The limit must be at least 1, not {request.limit}.")
        if len(request.metadata or {}) > MAX_FILTER_VALUES:
            raise UsageError(f"The metadata to look for must have at most {MAX_FILTER_VALUES} entries.")
        wanted = SessionFilter(
            Scope(self._user(request.user_id), request.namespace, request.agent_id),
            metadata=request.metadata or {},
            sources=tuple(request.sources),
            since=timestamps.parse_bound(request.since, end=False),
            until=timestamps.parse_bound(request.until, end=True),
            pinned=request.pinned,
            hidden=request.hidden,
            title_words=request.title,
            tags=tuple(map(tags.normal, request.tags)),
        )
        return session_listing.list_sessions(
            self._database.read(), wanted, request.sort, descending=(request.sort != "title") != request.reverse,
            limit=request.limit, cursor=request.after,
        )  # fmt: skip

    def messages(self, request: r.SessionMessagesRequest) -> Sequence[Message]:
        """See ``SessionMessagesRequest``."""
        db = self._database.read()
        key = sessions.key(self.info(r.SessionRequest(request.reference)))
        return [messages.to_message(row) for row in messages.of_session(db, key)]

    # --- one session ----------------------------------------------------------------------------------

    def add(self, request: r.AddMessageRequest) -> Message:
        """See ``AddMessageRequest``."""
        check_turn(request.role, request.text, request.timestamp, request.metadata)
        info = self._find(request.session_id)
        key = sessions.key(info)
        record = MessageRecord(
            session=info.external_id,
            role=request.role,
            text=request.text,
            external_id=request.external_id,
            author=request.author,
            sent_at=request.timestamp,
            reply_to=request.reply_to,
            metadata={**(request.metadata or {}), **({"agent": request.agent_id} if request.agent_id else {})},
        )

        def before(tx: sqlite3.Connection) -> None:
            sessions.require(tx, key)
            _check_not_shared(tx, key, request.external_id)
            if request.agent_id:
                sessions.add_agent(tx, key, request.agent_id)
            sessions.touch(tx, key, self._context.ttl)
            if request.role == "user" and not record.metadata.get("hidden"):
                sessions.set_missing_title(tx, key, [request.text])

        with unicode_errors_as_usage():
            message = messages.message_id(self._context.store_message(record, info, before))
        if request.role == "assistant":
            self._context.note_answer(request.text, Scope(info.user_id, info.namespace))
        return messages.to_message(messages.find(self._database.read(), message))

    def window(self, request: r.WindowRequest) -> Window:
        """See ``WindowRequest``."""
        return self._context.working_memory.window(self._require(request.session_id))

    def branch(self, request: r.BranchRequest) -> SessionInfo:
        """See ``BranchRequest``."""
        info = self._find(request.session_id)
        parent = sessions.key(info)
        check_external_id(request.external_id)
        title = normalize_title(request.title) if request.title is not None else branch_title(info.title)
        record = SessionRecord(request.external_id or secrets.token_hex(8), title, metadata=info.metadata)
        scope = Scope(info.user_id, info.namespace, info.agent_id)
        with unicode_errors_as_usage(), self._database.write() as tx:
            sessions.require(tx, parent)
            if sessions.stored_key(tx, scope, LOCAL, record.external_id) is not None:
                raise UsageError(f"The external id {record.external_id!r} is taken.", hint="Use another one.")
            owner, message = _branch_point(tx, parent, request.at, scope)
            key, _ = sessions.upsert(tx, scope, LOCAL, record)
            sessions.update(
                tx,
                key,
                parent_id=owner,
                branch_at=message,
                storage_scope=info.storage_scope,
                ttl=info.ttl,
                options=to_json(info.options),
                titled="found" if info.title_found and request.title is None else "given",
            )
            for agent in info.agents:
                sessions.add_agent(tx, key, agent)
            sessions.touch(tx, key, self._context.ttl)
        return self._find(sessions.public_id(key))

    def rename(self, request: r.RenameSessionRequest) -> None:
        """See ``RenameSessionRequest``."""
        title = None if request.found and request.title is None else normalize_title(request.title or "")
        titled = "person" if not request.found else "given" if title is None else "found"
        self._update(request.session_id, title=title, titled=titled)

    def pin(self, request: r.PinSessionRequest) -> None:
        """See ``PinSessionRequest``."""
        self._pin(request.session_id, True)

    def unpin(self, request: r.UnpinSessionRequest) -> None:
        """See ``UnpinSessionRequest``."""
        self._pin(request.session_id, False)

    def tag(self, request: r.TagSessionRequest) -> tuple[str, ...]:
        """See ``TagSessionRequest``."""
        return self._change_tags(request.session_id, request.tags, tags.add)

    def untag(self, request: r.UntagSessionRequest) -> tuple[str, ...]:
        """See ``UntagSessionRequest``."""
        return self._change_tags(request.session_id, request.tags, tags.remove)

    def tags(self, request: r.ListTagsRequest) -> Sequence[TagCount]:
        """See ``ListTagsRequest``."""
        return tags.counts(self._database.read(), Scope(self._user(request.user_id), request.namespace))

    def set_ttl(self, request: r.SetTtlRequest) -> None:
        """See ``SetTtlRequest``."""
        check_ttl(request.seconds)
        if self._find(request.session_id).format != LOCAL:
            raise UsageError(
                f"Session {request.session_id} was imported and never expires.",
                hint="Only sessions that were started here expire.",
            )
        self._update(request.session_id, ttl=request.seconds)

    def set_storage_scope(self, request: r.SetStorageScopeRequest) -> None:
        """See ``SetStorageScopeRequest``."""
        check_storage_scope(request.scope)
        key = self._require(request.session_id)
        with self._database.write() as tx:
            sessions.require(tx, key)
            sessions.update(tx, key, storage_scope=request.scope)
            chunks.requeue_session(tx, key)
        self._context.wake_workers()

    def configure(self, request: r.ConfigureSessionRequest) -> None:
        """See ``ConfigureSessionRequest``."""
        key = self._require(request.session_id)
        with self._database.write() as tx:
            sessions.require(tx, key)
            self._set_options(tx, key, request.options)
        self._context.wake_workers()

    def clear(self, request: r.ClearSessionRequest) -> RemovalResult:
        """See ``ClearSessionRequest``."""
        return self._remove(request.session_id, deletion.clear, request.dry_run)

    def delete(self, request: r.DeleteSessionRequest) -> RemovalResult:
        """See ``DeleteSessionRequest``."""
        return self._remove(request.session_id, _delete_for_good, request.dry_run)

    # --- in the background ----------------------------------------------------------------------------

    def delete_expired(self, should_continue: Callable[[], bool]) -> int:
        """Delete some of the sessions that have expired, and return how many. They are invisible already."""
        done = 0
        while done < MAX_DELETED_PER_RUN and should_continue():
            with self._database.write() as tx:
                key = sessions.next_expired(tx)
                if key is None:
                    break
                removed = deletion.delete(tx, key)
            self._publish_deletion(sessions.public_id(key), removed, sessions=1)
            done += 1
        if done:
            self._context.wake_workers()
        return done

    # --- what the verbs share -------------------------------------------------------------------------

    def _user(self, user_id: str | None) -> str:
        return self._context.owner if user_id is None else user_id

    def _find(self, session_id: str) -> SessionInfo:
        return sessions.find(self._database.read(), sessions.public_id(self._require(session_id)))

    def _require(self, session_id: str) -> int:
        """The key of a session by its id; an external id names none here.

        Raises:
            NotFound: There is no such session any more.
        """
        key = sessions.key_of(session_id)
        if key is None:
            raise NotFound(f"There is no session {session_id!r}.", hint="'appliance sessions' lists the sessions.")
        sessions.require(self._database.read(), key)
        return key

    def _pin(self, session_id: str, pinned: bool) -> None:
        self._update(session_id, pinned=int(pinned))
        self._context.publish(Event("pinned", sessions.public_id(self._require(session_id)), {"pinned": int(pinned)}))

    def _update(self, session_id: str, **columns: str | int | None) -> None:
        key = self._require(session_id)
        with unicode_errors_as_usage(), self._database.write() as tx:
            sessions.require(tx, key)
            sessions.update(tx, key, **columns)
            sessions.touch(tx, key, self._context.ttl)

    def _change_tags(
        self, session_id: str, names: Sequence[str], change: Callable[[sqlite3.Connection, int, Sequence[str]], None]
    ) -> tuple[str, ...]:
        key = self._require(session_id)
        with self._database.write() as tx:
            sessions.require(tx, key)
            change(tx, key, names)
            return tags.of_sessions(tx, [key]).get(key, ())

    def _set_options(self, tx: sqlite3.Connection, key: int, given: Mapping[str, Any]) -> None:
        """Set the given options of a session, and leave the others as they are; None removes one."""
        merged = {**sessions.options(tx, key), **given}
        options = {name: value for name, value in merged.items() if value is not None}
        sessions.set_options(tx, key, encode_options(self._context.working_memory.window_builder, options))

    def _remove(
        self, session_id: str, remove: Callable[[sqlite3.Connection, int], RemovalResult], dry_run: bool
    ) -> RemovalResult:
        key = self._require(session_id)
        with self._database.dry_run() if dry_run else self._database.write() as tx:
            sessions.require(tx, key)
            removed = remove(tx, key)
        if not dry_run:
            self._publish_deletion(sessions.public_id(key), removed, sessions=int(remove is _delete_for_good))
            self._context.wake_workers()
        return removed

    def _publish_deletion(self, id: str, removed: RemovalResult, *, sessions: int) -> None:
        self._context.publish(Event("deleted", id, {"messages": removed.messages, "sessions": sessions}))


def _check_not_shared(tx: sqlite3.Connection, session: int, external_id: str | None) -> None:
    """
    Raises:
        UsageError: The message of this external id is shared with the session that a branch left.
    """
    past = branches.session_parts(tx, session)[:-1]
    if external_id is None or not past:
        return
    where, values = branches.parts_condition(past)
    found = tx.execute(
        f"SELECT m.id, m.session_id FROM message m WHERE {where} AND m.external_id = ?", (*values, external_id)
    ).fetchone()
    if found is not None:
        raise UsageError(
            f"{external_id!r} is message m{found[0]}, which the branch {sessions.public_id(session)} shares.",
            hint=f"Edit it in {sessions.public_id(found[1])}, or use another external id.",
        )


def _branch_point(tx: sqlite3.Connection, session: int, at: str | None, scope: Scope) -> tuple[int, int]:
    """The session that owns the message ``at`` (by default the last one), and the message's key."""
    id = sessions.public_id(session)
    if at is None:
        rows = messages.of_session(tx, session, last=1)
        if not rows:
            raise UsageError(f"Session {id} has no message to branch at.", hint="Add a message first.")
        return rows[0].session_id, rows[0].id
    where, values = branches.parts_condition(branches.session_parts(tx, session))
    found: tuple[int, int] | None = tx.execute(
        f"SELECT m.session_id, m.id FROM message m WHERE {where} AND (m.id = ? OR m.external_id = ?)"
        " ORDER BY m.id = ? DESC LIMIT 1",
        (*values, messages.message_key(at), at, messages.message_key(at)),
    ).fetchone()
    if found is None:
        row = messages.find(tx, at, scope)
        raise UsageError(
            f"Message {at!r} belongs to session {sessions.public_id(row.session_id)}, not to {id}.",
            hint=f"'appliance show {id}' lists its messages.",
        )
    return found

"""A conversation as a program holds it: add turns, read them back, build a context, branch, clear, delete.

A ``Session`` is a handle, not a copy: everything it shows is read from the store when it is asked for.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, get_args

import msgspec

from appliance.errors import UsageError
from appliance.memory.working import Making, WorkingMemory
from appliance.store import chunks, lineage, messages, removal, sessions
from appliance.store.database import Database
from appliance.store.sql import to_json
from appliance.types import (
    LOCAL,
    ROLES,
    Context,
    Event,
    Message,
    MessageRecord,
    Removed,
    Role,
    Scope,
    SessionInfo,
    SessionRecord,
    StorageScope,
    Window,
)

Before = Callable[[sqlite3.Connection], None]
"""Called within the transaction of a new message, before it is stored."""

AUTO_RECALL = "auto_recall"
"""The option that says whether memories of other conversations come into a context by themselves."""

BRANCH = " (branch)"
"""Behind the title of a branch that was given none."""


class Take(Protocol):
    """Stores a message in a session; its key."""

    def __call__(self, record: MessageRecord, info: SessionInfo, before: Before) -> int: ...


class BuildContext(Protocol):
    """``Appliance.context``, as far as a session needs it."""

    def __call__(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        budget: int | None = None,
        encoding: str | None = None,
        auto_recall: bool | None = None,
        agent_id: str | None = None,
        profile: str | None = None,
        preset: str | None = None,
        shares: Mapping[str, float] | None = None,
        window: Window | None = None,
        counted: bool = True,
    ) -> Context: ...


@dataclass(frozen=True, slots=True)
class Host:
    """What sessions need of the engine that they live in. ``owner`` is the configured user, ``ttl`` the seconds
    that a session stays which sets none; ``wake`` lets the background see to what has changed; ``working`` has the
    windows, ``tell`` is told of what was deleted."""

    database: Database
    owner: str
    ttl: int
    take: Take
    context: BuildContext
    wake: Callable[[], None]
    working: WorkingMemory
    tell: Callable[[Event], None] = lambda event: None


def deleted(id: str, removed: Removed, *, session: bool) -> Event:
    """What is told of a session's messages that are gone, and of the ``session`` too unless it was only cleared."""
    return Event("deleted", id, {"messages": removed.messages, "sessions": int(session)})


@dataclass(frozen=True, slots=True)
class PrivateHost:
    """What a conversation needs that is stored nowhere."""

    context: BuildContext
    making: Making


class Session:
    """One conversation. ``id`` is "s12"; it never names another."""

    def __init__(self, host: Host, id: str) -> None:
        self._host = host
        self.id = id

    @property
    def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now.

        Raises:
            NotFound: it was deleted, or has outlived its time.
        """
        return sessions.find(self._host.database.read(), self.id)

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
        agent_id: str | None = None,
    ) -> Message:
        """Store a turn; when this returns it is on the disk and can be found.

        ``timestamp`` is now unless given; one without a zone is kept as local time of an unknown zone. What is
        said now stands behind all that was said before, even if the clock went back.
        An ``external_id`` that the session already has makes this an edit: the message keeps its time
        unless another is given, and the earlier form is kept as a revision. ``agent_id`` is the agent that
        adds it: it takes part in the session from then on, and finds all of it.

        Raises:
            UsageError: the role is unknown, the text is empty or not valid Unicode, or the ``external_id`` is of
                a message that a branch shares with the conversation which it left.
            NotFound: the session was deleted.
        """
        check_turn(role, text, timestamp, metadata)
        info = self.info
        record = MessageRecord(
            session=info.external_id,
            role=role,
            text=text,
            external_id=external_id,
            author=author,
            sent_at=timestamp,
            reply_to=reply_to,
            metadata={**(metadata or {}), **({"agent": agent_id} if agent_id else {})},
        )

        def before(tx: sqlite3.Connection) -> None:
            sessions.require(tx, self._key)
            self._check_not_shared(tx, external_id)
            if agent_id:
                sessions.join(tx, self._key, agent_id)
            sessions.touch(tx, self._key, self._host.ttl)
            if role == "user" and not record.metadata.get("hidden"):
                sessions.entitle(tx, self._key, [text])

        with as_usage():
            key = messages.message_id(self._host.take(record, info, before))
        return messages.public(messages.message(self._host.database.read(), key))

    def messages(self) -> list[Message]:
        """All turns, in order; of a branch, those first that it shares."""
        sessions.require(self._host.database.read(), self._key)
        return [messages.public(row) for row in messages.of_session(self._host.database.read(), self._key)]

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        encoding: str | None = None,
        agent_id: str | None = None,
        profile: str | None = None,
        preset: str | None = None,
        shares: Mapping[str, float] | None = None,
        auto_recall: bool | None = None,
    ) -> Context:
        """What an assistant in this conversation would be given for ``query``; see Appliance.context."""
        return self._host.context(
            query,
            session_id=self.id,
            budget=budget,
            encoding=encoding,
            agent_id=agent_id,
            profile=profile,
            preset=preset,
            shares=shares,
            auto_recall=auto_recall,
        )

    def window(self) -> Window:
        """Its working memory: the running summary and the latest turns, as its option ``working`` or the settings have
        it.

        Raises:
            UsageError: the option can't be.
        """
        sessions.require(self._host.database.read(), self._key)
        return self._host.working.window(self._key)

    def branch(self, at: str | None = None, *, title: str | None = None) -> Session:
        """A conversation with the same past, up to and including the message ``at`` (the last one without), and a
        future of its own. The past is shared, not copied: an edit of it is seen in both.

        Raises:
            UsageError: there is no message yet, or ``at`` is another conversation's.
            NotFound: there is no such message.
        """
        info = self.info
        given = title is not None
        title = one_line(title) if title is not None else _of_branch(info.title)
        record = SessionRecord(secrets.token_hex(8), title, metadata=info.metadata)
        with as_usage(), self._host.database.write() as tx:
            sessions.require(tx, self._key)
            owner, message = self._place(tx, at, Scope(info.user_id, info.namespace))
            key, _ = sessions.enter(tx, Scope(info.user_id, info.namespace, info.agent_id), LOCAL, record)
            sessions.change(
                tx,
                key,
                parent_id=owner,
                branch_at=message,
                storage_scope=info.storage_scope,
                ttl=info.ttl,
                options=to_json(info.options),
                titled="found" if info.title_found and not given else "given",
            )
            for agent in info.agents:
                sessions.join(tx, key, agent)
            sessions.touch(tx, key, self._host.ttl)
        return Session(self._host, sessions.public_id(key))

    def rename(self, title: str) -> None:
        """Give it another title, which stays whatever an export calls it later.

        Raises:
            UsageError: the title is empty or not valid Unicode.
        """
        self._change(title=one_line(title), titled="person")

    def pin(self) -> None:
        """Keep it, however long nothing happens in it."""
        self._change(pinned=1)

    def unpin(self) -> None:
        """Let it go when its time is over, counted from now."""
        self._change(pinned=0)

    def set_ttl(self, seconds: int | None) -> None:
        """How long it stays without a new message, counted from now: 0 for ever, None as the settings say.

        Raises:
            UsageError: it is below 0, or the conversation was imported: those always stay.
        """
        check_ttl(seconds)
        if self.info.format != LOCAL:
            raise UsageError(f"{self.id} was imported: a time to live is for what was begun here")
        self._change(ttl=seconds)

    def set_storage_scope(self, scope: StorageScope) -> None:
        """What it gives to other conversations from now on; what it has given before is not found any more
        either. Within it everything is found.

        Raises:
            UsageError: there is no such scope.
        """
        check_storage_scope(scope)
        with self._host.database.write() as tx:
            sessions.require(tx, self._key)
            sessions.change(tx, self._key, storage_scope=scope)
            chunks.requeue_session(tx, self._key)
        self._host.wake()

    def configure(self, options: Mapping[str, Any]) -> None:
        """Set some of its options, and leave the others; None takes one away.

        Raises:
            UsageError: an option has a value that can't be.
        """
        with self._host.database.write() as tx:
            sessions.require(tx, self._key)
            (stored,) = tx.execute("SELECT options FROM session WHERE id = ?", (self._key,)).fetchone()
            merged = {**msgspec.json.decode(stored), **options}
            text = options_text(
                self._host.working.making,
                {name: value for name, value in merged.items() if value is not None},
            )
            sessions.change(tx, self._key, options=text)

    @property
    def auto_recall(self) -> bool:
        """Whether memories of other conversations come into its contexts by themselves."""
        return bool(self.info.options.get(AUTO_RECALL, True))

    def clear(self, *, dry_run: bool = False) -> Removed:
        """Remove all its messages with what was made of them; what branches share goes over to them.
        ``dry_run`` only says what would go."""
        return self._remove(removal.clear, dry_run)

    def delete(self, *, dry_run: bool = False) -> Removed:
        """Remove it with all its messages, as ``clear`` does."""
        return self._remove(removal.delete, dry_run)

    def __repr__(self) -> str:
        return f"Session({self.id!r})"

    @property
    def _key(self) -> int:
        return int(self.id[1:])

    def _change(self, **columns: str | int | None) -> None:
        with as_usage(), self._host.database.write() as tx:
            sessions.require(tx, self._key)
            sessions.change(tx, self._key, **columns)
            sessions.touch(tx, self._key, self._host.ttl)

    def _remove(self, remove: Callable[[sqlite3.Connection, int], Removed], dry_run: bool) -> Removed:
        database = self._host.database
        with database.trial() if dry_run else database.write() as tx:
            sessions.require(tx, self._key)
            removed = remove(tx, self._key)
        if not dry_run:
            self._host.tell(deleted(self.id, removed, session=remove is removal.delete))
            self._host.wake()
        return removed

    def _check_not_shared(self, tx: sqlite3.Connection, external_id: str | None) -> None:
        past = lineage.parts(tx, self._key)[:-1]
        if external_id is None or not past:
            return
        where, values = lineage.within(past)
        found = tx.execute(
            f"SELECT m.id, m.session_id FROM message m WHERE {where} AND m.external_id = ?",
            (*values, external_id),
        ).fetchone()
        if found is not None:
            raise UsageError(
                f"{external_id!r} is message m{found[0]}, which {self.id} shares as a branch",
                hint=f"edit it in {sessions.public_id(found[1])}, or take another external id",
            )

    def _place(self, tx: sqlite3.Connection, at: str | None, scope: Scope) -> tuple[int, int]:
        """The session whose own a message of this one is, and its key; of the last one without ``at``."""
        if at is None:
            rows = messages.of_session(tx, self._key, last=1)
            if not rows:
                raise UsageError(
                    f"{self.id} has no message to branch at", hint="add one, or begin a new session"
                )
            return rows[0].session_id, rows[0].id
        where, values = lineage.within(lineage.parts(tx, self._key))
        found: tuple[int, int] | None = tx.execute(
            f"SELECT m.session_id, m.id FROM message m WHERE {where} AND (m.id = ? OR m.external_id = ?)"
            " ORDER BY m.id = ? DESC LIMIT 1",
            (*values, messages.message_key(at), at, messages.message_key(at)),
        ).fetchone()
        if found is None:
            row = messages.message(tx, at, scope)
            raise UsageError(
                f"message {at!r} is of {sessions.public_id(row.session_id)}, not of {self.id}",
                hint=f"'appliance show {self.id}' lists its messages",
            )
        return found


# --- what is checked before anything is stored -------------------------------------------------------


def check_turn(
    role: str, text: str, timestamp: datetime | None = None, metadata: Mapping[str, Any] | None = None
) -> None:
    """
    Raises:
        UsageError: there is no such role, nothing is said, or it has a time or metadata that can't be.
    """
    if role not in ROLES:
        raise UsageError(f"no role {role!r}", hint="one of " + ", ".join(ROLES))
    if not text.strip():
        raise UsageError("the message is empty", hint="there is nothing in it to remember: leave it out")
    if timestamp is not None and not isinstance(timestamp, datetime):
        raise UsageError(f"a timestamp of {timestamp!r} can't be", hint="give a datetime")
    check_metadata(metadata or {})


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: it is nothing that JSON can say.
    """
    try:
        to_json(metadata)
    except (TypeError, ValueError) as error:
        raise UsageError(f"the metadata can't be stored: {error}", hint="give what JSON can say") from error


def check_ttl(seconds: int | None) -> None:
    """
    Raises:
        UsageError: it is no number of seconds.
    """
    if seconds is not None and (not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 0):
        raise UsageError(f"a time to live of {seconds!r} can't be", hint="whole seconds; 0 for ever")


def check_storage_scope(scope: str) -> None:
    """
    Raises:
        UsageError: there is no such scope.
    """
    if scope not in get_args(StorageScope):
        raise UsageError(f"no storage scope {scope!r}", hint="one of " + ", ".join(get_args(StorageScope)))


def _of_branch(title: str | None) -> str | None:
    return f"{title.removesuffix(BRANCH)}{BRANCH}" if title else None


def options_text(making: Making, options: Mapping[str, Any]) -> str:
    """Options as they are stored.

    Raises:
        UsageError: one has a value that can't be.
    """
    if not isinstance(options.get(AUTO_RECALL, True), bool):
        raise UsageError(
            f"{AUTO_RECALL} is on or off, not {options[AUTO_RECALL]!r}", hint="give True or False"
        )
    making.check(options, "the options")
    try:
        return to_json(options)
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"the options can't be stored: {error}") from error


def one_line(title: str) -> str:
    """A title as it is stored.

    Raises:
        UsageError: there is nothing in it.
    """
    line = " ".join(title.split())
    if not line:
        raise UsageError("the title is empty", hint="say in some words what it is about")
    return line


class as_usage:
    """Turns what can't be written as UTF-8 into a UsageError that says where."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeEncodeError):
            raise UsageError(f"{error.object!r} is not valid Unicode at character {error.start}") from error

"""Finds the session that a chat request continues, and which of its turns are new.

Clients send the whole conversation with every request, without a name. Stored turns form a tree: a session and its
branches, which share their past. ``ThreadMatcher.find`` finds the place in a tree where the sent turns begin, and
``store_from`` continues from there: it skips turns that are stored, appends new ones, and begins a branch where a sent
turn differs from the stored one. So nothing is stored twice, whatever is sent again.

A conversation without a name is recognised by the first turn of its user. That alone never joins two: the answer must
match too, or the request must be a retry of the first turn within ``RETRY_WINDOW``.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TYPE_CHECKING

from appliance.errors import NotFound, UsageError
from appliance.requests import is_private_id
from appliance.server.access.policy import shares_messages
from appliance.server.openai_proxy.turns import ChatTurn, normalize
from appliance.types import LOCAL

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Message, SessionInfo

TREE_KEY, SYSTEM_DIGEST_KEY = "chat", "chat_system"
"""Metadata of a session: the key of its tree, and a digest of its first system messages."""

RETRY_WINDOW = timedelta(minutes=10)
"""A first turn repeated within this time, with nothing but an answer after it, is a retry. Later, or if the
conversation has continued, it begins a new conversation with the same words."""

MAX_RECENT_SESSIONS = 20
"""The latest conversations that are searched when the client no longer sends the beginning."""

MAX_SAME_KEY_SESSIONS = 100
"""The latest conversations with the same beginning ("Hi") that are compared."""

MAX_NAME_LENGTH = 200
"""Characters of a client's name for a conversation."""

DIGEST_BYTES = 16
"""Bytes of a digest: enough that no two beginnings collide."""

_SESSION_ID = re.compile(r"s\d+")


@dataclass(frozen=True, slots=True)
class ConversationOwner:
    """The user and namespace of conversations; ``user_id`` is None for the owner of the memory."""

    user_id: str | None
    namespace: str

    def allows(self, info: SessionInfo) -> bool:
        """Whether a session of this user may be continued: its earlier messages reach the model."""
        is_readable = self.user_id is None or shares_messages(info.storage_scope)
        return is_readable and info.namespace == self.namespace


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A place in a tree: after the message ``after`` (None: at the beginning) in ``session_id``. ``matched`` counts the
    sent turns that are stored already, ``omitted`` the stored turns that were not sent."""

    session_id: str
    after: str | None
    matched: int = 0
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class _SessionPath:
    """A session with all its turns, shared ones first, and their normalized texts."""

    info: SessionInfo
    turns: Sequence[Message]
    comparable: Sequence[str]

    def index_after(self, after: str | None) -> int | None:
        """The index after a message; None if the message is not in this session."""
        if after is None:
            return 0
        return next((index for index, turn in enumerate(self.turns, 1) if turn.id == after), None)

    def matches(self, index: int, turn: ChatTurn) -> bool:
        """Whether a turn is stored at an index. Of an interrupted answer the beginning is enough."""
        if index >= len(self.turns) or self.turns[index].role != turn.role:
            return False
        stored_text, sent_text = self.comparable[index], turn.comparable
        if stored_text == sent_text:
            return True
        cut = turn.role == "assistant" and (turn.cut or self.turns[index].metadata.get("cut"))
        return bool(
            cut
            and stored_text
            and sent_text
            and (stored_text.startswith(sent_text) or sent_text.startswith(stored_text))
        )

    def is_incomplete(self, index: int, turn: ChatTurn) -> bool:
        """Whether the stored answer was interrupted, and this turn has more of it."""
        return bool(self.turns[index].metadata.get("cut")) and len(turn.comparable) > len(self.comparable[index])

    def match_length(self, start: int, turns: Sequence[ChatTurn]) -> int:
        """How many of the turns are stored from ``start`` on."""
        return sum(1 for _ in takewhile(lambda pair: self.matches(*pair), enumerate(turns, start)))

    def stored_length(self, start: int, turns: Sequence[ChatTurn]) -> int:
        """How many of them are stored completely: an interrupted answer may have continued since."""
        positions = enumerate(turns, start)
        return sum(1 for _ in takewhile(lambda pair: self.matches(*pair) and not self.is_incomplete(*pair), positions))


class ThreadMatcher:
    """Matches chat requests with the sessions of a memory. Safe to use from several threads."""

    def __init__(self, memory: Appliance) -> None:
        self.memory = memory
        self._lock = threading.Lock()

    def find(
        self, owner: ConversationOwner, name: str | None, turns: Sequence[ChatTurn], system: str
    ) -> BranchPoint | None:
        """The place where the sent turns begin, without storing anything; None for an unknown conversation.

        Raises:
            UsageError: The name is invalid.
            NotFound: There is no session of this id.
        """
        paths = self._candidate_paths(owner, name, turns)
        start = _find_start(paths, turns, digest(system), named=name is not None)
        if start is None and name is None:
            start = _find_start(self._recent_paths(owner), turns, None, named=False)
        if start is not None:
            path, index = start
            length = path.stored_length(index, turns)
            last = path.turns[index + length - 1].id if index + length else None
            return BranchPoint(path.info.id, last, length, index)
        if name is None or not paths:
            return None
        path = max(paths, key=_last_activity)
        return BranchPoint(path.info.id, path.turns[-1].id if path.turns else None, 0, len(path.turns))

    def store(self, owner: ConversationOwner, name: str | None, turns: Sequence[ChatTurn], system: str) -> BranchPoint:
        """Store the new turns. Returns the place where they end.

        Raises:
            UsageError, NotFound: As for ``find``.
        """
        with self._lock:
            place = self.find(owner, name, turns, system)
            if place is None or self._is_unmarked(place, name):
                created = self._begin(owner, name, turns, system)
                place = place or created
            return self._store_from(place, turns[place.matched :])

    def session_of_answer(self, answer_id: str, owner: ConversationOwner) -> str | None:
        """The id of the session with an answer, by the id that the model's endpoint gave it; None if there is none that
        the owner may continue."""
        try:
            message = self.memory.message(answer_id)
            return self._session_by_id(owner, message.session_id).id
        except (NotFound, UsageError):
            return None

    def store_from(self, place: BranchPoint, turns: Sequence[ChatTurn]) -> BranchPoint:
        """Store the turns after a place that are not stored yet. Returns the place where they end.

        Raises:
            NotFound: The session was deleted meanwhile.
        """
        with self._lock:
            return self._store_from(place, turns)

    def _store_from(self, place: BranchPoint, turns: Sequence[ChatTurn]) -> BranchPoint:
        paths = self._related_paths(place.session_id) if turns else []
        for index, turn in enumerate(turns):
            next_place = self._find_next(paths, place, turn)
            if next_place is None:
                return self._add(self._leaf_session(paths, place), turns[index:])
            place = next_place
        return place

    def _find_next(self, paths: Sequence[_SessionPath], place: BranchPoint, turn: ChatTurn) -> BranchPoint | None:
        """The place after a turn, if the turn is stored at ``place`` in any branch; else None."""
        for path in paths:
            index = path.index_after(place.after)
            if index is not None and path.matches(index, turn):
                stored = path.turns[index]
                if path.is_incomplete(index, turn):
                    self.memory.sessions.get(stored.session_id).add(
                        turn.role, turn.text, external_id=stored.external_id, metadata=turn.metadata
                    )
                return BranchPoint(path.info.id, stored.id)
        return None

    def _leaf_session(self, paths: Sequence[_SessionPath], place: BranchPoint) -> str:
        """The session that continues from a place: one that ends there, else a new branch."""
        ends = (path.info.id for path in paths if path.index_after(place.after) == len(path.turns))
        return next(ends, None) or self._branch(place.session_id, place.after)

    def _add(self, session_id: str, turns: Sequence[ChatTurn]) -> BranchPoint:
        session = self.memory.sessions.get(session_id)
        stored = [
            session.add(
                turn.role,
                turn.text,
                author=turn.author,
                external_id=self._unused_id(turn.answer_id),
                metadata=turn.metadata,
            )
            for turn in turns
        ]
        return BranchPoint(session_id, stored[-1].id)

    def _unused_id(self, answer_id: str | None) -> str | None:
        """The id of an answer, unless a message has it: an endpoint may give all its answers the same."""
        if answer_id is None:
            return None
        try:
            self.memory.message(answer_id)
        except NotFound:
            return answer_id
        except UsageError:
            pass
        return None

    def _branch(self, session_id: str, after: str | None) -> str:
        """A branch after a message; a new session if there is no message to share."""
        session = self.memory.sessions.get(session_id)
        if after is not None:
            return session.branch(at=after).id
        info = session.info
        return self.memory.sessions.create(user_id=info.user_id, namespace=info.namespace, metadata=info.metadata).id

    def _is_unmarked(self, place: BranchPoint, name: str | None) -> bool:
        """Whether a session of this name was created elsewhere; without a tree key its branches can't be found."""
        return (
            name is not None
            and not _SESSION_ID.fullmatch(name)
            and TREE_KEY not in self.memory.sessions.info(place.session_id).metadata
        )

    def _begin(self, owner: ConversationOwner, name: str | None, turns: Sequence[ChatTurn], system: str) -> BranchPoint:
        session = self.memory.sessions.create(
            external_id=name,
            user_id=owner.user_id,
            namespace=owner.namespace,
            metadata={TREE_KEY: _tree_key(name, turns), SYSTEM_DIGEST_KEY: digest(system)},
        )
        return BranchPoint(session.id, None)

    # --- candidates ----------------------------------------------------------------------------

    def _candidate_paths(
        self, owner: ConversationOwner, name: str | None, turns: Sequence[ChatTurn]
    ) -> list[_SessionPath]:
        """All sessions that a request may continue."""
        if name is not None:
            _check_name(name)
            if _SESSION_ID.fullmatch(name):
                return self._related_paths(self._session_by_id(owner, name).id)
        listed = self._list_sessions(owner, {TREE_KEY: _tree_key(name, turns)})
        allowed = [info for info in listed if owner.allows(info)]
        return self._load_paths(allowed or ([] if name is None else self._sessions_by_external_id(owner, name)))

    def _sessions_by_external_id(self, owner: ConversationOwner, name: str) -> list[SessionInfo]:
        """The session of this name that was created elsewhere."""
        user = self.memory.settings.user if owner.user_id is None else owner.user_id
        try:
            info = self.memory.sessions.info(name, user_id=user)
        except (NotFound, UsageError):  # none, or several of which at most one was created here
            return []
        return [info] if info.format == LOCAL and owner.allows(info) else []

    def _session_by_id(self, owner: ConversationOwner, id: str) -> SessionInfo:
        info = self.memory.sessions.info(id, user_id=owner.user_id)
        if owner.user_id is not None and not owner.allows(info):
            raise NotFound(f"There is no session {id!r}.")
        return info

    def _related_paths(self, session_id: str) -> list[_SessionPath]:
        """A session, all its branches and its ancestors; itself first."""
        info = self.memory.sessions.info(session_id)
        if TREE_KEY not in info.metadata:
            return self._load_paths([info])
        listed = self._list_sessions(
            ConversationOwner(info.user_id, info.namespace), {TREE_KEY: info.metadata[TREE_KEY]}
        )
        related, size_before = {session_id, info.branch_of}, 0
        while size_before != len(related):
            size_before = len(related)
            for one in listed:
                if one.id in related or one.branch_of in related - {None}:
                    related |= {one.id, one.branch_of}
        return self._load_paths([info, *(one for one in listed if one.id in related and one.id != session_id)])

    def _recent_paths(self, owner: ConversationOwner) -> list[_SessionPath]:
        listed = self.memory.sessions.list(
            user_id=owner.user_id, namespace=owner.namespace, sources=(LOCAL,), limit=MAX_RECENT_SESSIONS
        )
        return self._load_paths([info for info in listed if TREE_KEY in info.metadata and owner.allows(info)])

    def _list_sessions(self, owner: ConversationOwner, metadata: dict[str, str]) -> Sequence[SessionInfo]:
        return self.memory.sessions.list(
            user_id=owner.user_id,
            namespace=owner.namespace,
            metadata=metadata,
            sources=(LOCAL,),
            limit=MAX_SAME_KEY_SESSIONS,
        )

    def _load_paths(self, infos: Sequence[SessionInfo]) -> list[_SessionPath]:
        turns = ((info, self.memory.sessions.messages(info.id)) for info in infos)
        return [_SessionPath(info, messages, [normalize(turn.text) for turn in messages]) for info, messages in turns]


def _find_start(
    paths: Sequence[_SessionPath], turns: Sequence[ChatTurn], system: str | None, *, named: bool
) -> tuple[_SessionPath, int] | None:
    """The path and index where most of the sent turns match, if they match well enough.

    ``system`` is the digest of the sent system messages, or None to exclude retries.
    """
    first_answer = next((at for at, turn in enumerate(turns) if turn.role != "user"), None)
    if first_answer is None:
        retried = [path for path in paths if system is not None and _is_retried(path, turns, system, named=named)]
        return (max(retried, key=_last_activity), 0) if retried else None
    places = [(path, at) for path in paths for at in range(len(path.turns)) if path.matches(at, turns[0])]
    best_start = max(
        places, key=lambda place: (place[0].match_length(place[1], turns), _last_activity(place[0])), default=None
    )
    if best_start is None:
        return None
    path, at = best_start
    match_length = path.match_length(at, turns)
    is_long_enough = first_answer < match_length or (named and at == 0 and match_length > 0)
    # A match in the middle must have all turns before the latest one.
    is_complete = named or at == 0 or match_length >= len(turns) - _count_trailing_user_turns(turns)
    return best_start if is_long_enough and is_complete else None


def _count_trailing_user_turns(turns: Sequence[ChatTurn]) -> int:
    return sum(1 for _ in takewhile(lambda turn: turn.role == "user", reversed(turns)))


def _is_retried(path: _SessionPath, turns: Sequence[ChatTurn], system: str, *, named: bool) -> bool:
    """Whether the turns repeat the beginning of a conversation that has just begun."""
    if not turns or path.match_length(0, turns) < len(turns):
        return False
    if any(turn.role == "user" for turn in path.turns[len(turns) :]):
        return False
    if not named and path.info.metadata.get(SYSTEM_DIGEST_KEY) != system:
        return False
    return datetime.now(UTC) - _last_activity(path) <= RETRY_WINDOW


def _last_activity(path: _SessionPath) -> datetime:
    return datetime.fromisoformat(path.info.last_at or path.info.created_at).astimezone(UTC)


def _check_name(name: str) -> None:
    """
    Raises:
        UsageError: The name is invalid.
    """
    if len(name) > MAX_NAME_LENGTH:
        raise UsageError(f"The name in X-Memory-Session must have at most {MAX_NAME_LENGTH} characters.")
    if is_private_id(name):
        raise UsageError(f"{name!r} is the id of a private session.", hint='With "X-Memory: read" nothing is stored.')


def _tree_key(name: str | None, turns: Sequence[ChatTurn]) -> str:
    """The key of a tree: its name, or a digest of its beginning."""
    if name is not None:
        return f"name:{name}"
    return "begins:" + digest(next((turn.text for turn in turns if turn.role == "user"), ""))


def digest(text: str) -> str:
    """A short digest of a text."""
    return hashlib.blake2b(normalize(text).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()

"""Which conversation a chat request belongs to, and what of it is new.

Clients send the whole conversation with every request, and no name for it. Stored turns form a tree: a session and its
branches, which share their past. ``Following.find`` looks for the place at which the sent turns begin in a tree, and
``walk`` goes on from there: a turn that stands there already is passed, one behind the last is added, and one that
stands in place of another begins a branch. So nothing is stored twice, whatever is sent again.

A conversation without a name is known by its beginning, the first turn of its user. That alone never joins two: what
was answered must be known too, or the request must be a retry of the first turn within ``RETRY``.
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
from appliance.server.chat.turns import Turn, same
from appliance.types import LOCAL

if TYPE_CHECKING:
    from appliance.engine import Engine
    from appliance.types import Message, SessionInfo

KEY, SYSTEM = "chat", "chat_system"
"""Metadata of a session: what its tree is known by, and a digest of the system messages that it began with."""

RETRY = timedelta(minutes=10)
"""A first turn that is sent again within this time, before anything came of it but an answer, is a retry; later, or
when the conversation has gone on, somebody begins another one with the same words."""

LOOKED_AT = 20
"""The latest conversations among which one is looked for whose beginning the client does not send any more."""

ALIKE = 100
"""Of the conversations with one beginning ("Hi"), the latest so many are looked at."""

LONGEST_NAME = 200
"""Characters of a name that a client may give a conversation."""

DIGEST = 16
"""Bytes of a digest: no two beginnings have the same."""

_ID = re.compile(r"s\d+")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose conversations are meant; ``user_id`` is None for the owner of the memory."""

    user_id: str | None
    namespace: str


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a tree: behind the message ``after`` (None: before the first one), in ``session_id``. ``sent`` are
    the sent turns that stand there already, ``before`` the stored turns that were not sent."""

    session_id: str
    after: str | None
    sent: int = 0
    before: int = 0


@dataclass(frozen=True, slots=True)
class _Path:
    """A session with all its turns, those that it shares first, and what they say as it is compared."""

    info: SessionInfo
    turns: Sequence[Message]
    said: Sequence[str]

    def behind(self, after: str | None) -> int | None:
        """Where what stands behind a message begins; None where the message does not stand here."""
        if after is None:
            return 0
        return next((at for at, turn in enumerate(self.turns, 1) if turn.id == after), None)

    def says(self, at: int, turn: Turn) -> bool:
        """Whether a turn stands at a place. Of an answer that broke off, the beginning is enough."""
        if at >= len(self.turns) or self.turns[at].role != turn.role:
            return False
        one, other = self.said[at], turn.said
        if one == other:
            return True
        cut = turn.role == "assistant" and (turn.cut or self.turns[at].metadata.get("cut"))
        return bool(cut and one and other and (one.startswith(other) or other.startswith(one)))

    def has_less(self, at: int, turn: Turn) -> bool:
        """Whether the answer at a place broke off, and this one has what came then."""
        return bool(self.turns[at].metadata.get("cut")) and len(turn.said) > len(self.said[at])

    def run(self, start: int, turns: Sequence[Turn]) -> int:
        """How many of the sent turns stand at ``start`` and behind it."""
        return sum(1 for _ in takewhile(lambda both: self.says(*both), enumerate(turns, start)))

    def passed(self, start: int, turns: Sequence[Turn]) -> int:
        """How many of these there is nothing to do about: an answer that broke off may have gone on since."""
        standing = enumerate(turns, start)
        return sum(1 for _ in takewhile(lambda both: self.says(*both) and not self.has_less(*both), standing))


class Following:
    """The conversations of a memory, as chat requests go on with them. Safe to use from several threads."""

    def __init__(self, memory: Engine) -> None:
        self.memory = memory
        self._lock = threading.Lock()

    def find(self, owner: Owner, name: str | None, turns: Sequence[Turn], system: str) -> Place | None:
        """Where the sent turns begin, without storing anything; None for a conversation that is not known.

        Raises:
            UsageError: the name can't be.
            NotFound: there is no session of this id.
        """
        paths = self._tree(owner, name, turns)
        start = _start(paths, turns, digest(system), named=name is not None)
        if start is None and name is None:
            start = _start(self._latest(owner), turns, None, named=False)
        if start is not None:
            path, at = start
            run = path.passed(at, turns)
            last = path.turns[at + run - 1].id if at + run else None
            return Place(path.info.id, last, run, at)
        if name is None or not paths:
            return None
        path = max(paths, key=_active)
        return Place(path.info.id, path.turns[-1].id if path.turns else None, 0, len(path.turns))

    def store(self, owner: Owner, name: str | None, turns: Sequence[Turn], system: str) -> Place:
        """Store what is new of the sent turns; where they end.

        Raises:
            UsageError, NotFound: as ``find``.
        """
        with self._lock:
            place = self.find(owner, name, turns, system)
            if place is None or self._is_unmarked(place, name):
                begun = self._begin(owner, name, turns, system)
                place = place or begun
            return self._walk(place, turns[place.sent :])

    def walk(self, place: Place, turns: Sequence[Turn]) -> Place:
        """Go on from a place, and store what does not stand there yet; where the turns end.

        Raises:
            NotFound: the conversation was deleted meanwhile.
        """
        with self._lock:
            return self._walk(place, turns)

    def _walk(self, place: Place, turns: Sequence[Turn]) -> Place:
        paths = self._family(place.session_id) if turns else []
        for at, turn in enumerate(turns):
            found = self._stands(paths, place, turn)
            if found is None:
                return self._add(self._end(paths, place), turns[at:])
            place = found
        return place

    def _stands(self, paths: Sequence[_Path], place: Place, turn: Turn) -> Place | None:
        """The place behind a turn that stands directly behind another, in any branch; None where it does not."""
        for path in paths:
            at = path.behind(place.after)
            if at is not None and path.says(at, turn):
                stored = path.turns[at]
                if path.has_less(at, turn):
                    self.memory.sessions.get(stored.session_id).add(
                        turn.role, turn.text, external_id=stored.external_id, metadata=turn.metadata
                    )
                return Place(path.info.id, stored.id)
        return None

    def _end(self, paths: Sequence[_Path], place: Place) -> str:
        """The session that goes on from a place: one that ends there, else a new branch."""
        ends = (path.info.id for path in paths if path.behind(place.after) == len(path.turns))
        return next(ends, None) or self._branch(place.session_id, place.after)

    def _add(self, session_id: str, turns: Sequence[Turn]) -> Place:
        session = self.memory.sessions.get(session_id)
        stored = [
            session.add(turn.role, turn.text, author=turn.author, metadata=turn.metadata) for turn in turns
        ]
        return Place(session_id, stored[-1].id)

    def _branch(self, session_id: str, after: str | None) -> str:
        """A session that shares the past up to a message; one that shares nothing, where there is no past."""
        session = self.memory.sessions.get(session_id)
        if after is not None:
            return session.branch(at=after).id
        info = session.info
        return self.memory.sessions.create(
            user_id=info.user_id, namespace=info.namespace, metadata=info.metadata
        ).id

    def _is_unmarked(self, place: Place, name: str | None) -> bool:
        """Whether it is a conversation of this name that was begun by other means: its branches could not be found."""
        return (
            name is not None
            and not _ID.fullmatch(name)
            and KEY not in self.memory.sessions.info(place.session_id).metadata
        )

    def _begin(self, owner: Owner, name: str | None, turns: Sequence[Turn], system: str) -> Place:
        session = self.memory.sessions.create(
            external_id=name,
            user_id=owner.user_id,
            namespace=owner.namespace,
            metadata={KEY: _key(name, turns), SYSTEM: digest(system)},
        )
        return Place(session.id, None)

    # --- what is looked at ----------------------------------------------------------------------------

    def _tree(self, owner: Owner, name: str | None, turns: Sequence[Turn]) -> list[_Path]:
        """All conversations that a request may go on with."""
        if name is not None:
            _check_name(name)
            if _ID.fullmatch(name):
                return self._family(self._known(owner, name).id)
        listed = self._listed(owner, {KEY: _key(name, turns)})
        return self._read(listed or ([] if name is None else self._called(owner, name)))

    def _called(self, owner: Owner, name: str) -> list[SessionInfo]:
        """The conversation of a name that was begun by other means."""
        user = self.memory.settings.user if owner.user_id is None else owner.user_id
        try:
            info = self.memory.sessions.info(name, user_id=user)
        except (
            NotFound,
            UsageError,
        ):  # there is none, or several are called so, of which at most one was begun here
            return []
        return [info] if info.format == LOCAL and info.namespace == owner.namespace else []

    def _known(self, owner: Owner, id: str) -> SessionInfo:
        info = self.memory.sessions.info(id, user_id=owner.user_id)
        if owner.user_id is not None and info.namespace != owner.namespace:
            raise NotFound(f"no session {id!r}")
        return info

    def _family(self, session_id: str) -> list[_Path]:
        """A session, its branches and theirs, and what it branches off; itself first."""
        info = self.memory.sessions.info(session_id)
        if KEY not in info.metadata:
            return self._read([info])
        listed = self._listed(Owner(info.user_id, info.namespace), {KEY: info.metadata[KEY]})
        related, grown = {session_id, info.branch_of}, 0
        while grown != len(related):
            grown = len(related)
            for one in listed:
                if one.id in related or one.branch_of in related - {None}:
                    related |= {one.id, one.branch_of}
        return self._read([info, *(one for one in listed if one.id in related and one.id != session_id)])

    def _latest(self, owner: Owner) -> list[_Path]:
        listed = self.memory.sessions.list(
            user_id=owner.user_id, namespace=owner.namespace, sources=(LOCAL,), limit=LOOKED_AT
        )
        return self._read([info for info in listed if KEY in info.metadata])

    def _listed(self, owner: Owner, metadata: dict[str, str]) -> Sequence[SessionInfo]:
        return self.memory.sessions.list(
            user_id=owner.user_id,
            namespace=owner.namespace,
            metadata=metadata,
            sources=(LOCAL,),
            limit=ALIKE,
        )

    def _read(self, infos: Sequence[SessionInfo]) -> list[_Path]:
        turns = ((info, self.memory.sessions.messages(info.id)) for info in infos)
        return [_Path(info, read, [same(turn.text) for turn in read]) for info, read in turns]


def _start(
    paths: Sequence[_Path], turns: Sequence[Turn], system: str | None, *, named: bool
) -> tuple[_Path, int] | None:
    """Where the sent turns begin: the path and the place at which the most of them stand, if these tell enough.

    ``system`` is the digest of the sent system messages, None where a retry is not looked for.
    """
    answered = next((at for at, turn in enumerate(turns) if turn.role != "user"), None)
    if answered is None:
        retried = [
            path for path in paths if system is not None and _is_retried(path, turns, system, named=named)
        ]
        return (max(retried, key=_active), 0) if retried else None
    places = [(path, at) for path in paths for at in range(len(path.turns)) if path.says(at, turns[0])]
    best = max(places, key=lambda place: (place[0].run(place[1], turns), _active(place[0])), default=None)
    if best is None:
        return None
    path, at = best
    known = path.run(at, turns)
    enough = answered < known or (named and at == 0 and known > 0)
    # A conversation that is only known by its middle must have all that was said before the latest turn.
    whole = named or at == 0 or known >= len(turns) - _latest_of_user(turns)
    return best if enough and whole else None


def _latest_of_user(turns: Sequence[Turn]) -> int:
    return sum(1 for _ in takewhile(lambda turn: turn.role == "user", reversed(turns)))


def _is_retried(path: _Path, turns: Sequence[Turn], system: str, *, named: bool) -> bool:
    """Whether these first turns of a user are those of a conversation that has just begun."""
    if not turns or path.run(0, turns) < len(turns):
        return False
    if any(turn.role == "user" for turn in path.turns[len(turns) :]):
        return False
    if not named and path.info.metadata.get(SYSTEM) != system:
        return False
    return datetime.now(UTC) - _active(path) <= RETRY


def _active(path: _Path) -> datetime:
    return datetime.fromisoformat(path.info.last_at or path.info.created_at).astimezone(UTC)


def _check_name(name: str) -> None:
    """
    Raises:
        UsageError: no conversation can be called so.
    """
    if len(name) > LONGEST_NAME:
        raise UsageError(
            f"a session's name has at most {LONGEST_NAME} characters", hint="see X-Memory-Session"
        )
    if name.startswith("private-"):
        raise UsageError(
            f"{name!r} is the name of a private conversation",
            hint='send "X-Memory: read", and nothing is stored',
        )


def _key(name: str | None, turns: Sequence[Turn]) -> str:
    """What a tree is known by: its name, or its beginning."""
    if name is not None:
        return f"name:{name}"
    return "begins:" + digest(next((turn.text for turn in turns if turn.role == "user"), ""))


def digest(text: str) -> str:
    """A short digest of what a text says."""
    return hashlib.blake2b(same(text).encode("utf-8", "surrogatepass"), digest_size=DIGEST).hexdigest()

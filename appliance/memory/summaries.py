"""Summaries as a program has them: listed, searched, made when they are due or asked for."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from appliance.errors import UsageError
from appliance.memory import making
from appliance.memory.abstract import Writer
from appliance.memory.making import EXTRACTIVE, Plan, Stopped, Tools
from appliance.memory.summarise import Embed
from appliance.moments import now
from appliance.store import messages, pieces, sessions, summaries
from appliance.store.chunks import Chunkable, Span
from appliance.store.database import Database
from appliance.store.messages import Row
from appliance.store.summaries import Due
from appliance.types import LEVELS, Event, Filters, Level, Part, Scope, Summary, SummaryHit

GoesOn = Callable[[], bool]

TRIES = 3
"""How often the summaries of a session that is being changed are begun anew when somebody waits for them."""


class Splitter(Protocol):
    """Cuts texts into pieces that the embedding model reads whole."""

    def split(self, messages: Sequence[Chunkable]) -> list[list[Span]]: ...


@dataclass(frozen=True, slots=True)
class Host:
    """What summaries need of the engine that they live in. ``owner`` is the configured user; ``every`` and ``silent``
    are as in the settings; ``target`` gives the generation that serves and its splitter, asked within a transaction;
    ``drain`` embeds and indexes what waits; ``embed`` makes vectors of sentences, ``vectors`` has those of messages, or
    None where one of them has none; ``find`` searches."""

    database: Database
    owner: str
    every: int
    silent: float
    target: Callable[[], tuple[int, Splitter]]
    drain: Callable[[GoesOn], object]
    embed: Embed
    vectors: Callable[[Sequence[int]], NDArray[np.float32] | None]
    writer: Writer | None
    find: Callable[[str, Filters, int], list[SummaryHit]]
    tell: Callable[[Event], None]


class Summaries:
    """The summaries of a memory. Safe to use from several threads; one makes them at a time."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._making = threading.Lock()

    # --- read -----------------------------------------------------------------------------------------

    def list(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        level: Level | None = None,
        limit: int | None = None,
    ) -> Sequence[Summary]:
        """The summaries of a user (the configured one's unless named), or of one session: those of the last
        active session first, and there the whole before its parts.

        Raises:
            NotFound: no such session.
            UsageError: no such level.
        """
        db = self._host.database.read()
        scope, session = self._where(session_id, user_id, namespace)
        _check_level(level)
        rows = summaries.found(db, scope, session=session, level=level, limit=-1 if limit is None else limit)
        return summaries.public(db, rows)

    def get(self, id: str) -> Summary:
        """The summary of an id ("sum7").

        Raises:
            NotFound: there is none.
        """
        db = self._host.database.read()
        row = summaries.summary(db, id)
        sessions.require(db, row.session_id)
        (found,) = summaries.public(db, [row])
        return found

    def search(
        self,
        query: str,
        *,
        limit: int = 10,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        session_id: str | None = None,
        level: Level | None = None,
    ) -> Sequence[SummaryHit]:
        """The summaries that say most of what ``query`` asks for, best first, by meaning and by words. Of several that
        cover the same messages the best is shown. What a session keeps to itself is found within it only.

        Raises:
            NotFound: no such session.
            UsageError: no such level, or a limit that finds nothing.
        """
        if limit < 1:
            raise UsageError(f"a limit of {limit} finds nothing")
        _check_level(level)
        scope, session = self._where(session_id, user_id, namespace)
        own = () if session is None else sessions.keeping(self._host.database.read(), (Part(session),))
        levels = (level,) if level else LEVELS
        filters = Filters(replace(scope, agent_id=agent_id), session, levels=levels, own=own)
        return self._host.find(query, filters, limit)

    def pending(self) -> int:
        """How many sessions wait for summaries."""
        host = self._host
        return summaries.due_count(host.database.read(), host.every, host.silent)

    def lag(self) -> float:
        """Seconds since the session that has waited longest for summaries got its last message; 0 when none waits."""
        host = self._host
        since = summaries.waiting_since(host.database.read(), host.every, host.silent)
        return 0.0 if since is None else max(0.0, (now() - since) / 1e6)

    def state(self) -> Mapping[str, int | str | None]:
        """How many sessions are ``due``, the ``model`` that is to write, None without one, and in ``fallback`` why it
        did not write the latest that it was to write."""
        writer = self._host.writer
        fallback = summaries.last_fallback(self._host.database.read()) if writer else None
        return {"due": self.pending(), "model": writer.name if writer else None, "fallback": fallback}

    # --- made -----------------------------------------------------------------------------------------

    def make(self, session_id: str) -> Sequence[Summary]:
        """Summarise a session now, whether it is due or not, and return its summaries. What another than the one
        that would write them now has written is written anew.

        Raises:
            NotFound: no such session.
        """
        db = self._host.database.read()
        key = sessions.key(sessions.find(db, session_id, owner=self._host.owner))
        for _ in range(TRIES):
            if self._make(key, again=True, goes_on=lambda: True):
                break
        self._embed(lambda: True, pieces.any_pending)
        return summaries.public(db, summaries.of_session(db, key))

    def tend(self, goes_on: GoesOn) -> int:
        """Summarise the next session that is due, the last active first; 1, or 0 when none is. It waits for the
        vectors of what was said, and sees that the summaries get theirs."""
        host = self._host
        db = host.database.read()
        due = summaries.due(db, host.every, host.silent, 1)
        if not due:
            self._embed(goes_on, pieces.any_pending)
            return 0
        self._embed(goes_on, pieces.any_chunks_pending)
        try:
            self._make(due[0], again=False, goes_on=goes_on)
        except Stopped:
            return 0
        return 1

    def _embed(self, goes_on: GoesOn, needed: Callable[[sqlite3.Connection], bool]) -> None:
        if needed(self._host.database.read()):
            self._host.drain(goes_on)

    def _make(self, key: int, *, again: bool, goes_on: GoesOn) -> bool:
        """Bring a session's summaries up to date; False where it changed meanwhile, so that nothing was written."""
        host = self._host
        with self._making:
            db = host.database.read()
            # In this order: what comes in between is seen, and counts as unseen.
            due = summaries.unseen(db, key)
            rows, beside = messages.talk_and_tools(db, key)
            there = summaries.of_session(db, key)
            tools = Tools(host.embed, self._vectors, host.writer, again, goes_on)
            talk = making.talk(rows, beside)
            plan = making.plan(talk, there, tools)
            making.add_procedures(talk, there, lambda keys: messages.texts(db, keys), plan)
            written = self._write(key, due, plan)
        if written and plan.new:
            host.tell(Event("summarised", sessions.public_id(key), _told(plan)))
        return written

    def _write(self, key: int, due: Due, plan: Plan) -> bool:
        if plan.new:
            self._host.target()  # loads the model, if it is not yet: not while others wait to write
        with self._host.database.write() as tx:
            if not sessions.exists(tx, key):
                return True
            if summaries.unseen(tx, key).edits != due.edits:
                return False
            summaries.drop(tx, plan.gone)
            if plan.new:
                texts = [
                    Chunkable(number, None, new.text, False, new.last.order_at)
                    for number, new in zip(summaries.put(tx, key, plan.new), plan.new, strict=True)
                ]
                generation, splitter = self._host.target()
                pieces.put(tx, generation, [*zip(texts, splitter.split(texts), strict=True)])
            summaries.seen(tx, key, due)
        return True

    def _vectors(self, rows: Sequence[Row]) -> NDArray[np.float32]:
        found = self._host.vectors([row.id for row in rows])
        # Vectors of two kinds can't be compared: with one missing, all are made of their words.
        return self._host.embed([row.text for row in rows]) if found is None else found

    def _where(self, session_id: str | None, user_id: str | None, namespace: str) -> tuple[Scope, int | None]:
        if session_id is None:
            return Scope(self._host.owner if user_id is None else user_id, namespace), None
        db = self._host.database.read()
        info = sessions.find(db, session_id, user_id, owner=self._host.owner)
        return Scope(info.user_id, info.namespace), sessions.key(info)


def _check_level(level: str | None) -> None:
    if level is not None and level not in LEVELS:
        raise UsageError(f"no level {level!r}", hint="one of " + ", ".join(LEVELS))


def _told(plan: Plan) -> dict[str, int | str]:
    counts: dict[str, int | str] = dict(Counter(new.level for new in plan.new))
    by = _in_order(new.made_by for new in plan.new if new.made_by != EXTRACTIVE)
    told = {**counts, "made_by": ", ".join(by) or EXTRACTIVE}
    return told if plan.trouble is None else {**told, "fallback": plan.trouble}


def _in_order(names: Iterable[str]) -> Sequence[str]:
    return tuple(dict.fromkeys(names))

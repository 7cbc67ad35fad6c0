"""What an assistant is given for a question: the present conversation, what it asks for, and what is remembered of it.

``remember`` reads top to bottom. It stands between the engine and the rooms, and joins recall, memory and context.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol

from appliance import moments
from appliance.context import layers, retrieved
from appliance.context.plan import Material, Plan
from appliance.context.shares import Shares
from appliance.errors import NotFound
from appliance.memory.howto import is_how_to
from appliance.recall import followups
from appliance.store import importance, lexical, messages, neighbours, sessions
from appliance.store.database import Database
from appliance.types import (
    Context,
    Fact,
    Hit,
    Hits,
    Level,
    Message,
    Scope,
    SessionInfo,
    Summary,
    SummaryHit,
    Window,
)

TURNS = 200
"""How many of a session's latest turns a context looks at; far more than any budget holds."""

PROCEDURES = 2
"""How many of the steps that worked before stand in a context for a question that asks how to do something."""


class Search(Protocol):
    """``Appliance.search``, as far as a context needs it."""

    def __call__(
        self,
        query: str,
        *,
        limit: int,
        profile: str,
        per_session: int,
        user_id: str | None,
        namespace: str,
        agent_id: str | None,
        asked_in: str | None,
    ) -> Hits: ...


class FindSummaries(Protocol):
    """``Summaries.search``, as far as a context needs it."""

    def __call__(
        self,
        query: str,
        *,
        limit: int,
        user_id: str | None,
        namespace: str,
        agent_id: str | None,
        level: Level | None,
    ) -> Sequence[SummaryHit]: ...


class Counter(Protocol):
    """Counts tokens as one encoding does; ``appliance_models.TokenCounter`` is one."""

    name: str
    note: str

    def count(self, text: str) -> int: ...


def _none(*about: object, **narrowed: object) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """Where what is remembered comes from. ``profile`` gives the facts that hold now, ``window`` the working memory
    of a session; where there is none, the session's latest turns stand for it. ``summaries`` finds steps that
    worked, for a question that asks how to do something; other summaries come with what the search finds."""

    database: Database
    search: Search
    session: Callable[[str, str | None], SessionInfo]
    profile: Callable[[Scope], Sequence[Fact]] = _none
    window: Callable[[SessionInfo], Window | None] = lambda session: None
    summaries: FindSummaries = _none


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for, and how. ``scope`` is the caller's; ``user_id`` is None where none was named, and then a
    session stands for its owner. ``ranking`` is the profile that memories are ranked by. ``auto_recall`` of None is
    as the session says, else as ``recalls`` says; where it is off, nothing is looked up, and only the session's own
    window is given. ``window`` is that of a conversation that is stored nowhere."""

    query: str
    session_id: str | None
    user_id: str | None
    scope: Scope
    budget: int
    counter: Counter
    shares: Shares
    ranking: str
    per_session: int
    auto_recall: bool | None
    recalls: bool
    window: Window | None = None
    leave_out: Set[str] = frozenset()


def remember(sources: Sources, request: Request) -> Context:
    """The context for a request: session → turns → what is asked → search → facts and summaries → layers.

    Raises:
        NotFound: no such session.
        UsageError: the standing instructions alone are more than the budget.
    """
    db = sources.database.read()
    session = sources.session(request.session_id, request.user_id) if request.session_id is not None else None
    scope = request.scope
    _check_place(session, scope)
    if session is not None:
        scope = Scope(session.user_id, session.namespace, scope.agent_id)
    window = sources.window(session) if session is not None else request.window
    turns = window.turns if window is not None else _latest(db, session)
    asked, material, told = request.query, Material(turns=turns, window=window), []
    if _recalls(db, request, session):
        said = [turn.text for turn in turns if turn.text.strip() != request.query.strip()]
        found, asked = _found(sources, request, scope, said)
        hits = [hit for hit in found if as_said(hit.text) not in request.leave_out]
        ids = [hit.message_id for hit in hits]
        weighed = {messages.message_id(key): one for key, one in importance.of(db, _keys(hits)).items()}
        steps = _steps(sources, asked, scope) if is_how_to(request.query) else []
        material = Material(
            turns=turns,
            window=window,
            hits=hits,
            facts=sources.profile(scope),
            summaries=_of_others([*steps, *(hit.summary for hit in found.summaries)], session),
            beside=_beside(db, ids[: retrieved.NEIGHBOURS], request.leave_out),
            importance={id: one.importance for id, one in weighed.items()},
            pinned={id for id, one in weighed.items() if one.pinned},
        )
        told = list(found.notes)
    plan = Plan(
        query=request.query,
        words=lexical.words(asked),
        budget=request.budget,
        shares=request.shares,
        encoding=request.counter.name,
        count=request.counter.count,
        per_session=request.per_session,
        now=moments.now(),
    )
    return layers.build(plan, material, [*told, *filter(None, [request.counter.note])])


def _check_place(session: SessionInfo | None, scope: Scope) -> None:
    """
    Raises:
        NotFound: the session lies in another namespace than the one that is named, or it has agents, and the one that
            asks is none of them.
    """
    if session is None:
        return
    if scope.namespace and scope.namespace != session.namespace:
        raise NotFound(f"the namespace {scope.namespace!r} has no session {session.id!r}")
    if scope.agent_id and session.agents and scope.agent_id not in session.agents:
        raise NotFound(
            f"{scope.agent_id!r} takes no part in {session.id}",
            hint="an agent takes part from its first message on",
        )


def _latest(db: sqlite3.Connection, session: SessionInfo | None) -> list[Message]:
    """A session's latest turns, oldest first."""
    if session is None:
        return []
    rows = messages.of_session(db, sessions.key(session), last=TURNS, talk_only=True)
    return [messages.public(row) for row in rows]


def _recalls(db: sqlite3.Connection, request: Request, session: SessionInfo | None) -> bool:
    """Whether anything is to be looked up: as the caller says, else the session, else the settings."""
    if request.auto_recall is not None:
        return request.auto_recall
    own = sessions.options(db, sessions.key(session)).get("auto_recall") if session is not None else None
    return own if isinstance(own, bool) else request.recalls


def _steps(sources: Sources, query: str, scope: Scope) -> list[Summary]:
    """What worked before, as procedures."""
    found = sources.summaries(
        query,
        limit=PROCEDURES,
        user_id=scope.user_id,
        namespace=scope.namespace,
        agent_id=scope.agent_id,
        level="procedure",
    )
    return [hit.summary for hit in found]


def as_said(text: str) -> str:
    """A text without what tells copies apart that say the same: blanks and line breaks."""
    return " ".join(text.split())


def _beside(
    db: sqlite3.Connection, ids: Sequence[str], leave_out: Set[str]
) -> dict[str, tuple[Message | None, Message | None]]:
    """What was said directly before and after each memory, but for what is left out."""

    def unless_left_out(turn: Message | None) -> Message | None:
        return None if turn is None or as_said(turn.text) in leave_out else turn

    found = neighbours.beside_each(db, ids)
    return {id: (unless_left_out(before), unless_left_out(after)) for id, (before, after) in found.items()}


def _keys(hits: Sequence[Hit]) -> list[int]:
    return [key for hit in hits if (key := messages.message_key(hit.message_id)) is not None]


def _of_others(summaries: Sequence[Summary], session: SessionInfo | None) -> list[Summary]:
    """Each summary once, without those of the present session: it has its own."""
    once = {summary.id: summary for summary in summaries}
    return [one for one in once.values() if session is None or one.session_id != session.id]


def _found(sources: Sources, request: Request, scope: Scope, said: Sequence[str]) -> tuple[Hits, str]:
    """The memories that answer, and the question as it was understood: one that lives on what was ``said`` just
    before is asked with its words too."""

    def search(query: str) -> Hits:
        return sources.search(
            query,
            limit=retrieved.wanted(request.budget) + len(request.leave_out),
            profile=request.ranking,
            per_session=0,
            user_id=scope.user_id,
            namespace=scope.namespace,
            agent_id=scope.agent_id,
            asked_in=request.session_id,
        )

    plain = search(request.query)
    if not said or not followups.depends(request.query):
        return plain, request.query
    asked = followups.augmented(request.query, said)
    return followups.blended(plain, search(asked), said), asked

"""Builds the context of a query: the present session, what is known about the person, and the relevant memories.

The engine supplies the sources; this module knows nothing of search or facts itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

from appliance import timestamps
from appliance.context import layers, memory_selection, worth
from appliance.context.answers import without_reasoning_of_answers
from appliance.context.materials import ContextMaterial, ContextPlan
from appliance.context.shares import Shares, for_question_about_person
from appliance.errors import NotFound
from appliance.languages import recall_questions
from appliance.languages.courtesies import is_courtesy
from appliance.requests import (
    ContextRequest,
    ProfileRequest,
    SearchRequest,
    SearchSummariesRequest,
    SessionRequest,
    recall_options,
)
from appliance.requests.recall_options import RecallOptions
from appliance.secrets.masking import mask_secrets
from appliance.store import core_blocks, importance, lexical, messages, neighbours, sessions
from appliance.store.database import Database
from appliance.types import Context, Fact, Hits, Message, Scope, SessionInfo, Summary, SummaryHit, Window

MAX_TURNS = 200
"""How many of a session's latest turns a context looks at; far more than any budget holds."""

MAX_RECENT_SUMMARIES = 8
"""How many sessions are summed up for a question that names nothing to look for ("what do you know about me")."""

MAX_PROCEDURES = 2
"""How many procedures a context for a how-to question contains."""

FILTERS = (
    "sources", "authors", "participants", "roles", "has", "tags", "tools", "files", "entities", "topics", "since",
    "until",
)  # fmt: skip
"""The filters that a request shares with a search. Procedures have none, and are left out where one is given."""

NOTHING_ASKED = Hits((), query="", mode="hybrid", notes=(), took_ms=0.0, found=False, supports_context=False)
"""The hits for a greeting or thanks, which ask for no memory."""


class ContextTokenCounter(Protocol):
    """Counts the tokens of one encoding; ``appliance_models.WordpieceCounter`` implements it."""

    name: str
    note: str

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class ContextSources:
    """Where a context comes from; the engine joins them.

    Attributes:
        database: The database.
        search: Finds the memories for a request, given the texts of the latest turns. It resolves a follow-up with
            their words, and returns the query that it searched for besides the hits.
        find_session: Reads what is known of a session.
        profile: Lists the facts that hold now.
        window: Reads a session's working memory. Without one the session's latest turns stand for it.
        find_summaries: Finds procedures, for a query that asks how to do something. Other summaries come with the hits.
        is_how_to: Whether a query asks how to do something.
        recent_summaries: Lists the summaries of the last active sessions, one each, no more than a number.
        own_summaries: Lists those of the last sessions that tell of the person whose memory it is in the same way.
    """

    database: Database
    search: Callable[[SearchRequest, Sequence[str]], tuple[Hits, str]]
    find_session: Callable[[SessionRequest], SessionInfo]
    profile: Callable[[ProfileRequest], Sequence[Fact]] = lambda request: ()
    window: Callable[[SessionInfo], Window | None] = lambda session: None
    find_summaries: Callable[[SearchSummariesRequest], Sequence[SummaryHit]] = lambda request: ()
    is_how_to: Callable[[str], bool] = lambda query: False
    recent_summaries: Callable[[Scope, int], Sequence[Summary]] = lambda scope, limit: ()
    own_summaries: Callable[[Scope, int], Sequence[Summary]] = lambda scope, limit: ()


@dataclass(frozen=True, slots=True)
class ContextInputs:
    """A request for a context with what the settings add to it.

    Attributes:
        request: The request. Without a user, the session may be of any user.
        scope: Whose memory is used.
        budget: The most tokens.
        counter: Counts them.
        shares: How the budget is shared among the layers.
        ranking: The scoring profile of the memories.
        per_session: The memories of one session that come before those of others.
        mask_secrets: Whether keys, tokens, card numbers and passwords are hidden.
        recall: What is recalled if neither the request nor the session says so.
    """

    request: ContextRequest
    scope: Scope
    budget: int
    counter: ContextTokenCounter
    shares: Shares
    ranking: str
    per_session: int
    recall: RecallOptions
    mask_secrets: bool = True

    @property
    def excluded_texts(self) -> Set[str]:
        """The texts that the assistant has anyway, without differences in white space."""
        return frozenset(map(normalize_whitespace, self.request.leave_out))


def build_context(sources: ContextSources, inputs: ContextInputs) -> Context:
    """Build a context: session → turns → search → facts, procedures and summaries → layers.

    Raises:
        NotFound: There is no such session.
    """
    db, request, scope = sources.database.read(), inputs.request, inputs.scope
    session = None
    if request.session_id is not None:
        session = sources.find_session(SessionRequest(request.session_id, user_id=request.user_id))
        _check_membership(session, scope)
        scope = Scope(session.user_id, session.namespace, scope.agent_id)
    window = sources.window(session) if session is not None else request.window
    turns = window.turns if window is not None else _latest_turns(db, session)
    effective_query, material, notes = request.query, ContextMaterial(turns=turns, window=window), []
    recall = _recall_options(db, inputs, session)
    asked = recall_questions.read(request.query)
    names_nothing = asked is not None and asked.names_nothing
    if recall.auto_recall:
        turn_texts = [turn.text for turn in turns if turn.text.strip() != request.query.strip()]
        excluded_texts = inputs.excluded_texts
        found = NOTHING_ASKED
        if recall.min_score is not None or _is_narrowed(request) or not is_courtesy(request.query):
            memory_search = _memory_search(inputs, scope, len(excluded_texts), recall)
            found, effective_query = sources.search(memory_search, turn_texts)
        # A minimum score of the caller's own holds instead; and of a follow-up the scores are those of half a question.
        scores_tell = recall.min_score is None and effective_query == request.query
        has_match = bool(found.hits) if recall.min_score else found.supports_context and found.found
        hits = [hit for hit in found if normalize_whitespace(hit.text) not in excluded_texts]
        summaries = [hit.summary for hit in found.summaries]
        facts = sources.profile(ProfileRequest(scope.user_id, scope.namespace, agent_id=scope.agent_id))
        if names_nothing and not _is_narrowed(request):
            about_person = asked is not None and asked.about_person
            list_summaries = sources.own_summaries if about_person else sources.recent_summaries
            summaries = list(list_summaries(scope, MAX_RECENT_SUMMARIES))
            has_match = has_match or bool(facts or summaries)
        ids = [hit.message_id for hit in hits]
        weighed = [*ids, *(quote.message_id for fact in facts if fact.kind == "instruction" for quote in fact.evidence)]
        importances = {messages.message_id(key): one for key, one in importance.get(db, _keys(weighed)).items()}
        if sources.is_how_to(request.query) and not _is_narrowed(request):
            summaries = [*_find_procedures(sources, effective_query, scope), *summaries]
        material = ContextMaterial(
            turns=turns,
            window=window,
            hits=hits,
            facts=facts,
            summaries=_from_other_sessions(summaries if has_match and recall.recall_limit != 0 else [], session),
            neighbours=_neighbour_turns(db, ids[: memory_selection.MEMORIES_WITH_NEIGHBOURS], excluded_texts),
            importance={id: one.importance for id, one in importances.items()},
            pinned={id for id, one in importances.items() if one.pinned},
            judgements={id: one.feedback.judgement for id, one in importances.items() if one.feedback.judgement},
            worth=worth.scores(hits) if scores_tell else {},
            no_match=not (has_match or (found.hits and recall.min_score == 0)),
            found=has_match,
        )
        notes = list(found.notes)
    material = without_reasoning_of_answers(material)
    material = replace(material, blocks=core_blocks.list_blocks(db, scope.user_id, scope.namespace))
    if inputs.mask_secrets:
        # Before texts are shortened: a part of a secret is not recognised.
        material = mask_secrets(material)
    plan = ContextPlan(
        query=request.query,
        words=lexical.query_words(recall_questions.content(effective_query)),
        budget=inputs.budget,
        shares=for_question_about_person(inputs.shares) if asked is not None and asked.about_person else inputs.shares,
        encoding=inputs.counter.name,
        count=inputs.counter.count,
        per_session=inputs.per_session,
        now=timestamps.now(),
        recall_limit=recall.recall_limit,
        names_nothing=names_nothing,
    )
    return layers.build(plan, material, [*notes, *filter(None, [inputs.counter.note])])


def _memory_search(inputs: ContextInputs, scope: Scope, excluded: int, recall: RecallOptions) -> SearchRequest:
    request = inputs.request
    return SearchRequest(
        request.query,
        limit=memory_selection.hits_needed(inputs.budget) + excluded,
        profile=inputs.ranking,
        per_session=0,
        variants=False,
        min_score=recall.min_score or 0,
        user_id=scope.user_id,
        namespace=scope.namespace,
        agent_id=scope.agent_id,
        asked_in=request.session_id,
        **{name: getattr(request, name) for name in FILTERS},
    )


def _is_narrowed(request: ContextRequest) -> bool:
    """Whether only some messages may be recalled."""
    return any(getattr(request, name) for name in FILTERS)


def _check_membership(session: SessionInfo, scope: Scope) -> None:
    """Check that a session belongs to a scope.

    Raises:
        NotFound: The session is in another namespace, or it has agents and the scope's agent is not one of them.
    """
    if scope.namespace and scope.namespace != session.namespace:
        raise NotFound(f"There is no session {session.id!r} in the namespace {scope.namespace!r}.")
    if scope.agent_id and session.agents and scope.agent_id not in session.agents:
        raise NotFound(
            f"The agent {scope.agent_id!r} does not take part in session {session.id}.",
            hint="An agent takes part from its first message on.",
        )


def _latest_turns(db: sqlite3.Connection, session: SessionInfo | None) -> list[Message]:
    """A session's latest turns, oldest first."""
    if session is None:
        return []
    rows = messages.of_session(db, sessions.key(session), last=MAX_TURNS, conversational_only=True)
    return [messages.to_message(row) for row in rows]


def _recall_options(db: sqlite3.Connection, inputs: ContextInputs, session: SessionInfo | None) -> RecallOptions:
    """What is recalled: as the request says, else the session, else the settings."""
    session_options = sessions.options(db, sessions.key(session)) if session is not None else {}
    return recall_options.resolve(inputs.request, session_options, inputs.recall)


def _find_procedures(sources: ContextSources, query: str, scope: Scope) -> list[Summary]:
    found = sources.find_summaries(
        SearchSummariesRequest(
            query,
            limit=MAX_PROCEDURES,
            user_id=scope.user_id,
            namespace=scope.namespace,
            agent_id=scope.agent_id,
            level="procedure",
        )
    )
    return [hit.summary for hit in found]


def normalize_whitespace(text: str) -> str:
    """Collapse runs of white space, in which copies of a text may differ."""
    return " ".join(text.split())


def _neighbour_turns(
    db: sqlite3.Connection, ids: Sequence[str], excluded_texts: Set[str]
) -> dict[str, tuple[Message | None, Message | None]]:
    """The messages directly before and after each memory, without excluded texts."""

    def unless_excluded(turn: Message | None) -> Message | None:
        return None if turn is None or normalize_whitespace(turn.text) in excluded_texts else turn

    found = neighbours.adjacent_messages(db, ids)
    return {id: (unless_excluded(before), unless_excluded(after)) for id, (before, after) in found.items()}


def _keys(ids: Sequence[str]) -> list[int]:
    return [key for id in ids if (key := messages.message_key(id)) is not None]


def _from_other_sessions(summaries: Sequence[Summary], session: SessionInfo | None) -> list[Summary]:
    """Each summary once, without those of the present session, whose running summary is a layer of its own."""
    by_id = {summary.id: summary for summary in summaries}
    return [summary for summary in by_id.values() if session is None or summary.session_id != session.id]

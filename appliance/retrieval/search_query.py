"""Resolves a search request: checks it and makes it a ``SearchQuery``."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import get_args

from appliance import machine_profiles, timestamps
from appliance.errors import NotFound, UsageError
from appliance.near_names import did_you_mean
from appliance.requests import SearchRequest
from appliance.retrieval import filter_values, question_targets, time_ranges
from appliance.retrieval.resources import Page, SearchQuery
from appliance.retrieval.weights import LEGS, ScoringProfile
from appliance.store import attachments, branches, lexical, mentions, sessions, subjects, tags
from appliance.store.author_selection import AuthorSelection, own_authors, resolve_authors
from appliance.store.message_parts import has_condition
from appliance.store.word_matches import newest_matches
from appliance.types import ROLES, Filters, HitOrder, Mode, Scope

NO_SESSION = 0
"""A key that no session has; a filter by it finds nothing."""

MAX_COUNT = 1 << 31
"""More hits than any memory has; a limit or an offset beyond it is the same as this one."""

MAX_NEIGHBOURS = 25
"""The most turns on each side of a hit, as many as the timeline of MCP has: a session shows more."""

MAX_YEARS_BACK = 10
"""In how many years the messages of a day or a month without a year are looked for."""

MODE_LEGS: Mapping[str, frozenset[str]] = {
    "hybrid": frozenset(LEGS),
    "dense": frozenset(LEGS) - {"own", "window", "quoted"},
    "lexical": frozenset(LEGS) - {"dense"},
}
"""The legs of each mode."""


def resolve(
    db: sqlite3.Connection,
    request: SearchRequest,
    scope: Scope,
    *,
    profile: ScoringProfile,
    without: Collection[str],
    per_session: int,
    current_session: int | None,
    look_in_archive: bool = False,
    by_asked_author: bool = True,
) -> SearchQuery:
    """Check a search request and put it into the engine's terms.

    Args:
        db: A connection for reading.
        request: The request.
        scope: Whose memory is searched.
        profile: The scoring profile.
        without: The legs that do not run.
        per_session: The most hits of one session; 0 for no limit.
        current_session: The key of the session that asks.
        look_in_archive: Whether it looks in the archive by itself if it finds nothing good.
        by_asked_author: Whether a question for what somebody wrote or said finds only their messages.

    Raises:
        UsageError: A role, author, mode, leg, date or limit is invalid.
        NotFound: The request names a session but no user, and there is no such session.
    """
    target = question_targets.find_target(db, scope, request, by_asked_author=by_asked_author)
    named = request.authors or target.authors
    found = resolve_authors(db, scope, named) if not target.by_person else own_authors(db, scope)
    filters, filter_notes = resolve_all_filters(
        db, replace(request, authors=named), scope, current_session, found, documents=not target.names_authors
    )
    if target.messages is not None:
        filters = _only_messages(db, filters, target.messages)
    now = query_time(request.as_of)
    filters = _only_in_time(db, filters, target.time, now) if target.time else filters
    lists_all = target.lists_all or (not request.query.strip() and is_narrowed(request))
    return SearchQuery(
        text=target.text,
        filters=filters,
        profile=profile,
        legs=enabled_legs(request.mode, without, profile),
        mode=request.mode,
        now=now,
        current_session=current_session,
        per_session=session_limit(per_session),
        archived="always" if request.include_archived else "if needed" if look_in_archive else "never",
        notes=(
            *filter_values.missing_values(db, request, scope, found.missing),
            *filter_values.all_searched(found.ambiguous),
            *filter_notes,
            *target.notes,
        ),
        asks_all=target.asks_all,
        folds=not (lists_all or request.sort == "time") if request.variants is None else not request.variants,
        lists_all=lists_all,
    )


def is_narrowed(request: SearchRequest) -> bool:
    """Whether a request has filters of messages besides whose memory it is."""
    lists = (
        request.authors, request.participants, request.sources, request.roles, request.has, request.tags,
        request.tools, request.files, request.entities, request.topics,
    )  # fmt: skip
    return any(lists) or (request.session_id, request.since, request.until) != (None, None, None)


def resolve_page(request: SearchRequest, default_limit: int) -> Page:
    """Check which hits a search request wants.

    Raises:
        UsageError: The limit, the offset, the order, the number of neighbours or the minimum score is invalid.
    """
    limit = default_limit if request.limit is None else request.limit
    if limit < 1:
        raise UsageError(f"The limit must be at least 1, not {limit}.")
    if request.offset < 0:
        raise UsageError(f"The offset must be at least 0, not {request.offset}.")
    if request.sort not in get_args(HitOrder):
        raise UsageError(f"Hits can't be sorted by {request.sort!r}.", hint="Use score or time.")
    if not 0 <= request.neighbours <= MAX_NEIGHBOURS:
        raise UsageError(f"The turns around a hit must be 0 to {MAX_NEIGHBOURS}, not {request.neighbours}.")
    if request.min_score is not None and not 0 <= request.min_score <= 1:
        raise UsageError(f"The minimum score must be 0 to 1, not {request.min_score}.")
    limit, offset = min(limit, MAX_COUNT), min(request.offset, MAX_COUNT)
    return Page(limit, offset, request.sort, request.count, request.neighbours, request.min_score)


def resolve_all_filters(
    db: sqlite3.Connection,
    request: SearchRequest,
    scope: Scope,
    current_session: int | None,
    authors: AuthorSelection,
    *,
    documents: bool = True,
) -> tuple[Filters, list[str]]:
    """The filters of a search request as ``resolve_filters`` has them, with those by participants, tools, files,
    entities and topics; and a note for each value that nothing has. Without ``documents``, no pages of documents pass:
    they are not what somebody said.

    Raises:
        UsageError: A value is invalid.
        NotFound: The request names a session but no user, and there is no such session.
    """
    filters = replace(resolve_filters(db, request, scope, current_session, authors), documents=documents)
    filters, notes = _with_mentions(db, request, filters)
    among, participant_notes = filter_values.resolve_participants(db, scope, request.participants or ())
    if among is not None:
        filters = _within_sessions(filters, among)
    return filters, [*notes, *participant_notes]


def resolve_filters(
    db: sqlite3.Connection, request: SearchRequest, scope: Scope, current_session: int | None, authors: AuthorSelection
) -> Filters:
    """The filters of a search request. ``authors`` are those that its names mean.

    A request without a user finds the session of any user. With one, a session of another user finds nothing, and
    does not reveal whether it exists.

    Raises:
        UsageError: A role or date is invalid.
        NotFound: The request names a session but no user, and there is no such session.
    """
    roles, any_owner = request.roles, request.user_id is None
    for role in roles or ():
        if role not in ROLES:
            raise UsageError(f"There is no role {role!r}.", hint=f"Use one of {', '.join(ROLES)}.")
    if request.has:
        has_condition(request.has)  # checks them
    ends = [
        bound for end in (request.until, request.as_of) if (bound := timestamps.parse_bound(end, end=True)) is not None
    ]
    own = (
        sessions.parts_withholding(db, branches.session_parts(db, current_session))
        if current_session is not None
        else ()
    )
    narrowed = Filters(
        scope=scope,
        roles=tuple(roles or ()),
        sources=tuple(request.sources or ()),
        authors=authors.authors,
        author_sessions=authors.author_sessions,
        unsigned=authors.unsigned,
        since=timestamps.parse_bound(request.since, end=False),
        until=min(ends, default=None),
        exempt_parts=own,
        has=tuple(request.has or ()),
    )
    if request.tags and request.session_id is None:
        narrowed = replace(narrowed, sessions=tags.tagged_sessions(db, scope, request.tags))
    if request.authors and authors.is_empty:
        return replace(narrowed, session=NO_SESSION)
    if request.session_id is None:
        return narrowed
    try:
        info = sessions.find(db, request.session_id, None if any_owner else scope.user_id, owner=scope.user_id)
    except NotFound:
        if any_owner:
            raise
        return replace(narrowed, session=NO_SESSION)
    *past, itself = branches.session_parts(db, sessions.key(info))
    owner = Scope(info.user_id, info.namespace, scope.agent_id)
    if request.tags:
        narrowed = replace(narrowed, sessions=tags.tagged_sessions(db, owner, request.tags))
    return replace(
        narrowed,
        session=itself.session,
        scope=owner,
        ancestor_parts=tuple(past),
        exempt_parts=own + sessions.parts_withholding(db, (*past, itself)),
    )


def _with_mentions(db: sqlite3.Connection, request: SearchRequest, filters: Filters) -> tuple[Filters, list[str]]:
    """The filters with the messages that mention what a request asks for, with the chunks that pass, and within the
    conversations about its topics; and a note for each entity and topic that nothing has.

    Raises:
        UsageError: A tool, file, entity or topic is invalid.
    """
    notes: list[str] = []
    named: list[set[int]] = []
    if request.tools:
        named.append(mentions.messages_mentioning(db, filters, mentions.TOOL, request.tools))
    if request.files:
        named.append(mentions.messages_mentioning(db, filters, mentions.FILE, request.files))
    if request.entities:
        naming = {entity: subjects.messages_naming(db, filters, entity) for entity in request.entities}
        notes += [f"no message names {entity!r}" for entity, found in naming.items() if not found]
        named.append(set().union(*naming.values()))
    if request.topics:
        about = {topic: subjects.sessions_about(db, filters, topic) for topic in request.topics}
        notes += [f"no conversation is about {topic!r}" for topic, found in about.items() if not found]
        filters = _within_sessions(filters, set().union(*about.values()))
    if named:
        filters = replace(filters, messages=tuple(sorted(set.intersection(*named))))
    pieces: list[set[int]] = []
    if filters.messages is not None:
        pieces.append(set(mentions.chunks_of(db, filters.messages)))
    if filters.has:
        owner = filters.scope
        pieces.append({*attachments.chunks_containing(db, owner.user_id, owner.namespace, filters.has)})
    if pieces:
        filters = replace(filters, chunks=tuple(sorted(set.intersection(*pieces))))
    return filters, notes


def _only_messages(db: sqlite3.Connection, filters: Filters, among: Collection[int]) -> Filters:
    """The filters narrowed to some messages, and to their chunks."""
    kept = {*among} if filters.messages is None else {*among} & {*filters.messages}
    pieces = {*mentions.chunks_of(db, kept)}
    pieces = pieces if filters.chunks is None else pieces & {*filters.chunks}
    return replace(filters, messages=tuple(sorted(kept)), chunks=tuple(sorted(pieces)))


def _only_in_time(db: sqlite3.Connection, filters: Filters, words: str, now: datetime) -> Filters:
    """The filters narrowed to a time that a question names, asked ``now``. Of the years that it may mean, it is the
    last ones with messages of a day, or the last one with messages of a month. A day that no calendar has has none."""
    ranges = time_ranges.find_time_ranges(words, now)
    if not ranges:
        return _only_messages(db, filters, ())
    if not any(one.is_alternative for one in ranges):
        return _between(filters, min(one.start for one in ranges), max(one.end for one in ranges))
    begun = [one for one in ranges if one.start <= timestamps.to_microseconds(now)] or ranges
    begun = sorted(begun, key=lambda one: one.start, reverse=True)[:MAX_YEARS_BACK]
    years = [_between(filters, one.start, one.end) for one in begun]
    found = [one for one in years if lexical.count_filtered(db, one)]
    if not found or begun[0].end - begun[0].start >= time_ranges.MONTH_MICROSECONDS:
        return (found or years)[0]
    days = [newest_matches(db, one, archived=True) for one in found[: time_ranges.MAX_YEARS]]
    return _only_messages(db, filters, {match.message for day in days for match in day})


def _between(filters: Filters, since: int, until: int) -> Filters:
    return replace(
        filters,
        since=since if filters.since is None else max(since, filters.since),
        until=until if filters.until is None else min(until, filters.until),
    )


def _within_sessions(filters: Filters, among: Collection[int]) -> Filters:
    """The filters narrowed to some sessions."""
    kept = {*among} if filters.sessions is None else {*among} & {*filters.sessions}
    return replace(filters, sessions=tuple(sorted(kept)))


def enabled_legs(mode: Mode, without: Collection[str], profile: ScoringProfile) -> frozenset[str]:
    """The legs that a mode, a profile and the options leave to run.

    Raises:
        UsageError: There is no such mode or leg.
    """
    if mode not in MODE_LEGS:
        raise UsageError(f"There is no mode {mode!r}.", hint="Use one of hybrid, dense, lexical.")
    for leg in without:
        if leg not in LEGS:
            raise UsageError(f"There is no leg {leg!r}.", hint=f"Use one of {', '.join(LEGS)}.")
    return MODE_LEGS[mode] & profile.legs - set(without)


def find_profile(name: str, known: Mapping[str, ScoringProfile]) -> ScoringProfile:
    """Find a profile by name.

    Raises:
        UsageError: There is no such profile.
    """
    if name not in known:
        hint = f"{did_you_mean(name, known)}Use one of {', '.join(known)}."
        if name in machine_profiles.NAMES:
            hint += f" That of the machine stands before the verb: 'appliance --profile {name} search …'."
        raise UsageError(f"There is no profile {name!r}.", hint=hint)
    return known[name]


def query_time(as_of: str | date | None) -> datetime:
    """The time of a query, with its time zone: now, or the moment or end of the day that ``as_of`` names."""
    return timestamps.local_now() if as_of is None else timestamps.parse_as_of(as_of)


def session_limit(bound: int) -> int | None:
    """The most hits of one session from a caller's number, in which 0 stands for no limit.

    Raises:
        UsageError: The number is negative.
    """
    if bound < 0:
        raise UsageError(f"The hits per session must be at least 0, not {bound}.", hint="0 sets no limit.")
    return bound or None

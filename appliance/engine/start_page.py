"""The start page of a memory, from what is stored and derived: nothing is brought up to date for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from appliance import timestamps
from appliance.memory.search_examples import search_examples
from appliance.paths import is_there
from appliance.store import facts, file_problems, importance, messages, sessions, start_page, watched_files
from appliance.store.session_listing import SessionFilter, count_sessions, list_sessions
from appliance.types import Filters, RecentSession, Scope, StartPage, Waiting

EXAMPLE_SESSIONS = 20
"""The latest sessions, from which example searches are made."""

MAX_ARCHIVED_SESSIONS = 50
"""Sessions that are named because they will be archived: some screens full."""


@dataclass(frozen=True, slots=True)
class StartPageInputs:
    """What the start page needs of the engine: the configured user, the sessions that will be archived soon, the
    number of pairs of people who may be one, and that of imports that were broken off."""

    owner: str
    archived_soon: Callable[[Scope], list[int]]
    count_proposals: Callable[[Scope], int]
    count_imports: Callable[[Scope], int]


def read_start_page(db: sqlite3.Connection, filters: Filters, inputs: StartPageInputs, limit: int) -> StartPage:
    """Return the start page for the scope of ``filters``, with up to ``limit`` entries of each list."""
    scope, today = filters.scope, timestamps.from_microseconds(timestamps.now()).astimezone().date()
    spans = start_page.session_spans(db, scope)
    listed = SessionFilter(scope, hidden=False)
    latest = list_sessions(db, listed, limit=max(limit, EXAMPLE_SESSIONS)).sessions
    recent = latest[:limit]
    last = start_page.last_messages(db, [sessions.key(info) for info in recent])
    pinned = importance.pinned(db, scope.user_id, scope.namespace)
    pinned_rows = messages.get(db, pinned[:limit])
    first = min((span.first for span in spans if span.first > 0), default=None)
    yesterday = datetime.combine(today - timedelta(days=1), time()).astimezone()
    read = watched_files.recently_read(db, scope, inputs.owner, timestamps.to_microseconds(yesterday))
    owners = watched_files.owner_names(scope, inputs.owner)
    failed = sum(one.owner in owners and is_there(one.path) for one in file_problems.stored(db))
    archived = inputs.archived_soon(scope)
    return StartPage(
        sessions=count_sessions(db, listed),
        since=None if first is None else timestamps.iso_from_microseconds(first)[:10],
        recent=tuple(RecentSession(info, last.get(sessions.key(info))) for info in recent),
        on_this_day=tuple(start_page.best_of_day(db, filters, spans, today, limit)),
        pinned=tuple(messages.to_message(pinned_rows[key]) for key in pinned[:limit] if key in pinned_rows),
        pinned_count=len(pinned),
        waiting=Waiting(
            contradictions=facts.count_reviews(db, scope),
            proposals=inputs.count_proposals(scope),
            imports=inputs.count_imports(scope),
            files_read=read,
            files_failed=failed,
            archived_soon=tuple(sessions.infos(db, archived[:MAX_ARCHIVED_SESSIONS])),
            archived_soon_count=len(archived),
        ),
        examples=search_examples(db, scope, latest),
    )

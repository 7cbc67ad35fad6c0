"""The values of a search's filters: the stored names that they mean, and notes about those that nothing has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from appliance import timestamps
from appliance.requests import SearchRequest
from appliance.store import authors, lexical, mentions, people_figures, session_listing, tags
from appliance.store.author_selection import missing_author, most_similar, resolve_authors
from appliance.types import Filters, Scope

MAX_LISTED_VALUES = 6
"""How many sources a note lists where none is similar."""

_CALENDAR = (timestamps.to_microseconds(datetime.min), timestamps.to_microseconds(datetime.max))
"""The first and the last moment that can be written as a date."""


def resolve_participants(
    db: sqlite3.Connection, scope: Scope, names: Sequence[str]
) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
    """The sessions in which all of these people wrote, None without any name; and notes about the names.

    Raises:
        UsageError: A name is empty.
    """
    if not names:
        return None, ()
    sessions: set[int] | None = None
    notes: list[str] = []
    for name in names:
        selected = resolve_authors(db, scope, [name])
        notes += all_searched(selected.ambiguous)
        notes += (missing_author(db, scope, one) for one in selected.missing)
        found = authors.sessions_of(db, scope, selected.authors)
        found |= {session for _, in_sessions in selected.author_sessions for session in in_sessions}
        if selected.unsigned:
            found |= people_figures.unsigned_sessions(db, scope)
        sessions = found if sessions is None else sessions & found
    return tuple(sorted(sessions or ())), tuple(notes)


def all_searched(ambiguous: Iterable[str]) -> Iterator[str]:
    """A note for each name of several people (``AuthorSelection.ambiguous``)."""
    return (f"{words}; all were searched" for words in ambiguous)


def missing_values(
    db: sqlite3.Connection, request: SearchRequest, scope: Scope, missing_authors: Sequence[str]
) -> Iterator[str]:
    """A note for each value of a filter that nothing in the scope has.

    Args:
        db: A connection for reading.
        request: The request.
        scope: Whose memory is searched.
        missing_authors: The names that no author has.
    """
    if request.user_id is not None and not session_listing.has_any(db, request.user_id):
        yield f"nothing is stored for user {request.user_id!r}"
        return
    if request.sources:
        known = session_listing.formats(db, scope)
        for source in request.sources:
            if source not in known:
                yield f"no source {source!r}; {_proposal(source, known) or _listing(known)}"
    if request.tags:
        listed = [one.tag for one in tags.counts(db, scope)]
        for tag in map(tags.normal, request.tags):
            if tag not in listed:
                yield f"no tag {tag!r}; {_proposal(tag, listed) or _listing(listed, 'nothing is tagged')}"
    yield from _missing_mentions(db, scope, mentions.TOOL, request.tools or ())
    yield from _missing_mentions(db, scope, mentions.FILE, request.files or ())
    for name in missing_authors:
        yield missing_author(db, scope, name)


def _missing_mentions(
    db: sqlite3.Connection, scope: Scope, kind: mentions.MentionKind, values: Sequence[str]
) -> Iterator[str]:
    known: list[str] | None = None
    for value in values:
        if not mentions.is_mentioned(db, Filters(scope), kind, value):
            if known is None:
                known = list(mentions.counts(db, Filters(scope), kind))
            yield f"no {kind} {value!r}; {_proposal(value, known) or _listing(known, f'no {kind} is named anywhere')}"


def dates_note(db: sqlite3.Connection, filters: Filters) -> str | None:
    """How many messages the dates of a filter leave out, and which dates these are: "last week" may be another one than
    meant. None if they leave out none, or if there is nothing else to find."""
    since, until = filters.since, filters.until
    if since is None and until is None:
        return None
    if since is not None and until is not None and since >= until:
        return f"The dates exclude everything: they begin on {_moment(since)} and end before {_moment(until)}."
    inside, everywhere = (
        lexical.count_filtered(db, one) for one in (filters, replace(filters, since=None, until=None))
    )
    if inside == everywhere:
        return None
    first = "" if since is None else f" from {_moment(since)}"
    last = "" if until is None else f" until before {_moment(until)}"
    return f"The dates{first}{last} leave out {everywhere - inside:,} of {everywhere:,} messages."


def _moment(microseconds: int) -> str:
    """A bound in UTC; one beyond the calendar, which another zone may name, as the calendar's own."""
    within = min(max(microseconds, _CALENDAR[0]), _CALENDAR[1])
    return timestamps.from_microseconds(within).strftime("%Y-%m-%d %H:%M").removesuffix(" 00:00")


def _proposal(value: str, known: Iterable[str]) -> str:
    similar = most_similar(value, {one: one for one in known})
    return f"did you mean {similar[0]}?" if similar else ""


def _listing(known: Sequence[str], nothing: str = "nothing is stored") -> str:
    if not known:
        return nothing
    more = f" and {len(known) - MAX_LISTED_VALUES} more" if len(known) > MAX_LISTED_VALUES else ""
    verb = "are" if len(known) > 1 else "is only"
    return f"there {verb} {', '.join(known[:MAX_LISTED_VALUES])}{more}"

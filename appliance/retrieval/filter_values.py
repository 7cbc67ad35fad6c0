"""The values of a search's filters: the stored names that they mean, and notes about those that nothing has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from appliance import timestamps
from appliance.errors import UsageError
from appliance.requests import SearchRequest
from appliance.store import authors, lexical, people, people_figures, session_listing, tags
from appliance.store.lexical import fold
from appliance.types import Filters, Scope

MAX_COMPARED_NAMES = 5_000
"""How many authors a name without messages is compared with, which takes up to 0.1 s."""

MAX_LISTED_VALUES = 6
"""How many sources a note lists where none is similar."""


@dataclass(frozen=True, slots=True)
class AuthorSelection:
    """The authors whom the names in a request mean.

    Attributes:
        authors: Names of authors, as they are stored, that count in all sessions.
        author_sessions: Names that count only in some sessions, with these, because they are other people's elsewhere.
        unsigned: Whether user messages without an author count: those of the person in conversations with assistants.
        missing: The names that no author has.
        notes: One note for each name that several people have.
    """

    authors: tuple[str, ...] = ()
    author_sessions: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unsigned: bool = False
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.authors or self.author_sessions or self.unsigned)


def resolve_authors(db: sqlite3.Connection, scope: Scope, names: Sequence[str]) -> AuthorSelection:
    """The authors in a scope that ids of people, names, or parts of names mean.

    A person who has the name counts with everything that they wrote, under whatever name. An author who is not known
    as a person counts by the author's own name.

    Raises:
        UsageError: A name is empty.
    """
    if not all(name.strip() for name in names):
        raise UsageError("The name of an author is empty.", hint="Give a name or a part of one.")
    by_name: dict[str, None] = {}
    persons: dict[int, people.StoredPerson] = {}
    missing: list[str] = []
    notes: list[str] = []
    for name in names:
        found = people.matching(db, scope, name)
        is_exact = people.person_key(name) is not None or fold(name) == "me"
        own = [] if found and is_exact else authors.named(db, scope, name)
        persons |= {one.key: one for one in found}
        by_name |= dict.fromkeys(own)
        if not found and not own:
            missing.append(name)
        if len(found) > 1:
            named = ", ".join(f"{one.name} ({people.public_id(one.key)})" for one in found[:MAX_LISTED_VALUES])
            more = f" and {len(found) - MAX_LISTED_VALUES} more" if len(found) > MAX_LISTED_VALUES else ""
            notes.append(f"{name!r} is the name of {len(found)} people: {named}{more}; all were searched")
    uses: dict[str, list[int]] = {}
    for session, author in people.authors_of(db, persons):
        if author not in by_name:
            uses.setdefault(author, []).append(session)
    others = people.uses_by_others(db, scope, uses, persons)
    return AuthorSelection(
        authors=(*by_name, *(author for author in uses if author not in others)),
        author_sessions=tuple((author, tuple(sorted(uses[author]))) for author in uses if author in others),
        unsigned=any(one.me for one in persons.values()),
        missing=tuple(missing),
        notes=tuple(notes),
    )


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
        notes += selected.notes
        notes += (_missing_author(db, scope, one) for one in selected.missing)
        found = authors.sessions_of(db, scope, selected.authors)
        found |= {session for _, in_sessions in selected.author_sessions for session in in_sessions}
        if selected.unsigned:
            found |= people_figures.unsigned_sessions(db, scope)
        sessions = found if sessions is None else sessions & found
    return tuple(sorted(sessions or ())), tuple(notes)


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
    for name in missing_authors:
        yield _missing_author(db, scope, name)


def dates_note(db: sqlite3.Connection, filters: Filters) -> str | None:
    """How many messages the dates of a filter leave out, and which dates these are: "last week" may be another one than
    meant. None if they leave out none, or if there is nothing else to find."""
    if filters.since is None and filters.until is None:
        return None
    inside, everywhere = (
        lexical.count_filtered(db, one) for one in (filters, replace(filters, since=None, until=None))
    )
    if inside == everywhere:
        return None
    since = "" if filters.since is None else f" from {_moment(filters.since)}"
    until = "" if filters.until is None else f" until before {_moment(filters.until)}"
    return f"The dates{since}{until} leave out {everywhere - inside:,} of {everywhere:,} messages."


def _moment(microseconds: int) -> str:
    text = timestamps.from_microseconds(microseconds).strftime("%Y-%m-%d %H:%M")
    return text.removesuffix(" 00:00")


def _missing_author(db: sqlite3.Connection, scope: Scope, name: str) -> str:
    return "; ".join(filter(None, (f"no author {name!r}", _similar_author(db, scope, name))))


def _proposal(value: str, known: Iterable[str]) -> str:
    similar = most_similar(value, {one: one for one in known})
    return f"did you mean {similar[0]}?" if similar else ""


def _listing(known: Sequence[str], nothing: str = "nothing is stored") -> str:
    if not known:
        return nothing
    more = f" and {len(known) - MAX_LISTED_VALUES} more" if len(known) > MAX_LISTED_VALUES else ""
    return f"there are {', '.join(known[:MAX_LISTED_VALUES])}{more}"


def _similar_author(db: sqlite3.Connection, scope: Scope, name: str) -> str:
    # A person is named by any part of the name.
    names = list(islice(authors.all_names(db), MAX_COMPARED_NAMES))
    known = {part: author for author in names for part in (*author.split(), author)}
    for similar in most_similar(name, known):
        if authors.has_messages(db, scope, similar):  # no user learns the names in another's memory
            return f"did you mean {similar}?"
    return ""


def most_similar(value: str, known: Mapping[str, str]) -> list[str]:
    """The values of the keys that are spelled most like ``value``, the best first."""
    import difflib

    folded = {fold(key): found for key, found in known.items()}
    return [folded[key] for key in difflib.get_close_matches(fold(value), folded)]

"""The values of a search's filters: the stored names that they mean, and notes about those that nothing has."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from appliance.errors import UsageError
from appliance.requests import SearchRequest
from appliance.store import authors, session_listing, tags
from appliance.store.lexical import fold
from appliance.types import Scope

MAX_COMPARED_NAMES = 5_000
"""How many authors a name without messages is compared with, which takes up to 0.1 s."""

MAX_LISTED_VALUES = 6
"""How many sources a note lists where none is similar."""


def resolve_authors(db: sqlite3.Connection, scope: Scope, names: Sequence[str]) -> tuple[str, ...]:
    """The authors in a scope that the names, or parts of names, mean.

    Raises:
        UsageError: A name is empty.
    """
    if not all(name.strip() for name in names):
        raise UsageError("The name of an author is empty.", hint="Give a name or a part of one.")
    return tuple(dict.fromkeys(author for name in names for author in authors.named(db, scope, name)))


def missing_values(db: sqlite3.Connection, request: SearchRequest, scope: Scope, found: Sequence[str]) -> Iterator[str]:
    """A note for each value of a filter that nothing in the scope has.

    Args:
        db: A connection for reading.
        request: The request.
        scope: Whose memory is searched.
        found: The authors that the request's names mean.
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
    for name in request.authors or ():
        if not any(authors.is_named(author, name) for author in found):
            yield "; ".join(filter(None, (f"no author {name!r}", _similar_author(db, scope, name))))


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

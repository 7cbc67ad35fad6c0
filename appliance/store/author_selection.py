"""Whom the names in a request mean: the authors of messages, by person, by name, or by a part of one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from appliance.errors import UsageError
from appliance.store import authors, people
from appliance.store.lexical import fold
from appliance.types import Scope

MAX_COMPARED_NAMES = 5_000
"""How many names a name without messages is compared with, which takes up to 0.1 s."""

MAX_LISTED_PEOPLE = 6
"""How many people of one name are listed."""


@dataclass(frozen=True, slots=True)
class AuthorSelection:
    """The authors whom the names in a request mean.

    Attributes:
        authors: Names of authors, as they are stored, that count in all sessions.
        author_sessions: Names that count only in some sessions, with these, because they are other people's elsewhere.
        unsigned: Whether user messages without an author count: those of the person in conversations with assistants.
        missing: The names that no author has.
        ambiguous: For each name that several people have, who they are, in words.
    """

    authors: tuple[str, ...] = ()
    author_sessions: tuple[tuple[str, tuple[int, ...]], ...] = ()
    unsigned: bool = False
    missing: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.authors or self.author_sessions or self.unsigned)


def is_exact(name: str) -> bool:
    """Whether a name is the id of a person or "me", and no part of a name if there is such a person."""
    return people.person_key(name) is not None or people.means_me(name)


def resolve_authors(
    db: sqlite3.Connection, scope: Scope, names: Sequence[str], *, whole: bool = False
) -> AuthorSelection:
    """Return the authors in a scope that ids of people, names, or, unless the names are ``whole``, parts of names mean.

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
    ambiguous: list[str] = []
    for name in names:
        found = people.matching(db, scope, name, whole=whole)
        own = [] if found and is_exact(name) else authors.named(db, scope, name, whole=whole)
        persons |= {one.key: one for one in found}
        by_name |= dict.fromkeys(own)
        if not found and not own:
            missing.append(name)
        if len(found) > 1:
            named = ", ".join(f"{one.name} ({people.public_id(one.key)})" for one in found[:MAX_LISTED_PEOPLE])
            more = f" and {len(found) - MAX_LISTED_PEOPLE} more" if len(found) > MAX_LISTED_PEOPLE else ""
            ambiguous.append(f"{name!r} is the name of {len(found)} people: {named}{more}")
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
        ambiguous=tuple(ambiguous),
    )


def own_authors(db: sqlite3.Connection, scope: Scope) -> AuthorSelection:
    """Return the authors that are the person whose memory it is. Where no name is known to be the person's, the user
    messages without an author are."""
    key = people.me(db, scope)
    if key is None:
        return AuthorSelection(unsigned=True)
    return resolve_authors(db, scope, [people.public_id(key)])


def missing_author(db: sqlite3.Connection, scope: Scope, name: str) -> str:
    """Say that no author of a scope has this name, and whether one has a similar name."""
    if people.means_me(name):
        return f"no author {name!r}: 'appliance people me NAME' says who you are"
    # A person is named by any part of the name.
    known = {part: known for known in islice(_names(db, scope), MAX_COMPARED_NAMES) for part in (*known.split(), known)}
    for similar in most_similar(name, known):
        if people.has_writer(db, scope, similar) or authors.has_messages(db, scope, similar):
            return f"no author {name!r}; did you mean {similar}?"
    return f"no author {name!r}"


def missing_whole_name(db: sqlite3.Connection, scope: Scope, name: str) -> str:
    """Say that no author of a scope has exactly this name, and which names it is a part of, or like."""
    longer = sorted({*authors.named(db, scope, name), *(one.name for one in people.matching(db, scope, name))})
    if not longer:
        return missing_author(db, scope, name)
    more = f" and {len(longer) - MAX_LISTED_PEOPLE} more" if len(longer) > MAX_LISTED_PEOPLE else ""
    return f"no author is named exactly {name!r}; it is a part of {', '.join(longer[:MAX_LISTED_PEOPLE])}{more}"


def _names(db: sqlite3.Connection, scope: Scope) -> Iterator[str]:
    yield from people.names(db, scope)
    yield from authors.all_names(db)  # of whatever scope: no user learns the names in another's memory


def most_similar(value: str, known: Mapping[str, str]) -> list[str]:
    """Return the values of the keys that are spelled most like ``value``, the best first."""
    import difflib

    folded = {fold(key): found for key, found in known.items()}
    return [folded[key] for key in difflib.get_close_matches(fold(value), folded)]

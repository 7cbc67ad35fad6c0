"""The one person whom a reference means, or an error that says whom it may mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

from appliance.errors import NotFound, UsageError
from appliance.memory.people.proposals import is_automated
from appliance.store import author_selection, people_figures
from appliance.store import people as store
from appliance.store.people import StoredPerson
from appliance.store.people_figures import CountedSessions, Figures
from appliance.timestamps import iso_from_microseconds

MAX_LISTED = 10
"""People whom an error lists."""


def find_one(db: sqlite3.Connection, counted: CountedSessions, reference: str) -> StoredPerson:
    """Return the person whom a reference means.

    Raises:
        NotFound: No person has this id, name, address or number; the error names the most similar one.
        UsageError: Several people have it; the error lists them, the last who wrote first.
    """
    found = store.find(db, counted.scope, reference)
    if len(found) == 1:
        return found[0]
    figures = people_figures.of_people(db, counted, store.me(db, counted.scope))
    if counted.shared_only and found:  # nothing is said of people from conversations that are withheld
        found = [one for one in found if one.key in figures] or found[:1]
    if len(found) == 1:
        return found[0]
    if found:
        raise _ambiguous(reference, found, figures)
    everyone = store.people(db, counted.scope)
    if counted.shared_only:
        everyone = [one for one in everyone if one.key in figures]
    raise not_found(reference, everyone)


def not_found(reference: str, people: Sequence[StoredPerson] = ()) -> NotFound:
    """The error for a reference that means none of some people."""
    if store.means_me(reference):
        return NotFound("It is not known who you are.", hint="Say so with 'appliance people me PERSON'.")
    spellings = {
        part: one for one in people if not is_automated(one)
        for name in (one.name, *(known.value for known in one.identities if known.kind in ("name", "handle")))
        for part in (*name.split(), name)
    }  # fmt: skip
    first = dict(list(spellings.items())[: author_selection.MAX_COMPARED_NAMES])
    by_spelling = {part: part for part in first}
    similar = [first[part] for part in author_selection.most_similar(reference, by_spelling)]
    likely = " or ".join(label(one) for one in list({one.key: one for one in similar}.values())[:3])
    hint = f"Did you mean {likely}?" if likely else "'appliance people list' shows who there is."
    return NotFound(f"There is no person {reference!r}.", hint=hint)


def _ambiguous(reference: str, found: Sequence[StoredPerson], figures: Mapping[int, Figures]) -> UsageError:
    last = {one.key: figures.get(one.key, Figures()).last or 0 for one in found}
    ordered = sorted(found, key=lambda one: (-last[one.key], one.key))
    listed = [
        f"  {store.public_id(one.key)}  {one.name}: {_sources_and_last_time(one, last[one.key])}"
        for one in ordered[:MAX_LISTED]
    ]
    more = [f"  and {len(found) - MAX_LISTED} more"] if len(found) > MAX_LISTED else []
    return UsageError(
        f"{reference!r} is the name of {len(found)} people.", hint="\n".join(("Name one by its id:", *listed, *more))
    )


def _sources_and_last_time(person: StoredPerson, last: int) -> str:
    """The sources of a person and when the person last wrote."""
    sources = ", ".join(dict.fromkeys(one.source for one in person.identities))
    return f"{sources}, last {iso_from_microseconds(last)[:10]}" if last else f"{sources}, no message with a time"


def label(person: StoredPerson) -> str:
    return f"{person.name} ({store.public_id(person.key)})"

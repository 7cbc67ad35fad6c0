"""Derives the people of a scope from what the database holds, and stores them; people keep their ids.

Doing it twice changes nothing. Where the person whose memory it is changes, the messages concerned are read for facts
again, because facts are about that person.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence

from appliance.memory.people.linking import LinkedPerson, Links, link
from appliance.store import derived_people, profiles
from appliance.store import people as store
from appliance.store.database import Database
from appliance.store.derived_people import DerivedPerson
from appliance.store.people import Node
from appliance.types import Scope

NameOfOwner = Callable[[Scope], str]
"""Returns what the person of a scope is called, as far as the settings say it."""


def refresh(database: Database, own_name: NameOfOwner) -> int:
    """Derive the people of all scopes where something has changed; returns the number of these."""
    if database.is_read_only or not store.is_stale(database.read()):
        return 0
    scopes = store.stale_scopes(database.read())
    for scope in scopes:
        with database.write() as tx:
            derive(tx, scope, own_name(scope))
    return len(scopes)


def derive(tx: sqlite3.Connection, scope: Scope, own_name: str = "") -> None:
    """Derive the people of a scope again."""
    accounts, uses = profiles.profiles(tx, scope), profiles.author_uses(tx, scope)
    links = link(accounts, uses, store.decisions(tx, scope), own_name)
    homes = derived_people.node_homes(tx, scope)
    keys = _match_keys(links.people, homes)
    before = _own(store.own_authors(tx, {use.session for use in uses}))
    derived = [
        DerivedPerson(
            keys.get(number), person.name, person.me, frozenset(person.identities), frozenset(person.bare),
            frozenset(person.evidence), person.maybe_me,
        )
        for number, person in enumerate(links.people)
    ]  # fmt: skip
    stored_keys = derived_people.replace_people(tx, scope, derived, links.authors)
    nodes = [one.nodes for one in links.people]
    derived_people.replace_node_homes(tx, scope, homes, zip(stored_keys, nodes, strict=True))
    after = _own_of(links)
    # With none known before or now, no message is read otherwise than by its name.
    derived_people.read_facts_again(tx, before ^ after)
    store.clear_stale(tx, scope)


def _own(authors: Mapping[tuple[int, str], bool]) -> set[tuple[int, str]]:
    return {author for author, is_me in authors.items() if is_me}


def _own_of(links: Links) -> set[tuple[int, str]]:
    return {author for author, number in links.authors.items() if number is not None and links.people[number].me}


def _match_keys(people: Sequence[LinkedPerson], homes: Mapping[Node, int]) -> dict[int, int]:
    """The keys that people keep, by their numbers: the oldest key that one of their identities ever had. If several
    people have identities of one key, as after a split, it is kept by the one with the most."""
    claims: list[tuple[int, int, int]] = []
    for number, person in enumerate(people):
        counts = Counter(homes[node] for node in person.nodes if node in homes)
        claims += [(key, -count, number) for key, count in counts.items()]
    keys: dict[int, int] = {}
    taken: set[int] = set()
    for key, _, number in sorted(claims):
        if number not in keys and key not in taken:
            keys[number] = key
            taken.add(key)
    return keys


def forget_unbacked(tx: sqlite3.Connection, scope: Scope, silenced: Collection[int], own_name: str = "") -> set[str]:
    """After an erasure: let go of people from whom nothing is left, with their entries in address books, and of what
    was decided about identities that nothing backs any more.

    Args:
        tx: The transaction, after the messages are gone.
        scope: The scope.
        silenced: People who had messages before the erasure.
        own_name: What the person of the scope is called.

    Returns:
        The values of the identities that are gone.
    """
    before = store.people(tx, scope)
    wrote = {person for (person,) in tx.execute("SELECT DISTINCT person_id FROM session_author")}
    for person in before:
        if person.key in silenced and person.key not in wrote and not person.me:
            profiles.remove_cards(tx, scope, person.identities)
    derive(tx, scope, own_name)
    after = store.people(tx, scope)
    kept = {identity for person in after for identity in person.identities}
    store.forget_nodes(tx, scope, {store.to_node(identity) for identity in kept})
    if store.is_stale(tx):
        derive(tx, scope, own_name)
        after = store.people(tx, scope)
    said = {identity.value for identity in kept} | {person.name for person in after}
    return {one.value for person in before for one in person.identities} - said | {one.name for one in before} - said

"""Which people may be one: evidence that is too weak to link them, each with its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from appliance.memory.people import names
from appliance.store.lexical import fold
from appliance.store.people import CONTACTS, Node, StoredPerson, public_id, to_node
from appliance.types import PersonProposal

MAX_PROPOSALS = 500
"""More are no help to anybody; the best come first."""

MAX_NAMESAKES = 12
"""A name that more people have says nothing about any two of them."""

_GMAIL = ("gmail.com", "googlemail.com")


def propose(
    people: Sequence[StoredPerson], apart: Collection[tuple[Node, Node]], active: Collection[int]
) -> tuple[PersonProposal, ...]:
    """Return pairs of people who may be one, the likeliest first.

    Args:
        people: The people of a scope.
        apart: Pairs of identities that a person has kept apart.
        active: The people who have messages: two address-book entries are not compared.
    """
    split = {frozenset(pair) for pair in apart}
    by_key = {person.key: person for person in people}
    reasons: dict[tuple[int, int], tuple[int, str]] = {}
    for weight, first, second, reason in _resemblances(people):
        pair = (min(first, second), max(first, second))
        a, b = by_key[pair[0]], by_key[pair[1]]
        if first == second or not {first, second} & set(active) or _are_two_accounts(a, b):
            continue
        if is_automated(a) or is_automated(b) or not (_is_person(a, active) and _is_person(b, active)):
            continue
        if split and any(frozenset((x, y)) in split for x in _nodes(a) for y in _nodes(b)):
            continue
        if pair not in reasons or weight < reasons[pair][0]:
            reasons[pair] = (weight, reason)
    best = sorted(reasons.items(), key=lambda item: (item[1][0], item[0]))[:MAX_PROPOSALS]
    return tuple(PersonProposal(public_id(a), public_id(b), reason) for (a, b), (_, reason) in best)


def _is_person(person: StoredPerson, active: Collection[int]) -> bool:
    """Whether messages or an entry of an address book are the person's: no assistant, and no agent that it calls."""
    return person.key in active or any(one.source == CONTACTS for one in person.identities)


def is_automated(person: StoredPerson) -> bool:
    """Whether a machine writes, as far as addresses and user names tell, or else names."""
    told = {kind: [names.is_machine(kind, value) for value in values] for kind, values in _values(person).items()}
    accounts = told["address"] + told["handle"]
    return all(accounts) if accounts else any(told["name"])


def _values(person: StoredPerson) -> Mapping[str, Sequence[str]]:
    return {
        kind: [one.value for one in person.identities if one.kind == kind] for kind in ("address", "handle", "name")
    }


def _nodes(person: StoredPerson) -> list[Node]:
    return [to_node(one) for one in person.identities if one not in person.bare]


def _are_two_accounts(a: StoredPerson, b: StoredPerson) -> bool:
    """Whether both have an account of their own in one workspace or network, in which one person has one."""
    sources = [{one.source for one in person.identities if one.kind == "id"} for person in (a, b)]
    return bool(sources[0] & sources[1])


_Resemblance = tuple[int, int, int, str]
"""A weight (less is likelier), two people, the reason."""


def _resemblances(people: Sequence[StoredPerson]) -> Iterator[_Resemblance]:
    called = {person.key: _names(person) for person in people}
    yield from _same_addresses(people)
    yield from _same_handles(people)
    yield from _possibly_own(people)
    by_family: dict[str, list[tuple[int, str]]] = defaultdict(list)
    by_name: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
    for key, own in called.items():
        for name in own:
            parts = names.name_parts(name)
            if parts:
                by_name[parts].append((key, name))
            if len(parts) > 1:
                by_family[parts[-1]].append((key, name))
    sources = {person.key: {one.source for one in person.identities} for person in people}
    for group in by_name.values():
        for (a, name), (b, other) in _pairs(group):
            among = sorted(sources[a] | sources[b])
            where = f"{', '.join(among[:-1])} and {among[-1]}" if len(among) > 1 else among[0]
            alike = (
                f"the same name, {name}"
                if fold(name) == fold(other)
                else f"the names {' and '.join(sorted((name, other)))}"
            )
            yield (1 if names.is_full(name) else 4), a, b, f"{alike}, in {where}"
    for group in by_family.values():
        for (a, first), (b, second) in _pairs(group):
            if reason := names.resembles(first, second):
                yield 3, a, b, reason
    yield from _names_in_addresses(people, by_name)


def _possibly_own(people: Sequence[StoredPerson]) -> Iterator[_Resemblance]:
    for me in (one for one in people if one.me):
        for other in (one for one in people if one.maybe_me):
            sources = " and ".join(sorted({one.source for one in other.identities}))
            yield 2, me.key, other.key, f"{other.name} may have made the exports of {sources}"


def _names(person: StoredPerson) -> list[str]:
    return list(dict.fromkeys((person.name, *(one.value for one in person.identities if one.kind == "name"))))


def _pairs(group: Sequence[tuple[int, str]]) -> Iterable[tuple[tuple[int, str], tuple[int, str]]]:
    distinct = list({key: (key, name) for key, name in reversed(group)}.values())
    return combinations(distinct, 2) if 1 < len(distinct) <= MAX_NAMESAKES else ()


def _same_addresses(people: Sequence[StoredPerson]) -> Iterator[_Resemblance]:
    """Spellings of one mailbox, and values that several entries of an address book have."""
    by_mailbox: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for person in people:
        for one in person.identities:
            if one.kind == "address":
                by_mailbox[_mailbox(one.value)].append((person.key, one.value))
            elif one.kind == "number":
                by_mailbox[one.value].append((person.key, one.value))
            elif one.kind == "name" and one.value.endswith(">") and "<" in one.value:
                value = one.value[one.value.rindex("<") + 1 : -1]
                by_mailbox[_mailbox(value)].append((person.key, value))
    for group in by_mailbox.values():
        for (a, first), (b, second) in _pairs(group):
            if first == second:
                yield 2, a, b, f"both have {first}, under different names"
            else:
                yield 0, a, b, f"{min(first, second)} and {max(first, second)} may be one mailbox"


def _mailbox(address: str) -> str:
    """An address without what many providers ignore: what follows a plus, and with Gmail the dots."""
    local, _, host = address.partition("@")
    local = local.partition("+")[0]
    if host in _GMAIL:
        return f"{local.replace('.', '')}@gmail.com"
    return f"{local}@{host}"


def _same_handles(people: Sequence[StoredPerson]) -> Iterator[_Resemblance]:
    by_handle: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for person in people:
        for one in person.identities:
            if one.kind == "handle" and not one.value.startswith("~"):
                handle = fold(one.value).removeprefix("@")
                by_handle[handle].append((person.key, handle))
    for group in by_handle.values():
        for (a, handle), (b, _) in _pairs(group):
            yield 2, a, b, f"the same user name, {handle}"


def _names_in_addresses(
    people: Sequence[StoredPerson], by_name: dict[tuple[str, ...], list[tuple[int, str]]]
) -> Iterator[_Resemblance]:
    forms: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for parts, group in by_name.items():
        if len(parts) > 1 and len(parts[-1]) > 2:
            given, family = parts[0].replace("-", ""), parts[-1].replace("-", "")
            for form in {given + family, family + given, given[0] + family, family + given[0]}:
                forms[form] += group
    for person in people:
        for one in person.identities:
            if one.kind == "address":
                local = one.value.partition("@")[0].partition("+")[0]
                letters = "".join(letter for letter in local if letter.isalpha())
                for key, name in forms.get(letters, ())[:MAX_NAMESAKES]:
                    if key != person.key and names.is_in_address(name, one.value):
                        yield 2, key, person.key, f"{one.value} is made of the name {name}"

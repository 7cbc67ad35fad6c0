"""People of the same name, told apart by what differs: their sources, else an account."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.types import Person


def differences(people: Iterable[Person]) -> Mapping[str, str]:
    """What differs between people who share a name and have written, by id: "whatsapp", "+491701234567"."""
    by_name: dict[str, list[Person]] = {}
    for person in people:
        if person.messages:
            by_name.setdefault(person.name.casefold(), []).append(person)
    shared = [namesakes for namesakes in by_name.values() if len(namesakes) > 1]
    return {person.id: _difference(person, namesakes) for namesakes in shared for person in namesakes}


def names_apart(people: Sequence[Person]) -> dict[str, str]:
    """The names of people by id, with what differs where several share one: "Ben (whatsapp)"."""
    differs = differences(people)
    return {
        person.id: f"{person.name} ({differs[person.id]})" if person.id in differs else person.name for person in people
    }


def _difference(person: Person, namesakes: Iterable[Person]) -> str:
    others = [other for other in namesakes if other is not person]
    if all(_sources(other) != _sources(person) for other in others):
        return ", ".join(_sources(person))
    taken = {identity.value for other in others for identity in other.identities}
    own = [one.value for one in person.identities if one.kind != "name" and one.value not in taken]
    return own[0] if own else person.id


def _sources(person: Person) -> list[str]:
    return sorted({identity.source for identity in person.identities})

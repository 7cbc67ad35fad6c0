"""A point's filter fields and a search's conditions on them, which each engine writes in its own models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.store.index.base import Fields
from appliance.types import Filters, Scope


@dataclass(frozen=True, slots=True)
class Equal:
    field: str
    value: str | int


@dataclass(frozen=True, slots=True)
class OneOf:
    field: str
    values: Sequence[str] | Sequence[int]


@dataclass(frozen=True, slots=True)
class Between:
    """``since`` inclusive, ``until`` exclusive; points without the field never match.

    Engines compare ranges as float64, which is exact for microseconds from 1684 to 2255.
    """

    field: str
    since: int | None
    until: int | None


Condition = Equal | OneOf | Between


def scope_key(user_id: str, namespace: str) -> str:
    """User and namespace in one value, so that whose memory it is, and that it was said in the open, is one
    condition. Each further one that most points pass costs a flat scan dearly: at 100,000 points the dense
    leg took 2.1 ms without a condition, 3.0 with one and 11.7 with three."""
    return f"{len(user_id)}:{user_id}{namespace}"


def own_key(session: int, whose: str) -> str:
    """What stands in the place of ``whose`` for what a session keeps to itself. No scope's key begins so."""
    return f"s{session} {whose}"


def payload(fields: Fields) -> dict[str, str | int | list[str]]:
    """What is stored beside a point's vectors; a message without a time has no ``at``, one that is not talk
    no ``talk``. One that is withheld is in a scope of its own: so a question from elsewhere needs no further
    condition, and how rare a word is there does not show what it holds."""
    whose = scope_key(fields.user_id, fields.namespace)
    if fields.withheld:
        whose = own_key(fields.session, whose)
    stored: dict[str, str | int | list[str]] = {
        "scope": whose,
        # An engine finds a list by each of its values.
        "agent_id": list(fields.agents) or "",
        "session": fields.session,
        "role": fields.role,
        "source": fields.source,
    }
    if fields.talk:
        stored["talk"] = whose
    if fields.at is not None:
        stored["at"] = fields.at
    if fields.level is not None:
        stored["level"] = fields.level
    return stored


def corpus(scope: Scope) -> list[Condition]:
    """The points whose texts tell how rare a word is: those of the same user and namespace, whichever agent.

    Turn-level recall@10 on five LoCoMo conversations in one index: 0.577 and 0.717 (own, window) with each
    one's own statistics, 0.535 and 0.691 with those of all five. Nor do others' words show in the scores.
    """
    return [Equal("scope", scope_key(scope.user_id, scope.namespace))]


def conditions(filters: Filters | None) -> list[Condition]:
    """What must hold, all of it; nothing for None. Without roles or levels, only talk passes."""
    if filters is None:
        return []
    scope = filters.scope
    whose = scope_key(scope.user_id, scope.namespace)
    field = "scope" if filters.roles or filters.levels else "talk"
    found: list[Condition] = [Equal(field, whose)]
    if filters.own:
        found = [OneOf(field, (whose, *(own_key(part.session, whose) for part in filters.own)))]
    if filters.roles:
        found.append(OneOf("role", filters.roles))
    if filters.levels:
        found.append(OneOf("level", filters.levels))
    if scope.agent_id is not None:
        found.append(Equal("agent_id", scope.agent_id))
    if filters.past and filters.session is not None:
        # Where in its parent a branch begins is for the truth to say: there is no telling by time.
        found.append(OneOf("session", (*(part.session for part in filters.past), filters.session)))
    elif filters.session is not None:
        found.append(Equal("session", filters.session))
    if filters.sources:
        found.append(OneOf("source", filters.sources))
    if filters.since is not None or filters.until is not None:
        found.append(Between("at", filters.since, filters.until))
    return found

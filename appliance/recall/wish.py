"""What a caller asks for, checked and put into the engine's own terms."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime

from appliance import moments
from appliance.errors import NotFound, UsageError
from appliance.recall.shelf import Wish
from appliance.recall.weights import LEGS, Profile
from appliance.store import lineage, sessions
from appliance.types import ROLES, Filters, Mode, Role, Scope

__all__ = ("Wish", "filters", "legs", "moment", "per_session", "profile")

NOBODYS = 0
"""A session key that no session has."""

MODES: Mapping[str, frozenset[str]] = {
    "hybrid": frozenset(LEGS),
    "dense": frozenset(LEGS) - {"own", "window", "quoted"},
    "lexical": frozenset(LEGS) - {"dense"},
}
"""The legs of each mode."""


def filters(
    db: sqlite3.Connection,
    scope: Scope,
    *,
    session_id: str | None,
    asked_in: int | None = None,
    anyones: bool,
    roles: Sequence[Role] | None,
    sources: Sequence[str] | None,
    since: str | date | None,
    until: str | date | None,
    as_of: str | date | None,
) -> Filters:
    """What a search is narrowed to. ``anyones`` lets a session's id stand for its owner; without, a session of
    somebody else finds nothing, and whether there is one is not told. ``asked_in`` is the session that asks.

    Raises:
        UsageError: a role or a date that can't be.
        NotFound: ``anyones``, and there is no such session.
    """
    for role in roles or ():
        if role not in ROLES:
            raise UsageError(f"no role {role!r}", hint="one of " + ", ".join(ROLES))
    ends = [bound for end in (until, as_of) if (bound := moments.bound(end, end=True)) is not None]
    own = sessions.keeping(db, lineage.parts(db, asked_in)) if asked_in is not None else ()
    narrowed = Filters(
        scope=scope,
        roles=tuple(roles or ()),
        sources=tuple(sources or ()),
        since=moments.bound(since, end=False),
        until=min(ends, default=None),
        own=own,
    )
    if session_id is None:
        return narrowed
    try:
        info = sessions.find(db, session_id, None if anyones else scope.user_id, owner=scope.user_id)
    except NotFound:
        if anyones:
            raise
        return replace(narrowed, session=NOBODYS)
    *past, itself = lineage.parts(db, sessions.key(info))
    return replace(
        narrowed,
        session=itself.session,
        scope=Scope(info.user_id, info.namespace, scope.agent_id),
        past=tuple(past),
        own=own + sessions.keeping(db, (*past, itself)),
    )


def legs(mode: Mode, without: Collection[str], profile: Profile) -> frozenset[str]:
    """The legs that may run.

    Raises:
        UsageError: no such mode, or no such leg.
    """
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", hint="hybrid, dense or lexical")
    for leg in without:
        if leg not in LEGS:
            raise UsageError(f"no leg {leg!r} to search without", hint="one of " + ", ".join(LEGS))
    return MODES[mode] & profile.legs - set(without)


def profile(name: str, known: Mapping[str, Profile]) -> Profile:
    """The profile of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in known:
        raise UsageError(f"no profile {name!r}", hint="one of " + ", ".join(known))
    return known[name]


def moment(as_of: str | date | None) -> datetime:
    """When a search is asked, aware of the zone: now, or as of the end of a day or at a moment that is given."""
    return moments.here() if as_of is None else moments.asked(as_of)


def per_session(bound: int) -> int | None:
    """How many hits of one session may be shown, of what a caller says: 0 bounds nothing.

    Raises:
        UsageError: it is less.
    """
    if bound < 0:
        raise UsageError(f"{bound} hits of a session can't be", hint="0 for any number")
    return bound or None

"""Points for the tests of this folder: small, varied and the same on every run."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.store.index.protocol import IndexPoint, PointFields
from appliance.types import ROLES, Filters, Scope, SessionPart

DIMENSION = 32
FIELDS = PointFields("ana", "", (), 1, "user", "chatgpt", True, 1_700_000_000_000_000)

USERS = ("ana", "", "bob")
NAMESPACES = ("", "work")
AGENTS = ("coder", "日本")
AUTHORS = ("Ana", "Ben", "日本")
SOURCES = ("chatgpt", "whatsapp", "claude")
HOUR = 3_600_000_000
START = 1_700_000_000_000_001
TEXT = "the cat sat on a mat while dogs ran far away from home and rain fell over green hills"
WORDS = TEXT.split()


def unit(seed: int) -> NDArray[np.float32]:
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    return vector / np.linalg.norm(vector)


def point(id: int, own: str = "hello", window: str | None = None, **fields: Any) -> IndexPoint:
    return IndexPoint(id, unit(id), own, own if window is None else window, replace(FIELDS, **fields))


def text(chance: random.Random, longest: int = 12) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(0, longest)))


def random_point(id: int, chance: random.Random) -> IndexPoint:
    fields = PointFields(
        user_id=chance.choice(USERS),
        namespace=chance.choice(NAMESPACES),
        agents=tuple(chance.sample(AGENTS, chance.randint(0, 2))),
        session=chance.randint(1, 5),
        role=chance.choice(ROLES),
        source=chance.choice(SOURCES),
        conversational=chance.random() < 0.7,
        at=None if chance.random() < 0.2 else START + chance.randint(0, 20) * HOUR,
        withheld=chance.random() < 0.3,
        author=None if chance.random() < 0.2 else chance.choice(AUTHORS),
    )
    return IndexPoint(id, unit(id), text(chance), text(chance, 40), fields)


def random_filters(chance: random.Random) -> Filters:
    def maybe(share: float) -> bool:
        return chance.random() < share

    session = chance.randint(1, 5) if maybe(0.3) else None
    others = tuple(SessionPart(key) for key in chance.sample(range(1, 6), chance.randint(0, 2)))
    return Filters(
        Scope(chance.choice(USERS), chance.choice(NAMESPACES), chance.choice(("", *AGENTS)) if maybe(0.3) else None),
        session=session,
        ancestor_parts=others if session is not None else (),
        exempt_parts=tuple(SessionPart(key) for key in chance.sample(range(1, 6), 2)) if maybe(0.5) else (),
        roles=tuple(chance.sample(ROLES, chance.randint(1, 3))) if maybe(0.4) else (),
        sources=tuple(chance.sample(SOURCES, chance.randint(1, 2))) if maybe(0.3) else (),
        authors=tuple(chance.sample(AUTHORS, chance.randint(1, 2))) if maybe(0.3) else (),
        since=START + chance.randint(0, 20) * HOUR if maybe(0.3) else None,
        until=START + chance.randint(0, 20) * HOUR if maybe(0.3) else None,
        author_sessions=tuple(
            (author, tuple(chance.sample(range(1, 6), chance.randint(1, 3))))
            for author in (chance.sample((*AUTHORS, "no one"), chance.randint(1, 2)) if maybe(0.3) else ())
        ),
        unsigned=maybe(0.2),
        sessions=tuple(chance.sample(range(1, 8), chance.randint(0, 4))) if maybe(0.2) else None,
        chunks=tuple(chance.sample(range(1, 400), chance.randint(0, 200))) if maybe(0.2) else None,
    )


def passes(point: IndexPoint, filters: Filters) -> bool:
    """What ``Filters`` promises, written down once more without an engine."""
    fields, scope = point.fields, filters.scope
    if (fields.user_id, fields.namespace) != (scope.user_id, scope.namespace):
        return False
    if scope.agent_id is not None and scope.agent_id not in (fields.agents or ("",)):
        return False
    if fields.withheld and fields.session not in {part.session for part in filters.exempt_parts}:
        return False
    sessions = {filters.session, *(part.session for part in filters.ancestor_parts)}
    if filters.session is not None and fields.session not in sessions:
        return False
    if not (fields.role in filters.roles if filters.roles else fields.conversational):
        return False
    if filters.sources and fields.source not in filters.sources:
        return False
    if filters.names_authors and not (
        fields.author in filters.authors
        or any(fields.author == author and fields.session in among for author, among in filters.author_sessions)
        or (filters.unsigned and fields.author is None and fields.role == "user")
    ):
        return False
    if filters.sessions is not None and fields.session not in filters.sessions:
        return False
    if filters.chunks is not None and point.id not in filters.chunks:
        return False
    if filters.since is not None and (fields.at is None or fields.at < filters.since):
        return False
    return filters.until is None or (fields.at is not None and fields.at < filters.until)

"""What is compared on the same data and questions: the product's search, and each plain leg of it."""

from __future__ import annotations

from collections.abc import Mapping

from appliance.config import Settings
from appliance.engine import Engine
from appliance.recall.weights import BM25, BUILT_IN, DENSE, EVIDENCE, Profile, profiles
from appliance.types import Hits

SYSTEMS = (EVIDENCE.name, BM25.name, DENSE.name)
"""The product's search, BM25 over single messages, and the cosine of single messages: profiles of a search."""


def known(settings: Settings) -> Mapping[str, Profile]:
    """Every profile that can be measured: the built-in ones and the person's own.

    Raises:
        ConfigError: one of the person's own can't be.
    """
    return profiles({name: (one.like, one.weights) for name, one in settings.profiles.items()})


def is_own(name: str) -> bool:
    """Whether a profile is one of the person's own, which their settings must be at hand for."""
    return name not in BUILT_IN


def ask(
    memory: Engine,
    system: str,
    question: str,
    limit: int,
    *,
    user: str | None = None,
    as_of: str | None = None,
) -> Hits:
    """A question put to a system, as a user would at the moment ``as_of``; settings that narrow every search are
    left out, so that a profile's name says what was measured."""
    return memory.search(
        question, limit=limit, profile=system, without=(), per_session=0, user_id=user, as_of=as_of
    )


def grounds(system: str, hits: Hits) -> list[str]:
    """What a search said of itself, without what it said of this one question."""
    return [f"{system}: {note.partition(':')[0]}" for note in hits.notes]

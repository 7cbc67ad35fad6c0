"""The systems that a benchmark compares: scoring profiles of the search."""

from __future__ import annotations

from collections.abc import Mapping

from appliance.client import Appliance
from appliance.retrieval.weights import BM25, BUILT_IN, DENSE, EVIDENCE, ScoringProfile, profiles
from appliance.settings import Settings
from appliance.types import Hits

SYSTEMS = (EVIDENCE.name, BM25.name, DENSE.name)
"""The default systems: the product's search, BM25 over single messages, and the cosine of single messages."""


def available_profiles(settings: Settings) -> Mapping[str, ScoringProfile]:
    """Every profile that can be measured: the built-in ones and the configured ones.

    Raises:
        ConfigError: A configured profile is invalid.
    """
    return profiles({name: (profile.like, profile.weights) for name, profile in settings.profiles.items()})


def reads_vectors(profile: ScoringProfile) -> bool:
    """Whether a profile ranks by vectors, so that another generation may rank otherwise."""
    return profile.weights is not None or "dense" in profile.legs


def is_custom(name: str) -> bool:
    """Whether a profile is not built in, so that it needs the settings."""
    return name not in BUILT_IN


def search(
    memory: Appliance,
    system: str,
    question: str,
    limit: int,
    *,
    user: str | None = None,
    as_of: str | None = None,
    generation: int | None = None,
) -> Hits:
    """Search with a system as of ``as_of``, without the settings that narrow every search, so that the profile alone
    determines what is measured."""
    return memory.search(
        question,
        limit=limit,
        profile=system,
        without=(),
        per_session=0,
        user_id=user,
        as_of=as_of,
        min_score=0,
        generation=generation,
    )


def note_kinds(system: str, hits: Hits) -> list[str]:
    """The notes of a search, without their details about this query."""
    return [f"{system}: {note.partition(': ')[0]}" for note in hits.notes]

"""The closed vocabularies, and whose memory is meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["user", "assistant", "system", "tool"]
ROLES: tuple[Role, ...] = ("user", "assistant", "system", "tool")

Mode = Literal["hybrid", "dense", "lexical"]
FileStatus = Literal["ok", "partial", "skipped", "failed"]
Fidelity = Literal["full", "compressed", "placeholder"]

StorageScope = Literal["all", "conversational", "summaries_only", "none"]
"""What a session gives to other conversations: all of it, what was said in the open, its summaries, or nothing.
Within the session itself everything is found."""

Level = Literal["exchange", "topic", "session", "procedure"]
"""What a summary is of: a question with its answer, a stretch about one thing, a whole conversation; or the steps of
something that worked."""
LEVELS: tuple[Level, ...] = ("exchange", "topic", "session", "procedure")

FactKind = Literal["profile", "relation", "preference", "date", "tool", "project", "instruction"]
FactState = Literal["held", "ended", "superseded", "review", "rejected"]

Metadata = Mapping[str, Any]

LOCAL = "local"
"""The format name of conversations that were made here, not imported."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory it is; part of every query. An empty namespace is a namespace of its own, not a
    wildcard; ``agent_id=None`` leaves the agent open."""

    user_id: str
    namespace: str = ""
    agent_id: str | None = None

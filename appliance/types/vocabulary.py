"""The closed vocabularies (roles, modes, levels …), and the scope."""

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
"""What a session shares with other sessions: everything, its conversational messages, its summaries, or nothing.
Within the session itself everything can be found."""

Level = Literal["exchange", "topic", "session", "procedure"]
"""What a summary covers: a question with its answer, a stretch about one topic, a whole session, or the steps of
something that worked."""
LayerName = Literal["core", "profile", "retrieved", "summary", "recent"]
"""The layers of a context, in the order of the prompt."""

SharingLayerName = Literal["profile", "retrieved", "summary", "recent"]
"""The layers that share what core memory leaves of the budget."""

LEVELS: tuple[Level, ...] = ("exchange", "topic", "session", "procedure")

SessionOrder = Literal["active", "started", "created", "title", "messages", "importance"]
"""What sessions are sorted by."""

HitOrder = Literal["score", "time"]
"""What the hits of a search are sorted by: the best first, or the newest first."""

TimeOf = Literal["message", "conversation"]
"""Whose time a message's timestamp is: its own, or its conversation's because the source gave the message none."""

FactKind = Literal["profile", "relation", "preference", "date", "tool", "project", "instruction", "note"]
FactState = Literal["held", "ended", "superseded", "review", "rejected"]

FeedbackKind = Literal["helpful", "used", "wrong", "outdated"]
"""What a recalled message was worth: it helped, an answer rests on it, it is not true, or it is true no longer."""
FEEDBACK_KINDS: tuple[FeedbackKind, ...] = ("helpful", "used", "wrong", "outdated")

Metadata = Mapping[str, Any]

UNVERIFIED = "UNVERIFIED"
"""The mark of a note that no message states outright."""

LOCAL = "local"
"""The format name of sessions that were created here, not imported."""


MAX_TAG_CHARACTERS = 100
"""The characters of a tag of a conversation, at most."""

MAX_FILTER_VALUES = 250
"""The values of one filter of a search, at most: each is looked up, and one that nothing has is compared with all that
there are."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory is meant; part of every query. The empty namespace is a namespace of its own, not a wildcard;
    ``agent_id=None`` means every agent."""

    user_id: str
    namespace: str = ""
    agent_id: str | None = None

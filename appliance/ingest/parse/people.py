"""What the parsers of chats among people say alike: ids that are there twice, times, made session ids."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from appliance.ingest.parse.when import read_time
from appliance.types import Problem


@dataclass(slots=True)
class Ids:
    """The message ids of one session as they go by, with a trace of what was said under each."""

    _seen: dict[str, int] = field(default_factory=dict)

    def claim(self, identity: str | None, *said: str) -> tuple[str | None, bool, str]:
        """The id that a message may carry, whether it is a mere repetition, and what to note about it.

        Merged exports hold messages twice: the second copy is nothing new. Two messages that say
        different things under one id are both kept."""
        if identity is None:
            return None, False, ""
        trace = hash(said)
        if identity not in self._seen:
            self._seen[identity] = trace
            return identity, False, ""
        if self._seen[identity] == trace:
            return None, True, f"the message {identity} is there twice; taken once"
        return None, False, f"the id {identity} is there twice; the second one has none"


def sent_at(value: Any, where: str, zone: tzinfo | None = None) -> tuple[datetime | None, Problem | None]:
    """A time, and a note where there is something that can't be read as one."""
    time = read_time(value, zone)
    if time is None and value not in (None, ""):
        return None, Problem(where, f"the time {str(value)[:60]!r} can't be read; left open", harmless=True)
    return time, None


def made_id(prefix: str, *parts: object) -> str:
    """A session's id out of what doesn't change when the chat is renamed or exported again."""
    known = "\x1f".join(str(part) for part in parts)
    return f"{prefix}-{hashlib.sha256(known.encode('utf-8', 'replace')).hexdigest()[:24]}"

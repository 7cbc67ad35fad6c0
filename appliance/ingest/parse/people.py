"""What the parsers of chats among people say alike: ids that are there twice, times, made session ids."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from appliance.ingest.parse.when import read_time
from appliance.types import Problem


@dataclass(slots=True)
class Ids:
    """The message ids of one session as they go by, with a trace of what was said under each.

    Most exports number their messages in rising order: those cost sixteen bytes each, as a chat may
    have millions."""

    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _traces: array[int] = field(default_factory=lambda: array("q"))
    _others: dict[str, int] = field(default_factory=dict)

    def claim(self, identity: str | None, *said: str) -> tuple[str | None, bool, str]:
        """The id that a message may carry, whether it is a mere repetition, and what to note about it.

        Merged exports hold messages twice: the second copy is nothing new. Two messages that say
        different things under one id are both kept."""
        if identity is None:
            return None, False, ""
        trace = hash(said)
        known = self._trace(identity, trace)
        if known is None:
            return identity, False, ""
        if known == trace:
            return None, True, f"the message {identity} is there twice; taken once"
        return None, False, f"the id {identity} is there twice; the second one has none"

    def _trace(self, identity: str, trace: int) -> int | None:
        """The trace that is known of an id, or None, and then it is known from now on."""
        # Other spellings of a number ("007") are other ids.
        if identity.isascii() and identity.isdecimal() and len(identity) < 19 and identity[0] != "0":
            number = int(identity)
            if not self._numbers or number > self._numbers[-1]:
                self._numbers.append(number)
                self._traces.append(trace)
                return None
            at = bisect_left(self._numbers, number)
            if self._numbers[at] == number:
                return self._traces[at]
        if identity in self._others:
            return self._others[identity]
        self._others[identity] = trace
        return None


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

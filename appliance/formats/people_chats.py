"""What the parsers of chats among people have in common: message ids, times, session ids, and who takes part."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import field

from appliance.formats.json_fields import made_id as made_id
from appliance.formats.json_fields import sent_at as sent_at
from appliance.lazy_dataclasses import dataclass
from appliance.types import IdentityKind, ParticipantRecord


@dataclass(slots=True)
class Participants:
    """Who takes part in the sessions of a file; each account of an author is yielded once a session."""

    _seen: set[tuple[str, str, tuple[tuple[IdentityKind, str], ...]]] = field(default_factory=set)

    def note(
        self, session: str, author: str | None, *identities: tuple[IdentityKind, str | None], me: bool = False
    ) -> Iterator[ParticipantRecord]:
        """The record of an author, if it is the first of this account in the session and says anything. Identities
        without a value are left out."""
        known = tuple((kind, value) for kind, value in identities if value)
        if author and known and (session, author, known) not in self._seen:
            self._seen.add((session, author, known))
            yield ParticipantRecord(session, author, known, me)


@dataclass(slots=True)
class PeopleMessageIds:
    """The message ids of a session, each with a hash of its message's content.

    Most exports number their messages in rising order: those cost sixteen bytes each, as a chat may
    have millions."""

    _numbers: array[int] = field(default_factory=lambda: array("q"))
    _hashes: array[int] = field(default_factory=lambda: array("q"))
    _hashes_by_id: dict[str, int] = field(default_factory=dict)

    def claim(self, identity: str | None, *parts: str) -> tuple[str | None, bool, str]:
        """Decide on the id of the next message, whose content is ``parts``.

        Merged exports hold messages twice: the second copy is nothing new. Of two messages with the same
        id and different content, both are kept.

        Returns: the id that the message may have, whether it is a copy, and a note on it or "".
        """
        if identity is None:
            return None, False, ""
        text_hash = hash(parts)
        known = self._known_hash(identity, text_hash)
        if known is None:
            return identity, False, ""
        if known == text_hash:
            return None, True, f"the message {identity} occurs twice; read once"
        return None, False, f"the id {identity} occurs twice; the second message gets none"

    def _known_hash(self, identity: str, text_hash: int) -> int | None:
        """The hash of a known id. A new id is stored with ``text_hash``, and the result is None."""
        # Other spellings of a number ("007") are other ids.
        if identity.isascii() and identity.isdecimal() and len(identity) < 19 and identity[0] != "0":
            number = int(identity)
            if not self._numbers or number > self._numbers[-1]:
                self._numbers.append(number)
                self._hashes.append(text_hash)
                return None
            at = bisect_left(self._numbers, number)
            if self._numbers[at] == number:
                return self._hashes[at]
        if identity in self._hashes_by_id:
            return self._hashes_by_id[identity]
        self._hashes_by_id[identity] = text_hash
        return None

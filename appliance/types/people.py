"""People: who wrote the messages, across sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, overload

from appliance.lazy_dataclasses import dataclass

IdentityKind = Literal["address", "number", "id", "handle", "name"]
"""What identifies an author: a mail address, a telephone number, the id of an account, a user name, or a name."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What one source knows a person by. ``source`` is a format ("mail", "slack", "contacts"); numbers are
    international where the country is known ("+491701234567"), addresses without case."""

    source: str
    kind: IdentityKind
    value: str


@dataclass(frozen=True, slots=True)
class Person:
    """A person, derived from the identities that belong together. ``me`` is True for the person whose memory it is.

    ``messages`` and ``sessions`` count what the person wrote and the conversations that it stands in; ``first`` and
    ``last`` are ISO 8601, None if no message has a time. ``automated`` says that the addresses, user names or names are
    those of a machine: a mailbox that takes no answer, a bot.
    """

    id: str
    name: str
    me: bool
    identities: tuple[Identity, ...]
    messages: int
    sessions: int
    first: str | None
    last: str | None
    automated: bool = False


@dataclass(frozen=True, slots=True)
class PersonProposal:
    """Two people, by id, who may be one, and the reason for thinking so."""

    a: str
    b: str
    reason: str


@dataclass(frozen=True, slots=True)
class PeopleList(Sequence[Person]):
    """The people of a memory, those with the most messages first, and proposals to merge some. A sequence of its
    people. ``maybe_me`` are the ids of those who may be the person whose memory it is: exports only suggest it."""

    people: tuple[Person, ...]
    proposals: tuple[PersonProposal, ...] = ()
    maybe_me: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.people)

    @overload
    def __getitem__(self, place: int) -> Person: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Person, ...]: ...
    def __getitem__(self, place: int | slice) -> Person | tuple[Person, ...]:
        return self.people[place]


@dataclass(frozen=True, slots=True)
class PersonSource:
    """How much of a person one source has."""

    source: str
    messages: int
    sessions: int


@dataclass(frozen=True, slots=True)
class PersonConversation:
    """A conversation in which a person wrote, with the number of the person's messages and the time of the last."""

    session_id: str
    title: str | None
    source: str
    messages: int
    last: str | None


@dataclass(frozen=True, slots=True)
class RecalledMessage:
    """A message of a person that searches and contexts have recalled, how often, and its beginning."""

    message_id: str
    times: int
    snippet: str


@dataclass(frozen=True, slots=True)
class PersonDetails:
    """A person with what is known about it.

    Attributes:
        person: The person.
        evidence: Why its identities belong together, a sentence each.
        sources: What each source has, the largest first.
        conversations: The latest conversations in which the person wrote.
        recalled: How often messages of the person were recalled, in all.
        asked_about: The messages that were recalled most.
        proposals: The people who may be the same.
    """

    person: Person
    evidence: tuple[str, ...]
    sources: tuple[PersonSource, ...]
    conversations: tuple[PersonConversation, ...]
    recalled: int
    asked_about: tuple[RecalledMessage, ...]
    proposals: tuple[PersonProposal, ...]


@dataclass(frozen=True, slots=True)
class PeopleChange:
    """A decision about people that was made or undone, and the people whom it concerns as they are now."""

    change: Literal["merged", "split", "renamed", "me", "undone"]
    words: str
    people: tuple[Person, ...]

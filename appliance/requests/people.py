"""Requests about people. A user is the configured one unless named. A person is named by id ("p3"), or by any name,
address or number that only one person has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import PeopleChange, PeopleList, Person, PersonDetails


@dataclass(frozen=True, slots=True)
class ListPeopleRequest(Request[PeopleList]):
    """List the people who wrote the messages, those with the most first, and proposals of who may be one person.

    Args:
        user_id: Whose memory.
        namespace: The namespace within that user's memory.
        everyone: Also people who are only in an address book.
        shared_only: Only people of conversations that share their messages with others, counted there.
    """

    name: ClassVar[str] = "people.list"

    user_id: str | None = None
    namespace: str = ""
    _: KW_ONLY
    everyone: bool = False
    shared_only: bool = False


@dataclass(frozen=True, slots=True)
class PersonRequest(Request[PersonDetails]):
    """Read what is known of one person.

    Args:
        person: The person.
        user_id: Whose memory.
        namespace: The namespace within that user's memory.
        shared_only: Only from conversations that share their messages with others.

    Raises:
        NotFound: There is no such person.
        UsageError: The name is that of several people.
    """

    name: ClassVar[str] = "people.get"

    person: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    shared_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleDecision(Request[PeopleChange]):
    """A decision about the people of a user. It is not sent twice: doing it again would be another decision."""

    repeatable: ClassVar[bool] = False

    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class MergePeopleRequest(PeopleDecision):
    """Decide that two people are one, who has the older of the two ids.

    Args:
        person: One of them.
        other: The other one.
        user_id: Whose memory.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such person.
        UsageError: The name is that of several people, or both are the same person already.
    """

    name: ClassVar[str] = "people.merge"

    person: str
    other: str


@dataclass(frozen=True, slots=True)
class SplitPersonRequest(PeopleDecision):
    """Decide that some identities of a person are those of another one, or that two people are not one.

    Args:
        person: The person.
        identities: The addresses, numbers, names or ids that are not this person's, as ``people.get`` shows them; or
            one other person, who is then no longer proposed.
        user_id: Whose memory.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such person, or the person has no such identity.
        UsageError: The name is that of several people, or nothing would be left of the person.
    """

    name: ClassVar[str] = "people.split"

    person: str
    identities: Sequence[str]


@dataclass(frozen=True, slots=True)
class RenamePersonRequest(PeopleDecision):
    """Decide what a person is called. Messages keep the names that they have.

    Args:
        person: The person.
        new_name: The name.
        user_id: Whose memory.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such person.
        UsageError: The name is empty, or ``person`` is the name of several people.
    """

    name: ClassVar[str] = "people.rename"

    person: str
    new_name: str


@dataclass(frozen=True, slots=True)
class MeRequest(Request[Person | None]):
    """Return the person whose memory it is, as the exports say or as it was set; None if it is not known.

    Args:
        user_id: Whose memory.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "people.me"

    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class SetMeRequest(PeopleDecision):
    """Decide whose memory it is, whatever the exports say. Facts are read again from what this person wrote.

    Args:
        person: The person.
        user_id: Whose memory.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such person.
        UsageError: The name is that of several people.
    """

    name: ClassVar[str] = "people.set_me"

    person: str


@dataclass(frozen=True, slots=True)
class UndoPeopleRequest(Request[PeopleChange]):
    """Undo the last decision about people that is not undone yet: a merge, a split, a name, or whose memory it is.

    Args:
        user_id: Whose memory.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: Nothing is left to undo.
    """

    name: ClassVar[str] = "people.undo"
    repeatable: ClassVar[bool] = False

    user_id: str | None = None
    namespace: str = ""

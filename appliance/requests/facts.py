"""Requests about facts. A user is the configured one unless named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date, datetime
from typing import ClassVar

from appliance.requests.base import Request
from appliance.types import Fact, FactAddition, FactChange, FactDecision, FactKind, FactState


@dataclass(frozen=True, slots=True)
class ListFactsRequest(Request[Sequence[Fact]]):
    """List the facts that hold now, the latest stated last.

    Args:
        user_id: Whose facts.
        namespace: The namespace within that user's memory.
        kind: Only facts of this kind.
        state: The facts in this state, in place of those that hold.
        as_of: The facts that held at this time, or at the end of this day, as far as is known today.
        agent_id: Only facts from sessions in which this agent takes part, and those added by hand.

    Raises:
        UsageError: A kind, state or date is invalid, or both ``state`` and ``as_of`` are given.
    """

    name: ClassVar[str] = "facts.list"

    user_id: str | None = None
    namespace: str = ""
    _: KW_ONLY
    kind: FactKind | None = None
    state: FactState | None = None
    as_of: str | date | datetime | None = None
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class ProfileRequest(Request[Sequence[Fact]]):
    """List the facts that hold in the order an assistant needs them: standing instructions first, then by kind, the
    surest and latest first.

    Args:
        user_id: Whose facts.
        namespace: The namespace within that user's memory.
        agent_id: Only facts from sessions in which this agent takes part, and those added by hand.
    """

    name: ClassVar[str] = "facts.profile"

    user_id: str | None = None
    namespace: str = ""
    _: KW_ONLY
    agent_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReviewFactsRequest(Request[Sequence[Fact]]):
    """List the statements that contradict a fact and that only the person can settle.

    Args:
        user_id: Whose facts.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "facts.review"

    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class FactRequest(Request[Fact]):
    """Read one fact.

    Args:
        id: Its id ("f7").
        user_id: Only if it is this user's.
        namespace: Only if it is in this namespace.

    Raises:
        NotFound: There is none.
    """

    name: ClassVar[str] = "facts.get"

    id: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class FactHistoryRequest(Request[Sequence[Fact]]):
    """List everything that was ever known of an attribute, rejected facts among it, in the order it was stated.

    Args:
        subject: The id of a fact, or a subject ("me").
        attribute: The attribute of a subject; None for all of them.
        user_id: Whose facts.
        namespace: The namespace within that user's memory.

    Raises:
        NotFound: There is no such fact.
    """

    name: ClassVar[str] = "facts.history"

    subject: str
    attribute: str | None = None
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmFactRequest(Request[Fact]):
    """Confirm a fact: it holds, whatever contradicted it, and no message changes it. Confirming that a fact has ended
    ends it; confirming one that was rejected brings it back.

    Args:
        id: The fact's id.
        user_id: Only if it is this user's.

    Raises:
        NotFound: There is no such fact.
    """

    name: ClassVar[str] = "facts.confirm"
    repeatable: ClassVar[bool] = False

    id: str
    _: KW_ONLY
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class CorrectFactRequest(Request[Fact]):
    """Correct a fact's value, for all the time that it held. Returns the fact that holds now.

    Args:
        id: The fact's id.
        value: The right value.
        user_id: Only if it is this user's.

    Raises:
        NotFound: There is no such fact.
        UsageError: The value is empty.
    """

    name: ClassVar[str] = "facts.correct"
    repeatable: ClassVar[bool] = False

    id: str
    value: str
    _: KW_ONLY
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class RejectFactRequest(Request[Fact]):
    """Reject a fact. It does not return from the same words, even if they are imported again; a new statement of it
    is queued for review. It stays known as rejected, also if it was added by hand.

    Args:
        id: The fact's id.
        user_id: Only if it is this user's.

    Raises:
        NotFound: There is no such fact.
    """

    name: ClassVar[str] = "facts.reject"
    repeatable: ClassVar[bool] = False

    id: str
    _: KW_ONLY
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class DecideFactRequest(Request[FactChange]):
    """Confirm, correct or reject a fact, so that the decision can be undone.

    Args:
        id: The fact's id.
        decision: "confirm", "correct" or "reject", as the requests of these names.
        value: The right value, to correct it.
        user_id: Only if it is this user's.

    Raises:
        NotFound: There is no such fact.
        UsageError: There is no such decision, or a value where none belongs, or none where one does.
    """

    name: ClassVar[str] = "facts.decide"
    repeatable: ClassVar[bool] = False

    id: str
    decision: FactDecision
    value: str | None = None
    _: KW_ONLY
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class UndoFactRequest(Request[Sequence[Fact]]):
    """Take back a decision about a fact or the adding of one, and return what is known of its attribute then.

    Args:
        undo: What ``facts.decide`` or ``facts.add_undoably`` returned.

    Raises:
        UsageError: It is of no decision, or something has changed since: another decision was made, or a message that
            the fact rests on was forgotten. Nothing changes then.
    """

    name: ClassVar[str] = "facts.undo"
    repeatable: ClassVar[bool] = False

    undo: bytes


@dataclass(frozen=True, slots=True)
class AddFactRequest(Request[Sequence[Fact]]):
    """Add a fact by hand, as a sentence or as an attribute with its value. Returns the facts that hold because of it.

    Args:
        text: A sentence ("I live in Berlin"). One that takes something back ends or moves the fact that it means. One
            that no rule understands is kept as a fact of the kind "note".
        attribute: The attribute, in place of a sentence.
        value: The attribute's value.
        kind: The kind of fact.
        subject: The subject of the attribute.
        user_id: Whose fact.
        namespace: The namespace within that user's memory.

    Raises:
        UsageError: Neither a text nor an attribute with a value is given, or both are; or the text takes back what may
            be one of several facts.
    """

    name: ClassVar[str] = "facts.add"

    text: str | None = None
    _: KW_ONLY
    attribute: str | None = None
    value: str | None = None
    kind: FactKind = "profile"
    subject: str = "me"
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class AddFactUndoablyRequest(Request[FactAddition]):
    """Add a fact by hand, as ``facts.add`` does, so that it can be undone.

    Args:
        text: A sentence ("I live in Berlin"). One that takes something back ends or moves the fact that it means. One
            that no rule understands is kept as a fact of the kind "note".
        attribute: The attribute, in place of a sentence.
        value: The attribute's value.
        kind: The kind of fact.
        subject: The subject of the attribute.
        user_id: Whose fact.
        namespace: The namespace within that user's memory.

    Raises:
        UsageError: Neither a text nor an attribute with a value is given, or both are; or the text takes back what may
            be one of several facts.
    """

    name: ClassVar[str] = "facts.add_undoably"
    repeatable: ClassVar[bool] = False

    text: str | None = None
    _: KW_ONLY
    attribute: str | None = None
    value: str | None = None
    kind: FactKind = "profile"
    subject: str = "me"
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class PendingFactsRequest(Request[int]):
    """Count the messages that have not been read for facts yet."""

    name: ClassVar[str] = "facts.pending"

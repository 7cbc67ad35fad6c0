"""What holds of a slot and what held before: a pure function of what messages state and what the person decided.

Statements are taken in the order in which they were made, whenever they were read, so that any order of import gives
the same facts. Equal values run together. Another value replaces the one before it. A contradiction that can't be
settled waits for the person. Only the person changes what the person decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from appliance.memory.facts import dates, phrasing
from appliance.store.facts import DerivedFact
from appliance.store.statements import Decision, Statement
from appliance.timestamps import iso_from_microseconds, to_microseconds
from appliance.types import FactState
from appliance.types.labels import NOTE_ATTRIBUTE

MAX_CONFIDENCE = 0.99  # of any number of messages; 1 is the person's own word

PERSON = "person"

CHANGE_SLOT = "\x1fchange"
"""The slot of what messages take back or move. It has no facts: what it means for others, ``changes`` finds out."""
# The modes of statements that follow from a change when it is not certain which fact is meant.
DOUBTED_END = "may have ended"
PROPOSED = "may hold"

_DIGEST_BYTES = 12  # no two digests agree by chance


def slot_key(subject: str, kind: str, attribute: str, value: str) -> str:
    """Return the slot of a value: within a slot a newer statement replaces an older one."""
    return f"{' '.join(subject.casefold().split())}\x1f{phrasing.slot(kind, attribute, value)}"


def slot_of(decision: Decision) -> str:
    """Return the slot of what a person decided."""
    return slot_key(decision.subject, decision.kind, decision.attribute, decision.value)


def statement_digest(slot: str, attribute: str, value: str, quote: str, said_at: str | None) -> bytes:
    """Return a digest that tells a statement from another one of the same value, by its words and its time. The
    message's id is no part of it, so that it survives another import."""
    return _hash(slot, attribute, phrasing.normalize_value(value), " ".join(quote.split()), said_at or "")


def value_digest(slot: str, attribute: str, value: str) -> bytes:
    """Return a digest of a value of a slot, which does not depend on the statement."""
    return _hash(slot, attribute, phrasing.normalize_value(value))


def _hash(*parts: str) -> bytes:
    return blake2b("\x1e".join(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()


@dataclass(slots=True)
class _ValueRun:
    """Consecutive statements of one value."""

    first: Statement
    attribute: str
    value: str
    state: FactState = "held"
    ends: bool = False
    statements: list[Statement] = field(default_factory=list)
    since: str | None = None
    until: str | None = None
    since_at: int | None = None
    until_at: int | None = None
    decided: bool = False
    successor: _ValueRun | None = None

    def add(self, statement: Statement) -> None:
        self.statements.append(statement)
        is_longer = len(phrasing.normalize_value(statement.value)) > len(phrasing.normalize_value(self.value))
        if is_longer and phrasing.refines(statement.value, self.value):
            self.value = statement.value
        self.decided = self.decided or is_by_person(statement)

    @property
    def only_model(self) -> bool:
        return all(statement.by_model for statement in self.statements)


def is_by_person(statement: Statement) -> bool:
    """Whether a statement is a decision of the person."""
    return statement.made_by == PERSON


def was_known(statement: Statement, decision: Decision) -> bool:
    """Whether a message had been read when the person decided."""
    return statement.message <= decision.last_message if decision.last_message else statement.order_at <= decision.at


def decision_statement(decision: Decision, slot: str, statements: Sequence[Statement]) -> Statement:
    """Return a decision in the form of a statement.

    It comes after everything that was known when it was made, whatever the clock said then, so that a later
    statement can only ask for a review."""
    orders_before = [statement.order_at for statement in statements if was_known(statement, decision)]
    order_at = max(orders_before, default=decision.at)
    return Statement(
        message=0, slot=slot, kind="note" if decision.attribute == NOTE_ATTRIBUTE else decision.kind,
        subject=decision.subject, attribute=decision.attribute,
        value=decision.value, mode="ended" if decision.how == "ended" else "holds", confidence=1.0,
        since=decision.since, until=None, start=0, stop=0, made_by=PERSON, by_model=False, digest=b"",
        order_at=order_at, at=decision.at, said_at=iso_from_microseconds(decision.at),
    )  # fmt: skip


def derive(
    message_statements: Iterable[Statement], decisions: Iterable[Decision], rejected_digests: AbstractSet[bytes]
) -> list[DerivedFact]:
    """Return the facts of a slot, in the order in which they began. ``rejected_digests`` are what the person
    rejected."""
    statements = list(message_statements)
    decided = [decision_statement(decision, slot_of(decision), statements) for decision in decisions]
    entries = [*statements, *decided]
    history = _SlotHistory(rejected_digests)
    for entry in sorted(entries, key=_order_key):
        history.apply(entry)
    return history.facts()


def _order_key(entry: Statement) -> tuple[object, ...]:
    value = phrasing.normalize_value(entry.value)
    where = (entry.position, entry.start)
    return entry.order_at, is_by_person(entry), *where, entry.attribute, value, entry.mode, entry.digest


class _SlotHistory:
    """The runs of a slot, as they follow from one statement after the other."""

    def __init__(self, rejected_digests: AbstractSet[bytes]) -> None:
        self._rejected_digests = rejected_digests
        self._current: _ValueRun | None = None
        self._runs: list[_ValueRun] = []
        self._under_review: list[_ValueRun] = []

    def apply(self, entry: Statement) -> None:
        """Take the next statement."""
        if entry.digest and entry.digest in self._rejected_digests:
            self._set_aside(entry, "rejected")
        elif is_by_person(entry) and self._is_rejected(entry):
            self._set_aside(entry, "rejected")  # the person took back what the person had added
        elif entry.mode in (DOUBTED_END, PROPOSED):
            self._ask(entry)
        elif entry.mode == "ended":
            self._end(entry)
        elif self._current is not None and _has_same_value(self._current, entry):
            self._current.add(entry)
            if is_by_person(entry):
                self._close_reviews(self._current)
        elif is_by_person(entry):
            self._begin(entry)
        elif self._is_rejected(entry) or self._needs_review(entry):
            self._set_aside(entry, "review")
        else:
            self._begin(entry)

    def _is_rejected(self, entry: Statement) -> bool:
        return value_digest(entry.slot, entry.attribute, entry.value) in self._rejected_digests

    def _needs_review(self, entry: Statement) -> bool:
        """Whether a value other than the present one contradicts it, instead of being news."""
        current = self._current
        if current is None:
            return False
        if current.decided or (entry.by_model and not current.only_model):
            return True
        if entry.mode == "corrects" or (current.only_model and not entry.by_model):
            return False
        last = current.statements[-1]
        is_simultaneous = last.order_at == entry.order_at and (
            last.session != entry.session or last.message == entry.message
        )
        return is_simultaneous or entry.attribute in phrasing.IMMUTABLE

    def _begin(self, entry: Statement) -> None:
        """Another value holds from now on."""
        run = _ValueRun(entry, entry.attribute, entry.value)
        current = self._current
        run.since = (
            entry.since or (current.since if entry.mode == "corrects" and current else None) or _begin_said(entry)
        )
        run.since_at = _to_microseconds(run.since)
        for review in [review for review in self._under_review if _has_same_value(review, entry) and not review.ends]:
            for statement in review.statements:
                run.add(statement)
            self._under_review.remove(review)
            self._runs.remove(review)
        run.add(entry)
        run.value = entry.value if is_by_person(entry) else run.value
        if current is not None:
            current.state, current.successor = "superseded", run
            _set_end(current, run.since or entry.said_at)
        self._runs.append(run)
        self._current = run
        if is_by_person(entry):
            self._close_reviews(run)

    def _close_reviews(self, run: _ValueRun) -> None:
        """The person has decided: what waited for a review is history."""
        for review in self._under_review:
            if review is not run:
                review.state, review.successor = "superseded", run
                review.until, review.until_at = review.since, review.since_at
        self._under_review.clear()

    def _end(self, entry: Statement) -> None:
        current = self._current
        if current is not None and (not entry.value or _has_same_value(current, entry)):
            if current.decided and not is_by_person(entry):
                self._set_aside(entry, "review", ends=current)
                return
            current.state = "ended"
            current.statements.append(entry)
            current.decided = current.decided or is_by_person(entry)
            _set_end(current, entry.until or entry.said_at)
            if entry.since:
                current.since, current.since_at = entry.since, _to_microseconds(entry.since)
            self._current = None
            if is_by_person(entry):
                self._close_reviews(current)
        elif entry.value:
            self._add_past(entry)

    def _ask(self, entry: Statement) -> None:
        """Put up for review what may have ended, or may hold now."""
        current = self._current
        if entry.mode == PROPOSED and not (current is not None and _has_same_value(current, entry)):
            self._set_aside(entry, "review")
        elif entry.mode == DOUBTED_END and current is not None and _has_same_value(current, entry):
            self._set_aside(entry, "review", ends=current)

    def _add_past(self, entry: Statement) -> None:
        """Add a value that no longer held when it was stated."""
        for run in self._runs:
            if run.state in ("ended", "superseded") and _has_same_value(run, entry):
                run.add(entry)
                return
        run = _ValueRun(entry, entry.attribute, entry.value, "ended")
        run.since, run.since_at = entry.since, _to_microseconds(entry.since)
        _set_end(run, entry.until or entry.said_at)
        if run.since_at is None and entry.until is None:
            run.since_at = run.until_at  # its beginning is unknown: the value is not taken to have held at any time
        run.add(entry)
        self._runs.append(run)

    def _set_aside(self, entry: Statement, state: FactState, ends: _ValueRun | None = None) -> None:
        """Keep a statement that changes nothing by itself: it waits for a review, or it was rejected."""
        for run in self._runs:
            if run.state == state and run.ends == (ends is not None) and _has_same_value(run, entry):
                run.add(entry)
                return
        run = _ValueRun(entry, entry.attribute, ends.value if ends else entry.value, state, ends is not None)
        run.since = entry.since or _begin_said(entry)
        run.since_at = _to_microseconds(run.since)
        run.add(entry)
        self._runs.append(run)
        if state == "review":
            self._under_review.append(run)

    def facts(self) -> list[DerivedFact]:
        """Return the facts that have come of the statements."""
        places = {id(run): number for number, run in enumerate(self._runs)}
        return [_to_fact(run, places.get(id(run.successor)) if run.successor else None) for run in self._runs]


def _begin_said(entry: Statement) -> str | None:
    """From when a value holds if the statement does not say: since it was said; unknown for what was so before."""
    return None if entry.attribute in phrasing.TIMELESS and not is_by_person(entry) else entry.said_at


def _has_same_value(run: _ValueRun, entry: Statement) -> bool:
    if run.attribute != entry.attribute:
        return False
    if run.attribute == "birthday":  # the same day, and the same year where both name one
        return run.value[-5:] == entry.value[-5:] and (
            5 in (len(run.value), len(entry.value)) or run.value == entry.value
        )
    return phrasing.is_same_value(run.value, entry.value)


def _set_end(run: _ValueRun, until: str | None) -> None:
    """End a run, but not before it began."""
    run.until, run.until_at = until, _to_microseconds(until)
    if run.since_at is not None and run.until_at is not None and run.until_at < run.since_at:
        run.until, run.until_at = run.since, run.since_at


def _to_microseconds(text: str | None) -> int | None:
    """Microseconds since 1970 of a year, a month, a day or a moment."""
    if text is None:
        return None
    try:
        return to_microseconds(datetime.fromisoformat(text + "-01-01"[: max(0, 10 - len(text))]))
    except ValueError:
        return None


def _to_fact(run: _ValueRun, successor: int | None) -> DerivedFact:
    first = min(run.statements, key=lambda statement: (is_by_person(statement), statement.order_at))
    holding = [statement for statement in run.statements if statement.mode != "ended"]
    last = max(holding, key=lambda statement: statement.order_at, default=run.first)
    strongest = min(run.statements, key=lambda statement: statement.by_model)
    sentence = phrasing.fact_sentence(run.first.subject, run.first.kind, run.attribute, run.value)
    since, until, until_at = run.since, run.until, run.until_at
    if run.attribute == "age":  # it goes on growing
        since = None
        sentence += f" (as of {last.said_at[:10]})" if last.said_at else ""
    if run.state == "held":
        until, until_at = _passing(run, holding)
    evidence = {
        (statement.message, statement.start, statement.stop) for statement in run.statements if statement.message
    }
    return DerivedFact(
        kind=run.first.kind, subject=first.subject, attribute=run.attribute, value=run.value,
        text=f"no longer: {sentence}" if run.ends else sentence, confidence=_confidence(run.statements),
        state=run.state, ends=run.ends, said_at=last.said_at, since=since, until=until, at=last.order_at,
        since_at=run.since_at, until_at=until_at, made_by=PERSON if run.decided else strongest.made_by,
        decided=run.decided, evidence=tuple(sorted(evidence)), replaced_by=successor,
    )  # fmt: skip


def _passing(run: _ValueRun, holding: Sequence[Statement]) -> tuple[str | None, int | None]:
    """Until when a date or a plan holds: until its day, month or year is over. The second value is in microseconds
    since 1970."""
    if run.first.kind == "date" and run.attribute not in phrasing.RECURRING:
        until: str | None = run.value
    elif run.attribute == "plans":
        until = max((statement.until for statement in holding if statement.until), default=None)
    else:
        until = None
    end = dates.day_after(until) if until else None
    return (until, _to_microseconds(end.isoformat())) if end else (None, None)


def _confidence(statements: Sequence[Statement]) -> float:
    """How certain a value is: every further message makes it more certain, but for one that says that it ended."""
    if any(map(is_by_person, statements)):
        return 1.0
    doubt = 1.0
    holding = [statement for statement in statements if statement.mode != "ended"] or statements
    ascending = sorted(holding, key=lambda statement: statement.confidence)
    for confidence in {statement.message: statement.confidence for statement in ascending}.values():
        doubt *= 1.0 - confidence
    return min(MAX_CONFIDENCE, 1.0 - doubt)

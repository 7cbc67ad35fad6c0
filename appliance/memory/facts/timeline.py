"""What holds of a slot, and what held: a pure function of what messages state and what the person decided.

Statements are taken in the order in which they were said, whenever they were read, so that any order of import gives
the same facts. Equal values run together; another value takes the place of the one before it; what can't be settled
waits for the person; what the person decided is changed by nobody else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from appliance.memory.facts import wording
from appliance.moments import iso_of, microseconds
from appliance.store.facts import Derived
from appliance.store.statements import Decision, Statement
from appliance.types import FactKind, FactState

SUREST = 0.99
"""What no number of messages goes beyond; 1 is the person's own word."""

PERSON = "person"

_DIGEST = 12
"""Bytes of a digest of what was rejected: no two by chance."""


def place(subject: str, kind: str, attribute: str, value: str) -> str:
    """The slot of a value: what a newer statement takes the place of an older one in."""
    return f"{' '.join(subject.casefold().split())}\x1f{wording.slot(kind, attribute, value)}"


def digest(slot: str, attribute: str, value: str, quote: str, said_at: str | None) -> bytes:
    """Tells a statement from another saying of the same: by its words and when they were said, not by the message's
    id."""
    return _hash(slot, attribute, wording.key(value), " ".join(quote.split()), said_at or "")


def value_digest(slot: str, attribute: str, value: str) -> bytes:
    """Tells a value of a slot, whoever said it."""
    return _hash(slot, attribute, wording.key(value))


def _hash(*parts: str) -> bytes:
    return blake2b("\x1e".join(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


@dataclass(slots=True)
class _Run:
    """Statements of one value that follow upon each other."""

    first: Statement
    attribute: str
    value: str
    state: FactState = "held"
    ends: bool = False
    said: list[Statement] = field(default_factory=list)
    since: str | None = None
    until: str | None = None
    since_at: int | None = None
    until_at: int | None = None
    decided: bool = False
    successor: _Run | None = None

    def add(self, statement: Statement) -> None:
        self.said.append(statement)
        if len(wording.key(statement.value)) > len(wording.key(self.value)) and wording.refines(
            statement.value, self.value
        ):
            self.value = statement.value
        self.decided = self.decided or is_person(statement)

    @property
    def only_model(self) -> bool:
        return all(one.by_model for one in self.said)


def is_person(statement: Statement) -> bool:
    """Whether this is what the person decided."""
    return statement.made_by == PERSON


def decided(decision: Decision, slot: str, said: Sequence[Statement]) -> Statement:
    """A decision in the form of a statement: it comes behind all that was known when it was made, whatever the clock
    said then, so that what is said after that can only ask."""
    known = [one.order_at for one in said if one.message <= decision.seen]
    order_at = max(known, default=decision.at)
    return Statement(
        message=0,
        slot=slot,
        kind=decision.kind,
        subject=decision.subject,
        attribute=decision.attribute,
        value=decision.value,
        mode="ended" if decision.how == "ended" else "holds",
        confidence=1.0,
        since=decision.since,
        until=None,
        start=0,
        stop=0,
        made_by=PERSON,
        by_model=False,
        digest=b"",
        order_at=order_at,
        at=decision.at,
        said_at=iso_of(decision.at),
    )


def derive(
    said: Iterable[Statement], by_person: Iterable[Decision], refused: AbstractSet[bytes]
) -> list[Derived]:
    """The facts of a slot, in the order in which they began; ``refused`` are digests of what the person rejected."""
    statements = list(said)
    slot = statements[0].slot if statements else ""
    entries = sorted(
        [*statements, *(decided(one, slot, statements) for one in by_person)],
        key=lambda one: (
            one.order_at,
            is_person(one),
            one.position,
            one.start,
            one.attribute,
            wording.key(one.value),
            one.mode,
            one.digest,
        ),
    )
    course = _Course(refused)
    for entry in entries:
        course.take(entry)
    return course.facts()


class _Course:
    """A slot as time goes by."""

    def __init__(self, refused: AbstractSet[bytes]) -> None:
        self._refused = refused
        self._now: _Run | None = None
        self._runs: list[_Run] = []
        self._open: list[_Run] = []
        """What waits for the person."""

    def take(self, entry: Statement) -> None:
        """The next thing that was said."""
        if entry.digest and entry.digest in self._refused:
            self._aside(entry, "rejected")
        elif entry.mode == "ended":
            self._end(entry)
        elif self._now is not None and _same(self._now, entry):
            self._now.add(entry)
            if is_person(entry):
                self._settle(self._now)
        elif is_person(entry):
            self._begin(entry)
        elif self._is_refused(entry) or self._is_open_question(entry):
            self._aside(entry, "review")
        else:
            self._begin(entry)

    def _is_refused(self, entry: Statement) -> bool:
        return value_digest(entry.slot, entry.attribute, entry.value) in self._refused

    def _is_open_question(self, entry: Statement) -> bool:
        """Whether another value than the present one is no news but a contradiction."""
        now = self._now
        if now is None:
            return False
        if now.decided or (entry.by_model and not now.only_model):
            return True
        if entry.mode == "corrects" or (now.only_model and not entry.by_model):
            return False
        last = now.said[-1]
        at_once = last.order_at == entry.order_at and (
            last.session != entry.session or last.message == entry.message
        )
        return at_once or entry.attribute in wording.IMMUTABLE

    def _begin(self, entry: Statement) -> None:
        """Another value holds from now on."""
        run = _Run(entry, entry.attribute, entry.value)
        now = self._now
        run.since = entry.since or (now.since if entry.mode == "corrects" and now else None) or entry.said_at
        run.since_at = _moment(run.since)
        for waiting in [one for one in self._open if _same(one, entry) and not one.ends]:
            for one in waiting.said:
                run.add(one)
            self._open.remove(waiting)
            self._runs.remove(waiting)
        run.add(entry)
        run.value = entry.value if is_person(entry) else run.value
        if now is not None:
            now.state, now.successor = "superseded", run
            _until(now, run.since)
        self._runs.append(run)
        self._now = run
        if is_person(entry):
            self._settle(run)

    def _settle(self, run: _Run) -> None:
        """The person has spoken: what waited is history."""
        for waiting in self._open:
            if waiting is not run:
                waiting.state, waiting.successor = "superseded", run
                waiting.until, waiting.until_at = waiting.since, waiting.since_at
        self._open.clear()

    def _end(self, entry: Statement) -> None:
        now = self._now
        if now is not None and (not entry.value or _same(now, entry)):
            if now.decided and not is_person(entry):
                self._aside(entry, "review", ends=now)
                return
            now.state = "ended"
            now.said.append(entry)
            _until(now, entry.until or entry.said_at)
            now.since, now.since_at = (
                (entry.since, _moment(entry.since)) if entry.since else (now.since, now.since_at)
            )
            self._now = None
            if is_person(entry):
                self._settle(now)
        elif entry.value:
            self._past(entry)

    def _past(self, entry: Statement) -> None:
        """Something that no longer held when it was told of."""
        for run in self._runs:
            if run.state in ("ended", "superseded") and _same(run, entry):
                run.add(entry)
                return
        run = _Run(entry, entry.attribute, entry.value, "ended")
        run.since, run.since_at = entry.since, _moment(entry.since)
        _until(run, entry.until or entry.said_at)
        if run.since_at is None and entry.until is None:
            run.since_at = (
                run.until_at
            )  # nobody knows from when on: it is not said to have held at any moment
        run.add(entry)
        self._runs.append(run)

    def _aside(self, entry: Statement, state: FactState, ends: _Run | None = None) -> None:
        """A statement that changes nothing by itself: up for review, or rejected."""
        for run in self._runs:
            if run.state == state and run.ends == (ends is not None) and _same(run, entry):
                run.add(entry)
                return
        run = _Run(entry, entry.attribute, ends.value if ends else entry.value, state, ends is not None)
        run.since = entry.since or entry.said_at
        run.since_at = _moment(run.since)
        run.add(entry)
        self._runs.append(run)
        if state == "review":
            self._open.append(run)

    def facts(self) -> list[Derived]:
        """What has come of it."""
        places = {id(run): number for number, run in enumerate(self._runs)}
        return [_derived(run, places.get(id(run.successor)) if run.successor else None) for run in self._runs]


def _same(run: _Run, entry: Statement) -> bool:
    if run.attribute != entry.attribute:
        return False
    if run.attribute == "birthday":
        return run.value[-5:] == entry.value[-5:] and (
            len(run.value) == 5 or len(entry.value) == 5 or run.value == entry.value
        )
    return wording.refines(run.value, entry.value) or wording.refines(entry.value, run.value)


def _until(run: _Run, until: str | None) -> None:
    """End a run, not before it began."""
    run.until, run.until_at = until, _moment(until)
    if run.since_at is not None and run.until_at is not None and run.until_at < run.since_at:
        run.until, run.until_at = run.since, run.since_at


def _moment(text: str | None) -> int | None:
    """Microseconds since 1970 of a year, a month, a day or a moment."""
    if text is None:
        return None
    try:
        return microseconds(
            datetime.fromisoformat(text + "-01-01"[: max(0, 10 - len(text))] if len(text) < 10 else text)
        )
    except ValueError:
        return None


def _derived(run: _Run, successor: int | None) -> Derived:
    first = min(run.said, key=lambda one: (is_person(one), one.order_at))
    last = max(
        (one for one in run.said if one.mode != "ended"), key=lambda one: one.order_at, default=run.first
    )
    rival = min(run.said, key=lambda one: one.by_model)
    kind: FactKind = run.first.kind
    words = wording.sentence(run.first.subject, kind, run.attribute, run.value)
    return Derived(
        kind=kind,
        subject=first.subject,
        attribute=run.attribute,
        value=run.value,
        text=f"no longer: {words}" if run.ends else words,
        confidence=_confidence(run.said),
        state=run.state,
        ends=run.ends,
        said_at=last.said_at,
        since=run.since,
        until=run.until,
        at=last.order_at,
        since_at=run.since_at,
        until_at=run.until_at,
        made_by=PERSON if run.decided else rival.made_by,
        decided=run.decided,
        evidence=tuple(sorted({(one.message, one.start, one.stop) for one in run.said if one.message})),
        replaced_by=successor,
    )


def _confidence(said: Sequence[Statement]) -> float:
    """How sure it is: what is said again is surer."""
    if any(is_person(one) for one in said):
        return 1.0
    doubt = 1.0
    for surest in {
        one.message: one.confidence for one in sorted(said, key=lambda one: one.confidence)
    }.values():
        doubt *= 1.0 - surest
    return min(SUREST, 1.0 - doubt)

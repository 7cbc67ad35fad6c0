"""What of a batch is new and where it belongs, what has changed, and what the store has already."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from appliance.ingest.normalise import Course, Spot
from appliance.store import messages
from appliance.store.messages import Known, NewMessage

RECOGNISE = 5
"""How many of a file's first messages must be known for its chat to be recognised under another name."""

STEP = 1 << 20
"""Between the positions of messages that follow each other: what a later export has in between finds room."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """A batch of one session's messages, sorted out. ``changed`` are stored messages' keys and new forms."""

    new: tuple[NewMessage, ...]
    changed: tuple[tuple[int, NewMessage], ...]
    same: int


def stretches(batch: Sequence[NewMessage]) -> Iterator[list[NewMessage]]:
    """The batch in stretches in which no message has two forms: the second is an edit of the first."""
    stretch: dict[str, NewMessage] = {}
    run: list[NewMessage] = []
    for message in batch:
        first = stretch.get(message.external_id)
        if first is not None and differs(first, message):
            yield run
            stretch, run = {}, []
        stretch.setdefault(message.external_id, message)
        run.append(message)
    yield run


def sort_out(
    tx: sqlite3.Connection, session: int, batch: Sequence[NewMessage], course: Course | None = None
) -> Sorted:
    """Compare a stretch with the store, by id. ``course`` is that of the file it comes from.

    A message that a file has as it once was (an older export is read again) is no change; without a file
    somebody means it.
    """
    once = {message.external_id: message for message in batch}
    stored = messages.known(tx, session, list(once))
    new, spot = _placed(tx, session, list(once.values()), stored, course.spot if course else None)
    if course is not None:
        course.spot = spot
    changed = [
        (known.id, _in_place(once[external_id], known))
        for external_id, known in stored.items()
        if differs(known, once[external_id])
        and (course is None or not messages.was_revision(tx, known.id, once[external_id]))
    ]
    return Sorted(tuple(new), tuple(changed), len(batch) - len(new) - len(changed))


def differs(one: Known | NewMessage, other: NewMessage) -> bool:
    """Whether two forms of a message say something else: words, author, role, time or marks."""
    return _said(one) != _said(other)


def _said(message: Known | NewMessage) -> tuple[object, ...]:
    return (
        message.text,
        message.role,
        message.author,
        message.sent_at,
        message.reply_to,
        message.metadata,
    )


# --- where new messages belong -----------------------------------------------------------------------


def _placed(
    tx: sqlite3.Connection,
    session: int,
    batch: Sequence[NewMessage],
    stored: Mapping[str, Known],
    spot: Spot | None,
) -> tuple[list[NewMessage], Spot | None]:
    """The messages that the store lacks, each behind the one that the file has before it, and the place of
    the last message of all. ``spot`` is the place of the file's message before the batch."""
    placed: list[NewMessage] = []
    run: list[NewMessage] = []
    for message in batch:
        known = stored.get(message.external_id)
        if known is None:
            run.append(message)
            continue
        placed += _between(spot or Spot(known.order_at, known.position - STEP), run, known.position)
        spot, run = Spot(known.order_at, known.position), []
    if run:
        if spot is None:
            end = messages.last_place(tx, session)
            spot = Spot(*end) if end else Spot(run[0].order_at, -STEP)
        placed += _between(spot, run, messages.next_position(tx, session, spot.order_at, spot.position))
        spot = Spot(placed[-1].order_at, placed[-1].position)
    return placed, spot


def behind(message: NewMessage, last: tuple[int, int] | None) -> NewMessage:
    """A new message behind a place (time, position), if it is not there already."""
    if last is None or (message.order_at, message.position) > last:
        return message
    return replace(message, order_at=last[0], position=last[1] + STEP)


def _in_place(form: NewMessage, known: Known) -> NewMessage:
    """A new form of a stored message where that one stands; another time moves it."""
    order_at = known.order_at if form.at is None or form.sent_at == known.sent_at else form.at
    return replace(form, order_at=order_at, position=known.position)


def _between(spot: Spot, run: Sequence[NewMessage], behind: int | None) -> Iterator[NewMessage]:
    """A run of new messages behind a place, and before the position ``behind`` if there is one.

    Time orders a session, position the messages of one moment. A message without a time has that of the
    one before it. When there is no room left, they share the position of the place and follow by key.
    """
    room = STEP * (len(run) + 1) if behind is None or behind <= spot.position else behind - spot.position
    step = room // (len(run) + 1)
    order_at = spot.order_at
    for number, message in enumerate(run, 1):
        order_at = order_at if message.at is None else message.at
        yield replace(message, order_at=order_at, position=spot.position + number * step)

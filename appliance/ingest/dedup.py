"""Decides which messages of a batch are new and where they belong, which have changed, and which are known."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from appliance.ingest.normalize import POSITION_STEP, MessagePosition, SessionProgress
from appliance.ingest.unfinished import match_unfinished
from appliance.store import messages
from appliance.store.conversation_time import own_parts
from appliance.store.messages import MessageInsert, StoredState

RECOGNITION_MESSAGES = 5
"""How many of a file's first messages must be known to recognise its chat under another file name."""


@dataclass(frozen=True, slots=True)
class DedupResult:
    """The result of comparing messages of one session with the store. ``changed`` has the keys of stored messages and
    their new forms, ``dated`` those of unchanged ones that lack their conversation's time."""

    new: tuple[MessageInsert, ...]
    changed: tuple[tuple[int, MessageInsert], ...]
    unchanged: int
    dated: tuple[tuple[int, MessageInsert], ...] = ()


def split_at_edits(batch: Sequence[MessageInsert]) -> Iterator[list[MessageInsert]]:
    """Split a batch into runs in which no message has two forms: the second form is an edit of the first."""
    first_forms: dict[str, MessageInsert] = {}
    run: list[MessageInsert] = []
    for message in batch:
        first = first_forms.get(message.external_id)
        if first is not None and differs(first, message):
            yield run
            first_forms, run = {}, []
        first_forms.setdefault(message.external_id, message)
        run.append(message)
    yield run


def compare_with_store(
    tx: sqlite3.Connection,
    session: int,
    batch: Sequence[MessageInsert],
    progress: SessionProgress | None = None,
    *,
    is_new_session: bool = False,
    is_end: bool = False,
) -> DedupResult:
    """Compare a run of messages with the store, by id.

    Args:
        tx: The transaction.
        session: The key of the session.
        batch: The messages, from ``split_at_edits``.
        progress: The progress of the file that they come from; None for messages that were added by hand. In a file an
            earlier form of a message is not a change, because an older export may be read again.
        is_new_session: Whether the session has no messages yet, so that none need be looked for.
        is_end: Whether the file ends with the run.
    """
    by_id = {message.external_id: message for message in batch}
    stored = {} if is_new_session else messages.stored_states(tx, session, list(by_id))
    cut_off: Mapping[str, StoredState] = {}
    if progress is not None and progress.has_generated_ids and not is_new_session and len(stored) < len(by_id):
        unfinished = match_unfinished(tx, session, list(by_id.values()), stored, progress.last_position, is_end=is_end)
        cut_off = unfinished.cut_off
        stored = {**stored, **unfinished.completed, **cut_off}
    new, last_position = _place_new(
        tx, session, list(by_id.values()), stored, progress.last_position if progress else None, is_new_session
    )
    if progress is not None:
        progress.last_position = last_position
    changed = [
        (known.id, _at_stored_place(by_id[external_id], known))
        for external_id, known in stored.items()
        if external_id not in cut_off
        and differs(known, by_id[external_id])
        and (progress is None or not messages.was_revision(tx, known.id, by_id[external_id]))
    ]
    if progress is not None and progress.record.is_rendition:
        changed = []
    edited = {key for key, _ in changed}
    dated = [
        (known.id, form)
        for external_id, known in stored.items()
        if known.sent_at is None
        and external_id not in cut_off
        and known.id not in edited
        and (form := by_id[external_id]).sent_at is not None
    ]
    return DedupResult(tuple(new), tuple(changed), len(batch) - len(new) - len(changed), tuple(dated))


def differs(old: StoredState | MessageInsert, new: MessageInsert) -> bool:
    """Whether two forms of a message differ in text, role, author, reply, or in the time and metadata of their own."""
    return _content(old) != _content(new)


def _content(message: StoredState | MessageInsert) -> tuple[object, ...]:
    own = own_parts(message.sent_at, message.metadata)
    return (message.text, message.role, message.author, message.reply_to, *own)


# --- where new messages belong -----------------------------------------------------------------------


def _place_new(
    tx: sqlite3.Connection,
    session: int,
    batch: Sequence[MessageInsert],
    stored: Mapping[str, StoredState],
    last_position: MessagePosition | None,
    is_new_session: bool,
) -> tuple[list[MessageInsert], MessagePosition | None]:
    """The messages that the store lacks, each placed after the message before it in the file, and the place of the last
    message of the batch. ``last_position`` is the place of the message before the batch in the file."""
    placed: list[MessageInsert] = []
    run: list[MessageInsert] = []
    for message in batch:
        known = stored.get(message.external_id)
        if known is None:
            run.append(message)
            continue
        placed += _interpolate(
            last_position or MessagePosition(known.order_at, known.position - POSITION_STEP), run, known.position
        )
        last_position, run = MessagePosition(known.order_at, known.position), []
    if run:
        if last_position is None:
            end = None if is_new_session else messages.last_order_key(tx, session)
            last_position = MessagePosition(*end) if end else MessagePosition(run[0].order_at, -POSITION_STEP)
        following = (
            None
            if is_new_session
            else messages.next_position(tx, session, last_position.order_at, last_position.position)
        )
        placed += _interpolate(last_position, run, following)
        last_position = MessagePosition(placed[-1].order_at, placed[-1].position)
    return placed, last_position


def place_after(message: MessageInsert, last: tuple[int, int] | None) -> MessageInsert:
    """Return a new message moved after a place (time, position), unless it is after it already."""
    if last is None or (message.order_at, message.position) > last:
        return message
    return message.with_order(last[0], last[1] + POSITION_STEP)


def _at_stored_place(form: MessageInsert, known: StoredState) -> MessageInsert:
    """A new form of a message at the place of the stored one, or at its new time if that has changed."""
    order_at = known.order_at if form.own_at is None or form.sent_at == known.sent_at else form.own_at
    return form.with_order(order_at, known.position)


def _interpolate(
    start: MessagePosition, run: Sequence[MessageInsert], next_position: int | None
) -> Iterator[MessageInsert]:
    """Yield a run of new messages placed after ``start``, and before ``next_position`` if it is not None.

    A session is sorted by time, and by position at equal times. A message without a time gets that of the message
    before it. If there is no gap left, the messages share the position of ``start`` and are sorted by key."""
    gap = (
        POSITION_STEP * (len(run) + 1)
        if next_position is None or next_position <= start.position
        else next_position - start.position
    )
    step = gap // (len(run) + 1)
    order_at = start.order_at
    for number, message in enumerate(run, 1):
        own_at = message.own_at
        order_at = order_at if own_at is None else own_at
        position = start.position + number * step
        # Most are there already, in a new session.
        is_there = (message.order_at, message.position) == (order_at, position)
        yield message if is_there else message.with_order(order_at, position)

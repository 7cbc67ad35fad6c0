"""Recognises messages that were read before they were complete, because their file was still growing or was cut off.

Messages without ids of their own are known by their content, so the complete form of such a message would be a second
one. It is the same message if it stands at the place of the stored one, has its time, role and author, begins with its
text, and if the file does not have the stored one any more.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence

from appliance.ingest.normalize import MessagePosition, is_generated_id
from appliance.lazy_dataclasses import dataclass
from appliance.store import message_states, messages
from appliance.store.messages import MessageInsert, StoredState

_BEFORE_ALL = MessagePosition(-(1 << 62), -(1 << 62))

_BEGUN_HEADER = re.compile(r"[\u200e\u200f]*[\[\d][\d./\-:, \u202f\xa0apmAPM\]]{0,30}")
"""The beginning of a line with date and time, which was cut off before the name."""


@dataclass(frozen=True, slots=True)
class UnfinishedMessages:
    """Stored messages that the messages of a batch are other forms of, by the external ids of these. ``completed`` get
    the form of the batch; what the batch has of ``cut_off`` is the beginning of what is stored."""

    completed: Mapping[str, StoredState]
    cut_off: Mapping[str, StoredState]


def match_unfinished(
    tx: sqlite3.Connection,
    session: int,
    batch: Sequence[MessageInsert],
    stored: Mapping[str, StoredState],
    last_position: MessagePosition | None,
    *,
    is_end: bool,
) -> UnfinishedMessages:
    """Find the unfinished forms of messages that the store does not know by their ids.

    Args:
        tx: The transaction.
        session: The key of the session.
        batch: Messages of a file, in its order.
        stored: Those that the store knows, by external id.
        last_position: The place of the message before the batch; None if it is the first of the file.
        is_end: Whether the file ends with the batch.
    """
    completed: dict[str, StoredState] = {}
    cut_off: dict[str, StoredState] = {}
    ids = {message.external_id for message in batch}
    place: MessagePosition | None = last_position or _BEFORE_ALL
    for number, message in enumerate(batch):
        state = stored.get(message.external_id)
        if state is None and place is not None and is_generated_id(message.external_id):
            found = message_states.next_state(tx, session, place.order_at, place.position)
            if found is not None and found[0] not in ids and is_generated_id(found[0]):
                is_last = number == len(batch) - 1
                if is_completion(found[1], message, is_last=is_last):
                    state = completed[message.external_id] = found[1]
                elif _is_beginning(tx, found[1], message, is_end=is_last and is_end):
                    state = cut_off[message.external_id] = found[1]
        place = None if state is None else MessagePosition(state.order_at, state.position)
    return UnfinishedMessages(completed, cut_off)


def is_completion(old: StoredState, new: MessageInsert, *, is_last: bool) -> bool:
    """Whether a message is the complete form of a stored one; ``is_last`` tells whether no message follows it."""
    if old.sent_at != new.sent_at:
        return False
    if old.role == "system" and old.author is None and new.author is not None:  # cut off within the name
        return _begins(old.text, f"{new.author}: {new.text}")
    if not _is_alike(old, new):
        return False
    if _begins(old.text, new.text):
        return True
    # The line of the next message was cut off before its name, and was read as a line of this one.
    rest = old.text.removeprefix(new.text).removeprefix("\n")
    return not is_last and old.text.startswith(f"{new.text}\n") and _BEGUN_HEADER.fullmatch(rest) is not None


def _is_beginning(tx: sqlite3.Connection, old: StoredState, new: MessageInsert, *, is_end: bool) -> bool:
    """Whether a message is an unfinished form of a stored one: the end of its file, or known to be one."""
    return _is_alike(old, new) and _begins(new.text, old.text) and (is_end or messages.was_revision(tx, old.id, new))


def _is_alike(old: StoredState, new: MessageInsert) -> bool:
    return (old.sent_at, old.role, old.author) == (new.sent_at, new.role, new.author)


def _begins(part: str, whole: str) -> bool:
    """Whether a text begins with another one, whose last character may be cut off."""
    return part != whole and whole.startswith(part.rstrip("\ufffd"))

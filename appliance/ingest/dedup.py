"""What of a batch is new, what has changed, and what the store has already."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from appliance.store import messages
from appliance.store.messages import Known, NewMessage

RECOGNISE = 5
"""How many of a file's first messages must be known for its chat to be recognised under another name."""


@dataclass(frozen=True, slots=True)
class Sorted:
    """A batch of one session's messages, sorted out. ``changed`` are stored messages' keys and new forms."""

    new: tuple[NewMessage, ...]
    changed: tuple[tuple[int, NewMessage], ...]
    same: int


def sort_out(tx: sqlite3.Connection, session: int, batch: Sequence[NewMessage]) -> Sorted:
    """Compare a batch with the store, by id; the last of several with one id within the batch counts.

    A message that reads as it once did (an older export is read again) is no change.
    """
    latest = {message.external_id: message for message in batch}
    stored = messages.known(tx, session, list(latest))
    new, changed = [], []
    for external_id, message in latest.items():
        known = stored.get(external_id)
        if known is None:
            new.append(message)
        elif differs(known, message) and not messages.was_revision(
            tx, known.id, message.text, message.metadata
        ):
            changed.append((known.id, message))
    return Sorted(tuple(new), tuple(changed), len(batch) - len(new) - len(changed))


def differs(known: Known, message: NewMessage) -> bool:
    """Whether a message says something else than what is stored: words, author, role, time or marks."""
    return (known.text, known.role, known.author, known.sent_at, known.reply_to, known.metadata) != (
        message.text,
        message.role,
        message.author,
        message.sent_at,
        message.reply_to,
        message.metadata,
    )

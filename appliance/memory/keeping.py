"""What a person pins, and what is of use: pins, how often messages were recalled, and how important that makes them.

What counts as recalled is what somebody was given to use: a memory whose words stand in a context, and a message that
was opened by its id. The hits of a search are offers, and do not count; nor do the turns of the present conversation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from appliance.errors import StoreError
from appliance.memory import importance
from appliance.moments import iso_of, now
from appliance.store import chunks, messages
from appliance.store import importance as stored
from appliance.store.database import Database
from appliance.store.priority import PINNED
from appliance.types import Context, Importance, Message

MANY = 256
"""So many counted messages are written without waiting for more: some ten contexts."""

LATEST = 60.0
"""Seconds after which counts are written, however few: what a crash can cost."""


def handed_out(context: Context) -> list[str]:
    """The ids of the memories whose words an assistant has from a context."""
    return [
        item.message_id
        for layer in context.layers
        if layer.name == "retrieved"
        for item in layer.items
        if item.fidelity != "placeholder"
    ]


class Keeping:
    """Pins and use counts of an open memory. Safe to use from several threads.

    Counts are gathered in memory, so that no search waits for the disk; those of the last minute are lost in a crash,
    which costs nobody a memory.
    """

    def __init__(self, database: Database, wake: Callable[[], None] = lambda: None) -> None:
        """``wake`` is called when it is time to ``write``."""
        self._database = database
        self._wake = wake
        self._lock = threading.Lock()
        self._given: dict[int, tuple[int, int]] = {}
        self._since = 0.0

    def pin(self, reference: str) -> Message:
        """Let a message count as important (1.0), whatever it says, until ``unpin``.

        Raises:
            NotFound: there is no such message.
        """
        return self._pin(reference, True)

    def unpin(self, reference: str) -> Message:
        """Let a message count again for what it says and how it is used.

        Raises:
            NotFound: there is no such message.
        """
        return self._pin(reference, False)

    def pinned(self, user_id: str, namespace: str = "") -> list[Message]:
        """What a user has pinned, the latest first."""
        db = self._database.read()
        keys = stored.pinned(db, user_id, namespace)
        rows = messages.get(db, keys)
        return [messages.public(rows[key]) for key in keys if key in rows]

    def _pin(self, reference: str, pinned: bool) -> Message:
        with self._database.write() as tx:
            key = messages.message(tx, reference).id
            stored.note_pinned(tx, key, pinned)
            chunks.move_up(tx, [key])
            return messages.public(messages.message(tx, messages.message_id(key)))

    def importance(self, reference: str) -> Importance:
        """How important a message is now, with every part of it.

        Raises:
            NotFound: there is no such message.
        """
        self.write()
        db, moment = self._database.read(), now()
        row = messages.message(db, reference)
        known = stored.of(db, [row.id], moment)[row.id]
        parts = importance.explain(row, known, moment)
        return Importance(
            score=PINNED if known.pinned else sum(parts.values()),
            parts=parts,
            pinned=known.pinned,
            times=known.times,
            last_at=None if known.last_at is None else iso_of(known.last_at),
        )

    def recalled(self, message_ids: Iterable[str]) -> None:
        """Count messages as given to somebody, now. It is written in the background and at the end."""
        moment = now()
        with self._lock:
            for key in filter(None, map(messages.message_key, message_ids)):
                self._since = self._since if self._given else time.monotonic()
                self._given[key] = (self._given.get(key, (0, 0))[0] + 1, moment)
            due = len(self._given) >= MANY or time.monotonic() - self._since >= LATEST
            due = due and bool(self._given)
        if due:
            self._wake()

    # --- in the background ----------------------------------------------------------------------------

    def write(self, goes_on: Callable[[], bool] = lambda: True) -> int:
        """Write the counts that wait; how many messages it was."""
        with self._lock:
            given, self._given = self._given, {}
        if given:
            with self._database.write() as tx:
                stored.note_recalled(tx, given)
        return len(given)

    def weigh(self, goes_on: Callable[[], bool] = lambda: True) -> int:
        """Weigh a page of the messages that an earlier version stored; how many it was."""
        with self._database.write() as tx:
            rows = stored.unweighed(tx)
            stored.note_words(tx, {row.id: importance.weigh(row) for row in rows})
            chunks.move_up(tx, [row.id for row in rows])
        return len(rows)

    def close(self) -> None:
        """Write what waits, if it can be written: a count is not worth failing for."""
        with suppress(StoreError):
            self.write()

"""Pins, use counts and feedback: what a person pins, how often messages are recalled, what they were worth, and how
important that makes them.

A message counts as recalled when its words go into a context, or when it is opened by its id. The hits of a search
are offers and do not count, nor do the turns of the present conversation."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping

from appliance import requests as r
from appliance.errors import NotFound, StoreError, UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.memory import importance
from appliance.runtime.metrics import CounterName
from appliance.store import chunks, feedback, messages
from appliance.store import importance as stored
from appliance.store.database import Database
from appliance.store.priority import PINNED_IMPORTANCE
from appliance.timestamps import iso_from_microseconds, now
from appliance.types import FEEDBACK_KINDS, Context, Event, FeedbackKind, Importance, Message, Scope

logger = logging.getLogger(__name__)

WRITE_BATCH_MESSAGES = 256  # counted messages that are written without waiting for more, some ten contexts
WRITE_INTERVAL_SECONDS = 60.0  # after which counts are written, however few; a crash costs no more than that


CITATION_MICROSECONDS = 3_600_000_000
"""How long ago a message may have been recalled that an answer cites. A conversation may pause for an hour; without any
bound, an answer about M8 screws would count the message m8 as used."""

_CITED_ID = re.compile(r"\bm[1-9]\d{0,17}\b")

_FEEDBACK_COUNTERS: Mapping[FeedbackKind, CounterName] = {
    "helpful": "feedback_helpful",
    "used": "feedback_used",
    "wrong": "feedback_wrong",
    "outdated": "feedback_outdated",
}


@dataclass(frozen=True, slots=True)
class _Citation:
    """The keys of the messages that a stored answer names, whose memory it is in, and when it was stored, in
    microseconds since 1970."""

    keys: frozenset[int]
    scope: Scope
    at: int


def recalled_message_ids(context: Context) -> list[str]:
    """Return the ids of the memories whose words an assistant gets from a context."""
    return [
        item.message_id
        for layer in context.layers
        if layer.name == "retrieved"
        for item in layer.items
        if item.fidelity != "placeholder"
    ]


def _check_kind(kind: str) -> None:
    """
    Raises:
        UsageError: There is no such kind of feedback.
    """
    if kind not in FEEDBACK_KINDS:
        raise UsageError(f"There is no feedback {kind!r}.", hint=f"The kinds are {', '.join(FEEDBACK_KINDS)}.")


class PinService:
    """Pins and use counts of an open memory. Thread-safe.

    Counts are collected in memory, so that no search waits for the disk. A crash loses those of the last minute, but
    never a message. What can't be written is kept, and tried again with the next counts."""

    def __init__(
        self,
        database: Database,
        wake: Callable[[], None] = lambda: None,
        publish: Callable[[Event], None] = lambda event: None,
        count: Callable[[CounterName, int], None] = lambda name, number: None,
    ) -> None:
        """``wake`` is called when it is time for ``write_counts``; ``publish`` gets an event for each pin, ``count``
        what the metrics count."""
        self._database = database
        self._wake = wake
        self._publish = publish
        self._count = count
        self._lock = threading.Lock()
        self._recalls: dict[int, tuple[int, int]] = {}
        self._citations: list[_Citation] = []
        self._oldest_unwritten = 0.0

    def pin(self, request: r.PinRequest) -> Message:
        """See ``PinRequest``."""
        return self._pin(request.reference, True)

    def unpin(self, request: r.UnpinRequest) -> Message:
        """See ``UnpinRequest``."""
        return self._pin(request.reference, False)

    def pinned(self, request: r.PinnedRequest) -> list[Message]:
        """See ``PinnedRequest``."""
        db = self._database.read()
        keys = stored.pinned(db, request.user_id, request.namespace)
        rows = messages.get(db, keys)
        return [messages.to_message(rows[key]) for key in keys if key in rows]

    def _pin(self, reference: str, pinned: bool) -> Message:
        with self._database.write() as tx:
            key = messages.find(tx, reference).id
            stored.set_pinned(tx, key, pinned)
            chunks.update_priorities(tx, [key])
            message = messages.to_message(messages.find(tx, messages.message_id(key)))
        self._publish(Event("pinned", message.id, {"pinned": int(pinned)}))
        return message

    def importance(self, request: r.ImportanceRequest) -> Importance:
        """See ``ImportanceRequest``."""
        self.write_counts()
        db, moment = self._database.read(), now()
        row = messages.find(db, request.reference)
        known = stored.get(db, [row.id], moment)[row.id]
        parts = importance.explain(row, known, moment)
        return Importance(
            score=PINNED_IMPORTANCE if known.pinned else sum(parts.values()),
            parts=parts,
            pinned=known.pinned,
            times=known.recall_count,
            last_at=None if known.last_recalled_at is None else iso_from_microseconds(known.last_recalled_at),
            feedback=known.feedback.counts,
            judgement=known.feedback.judgement,
        )

    def feedback(self, request: r.FeedbackRequest) -> Importance:
        """See ``FeedbackRequest``."""
        _check_kind(request.kind)
        with self._database.write() as tx:
            key = messages.find(tx, request.reference).id
            feedback.add(tx, key, request.kind, now())
        self._count(_FEEDBACK_COUNTERS[request.kind], 1)
        return self.importance(r.ImportanceRequest(messages.message_id(key)))

    def withdraw_feedback(self, request: r.WithdrawFeedbackRequest) -> Importance:
        """See ``WithdrawFeedbackRequest``."""
        _check_kind(request.kind)
        with self._database.write() as tx:
            key = messages.find(tx, request.reference).id
            if not feedback.withdraw(tx, key, request.kind):
                raise NotFound(f"The message {messages.message_id(key)} has no feedback {request.kind!r}.")
        return self.importance(r.ImportanceRequest(messages.message_id(key)))

    def note_answer(self, text: str, scope: Scope) -> None:
        """Count the messages that a stored answer of an assistant cites by their ids as used, if they are of this scope
        and were recalled lately. What can't be written now is logged and tried again later: the answer is stored."""
        cited = frozenset(int(id[1:]) for id in _CITED_ID.findall(text))
        if not cited or self._database.is_read_only:
            return
        with self._lock:
            self._citations.append(_Citation(cited, scope, now()))
        try:
            self.write_counts()
        except StoreError as error:
            logger.warning("What an answer cites is not counted as used yet, and will be tried again: %s", error)
            self._wake()

    def note_recalled(self, request: r.RecalledRequest) -> None:
        """See ``RecalledRequest``."""
        moment = now()
        keys = [key for key in map(messages.message_key, request.message_ids) if key]
        self._count("messages_recalled", len(keys))
        with self._lock:
            for key in keys:
                self._oldest_unwritten = self._oldest_unwritten if self._recalls else time.monotonic()
                self._recalls[key] = (self._recalls.get(key, (0, 0))[0] + 1, moment)
            age = time.monotonic() - self._oldest_unwritten
            is_due = len(self._recalls) >= WRITE_BATCH_MESSAGES or (
                bool(self._recalls) and age >= WRITE_INTERVAL_SECONDS
            )
        if is_due:
            self._wake()

    def write_counts(self, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Write the collected counts, then what answers cite. Returns the number of messages.

        Raises:
            StoreError: They can't be written; they are kept for the next time.
        """
        with self._lock:
            recalls, self._recalls = self._recalls, {}
            citations, self._citations = self._citations, []
        if self._database.is_read_only or not (recalls or citations):
            return len(recalls)
        used = 0
        try:
            with self._database.write() as tx:
                stored.add_recalls(tx, recalls)
                for citation in citations:
                    since = citation.at - CITATION_MICROSECONDS
                    keys = stored.recalled_since(tx, citation.keys, since, citation.scope)
                    for key in keys:
                        feedback.add(tx, key, "used", citation.at)
                    used += len(keys)
        except BaseException:
            self._keep(recalls, citations)
            raise
        self._count("feedback_used", used)
        return len(recalls)

    def _keep(self, recalls: Mapping[int, tuple[int, int]], citations: list[_Citation]) -> None:
        """Keep what could not be written, with what has been collected meanwhile."""
        with self._lock:
            for key, (times, at) in recalls.items():
                more, later = self._recalls.get(key, (0, 0))
                self._recalls[key] = (times + more, max(at, later))
            self._citations = [*citations, *self._citations]

    def score_pending(self, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Score a page of the messages that an earlier version stored. Returns their number."""
        with self._database.write() as tx:
            rows = stored.unscored_messages(tx)
            stored.set_word_scores(tx, {row.id: importance.score(row) for row in rows})
            chunks.update_priorities(tx, [row.id for row in rows])
        return len(rows)

    def close(self) -> None:
        """Write the collected counts if possible; a count is not worth an error."""
        try:
            self.write_counts()
        except StoreError as error:
            logger.warning("How often messages were recalled and cited lately could not be written: %s", error)

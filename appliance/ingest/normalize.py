"""Turns a parser's records into messages to store: ids where the source has none, times, order, and whether a message
is conversational. The rules are the same for every format; texts stay unchanged."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import field

from appliance.lazy_dataclasses import dataclass
from appliance.store import conversation_time
from appliance.store.messages import MessageInsert
from appliance.store.sql import to_json
from appliance.timestamps import iso, to_microseconds
from appliance.types import Message, MessageRecord, SessionRecord

ID_BYTES = 10
"""The size of a generated message id: with 80 bits, a chat of a million messages has no id twice."""

_GENERATED_ID = re.compile(rf"[0-9a-f]{{{2 * ID_BYTES}}}")

POSITION_STEP = 1 << 20
"""The gap between the positions of consecutive messages; messages that only a later export has fit in between."""


@dataclass(frozen=True, slots=True)
class MessagePosition:
    """The place of a message in its stored session."""

    order_at: int
    position: int


@dataclass(slots=True)
class SessionProgress:
    """The progress of reading one session from one file, on which the place of the next message depends.

    ``has_generated_ids`` is True if its messages have no ids of their own; then ``stored_external_id`` is the external
    id of the stored session to which they belong. ``taken_ids`` are, where authors have other names than in the store,
    the ids that messages have taken so far. ``last_position`` is the place of the last message that was stored or
    recognised.
    """

    record: SessionRecord
    position: int = 0
    order_at: int = 0
    seen: Counter[bytes] = field(default_factory=Counter)
    has_generated_ids: bool = False
    stored_external_id: str | None = None
    taken_ids: set[str] = field(default_factory=set)
    last_position: MessagePosition | None = None


def start_session(record: SessionRecord) -> SessionProgress:
    return SessionProgress(record, order_at=to_microseconds(record.created_at) if record.created_at else 0)


def normalize(record: MessageRecord, progress: SessionProgress) -> MessageInsert:
    """Return a record as the next message of its session to store."""
    metadata = dict(record.metadata)
    sent_at = record.sent_at
    has_own_time = sent_at is not None and metadata.get(conversation_time.KEY) != conversation_time.CONVERSATION
    if sent_at is None and progress.record.dates_messages and progress.record.created_at is not None:
        sent_at = progress.record.created_at
        conversation_time.mark(metadata, sent_at)
    elif sent_at is not None and sent_at.tzinfo is None:
        metadata.setdefault("timezone", "unknown")
    at = to_microseconds(sent_at) if sent_at else None
    # A message without a time of its own stays after the one before it.
    if at is not None and (has_own_time or not progress.order_at):
        progress.order_at = at
    pinned = metadata.get("pinned") is True
    if pinned:
        # The pin belongs to the memory from now on, not to the source, so that a person can remove it.
        del metadata["pinned"]
    message = MessageInsert(
        external_id=record.external_id or _generate_id(record, progress),
        position=progress.position,
        order_at=progress.order_at,
        sent_at=iso(sent_at) if sent_at else None,
        at=at,
        role=record.role,
        author=record.author,
        text=record.text,
        conversational=is_conversational(record),
        reply_to=record.reply_to,
        metadata=to_json(metadata),
        pinned=pinned,
    )
    progress.position += POSITION_STEP
    return message


def is_conversational(record: MessageRecord | Message) -> bool:
    """Whether a person or an assistant said this openly."""
    hidden = record.metadata.get("hidden") or record.metadata.get("sidechain")
    return record.role in ("user", "assistant") and not hidden


def is_generated_id(external_id: str) -> bool:
    """Whether an id has the form of those that are made here."""
    return _GENERATED_ID.fullmatch(external_id) is not None


def _generate_id(record: MessageRecord, progress: SessionProgress) -> str:
    """An id from time, role, author, text and the number of equal messages before it. A later export of the same chat
    gives the same ids, wherever in the file the messages are."""
    progress.has_generated_ids = True
    when = iso(record.sent_at) if record.sent_at else ""
    content = _content_hash(when, record.role, record.author or "", record.text)
    progress.seen[content.digest()] += 1
    content.update(b"\x1e%d" % progress.seen[content.digest()])
    return content.hexdigest()


def generated_id(sent_at: str, role: str, author: str, text: str) -> str:
    """The id that the first message with this time (ISO 8601), role, author and text gets that has none of its own."""
    content = _content_hash(sent_at, role, author, text)
    content.update(b"\x1e1")
    return content.hexdigest()


def _content_hash(sent_at: str, role: str, author: str, text: str) -> hashlib.blake2b:
    parts = "\x1f".join((sent_at, role, author, text))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=ID_BYTES)

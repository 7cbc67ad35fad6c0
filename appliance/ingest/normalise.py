"""From what a parser read to what is stored: ids where the source has none, times, order, and what is talk.

Texts stay as they are. What is decided here is decided once, for every format alike.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field

from appliance.moments import iso, microseconds
from appliance.store.messages import NewMessage
from appliance.store.sql import to_json
from appliance.types import Message, MessageRecord, SessionRecord

ID_BYTES = 10
"""Of a made message id: 80 bits, so that a chat of a million messages has none twice."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A message's place in its stored session."""

    order_at: int
    position: int


@dataclass(slots=True)
class Course:
    """One session as it goes by within one file: what the next message's place depends on.

    ``made_ids`` tells that its messages have no ids of their own; ``stored_as`` is then the external id of
    the stored session that they were found to belong to. ``spot`` is where the last message that was stored
    or found there stands.
    """

    record: SessionRecord
    position: int = 0
    order_at: int = 0
    seen: Counter[bytes] = field(default_factory=Counter)
    made_ids: bool = False
    stored_as: str | None = None
    spot: Spot | None = None


def begin(record: SessionRecord) -> Course:
    return Course(record, order_at=microseconds(record.created_at) if record.created_at else 0)


def normalise(record: MessageRecord, course: Course) -> NewMessage:
    """The message as it is stored, next in its session's course."""
    at = microseconds(record.sent_at) if record.sent_at else None
    # A message without a time stays behind the one before it.
    course.order_at = course.order_at if at is None else at
    metadata = dict(record.metadata)
    if record.sent_at is not None and record.sent_at.tzinfo is None:
        metadata.setdefault("timezone", "unknown")
    pinned = metadata.get("pinned") is True
    if pinned:
        # A person can take it back: it is what the memory knows, no longer what the source says.
        del metadata["pinned"]
    message = NewMessage(
        external_id=record.external_id or _made_id(record, course),
        position=course.position,
        order_at=course.order_at,
        sent_at=iso(record.sent_at) if record.sent_at else None,
        at=at,
        role=record.role,
        author=record.author,
        text=record.text,
        talk=is_talk(record),
        reply_to=record.reply_to,
        metadata=to_json(metadata),
        pinned=pinned,
    )
    course.position += 1
    return message


def is_talk(record: MessageRecord | Message) -> bool:
    """Whether a person or an assistant said this in the open."""
    hidden = record.metadata.get("hidden") or record.metadata.get("sidechain")
    return record.role in ("user", "assistant") and not hidden


def _made_id(record: MessageRecord, course: Course) -> str:
    """An id from the content and its place: the time, who, the words, and the how-manieth of its like.

    A later export of the same chat makes the same ids, wherever in the file the messages stand.
    """
    course.made_ids = True
    when = iso(record.sent_at) if record.sent_at else ""
    parts = "\x1f".join((when, record.role, record.author or "", record.text))
    content = hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=ID_BYTES)
    course.seen[content.digest()] += 1
    content.update(b"\x1e%d" % course.seen[content.digest()])
    return content.hexdigest()

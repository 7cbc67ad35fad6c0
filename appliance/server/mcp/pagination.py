"""Limits on the size of an answer, and cursors for the rest.

An answer says what did not fit, with a cursor that continues exactly there. A cursor is opaque,
contains no text of messages, and is valid only for its query.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from appliance.errors import UsageError
from appliance.runtime.decoding import decode

ANSWER_CHARACTERS = 8_000
"""Characters of an answer, both as text and as structured content: about 2,000 tokens of English, so that it fits into
the window of a small local model together with a conversation. A context has a budget in tokens instead."""

FRAME_CHARACTERS = 1_500
"""Characters of an answer reserved for headings, notes, cursors and hints."""

PAGE_CHARACTERS = ANSWER_CHARACTERS - FRAME_CHARACTERS
"""Characters for the listed items or the text."""

SNIPPET_CHARACTERS = 200
"""Characters of a message in an index: a line or two."""

NAME_CHARACTERS = 60
TITLE_CHARACTERS = 80
"""Characters of a name and a title in an index; exports can have very long ones."""

MAX_CURSOR_LENGTH = 400
"""Characters of a cursor that is decoded; ours have about a hundred, those of session lists two hundred."""

BREAK_SEARCH_CHARACTERS = 200
"""How far before the limit a page may end at a line or a word, in characters."""

T = TypeVar("T")
CursorPart = int | str


class _PageCursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    query_digest: str
    position: tuple[CursorPart, ...]


def query_digest(*parts: object) -> str:
    """A digest of everything in a query that changes the list; a cursor carries it."""
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=6).hexdigest()


def encode_cursor(digest: str, *position: CursorPart) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(_PageCursor(digest, position))).decode().rstrip("=")


def decode_cursor(text: str, digest: str, kinds: tuple[type, ...]) -> tuple[CursorPart, ...] | None:
    """The position in a cursor; None for an empty one.

    Raises:
        UsageError: The cursor is invalid, or belongs to another query.
    """
    if not text:
        return None
    try:
        if len(text) > MAX_CURSOR_LENGTH:
            raise ValueError
        cursor = decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), _PageCursor)
        if len(cursor.position) != len(kinds) or not all(map(isinstance, cursor.position, kinds)):
            raise ValueError
        if any(isinstance(part, int) and part < 0 for part in cursor.position):
            raise ValueError
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise UsageError("The cursor is invalid.", hint="Copy it whole from the previous answer.") from error
    if cursor.query_digest != digest:
        raise UsageError(
            "The cursor belongs to another query.",
            hint="Repeat the other arguments unchanged, or leave the cursor out to start again.",
        )
    return cursor.position


def json_length(value: object) -> int:
    """The length of a value as JSON, in characters."""
    return len(msgspec.json.encode(value).decode())


def count_fitting(items: Sequence[T], render: Callable[[T], str], limit: int = PAGE_CHARACTERS) -> int:
    """How many of ``items``, from the first, fit into ``limit`` characters both as JSON and as lines of text; at least
    one, because every item is bounded by itself."""
    used = [0, 0]
    for count, item in enumerate(items):
        used[0] += json_length(item) + 1
        used[1] += len(render(item)) + 1
        if count and max(used) > limit:
            return count
    return len(items)


def find_page_end(text: str, start: int, limit: int, render: Callable[[str], str]) -> int:
    """The end of the page of ``text`` that begins at ``start``: as much as fits into ``limit`` characters both as JSON
    and as ``render`` writes it, up to a line's or a word's end if one is near; at least one character."""
    low, high = min(start + 1, len(text)), min(len(text), start + max(limit, 1))

    def fits(end: int) -> bool:
        return max(json_length(text[start:end]), len(render(text[start:end]))) <= limit

    if fits(high):
        low = high
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    if low >= len(text):
        return len(text)
    earliest = max(start + 1, low - BREAK_SEARCH_CHARACTERS)
    for separators in ("\n", " "):
        found = max(text.rfind(sign, earliest - 1, low) for sign in separators)
        if found >= earliest:
            return found + 1
    return low


def shorten(text: str, max_length: int = SNIPPET_CHARACTERS) -> str:
    """A text in one line, with an ellipsis if it was cut."""
    line = " ".join(text[: 8 * max_length].split())
    line = "".join(sign for sign in line if sign.isprintable() or sign == " " or ord(sign) > 0x9F)
    if len(line) <= max_length and len(text) <= 8 * max_length:
        return line
    return line[: max_length - 1].rstrip() + "…"

"""How large an answer may be, and how the rest of it is asked for.

Nothing is cut silently: what does not fit is said, with a cursor that goes on exactly there. A cursor is opaque to the
caller and holds no words of a message; it fits only the question that it was given for.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from appliance.errors import UsageError

ANSWER = 8_000
"""Characters of an answer, as text and again as structured content: about 2,000 tokens of English, so that it fits
beside a conversation in the window of a small local model. A context has a budget in tokens instead."""

FRAME = 1_500
"""Characters of an answer that are kept for what stands around the listed: heads, notes, cursors, hints."""

ROOM = ANSWER - FRAME
"""Characters for what is listed or read."""

SNIPPET = 200
"""Characters of a message in an index: a line or two to choose by."""

NAME = 60
TITLE = 80
"""Characters of a name and a title in an index; an export may have pages there."""

CURSOR = 400
"""Characters of a cursor that is read at all; ours have about a hundred, and those of session lists two."""

BOUNDARY = 200
"""Characters before the end of a page in which a line's or a word's end is looked for."""

T = TypeVar("T")
Place = int | str


class _Cursor(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    about: str
    place: tuple[Place, ...]


def about(*question: object) -> str:
    """What a cursor belongs to: a digest of the question, by everything that changes the list."""
    return hashlib.blake2b(msgspec.json.encode(question), digest_size=6).hexdigest()


def cursor(question: str, *place: Place) -> str:
    """Where a next page begins."""
    return base64.urlsafe_b64encode(msgspec.json.encode(_Cursor(question, place))).decode().rstrip("=")


def place(text: str, question: str, kinds: tuple[type, ...]) -> tuple[Place, ...] | None:
    """Where the page of a cursor begins; None without one.

    Raises:
        UsageError: it is no cursor of ours, or of another question.
    """
    if not text:
        return None
    try:
        if len(text) > CURSOR:
            raise ValueError
        found = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Cursor)
        if len(found.place) != len(kinds) or not all(map(isinstance, found.place, kinds)):
            raise ValueError
        if any(isinstance(part, int) and part < 0 for part in found.place):
            raise ValueError
    except (binascii.Error, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(
            "the cursor is none of this tool's", hint="copy it whole from the answer before"
        ) from error
    if found.about != question:
        raise UsageError(
            "the cursor belongs to another question",
            hint="repeat the other arguments as they were, or leave the cursor out to begin anew",
        )
    return found.place


def size(value: object) -> int:
    """Characters of a value as JSON."""
    return len(msgspec.json.encode(value).decode())


def fitting(items: Sequence[T], line: Callable[[T], str], room: int = ROOM) -> int:
    """How many of ``items``, from the first, fit into ``room`` both as JSON and as lines of text; at least one, because
    every single one is bounded by itself."""
    used = [0, 0]
    for count, item in enumerate(items):
        used[0] += size(item) + 1
        used[1] += len(line(item)) + 1
        if count and max(used) > room:
            return count
    return len(items)


def cut(text: str, start: int, room: int, shown: Callable[[str], str]) -> int:
    """Where a page of a text ends that begins at ``start``: as far as fits into ``room`` both as JSON and as ``shown``,
    at the end of a line or a word if one is near; always behind ``start``, but for an empty rest."""
    low, high = min(start + 1, len(text)), min(len(text), start + max(room, 1))

    def fits(end: int) -> bool:
        return max(size(text[start:end]), len(shown(text[start:end]))) <= room

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
    nearest = max(start + 1, low - BOUNDARY)
    for signs in ("\n", " "):
        found = max(text.rfind(sign, nearest - 1, low) for sign in signs)
        if found >= nearest:
            return found + 1
    return low


def short(text: str, longest: int = SNIPPET) -> str:
    """A text in one line; an ellipsis shows that there is more of it."""
    line = " ".join(text[: 8 * longest].split())
    line = "".join(sign for sign in line if sign.isprintable() or sign == " " or ord(sign) > 0x9F)
    if len(line) <= longest and len(text) <= 8 * longest:
        return line
    return line[: longest - 1].rstrip() + "…"

"""How a context looks. What is counted is what is rendered here, nothing else.

A prompt is a row of parts: a heading ("# …"), a group's head ("[s12 2024-03-31 Title]"), and under it a line or more
for each memory ("[m345 Ana] her words"). Two rules hold for each:

It begins with "[" or "#" and ends with a line break. The encodings always begin a new piece between the two, so that
the tokens of the parts add up to those of the whole.

Only our own lines begin so. Where a line of somebody's text looks like one of ours, it is quoted with "> ", and names
and titles lose brackets, commas and line breaks: nobody can speak in another's name.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from appliance.types import Fact

PROFILE = "# About the person\n"
RETRIEVED = "# Memories from earlier conversations, in excerpts\n"
SUMMARY = "# This conversation so far, in short\n"
RECENT = "# This conversation, its latest turns\n"
HEADINGS = {"profile": PROFILE, "retrieved": RETRIEVED, "summary": SUMMARY, "recent": RECENT}

LONGEST_NAME = 40
LONGEST_TITLE = 80
"""Characters of a name and of a title; an export may have pages there."""

SHORTENED = "shortened"

_BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MAY_BE_OURS = re.compile("[\\[#［＃﹇﹟]")
_OURS = re.compile(
    r"\[\s*(?:m|s|f|sum)\s*\d|#\s*(?:" + "|".join(re.escape(h[2:].strip()) for h in HEADINGS.values()) + ")",
    re.IGNORECASE,
)
_LOOKED_AT = 80
"""Characters of a line that decide whether it looks like ours; no heading is longer."""
_NOT_IN_NAMES = str.maketrans({"[": "(", "]": ")", ",": " "})
_UNSEEN = ("Cc", "Cf", "Zl", "Zp", "Zs", "Cs", "Co", "Cn")


def group(session_id: str, day: str, title: str | None) -> str:
    """The head over what was said in one session on one day."""
    return f"[{' '.join(part for part in (session_id, day, plain(title, LONGEST_TITLE)) if part)}]\n"


def message(id: str, role: str, author: str | None, text: str, mark: str = "") -> str:
    """What somebody said, in full, or with a ``mark`` that tells what was done to it."""
    who = plain(author, LONGEST_NAME) or role
    return f"[{id} {who}{', ' + mark if mark else ''}] {quoted(text)}\n"


def placeholder(id: str, role: str, author: str | None, words: str) -> str:
    """What stands for a message that is too large."""
    return f"[{id} {plain(author, LONGEST_NAME) or role}, {words}]\n"


def left_out(id: str, text: str) -> str:
    """In words, where to read what a placeholder stands for."""
    return f"left out here: {len(text)} characters, read message {id}"


def fact(one: Fact) -> str:
    """A fact with the message that it is known from, and since when."""
    sources = [quote.message_id for quote in one.evidence[-1:]]
    kind = ["instruction"] if one.kind == "instruction" else []
    head = " ".join(filter(None, (one.id, *sources, *kind, day(one.since or one.said_at))))
    return f"[{head}] {quoted(one.text)}\n"


def sentence(message_id: str, text: str) -> str:
    """A sentence of a summary, with the message that it is from."""
    return f"[{message_id}] {quoted(text)}\n"


def summary(id: str, about: str, text: str) -> str:
    """A summary, with what it is of."""
    return f"[{id} {about}] {quoted(text)}\n"


def day(timestamp: str | None) -> str:
    return (timestamp or "")[: len("2024-03-31")]


def quoted(text: str) -> str:
    """A text as it may stand in a prompt: its own, but for lines that look like ours, which are quoted."""
    text = text.rstrip()
    if not _MAY_BE_OURS.search(text) or not _BREAK.search(text):
        return text
    parts: list[str] = []
    start = 0
    for found in _BREAK.finditer(text):
        parts.append(text[start : found.end()])
        start = found.end()
        if looks_ours(text[start : start + _LOOKED_AT]):
            parts.append("> ")
    return "".join(parts) + text[start:]


def looks_ours(line: str) -> bool:
    """Whether a line could be taken for a heading, a group's head or the beginning of a message."""
    line = unicodedata.normalize("NFKC", line)
    seen = next((i for i, one in enumerate(line) if unicodedata.category(one) not in _UNSEEN), len(line))
    return _OURS.match(line, seen) is not None


@lru_cache(maxsize=4_000)
def _plain(text: str, longest: int) -> str:
    composed = unicodedata.normalize("NFKC", text[: 4 * longest])
    seen = "".join(" " if unicodedata.category(one) in _UNSEEN else one for one in composed)
    words = " ".join(seen.translate(_NOT_IN_NAMES).split())
    return words if len(words) <= longest else words[: longest - 1].rstrip() + "…"


def plain(text: str | None, longest: int) -> str:
    """A name or a title in one line, with nothing in it that has a meaning here."""
    return _plain(text, longest) if text else ""

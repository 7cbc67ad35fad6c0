"""Notes, the lines of a summary by a language model, and whether they are certain.

A note rests on the messages that it cites, and on nothing else. One that they do not support, or that is made of a note
that was uncertain, is marked UNVERIFIED."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from appliance.languages import STOP_WORDS
from appliance.lazy_dataclasses import dataclass
from appliance.store.lexical import stem
from appliance.types import UNVERIFIED, Message

MIN_SUPPORT = 0.5  # a note with a smaller share of its words in the messages that it cites is marked
MIN_KEPT_SHARE = 0.75  # of the words of an earlier note: a note with so many of them repeats it, whatever it adds

STORED_CITATION = re.compile(r"\[(m\d+(?:, m\d+)*)\]")
MARK = re.compile(rf"^\W*{UNVERIFIED}\W*\s*", re.IGNORECASE)
WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Note:
    """A note, the ids of the messages that it cites, and whether it is marked as uncertain."""

    text: str
    ids: tuple[str, ...]
    marked: bool


def parse(notes: str) -> list[Note]:
    """Return the notes of a stored summary."""
    return [
        Note(MARK.sub("", STORED_CITATION.sub("", line)).strip(), tuple(cited_ids(line)), bool(MARK.match(line)))
        for line in notes.splitlines()
        if WORD.search(line)
    ]


def render(note: Note) -> str:
    """Return a note as a line of a stored summary."""
    citation = f" [{', '.join(note.ids)}]" if note.ids else ""
    return f"{UNVERIFIED + ': ' if note.marked else ''}{note.text}{citation}"


def cited_ids(text: str) -> list[str]:
    """Return the ids of the messages that stored notes cite, in order."""
    return [key for found in STORED_CITATION.findall(text) for key in found.split(", ")]


def stems(text: str) -> set[str]:
    """Return the stems of a text's content words; numbers stay whole."""
    words = (word.casefold() for word in WORD.findall(text))
    return {stem(word) for word in words if word not in STOP_WORDS and word != UNVERIFIED.casefold()}


def is_supported(note: Note, cited: Sequence[Message]) -> bool:
    """Whether the messages that a note cites have most of its words, and all of its numbers."""
    said = _as_text(cited)
    words = stems(note.text)
    has_words = len(words & stems(said)) >= MIN_SUPPORT * len(words)
    return bool(cited) and has_words and set(_NUMBER.findall(note.text)) <= set(_NUMBER.findall(said))


def inherits_mark(note: Note, prior: Collection[Note], new: Sequence[Message]) -> bool:
    """Whether a note is made of an uncertain one.

    Args:
        note: A new note.
        prior: The notes that it may be made of.
        new: The messages among those that it cites that were read with it. Only they can make it certain: what earlier
            messages said is known from the notes alone.
    """
    words = stems(note.text)
    marked = [one for one in prior if one.marked]
    if not marked or (new and words <= stems(_as_text(new))):
        return False
    if any(_share(words, stems(one.text)) >= MIN_KEPT_SHARE for one in marked):
        return True
    old_ids = set(note.ids) - {message.id for message in new}
    origins = [one for one in prior if old_ids.intersection(one.ids)] if old_ids else list(prior)
    closest = max(origins, key=lambda one: (_likeness(words, stems(one.text)), one.marked), default=None)
    # A note about an earlier message is made of some note, however different its words are.
    return closest is not None and closest.marked and (bool(old_ids) or _likeness(words, stems(closest.text)) > 0.5)


def _as_text(messages: Sequence[Message]) -> str:
    return "\n".join(f"{one.author or one.role} {one.timestamp or ''} {one.text}" for one in messages)


def _share(words: set[str], of: set[str]) -> float:
    return len(words & of) / len(of) if of else 0.0


def _likeness(one: set[str], other: set[str]) -> float:
    """The Jaccard similarity of two sets of words."""
    return len(one & other) / len(one | other) if one | other else 0.0

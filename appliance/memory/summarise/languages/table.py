"""What a language has to say of itself for its sentences to be read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """Words and cues of a language; see ``english`` for how they are meant.

    Sets hold single words in small letters. A cue is an alternative of a regular expression, matched without regard
    to case at the borders of words. Cues are precise rather than complete: a summary says of what they find "this was
    decided".
    """

    name: str
    nouns: bool
    """Every noun has a capital, not only a name."""
    small: frozenset[str]
    """Its small words: it is known by them, and they say nothing."""
    own: frozenset[str]
    """People speak of themselves."""
    times: frozenset[str]
    """Something is said of a time."""
    decided: tuple[str, ...]
    """Something is settled."""
    promised: tuple[str, ...]
    """Somebody will do something."""
    idle: tuple[str, ...]
    """Directly behind the cue of a promise: it is none."""
    open: tuple[str, ...]
    """Something is still to do or to settle."""
    wonders: tuple[str, ...]
    """A question without its mark."""
    problem: tuple[str, ...]
    """Something does not work."""
    solved: tuple[str, ...]
    """Now it does."""
    concluded: tuple[str, ...]
    """What an explanation comes to."""
    unknown: tuple[str, ...]
    """A reply that answers nothing."""
    denied: tuple[str, ...]
    """Before a cue: takes it back."""
    supposed: tuple[str, ...]
    """Before a cue: makes it a thought."""
    offers: tuple[str, ...]
    """How an assistant asks what else there is."""
    greets: tuple[str, ...]
    """Begins a short sentence that greets, thanks or agrees."""
    fills: tuple[str, ...]
    """Begins a sentence that says nothing, however long."""

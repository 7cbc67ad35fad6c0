"""The form of a language's rules. A rule is data: the words that open a statement, and the kind of value that follows.

The value readers are shared by all languages. What differs between languages is words, which a ``FactGrammar`` holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from appliance.languages import LANGUAGES, Language, temporal
from appliance.lazy_dataclasses import dataclass
from appliance.types import FactKind

Mode = Literal["holds", "ended", "corrects"]
"""What a statement says of its value: it holds, it no longer holds, or it is what an earlier statement meant."""

CHANGE = "change"
"""The attribute of a statement that takes something back. Its value is the words for what it takes back; which fact
that is, ``changes`` finds out. A rule for a date whose mode is "corrects" says that something was moved to this day."""

_SPACES = r"(?:[ \t]+)"
_SPACE_OR_CLASS = re.compile(r"\[(?:\\.|[^\]\\])*\]|\\.| ")


class LazyPattern:
    """A regular expression that is compiled when it is first used, with the methods of ``re.Pattern``.

    The rules have a thousand patterns, and compiling all of them takes half a second. Most commands use none of them,
    and a message needs only those few whose opening words it contains.
    """

    search: Callable[..., re.Match[str] | None]
    match: Callable[..., re.Match[str] | None]
    fullmatch: Callable[..., re.Match[str] | None]
    finditer: Callable[..., Iterator[re.Match[str]]]
    sub: Callable[..., str]

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for a missing attribute: the methods set here are found directly from then on.
        compiled = re.compile(self._text)
        for method in ("search", "match", "fullmatch", "finditer", "sub"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def pattern(text: str) -> LazyPattern:
    """Return a pattern in which each space matches any white space within a line."""
    return LazyPattern(_SPACE_OR_CLASS.sub(lambda found: _SPACES if found.group() == " " else found.group(), text))


def longest_first(words: Iterable[str]) -> str:
    """Return one pattern of several words, in which no word hides a longer one."""
    return "(?:" + "|".join(sorted(words, key=len, reverse=True)) + ")"


@dataclass(frozen=True, slots=True, eq=False)
class Opening:
    """Where rules can begin: at one of some words and, if it is that of a clause, where a clause begins.

    Many rules share an opening, which is searched once in a text. The rules are then tried at these places only."""

    pattern: LazyPattern
    of_clause: bool = False

    def places(self, low: str) -> list[int]:
        found = [match.start(match.lastindex or 0) for match in self.pattern.finditer(low)]
        return [0, *found] if self.of_clause and found[:1] != [0] else found


def opening(words: str) -> Opening:
    """Return the opening of some words."""
    return Opening(pattern(f"({words})"))


def clause_opening(words: str) -> Opening:
    """Return the opening of some words and of any clause."""
    return Opening(pattern(rf"({words})|[\n.!?,;:*•¡–—-]()"), of_clause=True)


def prefixes_of(alternatives: str) -> frozenset[str]:
    """Return the beginnings of all words of a pattern that is nothing but alternatives; a letter may be optional."""
    plain = re.sub(r"\(\?(?:P<\w+>|[:!=])|\\.", " ", alternatives)
    words = re.findall(r"[^\W_]+", re.sub(r"\w\?", "", plain) + " " + plain)
    return frozenset(word[:4] for word in words)


@dataclass(frozen=True, slots=True, eq=False)
class FactRule:
    """One way of stating something.

    ``pattern`` matches, in lower case, everything that stands before the value. ``attribute`` and ``subject`` may name
    groups of the pattern: "{rel}" stands for a relation, "{what}" for the group's own words.
    """

    name: str
    kind: FactKind
    attribute: str
    # Words, or their first four letters. The pattern can only match a text that contains one of them.
    needs: tuple[str, ...]
    pattern: LazyPattern
    read: str = ""  # the reader of the value; without one the value is the pattern's group, as ``value`` says
    mode: Mode = "holds"
    confidence: float = 0.85
    accepts_list: bool = False
    can_follow_words: bool = False  # may follow any word but the grammar's ``bars``; other rules begin a clause
    subject: str = "me"
    follows: LazyPattern | None = None  # must match after the value
    unless: LazyPattern | None = None  # must not match there
    continuations: tuple[FactRule, ...] = ()  # rules that may go on where this one ends
    value: str = "{value}"
    required_prefixes: frozenset[str] = frozenset()  # beginnings of words, one of which the text must contain too
    begins: Opening | None = None  # where ``pattern`` can begin; without one it is searched
    prefilter: LazyPattern | None = None  # must occur in the text; several rules share it
    is_presupposed: bool = False  # taken for granted ("with my wife Ana"): holds anywhere, even in a question
    inherits_subject: bool = False  # a clause whose "I" began the sentence ("I'm 46, live in")


# Every date contains a word with one of these beginnings. "0" stands for any word that begins with a digit.
DATED = frozenset(
    name.split()[-1][:4]
    for names in (
        *(temporal.MONTHS, temporal.WEEKDAYS, (name for name, days in temporal.DAYS.items() if days >= 0)),
        (
            name
            for one in LANGUAGES
            for unit in ("day", "week", "month", "year")
            for name in one.temporal.units[unit].split("|")
        ),
    )
    for name in names
) | {"0"}
NUMBERED = frozenset("0")
# The words for two and more: somebody's age is one of these or a number.
AGE_WORDS = tuple(word for word in temporal.NUMBER_WORDS if temporal.number(word) > 1)
AGE = rf"(?=\d|{longest_first(AGE_WORDS)}\b)"
AGED = NUMBERED | {word[:4] for word in AGE_WORDS}


@dataclass(frozen=True, slots=True, eq=False)
class FactGrammar:
    """How facts are stated in a language."""

    language: Language
    rules: tuple[FactRule, ...]
    stops: frozenset[str]  # end a phrase
    hollow: frozenset[str]  # begin what is no value
    leads: frozenset[str]  # may stand directly before a statement
    bars: frozenset[str]  # must not stand before a rule that can follow words
    unreal: LazyPattern  # anywhere before a statement in its sentence: a condition, or the words of others
    unsure: LazyPattern  # the same, within the statement's clause only
    harmless: LazyPattern  # looks like one of the two and is not
    undone: LazyPattern  # after a statement: takes it back
    elsewhere: LazyPattern  # from here on the message is not the writer's own words (a story, a text to translate)
    tail: LazyPattern  # begins a question after a statement
    asking: LazyPattern  # begins a sentence that asks
    not_names: frozenset[str]
    heads: LazyPattern  # the last words of jobs
    clause_end: LazyPattern  # ends what somebody plans or does
    vague_times: LazyPattern  # at the end of a plan, says when and not what
    events: Mapping[str, str] = field(default_factory=dict)  # the English name of an event, by its word
    mine: LazyPattern | None = None  # begins a sentence whose subject a later clause may inherit
    others: LazyPattern | None = None  # between the two: the later clause does not inherit it

"""What the words of a question and of a message show by their form. English so far; other languages show nothing."""

from __future__ import annotations

import re
from itertools import pairwise

from appliance.store.lexical import STEM
from appliance.store.scripts import is_question, spaced

_ASKS_WHEN = re.compile(
    r"\b(?:when|how long|what (?:date|day|month|year|time)|which (?:day|month|year))\b", re.IGNORECASE
)
_TIME_WORDS = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|last|next|ago|weeks?|weekend|months?|years?|morning|recently|just|soon|since"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|\d+)\b",
    re.IGNORECASE,
)
_MOST_TIME_WORDS = 3
_LASTS = re.compile(
    r"\b(?:(?:i|we)(?:'ve| have)? (?:decided|agreed|settled|chose|prefer|promise|committed)"
    r"|(?:let's|we'll|i'll|i will|we will) (?:go with|use|take|keep|stick)"
    r"|i (?:always|never|usually|love|hate|like|dislike|can't stand)|i'm allergic|my favou?rite"
    r"|(?:please )?(?:always|never) (?:answer|use|write|call|reply|ask|give|show)|from now on|remember that"
    r"|deadline|due (?:on|by|date)|appointment|the plan is)\b",
    re.IGNORECASE,
)
_STATEMENT = 0.5
_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_LEAST_WORDS = 4
"""What has fewer words greets, agrees or thanks more often than it states something."""
_WORD = re.compile(r"\w+")
_ENTITY = re.compile(r"(?<![.!?]\s)(?<!^)\b(?:[A-ZÀ-ÖØ-Þ]\w+|\w*\d\w*)\b|^\d\w*\b")


def asks_when(question: str) -> bool:
    """Whether a question asks for a time."""
    return _ASKS_WHEN.search(question) is not None


def dated(text: str) -> float:
    """How much a text speaks of times: 0 to 1, which three words of the kind reach."""
    found = 0
    for _ in _TIME_WORDS.finditer(text):
        found += 1
        if found == _MOST_TIME_WORDS:
            break
    return found / _MOST_TIME_WORDS


def word_pairs(text: str) -> frozenset[tuple[str, str]]:
    """The words of a text that follow each other, two and two, by their beginnings."""
    beginnings = [word[:STEM] for word in _WORD.findall(spaced(text).casefold())]
    return frozenset(pairwise(beginnings))


def kind(text: str) -> float:
    """What a message is good for later: 1 for a decision, a commitment, a preference or an instruction, 0.5 for
    what states something else, 0 where it only asks, greets, agrees or thanks."""
    if _LASTS.search(text):
        return 1.0
    sentences = (match.group().rstrip() for match in _SENTENCE.finditer(text))
    states = any(not is_question(one) and len(one.split()) >= _LEAST_WORDS for one in sentences)
    return _STATEMENT if states else 0.0


def entities(text: str) -> frozenset[str]:
    """The names and numbers in a text: words with a capital that begin no sentence, and words with a digit."""
    return frozenset(match.group().casefold() for match in _ENTITY.finditer(text))


def in_common(asked: frozenset[str], text: str) -> float:
    """The share of what is asked for that a text has, as whole words; 0 where nothing is asked for."""
    return len(asked & {word.casefold() for word in _WORD.findall(text)}) / len(asked) if asked else 0.0

"""What the words of a question and of a message show by their form. English so far; other languages show nothing."""

from __future__ import annotations

import re

from appliance.store.scripts import is_question as is_question

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

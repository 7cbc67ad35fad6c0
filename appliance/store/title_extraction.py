"""Extracts a title for a session without one from the messages of a person."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from appliance.languages import STOP_WORDS
from appliance.languages.sentence_ends import is_inner_stop

MAX_TITLE_CHARACTERS = 60
"""The longest title, which fits into a line of a list."""

_SCAN_CHARACTERS = 4_000
"""How much of a message is examined: its beginning says what it is about."""

_MAX_SENTENCES = 8
"""How many of its sentences are examined."""

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INDENTED = re.compile(r"(?m)^(?: {4}|\t).*$")
_TAG = re.compile(r"<[^<>\n]{1,200}>")
# The patterns are bounded, so that a line of nothing but brackets does not take a second.
_PICTURE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\s]{0,500}\)")
_LINKED = re.compile(r"\[([^\]\n]{0,200})\]\([^)\s]{0,500}\)")
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://\S+|\bwww\.\S+|[^\s@]{1,64}@[^\s@]{1,200}\.\w{2,20}", re.IGNORECASE)
_MARKUP = re.compile(r"(?m)^\s*(?:#{1,6}\s+|>\s?|[-*+•]\s+|\d{1,2}[.)]\s+)|[*_`~]{1,3}(?=\w)|(?<=\w)[*_`~]{1,3}")
_ENDS = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"\w+")

_GREETING = (
    r"hi|hey|hello|hiya|yo|dear|good (?:morning|afternoon|evening|day)|greetings|howdy|"
    r"hallo|servus|moin|guten (?:morgen|tag|abend)|grüß gott|liebe[rs]?|"
    r"hola|buen(?:os días|as tardes|as noches)|estimad[oa]"
)
_FILLER = (
    r"ok(?:ay)?|so|well|um+|uh+|hmm+|right|alright|sure|yes|yeah|no|thanks|thank you(?: (?:so|very) much)?|please|"
    r"sorry|quick question|question|also|"
    r"bitte|danke|also|ja|nein|gut|"
    r"por favor|gracias|bueno|sí|pues"
)
_ASKING = (
    r"(?:can|could|would|will) you(?: please| kindly)?"
    r"(?: help me(?: to| with)?| tell me| explain(?: to me)?| show me)?|"
    r"(?:can|could|may) i ask(?: you)?|"
    r"i(?:'d| would) like(?: you)? to(?: know)?|i want(?: you)? to(?: know)?|i need(?: you)? to(?: know)?|"
    r"i need(?: some| your)? help (?:with|to)|i need|help me(?: to| with)?|tell me(?: about)?|let's|"
    r"i was wondering (?:if|whether)(?: you could)?|i have a question about|do you know|"
    r"(?:kannst|könntest|würdest) du(?: mir)?(?: bitte)?(?: helfen,?| sagen,?| erklären,?)?|"
    r"(?:können|könnten|würden) sie(?: mir)?(?: bitte)?(?: helfen,?| sagen,?| erklären,?)?|"
    r"ich (?:möchte|will|brauche|hätte gern)(?: hilfe (?:bei|mit))?|sag mir|"
    r"¿?(?:puedes|podrías|puede|podría)(?: por favor)?(?: ayudarme (?:a|con)| decirme| explicarme)?|"
    r"(?:quiero|quisiera|necesito)(?: ayuda con| saber)?|dime|ayúdame (?:a|con)"
)
# A name may follow a greeting, up to a comma or the end.
_OPENING = re.compile(
    rf"^[\s,;:.!?¡¿–—-]*(?:(?:{_GREETING})\b(?:\s+(?:there|all|everyone|again|zusammen|a todos))?"
    rf"(?:\s+[^\W\d_]+){{0,2}}\s*(?:[,!.:–—-]+|$)|(?:{_GREETING})\b|(?:{_FILLER})\b(?=\s*(?:[,!.:;–—-]|$|(?:{_ASKING})\b))"
    rf"|please\b|bitte\b|por favor\b|(?:{_ASKING})\b)[\s,;:.!–—-]*",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"(?:what|who|whom|whose|which|when|where|why|how|if|whether|is|are|do|does|did|has|have|can|will|"
    r"was|wer|wen|wem|wessen|welche[rsmn]?|wann|wo|warum|wieso|wie|ob|"
    r"qu[eé]|qui[eé]n|cu[aá]l|cu[aá]ndo|d[oó]nde|por qu[eé]|c[oó]mo|si)\b",
    re.IGNORECASE,
)
_SAYS_NOTHING = frozenset(
    """
    hi hey hello yo thanks thank ok okay yes yeah no sure please sorry good morning evening afternoon great nice cool
    help question test testing continue go
    hallo danke bitte ja nein gut morgen tag abend weiter hola gracias sí bueno
    """.split()
)


def extract_title(text: str) -> str | None:
    """Return a line of at most ``MAX_TITLE_CHARACTERS`` that says what a message is about: its first sentence with
    content, without greetings, courtesies, code and links; None if there is none.

    >>> extract_title("Hi Claude! Could you please help me with the tax return for 2024? See https://x.org")
    'The tax return for 2024'
    """
    for sentence in _sentences(text[:_SCAN_CHARACTERS]):
        candidate = _strip_opening(sentence)
        if not candidate.endswith(sentence[:-1]) and not _ASKS.match(candidate):
            candidate = candidate.rstrip("? ")  # "can you find my keys?" is a question, "my keys" is not
        if _has_content(candidate):
            return _truncate(candidate[0].upper() + candidate[1:])
    return None


def _sentences(text: str) -> list[str]:
    text = _FENCE.sub("\n", text)
    text = _INDENTED.sub("", text)
    text = _LINKED.sub(r"\1", _PICTURE.sub("", text))
    text = _ADDRESS.sub(" ", _TAG.sub(" ", text))
    text = _MARKUP.sub("", text)
    lines = (" ".join(_printable(sentence).split()) for sentence in _split(text))
    return [line for line in lines if line][:_MAX_SENTENCES]


def _split(text: str) -> Iterator[str]:
    start = 0
    for end in _ENDS.finditer(text):
        at = end.start() - 1
        if "\n" in end.group() or text[at : at + 1] != "." or not is_inner_stop(text, at):
            yield text[start : end.start()]
            start = end.end()
    yield text[start:]


def _printable(text: str) -> str:
    """Replaces control characters, lone surrogates and unassigned or private characters by spaces."""
    return "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") else c for c in text)


def _strip_opening(sentence: str) -> str:
    while (rest := _OPENING.sub("", sentence, count=1)) != sentence:
        sentence = rest
    return sentence.strip(" ,;:.!–—-\"'“”„«»()[]")


def _has_content(sentence: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(sentence)]
    content_words = [word for word in words if word not in STOP_WORDS and word not in _SAYS_NOTHING]
    letters: int = sum(c.isalpha() for word in content_words for c in word)
    return letters >= (3 if sentence.isascii() else 2)


def _truncate(line: str) -> str:
    """Shortens a line at a word, or anywhere if there is no space in its second half."""
    if len(line) <= MAX_TITLE_CHARACTERS:
        return line
    cut = line[: MAX_TITLE_CHARACTERS - 1]
    at_word = cut if line[MAX_TITLE_CHARACTERS - 1].isspace() else cut.rpartition(" ")[0]
    return (at_word if len(at_word) > MAX_TITLE_CHARACTERS // 2 else cut).rstrip(" ,;:.!–—-") + "…"

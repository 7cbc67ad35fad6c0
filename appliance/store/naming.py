"""A title for a conversation that has none, from what a person said in it."""

from __future__ import annotations

import re
import unicodedata

from appliance.store.stopwords import STOP_WORDS

LENGTH = 60
"""A title's characters at most: a line of a list has room for it."""

_READ = 4_000
"""How much of a message is looked at: what it is about is said at its beginning."""

_SENTENCES = 8
"""How many of its sentences are looked at."""

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_INDENTED = re.compile(r"(?m)^(?: {4}|\t).*$")
_TAG = re.compile(r"<[^<>\n]{1,200}>")
# What a pattern may run over is bounded: a line of nothing but brackets must not cost a second.
_PICTURE = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\s]{0,500}\)")
_LINKED = re.compile(r"\[([^\]\n]{0,200})\]\([^)\s]{0,500}\)")
_ADDRESS = re.compile(
    r"\b(?:https?|ftp|file)://\S+|\bwww\.\S+|[^\s@]{1,64}@[^\s@]{1,200}\.\w{2,20}", re.IGNORECASE
)
_MARKUP = re.compile(
    r"(?m)^\s*(?:#{1,6}\s+|>\s?|[-*+•]\s+|\d{1,2}[.)]\s+)|[*_`~]{1,3}(?=\w)|(?<=\w)[*_`~]{1,3}"
)
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
# After a greeting comes the name of whoever is greeted, up to a comma or the end.
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


def title(text: str) -> str | None:
    """A line of at most ``LENGTH`` characters that says what a message is about: its first sentence that says
    something, without greeting, courtesies, code and links. None where there is none.

    >>> title("Hi Claude! Could you please help me with the tax return for 2024? See https://x.org")
    'The tax return for 2024'
    """
    for sentence in _sentences(text[:_READ]):
        told = _without_opening(sentence)
        if not told.endswith(sentence[:-1]) and not _ASKS.match(told):
            told = told.rstrip("? ")  # "can you find my keys?" was the question, "my keys" is none
        if _tells(told):
            return _cut(told[0].upper() + told[1:])
    return None


def _sentences(text: str) -> list[str]:
    text = _FENCE.sub("\n", text)
    text = _INDENTED.sub("", text)
    text = _LINKED.sub(r"\1", _PICTURE.sub("", text))
    text = _ADDRESS.sub(" ", _TAG.sub(" ", text))
    text = _MARKUP.sub("", text)
    lines = (" ".join(_printable(sentence).split()) for sentence in _ENDS.split(text))
    return [line for line in lines if line][:_SENTENCES]


def _printable(text: str) -> str:
    """Without control characters, halves of a surrogate pair and what has no meaning by itself."""
    return "".join(
        " " if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn", "Zl", "Zp") else c for c in text
    )


def _without_opening(sentence: str) -> str:
    while (rest := _OPENING.sub("", sentence, count=1)) != sentence:
        sentence = rest
    return sentence.strip(" ,;:.!–—-\"'“”„«»()[]")


def _tells(sentence: str) -> bool:
    words = [word.casefold() for word in _WORD.findall(sentence)]
    telling = [word for word in words if word not in STOP_WORDS and word not in _SAYS_NOTHING]
    letters: int = sum(c.isalpha() for word in telling for c in word)
    return letters >= (3 if sentence.isascii() else 2)


def _cut(line: str) -> str:
    """The line, cut at a word; one without spaces anywhere."""
    if len(line) <= LENGTH:
        return line
    cut = line[: LENGTH - 1]
    at_word = cut if line[LENGTH - 1].isspace() else cut.rpartition(" ")[0]
    return (at_word if len(at_word) > LENGTH // 2 else cut).rstrip(" ,;:.!–—-") + "…"

"""Names and numbers in a sentence, files in a message: simple, and rather none than a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?: (?:[^\W\d_a-zß-öø-ÿ][\w'’-]*|\d{1,4}(?:\.\d+)*))*")
_NUMBER = re.compile(
    r"(?<![\w.,/:-])(?:[$€£¥] ?\d[\d.,]*\d|[$€£¥] ?\d|\d[\d.,]*\d? ?(?:%|€|\$|£|(?:km|kg|GB|MB|TB|ms|USD|EUR)(?!\w))"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d ?(?:am|pm|Uhr|h)\b|v?\d+\.\d+(?:\.\d+)*|(?!(?:19|20)\d\d\b)\d{3,})(?![\w-])"
)
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}|\d")
_GENITIVE = re.compile(r"['’]s$")
_SUFFIX = re.compile(
    r"\.(?:py|pyi|ipynb|js|jsx|ts|tsx|mjs|css|scss|html?|json|ya?ml|toml|ini|cfg|conf|md|rst|txt|csv|tsv|sql|sh|bash|ps1|rs"
    r"|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|jl|exs?|vue|svelte|xml|lock|log|env|pdf|docx?|xlsx?|pptx?|png|jpe?g"
    r"|gif|svg|zip|gz|db|sqlite)(?![\w/@-]|\.\w)"
)
_IN_PATH = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/~")
_NO_FILE = re.compile(
    r"(?:[a-z]+\.)*(?:node|next|vue|nuxt|express|three|d3|react|angular|chart|discord|socket)\.(?:js|ts)"
    r"|(?:request|response|res|req|self|this|np|pd|os|sys|app|plt|math|logger)\.\w+",
    re.IGNORECASE,
)
"""Libraries that are called like a file, and what programs call a part of something."""

LOOKED = 20_000
"""Characters of a message in which files are looked for."""

LONGEST_PATH = 120

_COMMON = frozenset(
    "I I'm I'll I've I'd OK TODO FIXME FAQ LOL OMG PS BTW FYI ASAP NOT AND THE A No Yes Monday Tuesday Wednesday"
    " Thursday Friday Saturday Sunday January February March April May June July August September October November"
    " December Mom Dad God Sir Note Step Hey Hi AM PM KB MB GB TB EUR USD".split()
)


def names(sentence: str, *, nouns: bool = False) -> Iterator[str]:
    """Names and numbers in the order they stand.

    A word with a capital is a name where it does not begin the sentence. Where every noun has one (``nouns``), only a
    run of two, or a word with a capital or a digit inside. A number has a unit, a currency, a point or three digits.
    """
    for match in _NAME.finditer(sentence):
        name = _GENITIVE.sub("", match.group().strip("'’-"))
        if _is_name(name, nouns=nouns) and not _begins(sentence, match.start()):
            yield name
    if any(map(str.isdigit, sentence)):
        yield from (match.group().rstrip(".,") for match in _NUMBER.finditer(sentence))


@lru_cache(maxsize=2_048)
def _paths(text: str) -> tuple[str, ...]:
    return tuple(path for suffix in _SUFFIX.finditer(text) if (path := _before(text, suffix)))


def paths(message: str) -> tuple[str, ...]:
    """The files that a message names, by a known ending; addresses of the web are none."""
    return _paths(message[:LOOKED])


def _before(text: str, suffix: re.Match[str]) -> str | None:
    start = suffix.start()
    first = max(0, start - LONGEST_PATH)
    while start > first and text[start - 1] in _IN_PATH:
        start -= 1
    path = text[start : suffix.end()].removeprefix("./")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    outside = text[start - 1 : start]
    if (
        not any(map(str.isalnum, stem))
        or outside in tuple(":@")
        or path.startswith("//")
        or _NO_FILE.fullmatch(path)
    ):
        return None
    return path


def _begins(text: str, start: int) -> bool:
    """Whether a place is the first word of its sentence, or of what stands in quotes or behind a colon."""
    before = text[:start].rstrip(" \"'“„«(*_[¡¿\n")
    return not before or before[-1] in ".!?:…-–—"


def _is_name(name: str, *, nouns: bool) -> bool:
    words = name.split()
    if len(name) < 2 or all(word in _COMMON for word in words):
        return False
    return not nouns or len(words) > 1 or _INNER.search(name) is not None

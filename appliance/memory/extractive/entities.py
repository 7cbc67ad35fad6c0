"""Names and numbers in a sentence, files in a message. The rules are simple, and prefer no name to a wrong one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from appliance.languages import ENGLISH
from appliance.languages.language import calendar_names

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
_PATH_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/~")
# Libraries with the name of a file, and what programs call a part of something.
_NOT_A_FILE = re.compile(
    r"(?:[a-z]+\.)*(?:node|next|vue|nuxt|express|three|d3|react|angular|chart|discord|socket)\.(?:js|ts)"
    r"|(?:request|response|res|req|self|this|np|pd|os|sys|app|plt|math|logger)\.\w+",
    re.IGNORECASE,
)

SCAN_CHARACTERS = 20_000  # of a message that are searched for files

MAX_PATH_CHARACTERS = 120

_COMMON = frozenset(
    "I I'm I'll I've I'd OK TODO FIXME FAQ LOL OMG PS BTW FYI ASAP NOT AND THE A No Yes"
    " Mom Dad God Sir Note Step Hey Hi AM PM KB MB GB TB EUR USD".split()
) | frozenset(name.capitalize() for name in calendar_names(ENGLISH.temporal))


def names(sentence: str, *, nouns_capitalized: bool = False) -> Iterator[str]:
    """Yield names and numbers in their order.

    A word with a capital is a name where it does not begin the sentence. Where every noun has a capital, a name is a
    run of two words, or a word with a capital or a digit inside. A number has a unit, a currency, a point or three
    digits."""
    for match in _NAME.finditer(sentence):
        name = _GENITIVE.sub("", match.group().strip("'’-"))
        if _is_name(name, nouns_capitalized=nouns_capitalized) and not _begins_sentence(sentence, match.start()):
            yield name
    if any(map(str.isdigit, sentence)):
        yield from (match.group().rstrip(".,") for match in _NUMBER.finditer(sentence))


@lru_cache(maxsize=2_048)
def _paths(text: str) -> tuple[str, ...]:
    return tuple(path for suffix in _SUFFIX.finditer(text) if (path := _path_before(text, suffix)))


def paths(message: str) -> tuple[str, ...]:
    """Return the files that a message names, by a known suffix; web addresses are none."""
    return _paths(message[:SCAN_CHARACTERS])


def _path_before(text: str, suffix: re.Match[str]) -> str | None:
    start = suffix.start()
    first = max(0, start - MAX_PATH_CHARACTERS)
    while start > first and text[start - 1] in _PATH_CHARACTERS:
        start -= 1
    path = text[start : suffix.end()].removeprefix("./")
    stem = path.rpartition("/")[2].rpartition(".")[0]
    is_address = text[start - 1 : start] in tuple(":@") or path.startswith("//")
    return None if is_address or not any(map(str.isalnum, stem)) or _NOT_A_FILE.fullmatch(path) else path


def _begins_sentence(text: str, start: int) -> bool:
    """Whether a place is the first word of its sentence, of a quotation, or after a colon."""
    before = text[:start].rstrip(" \"'“„«(*_[¡¿\n")
    return not before or before[-1] in ".!?:…-–—"


def _is_name(name: str, *, nouns_capitalized: bool) -> bool:
    words = name.split()
    if len(name) < 2 or all(word in _COMMON for word in words):
        return False
    return not nouns_capitalized or len(words) > 1 or _INNER.search(name) is not None

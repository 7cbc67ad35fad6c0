"""Makes scripts without spaces searchable for tokenizers that split at spaces.

A run of Han, Kana, Hangul, Thai, Lao, Khmer or Myanmar becomes its overlapping pairs of characters, the usual way to
find a word within such a run without a dictionary. Both lexical engines (the sparse vectors of the index and the full
text) treat documents and queries with the same function, so that they match.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

from appliance.store.damage import decode_text

# Letters and marks only: punctuation of these scripts (、。「」・ ฯ) must keep separating runs.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e"  # Thai
    "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"  # Lao
    "\u1000-\u103f\u1050-\u108f\u109a-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f"  # Myanmar
    "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"  # Hangul
    "\u1780-\u17d3\u17d7\u17dc\u17dd"  # Khmer
    "\u3005-\u3007\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # Kana
    "\u2e80-\u2fd5\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
"""The letters of these scripts, as the content of a character set in a regular expression."""

MAX_VARIED_PAIRS = 3
"""How many pairs of letters of a word are spelled both ways: "Schlossstraße" has two."""

_RUN = re.compile(f"[{UNSPACED}]+")
_CHARACTER = re.compile(f"[{UNSPACED}]")
_NUMBER = re.compile(r"\d{2,}")
_FOREIGN_DIGIT = re.compile(r"(?![0-9])\d")
_DIGITS = tuple(
    str.maketrans({str(digit): chr(zero + digit) for digit in range(10)}) for zero in (0x0660, 0x06F0, 0x0966, 0x09E6)
)
"""Arabic, Persian and Urdu, Devanagari, Bengali."""
_LETTER_PAIRS = {"œ": "oe", "æ": "ae", "ß": "ss"}
_LETTERS_OF_PAIRS = {pair: letter for letter, pair in _LETTER_PAIRS.items()}
_PAIR = re.compile("|".join((*_LETTER_PAIRS, *_LETTERS_OF_PAIRS)))
_PAIRED_LETTERS = str.maketrans(_LETTER_PAIRS)
_OTHER_BYTES = bytes(set(range(256)) - {0xE0, 0xE1, *range(0xE3, 0xF5)})
_RADICAL = re.compile(b"\xe2[\xba-\xbf]")


def _may_have_unspaced(text: str) -> bool:
    """Whether a text may have letters of these scripts, by the first bytes of its characters in UTF-8. To look for the
    letters themselves takes three times as long, and most text that is not plain ASCII has quotation marks or accents
    only."""
    if text.isascii():
        return False
    data = text.encode("utf-8", "surrogatepass")
    return bool(data.translate(None, _OTHER_BYTES)) or _RADICAL.search(data) is not None


def _character_pairs(run: re.Match[str]) -> str:
    characters = run.group()
    return f" {' '.join(map(''.join, itertools.pairwise(characters))) or characters} "


def split_unspaced(text: str) -> str:
    """Return the text with each run of an unspaced script as overlapping pairs, separated by spaces.

    >>> split_unspaced("東京都へ go")
    ' 東京 京都 都へ  go'

    A run of one character stays as it is. Text in other scripts is returned unchanged; plain ASCII, which most text is,
    is not even searched.
    """
    return _RUN.sub(_character_pairs, text) if _may_have_unspaced(text) else text


def searchable(text: str | bytes | None) -> str:
    """Return the text as full text indexes it: composed, runs as pairs, and each of their characters alone.

    The schema gives it the bytes of the text, because Python's ``sqlite3`` refuses text that is not UTF-8; of a damaged
    row it may give nothing.

    >>> searchable("黒い猫")
    ' 黒い い猫  黒 い 猫'
    """
    if isinstance(text, bytes):
        text = decode_text(text)
    if text is None:
        return ""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFKC", text)
    if not _may_have_unspaced(composed):
        return composed
    singles = single_characters(composed)
    return f"{split_unspaced(composed)} {singles}" if singles else composed


def single_characters(text: str) -> str:
    """Return only the characters of unspaced scripts, separated by spaces; empty for other text.

    Indexed in addition to the pairs, they let a query of one character (猫) find the runs that contain it.

    >>> single_characters("黒い猫 and dog")
    '黒 い 猫'
    """
    return " ".join(_CHARACTER.findall(text)) if _may_have_unspaced(text) else ""


def fold_digits(text: str) -> str:
    """Return the text with the digits of every script as ASCII.

    >>> fold_digits("١٥٠٠ ريال")
    '1500 ريال'
    """
    return text if text.isascii() else _FOREIGN_DIGIT.sub(lambda digit: str(int(digit.group())), text)


def other_digits(text: str) -> list[str]:
    """Return the numbers of a query in the digits of the other scripts, because full text and the index hold them as
    they are written.

    >>> other_digits("room 42")[:2]
    ['٤٢', '۴۲']
    """
    found: dict[str, None] = {}
    for number in dict.fromkeys(_NUMBER.findall(text)):
        plain = fold_digits(number)
        forms = (plain, *(plain.translate(digits) for digits in _DIGITS))
        found |= dict.fromkeys(form for form in forms if form != number)
    return list(found)


def fold_letter_pairs(text: str) -> str:
    """Return a text in lower case with the letters that stand for two as these two.

    >>> fold_letter_pairs("œuvre")
    'oeuvre'
    """
    return text if text.isascii() else text.translate(_PAIRED_LETTERS)


def other_letter_pairs(word: str) -> list[str]:
    """Return the other spellings of a word with œ, æ or ß, or with the two letters that each of them stands for: full
    text holds them as they are written, and many keyboards have only one of them.

    >>> other_letter_pairs("bœuf")
    ['boeuf']
    """
    plain = word.lower()
    if _PAIR.search(plain) is None:
        return []
    parts = _PAIR.sub(lambda found: f"\0{found.group()}\0", plain, MAX_VARIED_PAIRS).split("\0")
    options = [(part, _LETTER_PAIRS.get(part) or _LETTERS_OF_PAIRS.get(part)) for part in parts]
    forms = map("".join, itertools.product(*([one for one in option if one is not None] for option in options)))
    return [form for form in forms if form != plain]


def is_mostly_unspaced(text: str) -> bool:
    """Whether at least half of the characters of a text are letters of unspaced scripts."""
    return _may_have_unspaced(text) and 2 * len(_CHARACTER.findall(text)) >= len(text)


def is_question(text: str) -> bool:
    """Whether a message ends with a question mark of any script, not counting an image after it."""
    text = text.rstrip()
    if text.endswith("]") and (image := text.find("[image:", text.rfind("]", 0, -1) + 1)) >= 0:
        text = text[:image].rstrip()
    return text.endswith(("?", "？", "؟", ";"))

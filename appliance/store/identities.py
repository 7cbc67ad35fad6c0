"""The normal forms of identities: mail addresses, telephone numbers, ids and names.

A number with its country is written "+491701234567". One without is kept in digits, as it is dialled at home; it is the
same as an international number if that is a country's code and then these digits, without the leading zero that is
dialled within a country.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from appliance.store.lexical import fold
from appliance.types import IdentityKind

MIN_NUMBER_DIGITS = 7
"""Shorter ones are services and extensions, which many people have."""

MIN_NATIONAL_DIGITS = 8
"""From this length on, a number without its country is compared with international ones: shorter ones lack the code of
their town, and may be of anybody."""

MAX_NUMBER_DIGITS = 15
"""The longest international number (E.164)."""

_TWO_DIGIT_CODES = frozenset(
    "20 27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 51 52 53 54 55 56 57 58 60 61 62 63 64 65 66 81 82 84 86 90"
    " 91 92 93 94 95 98".split()
)
"""The codes of countries with two digits (ITU E.164). Those of one digit are 1 and 7; all others have three."""

_MARKS = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks of direction, which messengers put around numbers."""
_NUMBER = re.compile(r"\+?[\d\s().\-/\u2010-\u2015]{5,40}")
_WITHOUT_MARKS = dict.fromkeys(map(ord, _MARKS))
_TRUNK = re.compile(r"\(\s*0\s*\)")
_ADDRESS = re.compile(r"[^\s<>(),;:\"@]{1,64}@[^\s<>(),;:\"@]+\.[^\s<>(),;:\"@.]{2,}")
_NOT_DIGIT = re.compile(r"\D")


def normalise(kind: IdentityKind, value: str) -> str | None:
    """Return the normal form of a value, or None if it is no value of this kind."""
    value = value.strip()
    if kind == "address":
        return normalise_address(value)
    if kind == "number":
        return normalise_number(value)
    return " ".join(value.split()) or None


def normalise_address(value: str) -> str | None:
    value = value.strip().removeprefix("mailto:").strip("<>").casefold()
    return value if _ADDRESS.fullmatch(value) else None


def normalise_number(value: str) -> str | None:
    value = value.translate(_WITHOUT_MARKS).strip().removeprefix("tel:").partition(";")[0].strip()
    if not _NUMBER.fullmatch(value):
        return None
    digits = _NOT_DIGIT.sub("", _TRUNK.sub("", value))
    is_international = value.startswith("+")
    if not is_international and digits.startswith("00"):
        is_international, digits = True, digits[2:]
    if not MIN_NUMBER_DIGITS <= len(digits) <= MAX_NUMBER_DIGITS:
        return None
    return f"+{digits}" if is_international else digits


def of_author(author: str) -> tuple[IdentityKind, str] | None:
    """Return the address or number that an author's name is, if it is one."""
    if "@" in author:
        address = normalise_address(author)
        return None if address is None else ("address", address)
    if (number := normalise_number(author)) is not None and len(number) > MIN_NUMBER_DIGITS:
        return "number", number
    return None


def international_forms(numbers: Iterable[str]) -> Mapping[str, str]:
    """Return, for each number without a country, the international one that it is: the only one of ``numbers`` that
    ends in its digits. Numbers that fit none, or several, are left out."""
    by_national: dict[str, set[str]] = {}
    numbers = set(numbers)
    for number in numbers:
        if number.startswith("+"):
            for national in national_forms(number):
                by_national.setdefault(national, set()).add(number)
    found: dict[str, str] = {}
    for number in numbers:
        if not number.startswith("+"):
            fitting = by_national.get(number, set()) | by_national.get(number.lstrip("0"), set())
            if f"+{number}" in numbers:  # written without the plus
                fitting = fitting | {f"+{number}"}
            if len(fitting) == 1:
                found[number] = next(iter(fitting))
    return found


def country_codes() -> Iterator[str]:
    """Yield the codes of all countries, and those that none has yet."""
    yield from "17"
    for digits in map(str, range(20, 100)):
        if digits in _TWO_DIGIT_CODES:
            yield digits
        elif digits[0] != "7":
            yield from (f"{digits}{digit}" for digit in range(10))


def national_forms(number: str) -> tuple[str, ...]:
    """Return the digits of an international number without the code of its country, if enough are left."""
    digits = number.removeprefix("+")
    size = 1 if digits[0] in "17" else 2 if digits[:2] in _TWO_DIGIT_CODES else 3
    national = digits[size:]
    forms = (national, national.lstrip("0"))  # in Italy the zero is dialled from abroad, too
    return tuple(dict.fromkeys(form for form in forms if len(form) >= MIN_NATIONAL_DIGITS))


def is_same_value(kind: str, stored: str, wanted: str) -> bool:
    """Whether a stored identity is what a person typed, in whatever spelling."""
    if kind == "name":
        return fold(stored) == fold(wanted)
    if kind == "number":
        number = normalise_number(wanted)
        return number is not None and is_same_number(stored, number)
    if kind == "address":
        return stored == normalise_address(wanted)
    return fold(stored).removeprefix("@") == fold(wanted).removeprefix("@")


def is_same_number(a: str, b: str) -> bool:
    """Whether two numbers in normal form are the same, also if only one of them has its country."""
    return a == b or (a.startswith("+") is not b.startswith("+") and len(international_forms((a, b))) == 1)

"""Telephone numbers in texts: the same digits in whatever groups, with and without the code of a country.

Full text has each group of digits as a word of its own, and a number may be written in any groups. Its last six digits
have few groupings: full text finds the messages that have one of them as a phrase, and the texts of these decide. A
number that is one word begins with a code that a national form does not tell, so that all codes are tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import digits

from appliance.store.identities import (
    MAX_NUMBER_DIGITS,
    MIN_NUMBER_DIGITS,
    country_codes,
    is_same_number,
    national_forms,
    normalise_number,
)
from appliance.store.lexical import quote_fts
from appliance.store.scripts import fold_digits

MIN_LOOKED_UP_DIGITS = 6
"""So many of the last digits are looked up as a phrase, if the number is not one word: of a million messages, few have
the same ones."""

MIN_GROUP_DIGITS = 2
"""Single digits stand only at the beginning of a number ("+33 6 71 33 20 58")."""

MIN_WHOLE_DIGITS = 11
"""From this length on, a number without a plus may begin with the code of a country ("33671332058")."""

MIN_PART_DIGITS = 9
"""From this length on, a number is found beside other digits: "06 71 33 20 58, 10 h" without the comma. Shorter ones
are rather a part of a longer number."""

_SEPARATORS = " \t\u00a0\u202f().-/\u2010\u2011\u2012\u2013\u2014\u2015"
_RUN = re.compile(rf"(?<![\w+,])\+?\(?\d(?:[{re.escape(_SEPARATORS)}]{{0,3}}\d)+")
_MARKS = "+(0"
"""With one of these, only telephone numbers begin."""

_GROUP = re.compile(r"\d+")
_SPACE = re.compile(r"\s")
_BEGINS_PART_OF_NAME = re.compile(r"[^\s:;,!?\"'`“”„«»\[{<\u200e-\u2069]")
_ENDS_PART_OF_NAME = re.compile(r"[\w/@#=-]|[.:]\w")
_DATE = re.compile(r"(?<!\d)(?:(?:19|20)\d\d([./-])\d{1,2}\1\d{1,2}|\d{1,2}([./-])\d{1,2}\2(?:19|20)\d\d)(?!\d)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ADDRESS_OF_NETWORK = re.compile(r"[1-9]\d{0,2}(?:\.\d{1,3}){3}")


@dataclass(frozen=True, slots=True)
class PhoneNumber:
    """A number that a query asks for.

    Attributes:
        text: The number as the query has it.
        value: Its normal form: see ``identities``.
        is_certain: Whether it can be nothing else: "12 34 56 78" may be four numbers.
    """

    text: str
    value: str
    is_certain: bool

    @property
    def digits(self) -> str:
        return self.value.removeprefix("+")

    @property
    def may_have_code(self) -> bool:
        return _with_plus(self.value).startswith("+")

    @property
    def national(self) -> str:
        """The digits without the code of the country and the zero before them, as far as they are known."""
        if self.may_have_code and (forms := national_forms(f"+{self.digits}")):
            return forms[-1]
        without_zero = self.digits.lstrip("0")
        return without_zero if len(without_zero) >= MIN_NUMBER_DIGITS else self.digits


def find_phone_numbers(query: str) -> Iterator[PhoneNumber]:
    """Yield the numbers of a query that may be telephone numbers, without dates and addresses of the network."""
    for start, run in _runs(fold_digits(query)):
        end = start + len(run)
        if _BEGINS_PART_OF_NAME.match(query, max(start - 1, 0), start) or _ENDS_PART_OF_NAME.match(query, end):
            continue
        for part in [query[start:end]] if _count_digits(run) <= MAX_NUMBER_DIGITS else query[start:end].split():
            plain = fold_digits(part)
            value = normalise_number(plain)
            if value is not None and _may_be_asked_for(plain):
                yield PhoneNumber(part, value, is_certain=plain[0] in _MARKS or _SPACE.search(plain) is None)


def _runs(text: str) -> Iterator[tuple[int, str]]:
    """Where runs of digits in groups begin, and the runs, without a last group that goes on as a word ("20 58 10h")."""
    for found in _RUN.finditer(text):
        run = found.group()
        if text[found.end() : found.end() + 1].isalpha():
            run = run.rstrip(digits).rstrip(_SEPARATORS)
        if run:
            yield found.start(), run


def _count_digits(run: str) -> int:
    return sum(map(len, _GROUP.findall(run)))


def _may_be_asked_for(part: str) -> bool:
    groups = _GROUP.findall(part)
    if part[0] not in _MARKS and len(groups) == 2 and _SPACE.search(part):  # two numbers: "room 714 1234"
        return False
    return not (_DATE.search(part) or _ADDRESS_OF_NETWORK.fullmatch(part) or all(map(_YEAR.fullmatch, groups)))


def match_expression(number: PhoneNumber) -> str:
    """Return the FTS5 expression of the messages that may have a number."""
    national = number.national
    codes = [number.digits.removesuffix(national)] if number.may_have_code else []
    heads = ["", "0", *(form for code in codes for form in (code, f"00{code}"))]
    whole = [f"{head}{national}" for head in heads]
    if not codes:
        whole += [f"{zeros}{code}{national}" for code in country_codes() for zeros in ("", "00")]
    phrases = [" ".join(groups) for groups in _endings(national, heads)]
    return " OR ".join(map(quote_fts, dict.fromkeys((number.digits, *whole, *phrases))))


def _endings(national: str, heads: Sequence[str], behind: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The groups in which a number may end, as many as have ``MIN_LOOKED_UP_DIGITS``. A group with its first digits may
    begin with one of the ``heads``."""
    looked_up = sum(map(len, behind))
    if looked_up >= MIN_LOOKED_UP_DIGITS or not national:
        yield behind
        return
    for start in range(len(national)):
        group = national[start:]
        if start == 0:
            yield from ((f"{head}{group}", *behind) for head in heads)
        elif len(group) >= MIN_GROUP_DIGITS:
            yield from _endings(national[:start], heads, (group, *behind))


def has_number(number: PhoneNumber, text: str) -> bool:
    """Whether a text has a number: its digits, or the same with or without the code of a country."""
    return any(_is_same(number, value) for value in _values(number, text))


def has_digits(number: PhoneNumber, text: str) -> bool:
    """Whether a text has all digits of a number."""
    return any(value.removeprefix("+") == number.digits for value in _values(number, text))


def _is_same(number: PhoneNumber, value: str) -> bool:
    return (
        value.removeprefix("+") == number.digits
        or is_same_number(_with_plus(number.value), value)
        or is_same_number(number.value, _with_plus(value))
    )


def _with_plus(value: str) -> str:
    """A number in normal form with a plus, if it may begin with the code of a country."""
    return f"+{value}" if len(value) >= MIN_WHOLE_DIGITS and value[0] not in "+0" else value


def _values(number: PhoneNumber, text: str) -> Iterator[str]:
    """The numbers of a text that may be this one, in normal form."""
    ending = number.digits[-MIN_LOOKED_UP_DIGITS:]
    for _, run in _runs(fold_digits(text)):
        if ending in "".join(_GROUP.findall(run)):
            for part in _parts(run, may_be_part=len(number.national) >= MIN_PART_DIGITS):
                if (value := normalise_number(part)) is not None:
                    yield value


def _parts(run: str, *, may_be_part: bool) -> Iterator[str]:
    """A run, each of its groups, and what of it begins like a number, if a part of a run may be a number: few digits
    are rather a part of a longer one."""
    yield run
    groups = list(_GROUP.finditer(run))
    digits_before = 0
    for place, found in enumerate(groups):
        # The digits behind a plus have no meaning without it, unless they are of the next number.
        stands_alone = "+" not in run or digits_before >= MIN_NUMBER_DIGITS
        if stands_alone:
            yield found.group()
        if may_be_part and (not place or (stands_alone and found.group()[0] == "0")):
            start = found.start() if place else 0
            yield from (run[start : end.end()] for end in groups[place + 1 : place + MAX_NUMBER_DIGITS])
        digits_before += len(found.group())

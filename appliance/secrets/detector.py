"""Finds the secrets of texts.

A pass over the texts looks for all keywords at once; only the rules of those that occur are tried, so that most
messages cost no regular expression."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.resources import files
from itertools import accumulate
from typing import Any

import msgspec

from appliance.secrets import generic, openers, personal
from appliance.secrets.personal import SecretSpan

MIN_WORD_SECRET = 30
"""A shorter value of letters alone is a word."""

Find = Callable[[str], Iterable[SecretSpan]]

_NEXT_TO_KEYWORD = {
    "twilio-api-key": re.compile("[0-9a-f]{32}"),
    "find_keys": generic.AFTER_KEY_NAME,
    "find_opening_codes": openers.AFTER_CODE,
}
"""What comes after a keyword, in small letters, where a rule finds anything at it; for those rules whose keywords are
words that many messages have, or parts of such words ("task")."""

_DIGITS = re.compile(r"[0-9]\d{3}[ -]?\d{4}")  # begins with a small set of characters, which is searched for quickly


_BY_DIGITS: dict[Find, None] = {generic.find_cards: None, personal.find_ibans: None}
"""What is recognised by its digits alone."""


@dataclass(frozen=True)
class _Rule:
    """A rule of gitleaks; its expressions are compiled when its keyword first occurs."""

    kind: str
    regex: str
    keywords: tuple[str, ...]
    entropy: float = 0.0
    group: int = 0
    allowed_secret: tuple[str, ...] = ()
    allowed_match: tuple[str, ...] = ()

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(self.regex)

    def find(self, text: str, is_allowed: _Allowlist) -> Iterable[SecretSpan]:
        for found in self.pattern.finditer(text):
            group = self.group or next((number for number in range(1, len(found.groups()) + 1) if found[number]), 0)
            secret = found[group]
            if self.entropy and generic.entropy(secret) <= self.entropy:
                continue
            if secret.isalpha() and len(secret) < MIN_WORD_SECRET:
                continue
            if is_allowed(secret) or any(re.search(one, secret) for one in self.allowed_secret):
                continue
            if any(re.search(one, found[0]) for one in self.allowed_match):
                continue
            yield self.kind, *found.span(group)


class _Allowlist:
    """Whether a value is known to be none: a variable, a placeholder, a path."""

    def __init__(self, expressions: Sequence[str], stop_words: Sequence[str]) -> None:
        self._patterns = [re.compile(one) for one in expressions]
        self._stop_words = stop_words

    def __call__(self, secret: str) -> bool:
        lowered = secret.lower()
        return any(word in lowered for word in self._stop_words) or any(one.search(secret) for one in self._patterns)


class _Detector:
    """All rules, by their keywords. Reading them takes a few milliseconds, so that it is done when first needed."""

    def __init__(self) -> None:
        from ahocorasick_rs import AhoCorasick, Implementation

        document: dict[str, Any] = msgspec.json.decode(files(__package__).joinpath("rules.json").read_bytes())
        is_allowed = _Allowlist(document["allowed"], document["stop_words"])
        by_keyword: dict[str, list[tuple[Find, re.Pattern[str] | None]]] = {}
        for values in document["rules"]:
            rule = msgspec.convert(values, _Rule)
            find = partial(rule.find, is_allowed=is_allowed)
            for keyword in rule.keywords:
                by_keyword.setdefault(keyword, []).append((find, _NEXT_TO_KEYWORD.get(rule.kind)))
        for find_generic, keywords in (*generic.RULES, *personal.RULES, *openers.RULES):
            for keyword in keywords:
                next_to = _NEXT_TO_KEYWORD.get(find_generic.__name__)
                by_keyword.setdefault(keyword, []).append((find_generic, next_to))
        self._rules_of = list(by_keyword.values())
        self._keywords = AhoCorasick(list(by_keyword), implementation=Implementation.DFA)

    def rules_by_text(self, texts: Sequence[str]) -> dict[int, list[Find]]:
        """Return the rules that may find something, by the number of the text. All texts are searched in one go,
        because most of the time of a short text would be that of the call."""
        lowered = [text.lower() for text in texts]
        ends = list(accumulate(len(text) + 1 for text in lowered))
        joined = "\n".join(lowered)
        rules: dict[int, dict[Find, None]] = {}
        for keyword, start, end in self._keywords.find_matches_as_indexes(joined, overlapping=True):
            for find, next_to in self._rules_of[keyword]:
                if next_to is None or next_to.match(joined, end):
                    rules.setdefault(bisect_right(ends, start), {})[find] = None
        for digits in _DIGITS.finditer(joined):
            rules.setdefault(bisect_right(ends, digits.start()), {}).update(_BY_DIGITS)
        return {number: list(found) for number, found in rules.items()}


@cache
def _detector() -> _Detector:
    return _Detector()


def find_in_texts(texts: Sequence[str]) -> dict[int, list[SecretSpan]]:
    """Return the secrets of texts, by the number of the text, where there are any; in order, no two overlap."""
    found: dict[int, list[SecretSpan]] = {}
    for number, rules in _detector().rules_by_text(texts).items():
        spans = [span for find in rules for span in find(texts[number])]
        if spans:
            found[number] = _without_overlaps(spans)
    return found


def find_secrets(text: str) -> list[SecretSpan]:
    """Return the secrets of a text, in order; no two overlap."""
    return find_in_texts([text]).get(0, [])


def _without_overlaps(found: list[SecretSpan]) -> list[SecretSpan]:
    """Of secrets that overlap the first, and of those that begin at one place the longest; a rule of a service names
    it better than a general one, and comes first."""
    kept: list[SecretSpan] = []
    for kind, start, end in sorted(dict.fromkeys(found), key=lambda one: (one[1], -one[2])):
        if not kept or start >= kept[-1][2]:
            kept.append((kind, start, end))
    return kept

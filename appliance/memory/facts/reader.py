"""What a message states: the rules of all languages over one text, and everything that makes a sentence no statement.

``read`` is a pure function of a text and the day it was said. It goes through the text in linear time: words that some
rule needs are looked for first, then rules, and only where one matches the text is prepared and cut into sentences.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import islice

from appliance.memory.facts import dates, wording
from appliance.memory.facts.english import ENGLISH
from appliance.memory.facts.german import GERMAN
from appliance.memory.facts.language import READERS, Language, Look, Mode, Rule, joint
from appliance.memory.facts.passages import GAP, Passage, is_casual, lowered, masked, sentences
from appliance.memory.facts.patterns import Pattern
from appliance.memory.facts.spanish import SPANISH
from appliance.types import FactKind

LANGUAGES = (ENGLISH, GERMAN, SPANISH)

PREFIX = 4
"""Letters of a word by which rules are looked up: enough to tell most words apart, few enough for their endings."""

FEW = 12
"""So many needs of a rule are looked for one by one, as they stand, before its pattern is tried."""

MOST_MATCHES = 40
"""Of one rule in one message: more is a list or a trap, and each has its price."""

MOST_FOUND = 60
"""Statements of one message."""

MOST_LISTED = 8
"""Values that are told in one breath ("A, B and C")."""

_TO_SPACES = str.maketrans(dict.fromkeys('.,;:!?()[]{}"“”„»«*_`…¿¡/-–—\x00', " "))
_LAST_WORD = re.compile(r"([^\s]+)\s*$")
_TO_VERSION = re.compile(r" (?:to|auf|a) (?=v?\d)")
_UNTIL = re.compile(r"[ \t]+(?:until|till|bis|hasta)\b")
_FROM = re.compile(r"[ \t]+(?:from|between|von|entre|de|desde)\b")
_TO = re.compile(r"[ \t]+(?:to|and|until|till|bis|und|hasta|a|y)\b|[ \t]*[–-]")
_LONGEST_TIME = 40
"""Characters, of a time that stands before a statement."""

_SINCE_BEFORE = re.compile(r"\b(?:since|seit|desde)(?=[ \t])")
_SINCE = re.compile(r"[ \t]+(?:since|in|seit|desde|en|im)\b")


@dataclass(frozen=True, slots=True)
class Found:
    """A statement of a message. ``start`` and ``end`` are the characters of the sentence that says it; ``since`` and
    ``until`` are ISO 8601 days, months or years, if it names them."""

    kind: FactKind
    subject: str
    attribute: str
    value: str
    mode: Mode
    confidence: float
    start: int
    end: int
    rule: str
    since: str | None = None
    until: str | None = None


class _Text:
    """A message, prepared as far as it is asked for."""

    def __init__(self, text: str, said: date | None) -> None:
        self.text = text
        self.said = said
        self.low = lowered(text)

    @cached_property
    def prepared(self) -> str:
        return masked(self.low)

    @cached_property
    def casual(self) -> bool:
        return is_casual(self.text)

    @cached_property
    def passages(self) -> list[Passage]:
        return list(sentences(self.prepared))

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.start for passage in self.passages]

    def passage(self, at: int) -> Passage | None:
        """The sentence that a place is in."""
        number = bisect_right(self._starts, at) - 1
        return self.passages[number] if number >= 0 and at < self.passages[number].end else None


def _by_word() -> dict[str, tuple[tuple[Language, Rule], ...]]:
    """The rules by the beginnings of the words that they need: of a phrase by its longest one."""
    rules: dict[str, dict[tuple[int, str], tuple[Language, Rule]]] = {}
    for number, language in enumerate(LANGUAGES):
        for rule in language.rules:
            for need in rule.needs:
                word = max(need.split(), key=len)[:PREFIX]
                rules.setdefault(word, {})[number, rule.name] = (language, rule)
    return {word: tuple(found.values()) for word, found in rules.items()}


_FIGURES = {str(number) for number in range(10_000)} | {
    f"{n}{e}" for n in range(1, 32) for e in ("st", "nd", "rd", "th")
}
"""What a word that is a number begins with."""

_RULES_OF = _by_word()
_WORDS = _RULES_OF.keys()


def _candidates(low: str) -> dict[Language, list[Rule]]:
    """The rules whose opening words are somewhere in a text, by language."""
    words = {word[:PREFIX] for word in low.translate(_TO_SPACES).split()}
    begun = words & _WORDS
    if not begun:
        return {}
    if not words.isdisjoint(_FIGURES):
        words.add("0")
    found = {id(pair[1]): pair for word in begun for pair in _RULES_OF[word]}
    gates: dict[Pattern, bool] = {}
    hits: dict[Language, list[Rule]] = {}
    for language, rule in found.values():
        if rule.also and rule.also.isdisjoint(words):
            continue
        if len(rule.needs) <= FEW and not _any_in(rule.needs, low):
            continue
        if rule.gate is not None:
            if rule.gate not in gates:
                gates[rule.gate] = rule.gate.search(low) is not None
            if not gates[rule.gate]:
                continue
        if rule.pattern.search(low):
            hits.setdefault(language, []).append(rule)
    return hits


def _any_in(needs: tuple[str, ...], low: str) -> bool:
    for need in needs:  # noqa: SIM110 - a generator takes twice as long
        if need in low:
            return True
    return False


def read(text: str, said: date | None = None) -> list[Found]:
    """What a message's writer states of themselves, their people and their things, in the order of the text."""
    given = _Text(text, said)
    found: dict[tuple[str, str, str, Mode], Found] = {}
    for language, rules in _candidates(given.low).items():
        elsewhere = language.elsewhere.search(given.prepared)
        upto = elsewhere.start() if elsewhere else len(text)
        for rule in sorted(rules, key=lambda rule: (-rule.confidence, rule.name)):
            for one in _by_rule(rule, given, language, upto):
                same = (one.subject, one.attribute, wording.key(one.value), one.mode)
                found.setdefault(same, one)
                if len(found) >= MOST_FOUND:
                    return _ordered(found)
    return _ordered(found)


def _ordered(found: dict[tuple[str, str, str, Mode], Found]) -> list[Found]:
    ended = {(f.subject, f.attribute, wording.key(f.value)) for f in found.values() if f.mode == "ended"}
    held = [
        f
        for f in found.values()
        if f.mode == "ended" or (f.subject, f.attribute, wording.key(f.value)) not in ended
    ]
    return sorted(held, key=lambda one: one.start)


def _by_rule(rule: Rule, given: _Text, language: Language, upto: int) -> Iterator[Found]:
    for match in islice(rule.pattern.finditer(given.prepared, 0, upto), MOST_MATCHES):
        passage = given.passage(
            match.start() if given.prepared[match.start()] not in "\n \t" else match.end() - 1
        )
        if passage is None or match.end() > passage.end:
            passage = given.passage(match.end() - 1)
            if passage is None or match.end() > passage.end:
                continue
        look = Look(given.text, given.prepared, passage.end, language, given.casual, given.said)
        for one, end in _values(rule, match, look, passage):
            if _stands(rule, match.start(), end, look, passage):
                yield one


def _values(rule: Rule, match: re.Match[str], look: Look, passage: Passage) -> Iterator[tuple[Found, int]]:
    """What a rule's opening words are followed by, each with the place behind it; then what goes on from there."""
    groups = {
        name: look.text[match.start(name) : match.end(name)]
        for name, text in match.groupdict().items()
        if text
    }
    subject = _subject(rule, groups, look)
    if subject is None:
        return
    attribute = _attribute(rule, groups, look)
    at, end = match.end(), match.end()
    values: list[tuple[str, int]] = []
    if not rule.read:
        values = [(_grouped(rule, groups), end)]
    else:
        reader = READERS[rule.read]
        read = reader(look, at)
        while read is not None and len(values) < MOST_LISTED:
            end = read.end
            values.append((read.value, end))
            after = joint(look, end) if rule.several else None
            read = reader(look, after) if after is not None else None
    if not values or (rule.follows and not rule.follows.match(look.low, end, look.end)):
        return
    if rule.unless and rule.unless.match(look.low, at if rule.read == "rest" else end, look.end):
        return
    since, until, behind = _times(rule, look, end)
    if since is None and rule.mode != "ended":
        since = _since_before(look, max(passage.start, match.start() - _LONGEST_TIME), match)
    for value, ends in values:
        yield Found(
            rule.kind, subject, attribute, value, rule.mode, rule.confidence, *_trimmed(look.text, passage),
            rule.name, since, until,
        ), behind if ends == end else ends  # fmt: skip
    for further in rule.then:
        if going := further.pattern.match(look.low, end, look.end):
            whose = {"me": "me", "{value}": values[-1][0]}.get(further.subject, subject)
            further = replace(further, subject=whose)
            yield from _values(further, going, look, passage)


def _grouped(rule: Rule, groups: dict[str, str]) -> str:
    """The value that a pattern's own groups say."""
    value = rule.value.replace("{value}", groups.get("value", ""))
    if "than" in groups:
        return f"{value} over {groups['than']}"
    return _TO_VERSION.sub(" ", value)


def _subject(rule: Rule, groups: dict[str, str], look: Look) -> str | None:
    """Whom or what a rule speaks of; None where that is nothing that can be named."""
    if rule.subject == "{who}":
        if "who" in groups:
            who = groups["who"]
            return who if who[0].isupper() and who.lower() not in look.language.not_names else None
        return (
            look.language.relations[" ".join(groups["rel"].lower().split())]
            if "rel" in groups
            else look.language.relations.get(groups.get("who2", "").lower(), rule.subject)
        )
    if rule.subject == "{of}" or (rule.kind == "date" and "of" in groups):
        whose = groups.get("of")
        if rule.kind == "relation" and whose and not (whose[0].isupper() and _may_name(whose, look.language)):
            return None
        return whose
    return rule.subject


def _may_name(word: str, language: Language) -> bool:
    return word.lower() not in language.not_names | language.stops | language.hollow


def _attribute(rule: Rule, groups: dict[str, str], look: Look) -> str:
    if rule.attribute == "{rel}":
        return wording.attribute(look.language.relations[" ".join(groups["rel"].lower().split())])
    if rule.attribute == "{event}":
        event = next(
            " ".join(said.lower().split()) for name, said in groups.items() if name.startswith("event")
        )
        event = look.language.events.get(event, event)
        return f"{event} to {groups['to']}" if "to" in groups else event
    if "{what}" in rule.attribute:
        return rule.attribute.replace("{what}", " ".join(groups["what"].lower().split()))
    return rule.attribute


def _times(rule: Rule, look: Look, end: int) -> tuple[str | None, str | None, int]:
    """From when and to when, where the words behind a value say so; and the place behind them."""
    since = until = None
    if rule.mode != "ended":
        if begins := _SINCE.match(look.low, end, look.end):
            exact = begins.group().strip() in ("in", "en", "im")
            named = _year(look, begins) if exact else dates.since(look.low, begins.end(), look.end, look.said)
            since, end = named or (None, end)
        return since, None, end
    begins = _FROM.match(look.low, end, look.end)
    if begins and (named := _year(look, begins)):
        since, end = named
        ends = _TO.match(look.low, end, look.end)
    else:
        ends = _UNTIL.match(look.low, end, look.end)
    if ends and (named := _year(look, ends)):
        until, end = named
    return since, until, end


def _since_before(look: Look, start: int, match: re.Match[str]) -> str | None:
    """From when, where the words right before a statement, or its first ones, say so: "since New Year I've stopped"."""
    begins = _SINCE_BEFORE.search(look.low, start, match.end())
    if begins is None or (named := dates.since(look.low, begins.end(), match.end(), look.said)) is None:
        return None
    return named[0] if look.low[named[1] : max(named[1], match.start())].strip(" \t,") == "" else None


def _year(look: Look, behind: re.Match[str]) -> tuple[str, int] | None:
    return dates.year(look.low, behind.end(), look.end)


def _trimmed(text: str, passage: Passage) -> tuple[int, int]:
    """The sentence without the white space and the list's mark around it."""
    start, end = passage.start, passage.end
    while start < end and (text[start].isspace() or text[start] in "-*•"):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _stands(rule: Rule, start: int, end: int, look: Look, passage: Passage) -> bool:
    """Whether what a rule found between two places of a sentence is a statement of the writer's."""
    language, low = look.language, look.low
    before = language.harmless.sub(" ", low[passage.start : start]) if start > passage.start else ""
    if rule.passing:
        return not language.unreal.search(before) and GAP not in before[-3:]
    if not _begins(rule, before, language):
        return False
    if language.unreal.search(before) or language.unsure.search(
        re.split(r"[,;:–—]| - | but | aber | pero ", before)[-1]
    ):
        return False
    if GAP in before[-3:]:
        return False
    if language.undone.match(low, end, look.end):
        return False
    if passage.asks:
        tail = language.tail.match(low, end, look.end) or _later_tail(language, low, end, look.end)
        return tail is not None and not language.asking.match(before)
    return True


def _later_tail(language: Language, low: str, end: int, limit: int) -> re.Match[str] | None:
    """A question that begins behind a comma further on."""
    for mark in islice(
        re.compile(r"[,;:–—]|[ \t]-[ \t]|[ \t](?:so|and|but|und|aber|y|pero)[ \t]").finditer(low, end, limit),
        4,
    ):
        if found := language.tail.match(low, mark.start(), limit):
            return found
    return None


def _begins(rule: Rule, before: str, language: Language) -> bool:
    """Whether a statement may begin behind these words of its sentence."""
    if rule.carried:
        mine = language.mine is not None and language.mine.match(before) is not None
        return mine and not (language.others and language.others.search(before))
    plain = before.rstrip()
    if not plain or plain[-1] in ",;:-–—(*•>\x00+\"'!.":
        return True
    word = _LAST_WORD.search(plain)
    last = word[1].lstrip("(*-\x00") if word else ""
    return last not in language.bars if rule.loose else last in language.leads

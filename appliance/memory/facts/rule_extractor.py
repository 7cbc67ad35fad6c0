"""What a message states: the rules of all languages, and the conditions under which a sentence is no statement.

``extract_statements`` is a pure function of a text and its date, linear in the length of the text. It first looks for
the words that the rules need, then tries those rules, and prepares and splits the text only where a rule matches."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import islice

from appliance.languages.temporal import words
from appliance.memory.facts import dates, phrasing
from appliance.memory.facts.english import ENGLISH
from appliance.memory.facts.german import GERMAN
from appliance.memory.facts.grammar import FactGrammar, FactRule, LazyPattern, Mode
from appliance.memory.facts.passages import GAP, Passage, is_uncapitalized, mask_foreign_text, split_sentences, to_lower
from appliance.memory.facts.spanish import SPANISH
from appliance.memory.facts.value_readers import READERS, RuleInput, separator_end
from appliance.types import FactKind

GRAMMARS = (ENGLISH, GERMAN, SPANISH)

# Letters of a word by which rules are looked up: they tell most words apart and leave out most endings.
PREFIX_LETTERS = 4
MAX_NEEDS_CHECKED = 12  # a rule with more needs than this goes straight to its pattern
MAX_MATCHES_PER_RULE = 40  # in one message; more is a list or a trap, and every match costs time
MAX_STATEMENTS = 60  # of one message
MAX_LISTED_VALUES = 8  # of one statement ("A, B and C")

_TO_SPACES = str.maketrans(dict.fromkeys('.,;:!?()[]{}"“”„»«*_`…¿¡/-–—\x00', " "))
_LAST_WORD = re.compile(r"([^\s]+)\s*$")
_TO_VERSION = re.compile(r" (?:to|auf|a) (?=v?\d)")
_UNTIL = re.compile(r"[ \t]+(?:until|till|bis|hasta)\b")
_FROM = re.compile(rf"[ \t]+{words('range_start')}\b")
_TO = re.compile(rf"[ \t]+{words('range_end')}\b|[ \t]*[–-]")
_MAX_TIME_CHARACTERS = 40  # of a time that stands before a statement

_SINCE_BEFORE = re.compile(r"\b(?:since|seit|desde)(?=[ \t])")
_SINCE = re.compile(r"[ \t]+(?:since|in|seit|desde|en|im)\b")
_CLAUSE_BREAK = re.compile(r"[,;:–—]| - | but | aber | pero ")
_TAIL_BREAK = re.compile(r"[,;:–—]|[ \t]-[ \t]|[ \t](?:so|and|but|und|aber|y|pero)[ \t]")


@dataclass(frozen=True, slots=True)
class FactMention:
    """A statement of a message.

    ``start`` and ``end`` delimit the sentence that makes it, in characters. ``since`` and ``until`` are ISO 8601 days,
    months or years, where the sentence names them."""

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


class _PreparedText:
    """A message, prepared only as far as the rules need it."""

    def __init__(self, text: str, sent_on: date | None) -> None:
        self.text = text
        self.sent_on = sent_on
        self.low = to_lower(text)

    @cached_property
    def prepared(self) -> str:
        return mask_foreign_text(self.low)

    @cached_property
    def uncapitalized(self) -> bool:
        return is_uncapitalized(self.text)

    @cached_property
    def passages(self) -> list[Passage]:
        return list(split_sentences(self.prepared))

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.start for passage in self.passages]

    def passage_at(self, at: int) -> Passage | None:
        number = bisect_right(self._starts, at) - 1
        return self.passages[number] if number >= 0 and at < self.passages[number].end else None


def _rules_by_prefix() -> dict[str, tuple[tuple[FactGrammar, FactRule], ...]]:
    """The rules by the beginnings of the words that they need; a phrase counts by its longest word."""
    rules: dict[str, dict[tuple[int, str], tuple[FactGrammar, FactRule]]] = {}
    for number, grammar in enumerate(GRAMMARS):
        for rule in grammar.rules:
            for need in rule.needs:
                word = max(need.split(), key=len)[:PREFIX_LETTERS]
                rules.setdefault(word, {})[number, rule.name] = (grammar, rule)
    return {word: tuple(found.values()) for word, found in rules.items()}


# The beginnings of words that are numbers.
_FIGURES = {str(number) for number in range(10_000)} | {
    f"{n}{e}" for n in range(1, 32) for e in ("st", "nd", "rd", "th")
}

_RULES_BY_PREFIX = _rules_by_prefix()
_PREFIXES = _RULES_BY_PREFIX.keys()


def _candidate_rules(low: str) -> dict[FactGrammar, list[FactRule]]:
    """The rules whose opening words occur in a text, by language."""
    words = {word[:PREFIX_LETTERS] for word in low.translate(_TO_SPACES).split()}
    matching_prefixes = words & _PREFIXES
    if not matching_prefixes:
        return {}
    if not words.isdisjoint(_FIGURES):
        words.add("0")
    found = {id(pair[1]): pair for word in matching_prefixes for pair in _RULES_BY_PREFIX[word]}
    prefilter_results: dict[LazyPattern, bool] = {}
    hits: dict[FactGrammar, list[FactRule]] = {}
    for grammar, rule in found.values():
        if rule.required_prefixes and rule.required_prefixes.isdisjoint(words):
            continue
        if len(rule.needs) <= MAX_NEEDS_CHECKED and not _contains_any(rule.needs, low):
            continue
        if rule.prefilter is not None:
            if rule.prefilter not in prefilter_results:
                prefilter_results[rule.prefilter] = rule.prefilter.search(low) is not None
            if not prefilter_results[rule.prefilter]:
                continue
        if rule.pattern.search(low):
            hits.setdefault(grammar, []).append(rule)
    return hits


def _contains_any(needs: tuple[str, ...], low: str) -> bool:
    for need in needs:  # noqa: SIM110 - a generator takes twice as long
        if need in low:
            return True
    return False


def extract_statements(text: str, sent_on: date | None = None) -> list[FactMention]:
    """Return what a message's writer states of themselves, their people and their things, in the order of the text."""
    prepared_text = _PreparedText(text, sent_on)
    found: dict[tuple[str, str, str, Mode], FactMention] = {}
    for grammar, rules in _candidate_rules(prepared_text.low).items():
        foreign_start = grammar.elsewhere.search(prepared_text.prepared)
        own_text_end = foreign_start.start() if foreign_start else len(text)
        for rule in sorted(rules, key=lambda rule: (-rule.confidence, rule.name)):
            for mention in _apply_rule(rule, prepared_text, grammar, own_text_end):
                identity = (mention.subject, mention.attribute, phrasing.normalize_value(mention.value), mention.mode)
                found.setdefault(identity, mention)
                if len(found) >= MAX_STATEMENTS:
                    return _drop_ended(found)
    return _drop_ended(found)


def _drop_ended(found: dict[tuple[str, str, str, Mode], FactMention]) -> list[FactMention]:
    ended = {identity[:3] for identity in found if identity[3] == "ended"}
    held = [mention for identity, mention in found.items() if identity[3] == "ended" or identity[:3] not in ended]
    return sorted(held, key=lambda mention: mention.start)


def _apply_rule(
    rule: FactRule, prepared_text: _PreparedText, grammar: FactGrammar, own_text_end: int
) -> Iterator[FactMention]:
    low = prepared_text.prepared
    for match in islice(rule.pattern.finditer(low, 0, own_text_end), MAX_MATCHES_PER_RULE):
        passage = prepared_text.passage_at(match.start() if low[match.start()] not in "\n \t" else match.end() - 1)
        if passage is None or match.end() > passage.end:
            passage = prepared_text.passage_at(match.end() - 1)
            if passage is None or match.end() > passage.end:
                continue
        sentence = RuleInput(
            prepared_text.text, low, passage.end, grammar, prepared_text.uncapitalized, prepared_text.sent_on
        )
        for mention, end in _extract_values(rule, match, sentence, passage):
            if _is_statement(rule, match.start(), end, sentence, passage):
                yield mention


def _extract_values(
    rule: FactRule, match: re.Match[str], sentence: RuleInput, passage: Passage
) -> Iterator[tuple[FactMention, int]]:
    """The values after a rule's opening words, each with the place after it, then the values of its continuations."""
    groups = {
        name: sentence.text[match.start(name) : match.end(name)] for name, text in match.groupdict().items() if text
    }
    subject = _subject(rule, groups, sentence)
    if subject is None:
        return
    attribute = _attribute(rule, groups, sentence)
    at, end = match.end(), match.end()
    values: list[tuple[str, int]] = []
    if not rule.read:
        values = [(_group_value(rule, groups), end)]
    else:
        reader = READERS[rule.read]
        read = reader(sentence, at)
        while read is not None and len(values) < MAX_LISTED_VALUES:
            end = read.end
            values.append((read.value, end))
            after = separator_end(sentence, end) if rule.accepts_list else None
            read = reader(sentence, after) if after is not None else None
    if not values or (rule.follows and not sentence.match(rule.follows, end)):
        return
    if rule.unless and sentence.match(rule.unless, at if rule.read == "rest" else end):
        return
    since, until, times_end = _validity_period(rule, sentence, end)
    if since is None and rule.mode != "ended":
        since = _since_before(sentence, max(passage.start, match.start() - _MAX_TIME_CHARACTERS), match)
    for value, ends in values:
        yield FactMention(
            rule.kind, subject, attribute, value, rule.mode, rule.confidence, *_trim_passage(sentence.text, passage),
            rule.name, since, until,
        ), times_end if ends == end else ends  # fmt: skip
    for next_rule in rule.continuations:
        if continuation := sentence.match(next_rule.pattern, end):
            whose = {"me": "me", "{value}": values[-1][0]}.get(next_rule.subject, subject)
            next_rule = replace(next_rule, subject=whose)
            yield from _extract_values(next_rule, continuation, sentence, passage)


def _group_value(rule: FactRule, groups: dict[str, str]) -> str:
    value = rule.value.replace("{value}", groups.get("value", ""))
    return f"{value} over {groups['than']}" if "than" in groups else _TO_VERSION.sub(" ", value)


def _subject(rule: FactRule, groups: dict[str, str], sentence: RuleInput) -> str | None:
    """Whom or what a rule speaks of; None where the words name no one."""
    grammar = sentence.grammar
    if rule.subject == "{who}":
        if who := groups.get("who"):
            return who if who[0].isupper() and who.lower() not in grammar.not_names else None
        if "rel" in groups:
            return _relation(groups, grammar)
        return grammar.language.relations.get(groups.get("who2", "").lower(), rule.subject)
    if rule.subject == "{of}" or (rule.kind == "date" and "of" in groups):
        whose = groups.get("of")
        not_names = grammar.not_names | grammar.stops | grammar.hollow
        if rule.kind == "relation" and whose and not (whose[0].isupper() and whose.lower() not in not_names):
            return None
        return whose
    return rule.subject


def _relation(groups: dict[str, str], grammar: FactGrammar) -> str:
    return grammar.language.relations[" ".join(groups["rel"].lower().split())]


def _attribute(rule: FactRule, groups: dict[str, str], sentence: RuleInput) -> str:
    if rule.attribute == "{rel}":
        return phrasing.relation_attribute(_relation(groups, sentence.grammar))
    if rule.attribute == "{event}":
        event = next(" ".join(words.lower().split()) for name, words in groups.items() if name.startswith("event"))
        event = sentence.grammar.events.get(event, event)
        return f"{event} to {groups['to']}" if "to" in groups else event
    if "{what}" in rule.attribute:
        return rule.attribute.replace("{what}", " ".join(groups["what"].lower().split()))
    return rule.attribute


def _validity_period(rule: FactRule, sentence: RuleInput, end: int) -> tuple[str | None, str | None, int]:
    """From when to when a value holds, as the words after it say, and the place after these words."""
    since = until = None
    if rule.mode != "ended":
        if begins := sentence.match(_SINCE, end):
            if begins.group().strip() in ("in", "en", "im"):
                named = _year(sentence, begins)
            else:
                named = dates.since(sentence.low, begins.end(), sentence.end, sentence.sent_on)
            since, end = named or (None, end)
        return since, None, end
    begins = sentence.match(_FROM, end)
    if begins and (named := _year(sentence, begins)):
        since, end = named
        ends = sentence.match(_TO, end)
    else:
        ends = sentence.match(_UNTIL, end)
    if ends and (named := _year(sentence, ends)):
        until, end = named
    return since, until, end


def _since_before(sentence: RuleInput, start: int, match: re.Match[str]) -> str | None:
    """From when a value holds, as the words right before the statement or its first words say ("since New Year I've
    ...")."""
    begins = _SINCE_BEFORE.search(sentence.low, start, match.end())
    if begins is None or (named := dates.since(sentence.low, begins.end(), match.end(), sentence.sent_on)) is None:
        return None
    return named[0] if sentence.low[named[1] : max(named[1], match.start())].strip(" \t,") == "" else None


def _year(sentence: RuleInput, preposition: re.Match[str]) -> tuple[str, int] | None:
    return dates.year(sentence.low, preposition.end(), sentence.end)


def _trim_passage(text: str, passage: Passage) -> tuple[int, int]:
    """The sentence without the white space and the bullet around it."""
    start, end = passage.start, passage.end
    while start < end and (text[start].isspace() or text[start] in "-*•"):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _is_statement(rule: FactRule, start: int, end: int, sentence: RuleInput, passage: Passage) -> bool:
    """Whether the match between two places of a sentence is a statement of the writer."""
    grammar, low = sentence.grammar, sentence.low
    before = grammar.harmless.sub(" ", low[passage.start : start]) if start > passage.start else ""
    if rule.is_presupposed:
        return not grammar.unreal.search(before) and GAP not in before[-3:]
    if not _can_begin(rule, before, grammar):
        return False
    if grammar.unreal.search(before) or grammar.unsure.search(_CLAUSE_BREAK.split(before)[-1]) or GAP in before[-3:]:
        return False
    if sentence.match(grammar.undone, end):
        return False
    if not passage.is_question:
        return True
    # A question may stand after the statement, directly or after a later comma.
    places = [end, *(mark.start() for mark in islice(_TAIL_BREAK.finditer(low, end, sentence.end), 4))]
    return any(sentence.match(grammar.tail, place) for place in places) and not grammar.asking.match(before)


def _can_begin(rule: FactRule, before: str, grammar: FactGrammar) -> bool:
    """Whether a statement may begin after these words of its sentence."""
    if rule.inherits_subject:
        has_own_subject = grammar.mine is not None and grammar.mine.match(before) is not None
        return has_own_subject and not (grammar.others and grammar.others.search(before))
    plain = before.rstrip()
    if not plain or plain[-1] in ",;:-–—(*•>\x00+\"'!.":
        return True
    word = _LAST_WORD.search(plain)
    last = word[1].lstrip("(*-\x00") if word else ""
    return last not in grammar.bars if rule.can_follow_words else last in grammar.leads

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
from itertools import chain, islice

from appliance.memory.facts import dates, phrasing, validity
from appliance.memory.facts.english import ENGLISH
from appliance.memory.facts.german import GERMAN
from appliance.memory.facts.grammar import CHANGE, FactGrammar, FactRule, LazyPattern, Mode, Opening
from appliance.memory.facts.passages import GAP, Passage, is_uncapitalized, mask_foreign_text, split_sentences, to_lower
from appliance.memory.facts.spanish import SPANISH
from appliance.memory.facts.value_readers import READERS, RuleInput, is_gerund, separator_end
from appliance.types import FactKind

GRAMMARS = (ENGLISH, GERMAN, SPANISH)

# Letters of a word by which rules are looked up: they tell most words apart and leave out most endings.
PREFIX_LETTERS = 4
MAX_NEEDS_CHECKED = 24  # a rule with more needs than this goes straight to its pattern
MAX_MATCHES_PER_RULE = 40  # in one message; more is a list or a trap, and every match costs time
MAX_STATEMENTS = 60  # of one message
MAX_TIME_CHARACTERS = 25  # behind a plan, that say when it is
MAX_LISTED_VALUES = 8  # of one statement ("A, B and C")

_TO_SPACES = str.maketrans(dict.fromkeys('.,;:!?()[]{}"“”„»«*_`…¿¡/-–—\x00', " "))
_NEXT_WORD = re.compile(r"[ \t]*([^\W\d_][\w'-]*\w|[^\W\d_])(?![\w'-])")
_QUICKLY_READ = frozenset(("thing", "capital person", "capital place", "capital org"))
_ARTICLES = frozenset("the der die das la el los las a an ein eine einen un una".split())
_LAST_WORD = re.compile(r"([^\s]+)\s*$")
_TITLES_OF_KIN = frozenset("mom mum dad mother father mama papa aunt uncle grandma grandpa granny tía tío".split())
_INTERJECTION = re.compile(r"u+m+|u+h+|h+m+|o+h+|a+h+|w+o+w+|h+e+y+")
_TO_VERSION = re.compile(r" (?:to|auf|a) (?=v?\d)")
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
        self._places: dict[Opening, list[int]] = {}

    @cached_property
    def prepared(self) -> str:
        return mask_foreign_text(self.low)

    @cached_property
    def uncapitalized(self) -> bool:
        return is_uncapitalized(self.text)

    @cached_property
    def passages(self) -> list[Passage]:
        return list(split_sentences(self.prepared, self.text))

    @cached_property
    def _starts(self) -> list[int]:
        return [passage.start for passage in self.passages]

    def matches(self, rule: FactRule, end: int) -> Iterator[re.Match[str]]:
        """Where a rule's pattern matches before a place, in order; no two overlap."""
        if rule.begins is None:
            yield from rule.pattern.finditer(self.prepared, 0, end)
            return
        at = 0
        for place in _places(rule.begins, self.prepared, self._places):
            if place >= at and (match := rule.pattern.match(self.prepared, place, end)):
                yield match
                at = match.end()

    def passage_at(self, at: int) -> Passage | None:
        number = bisect_right(self._starts, at) - 1
        return self.passages[number] if number >= 0 and at < self.passages[number].end else None


def _rules_by_prefix() -> dict[str, tuple[FactRule, ...]]:
    """The rules by the beginnings of the words that they need; a phrase counts by its longest word that is not in
    every second message."""
    rules: dict[str, dict[FactRule, None]] = {}
    for grammar in GRAMMARS:
        for rule in grammar.rules:
            for need in rule.needs:
                words = need.split()
                word = max([word for word in words if word not in _COMMON_WORDS] or words, key=len)
                rules.setdefault(word[:PREFIX_LETTERS], {})[rule] = None
    return {word: tuple(found) for word, found in rules.items()}


# The beginnings of words that are numbers.
_FIGURES = {str(number) for number in range(10_000)} | {
    f"{n}{e}" for n in range(1, 32) for e in ("st", "nd", "rd", "th")
}

_COMMON_WORDS = frozenset(
    "have with that this like work works working really been from for to a it on at in is are i my of up the and about"
    " just so you no got go be by do as an had has was i'm i've".split()
)
_RULES_BY_PREFIX = _rules_by_prefix()
_GRAMMARS_OF_RULES = {rule: grammar for grammar in GRAMMARS for rule in grammar.rules}
_PREFIXES = _RULES_BY_PREFIX.keys()


def _candidate_rules(low: str, text: str) -> dict[FactGrammar, list[FactRule]]:
    """The rules whose opening words occur in a text, by language."""
    words = {word[:PREFIX_LETTERS] for word in low.translate(_TO_SPACES).split()}
    matching_prefixes = words & _PREFIXES
    if not matching_prefixes:
        return {}
    if not words.isdisjoint(_FIGURES):
        words.add("0")
    found = dict.fromkeys(chain.from_iterable(map(_RULES_BY_PREFIX.__getitem__, matching_prefixes)))
    occurs: dict[LazyPattern, bool] = {}
    places: dict[Opening, list[int]] = {}
    hits: dict[FactGrammar, list[FactRule]] = {}
    for rule in found:
        if rule.required_prefixes and rule.required_prefixes.isdisjoint(words):
            continue
        if len(rule.needs) <= MAX_NEEDS_CHECKED and not _contains_any(rule.needs, low):
            continue
        if (shared := rule.prefilter) is not None:
            if shared not in occurs:
                occurs[shared] = shared.search(low) is not None
            if not occurs[shared]:
                continue
        if _is_hit(rule, low, text, places):
            hits.setdefault(_GRAMMARS_OF_RULES[rule], []).append(rule)
    return hits


def _places(opening: Opening, low: str, known: dict[Opening, list[int]]) -> list[int]:
    """Where rules with an opening can begin in a text. ``known`` are the places that were found in it so far."""
    places = known.get(opening)
    if places is None:
        places = known[opening] = opening.places(low)
    return places


def _is_hit(rule: FactRule, low: str, text: str, known: dict[Opening, list[int]]) -> bool:
    """Whether a rule's pattern matches a text, and a word follows that may be its value."""
    if rule.begins is None:
        return rule.pattern.search(low) is not None
    match = rule.pattern.match
    for place in _places(rule.begins, low, known):
        if (found := match(low, place)) and (rule.read not in _QUICKLY_READ or _may_be_value(rule, low, text, found)):
            return True
    return False


def _may_be_value(rule: FactRule, low: str, text: str, found: re.Match[str]) -> bool:
    """Whether the word behind a rule's opening words can begin a value: most often "I love" goes on with "it", and
    "my sister" with a verb."""
    word = _NEXT_WORD.match(low, found.end())
    if word is None:
        return True
    if rule.read == "thing":
        return word[1].endswith("ing") or word[1] not in _GRAMMARS_OF_RULES[rule].hollow
    return text[word.start(1)].isupper() or word[1] in _ARTICLES


def _contains_any(needs: tuple[str, ...], low: str) -> bool:
    for need in needs:  # noqa: SIM110 - a generator takes twice as long
        if need in low:
            return True
    return False


def extract_statements(text: str, sent_on: date | None = None) -> list[FactMention]:
    """Return what a message's writer states of themselves, their people and their things, in the order of the text."""
    prepared_text = _PreparedText(text, sent_on)
    found: dict[tuple[str, str, str, Mode], FactMention] = {}
    for grammar, rules in _candidate_rules(prepared_text.low, text).items():
        foreign_start = grammar.elsewhere.search(prepared_text.prepared)
        own_text_end = foreign_start.start() if foreign_start else len(text)
        for rule in sorted(rules, key=lambda rule: (-rule.confidence, rule.name)):
            for mention in _apply_rule(rule, prepared_text, grammar, own_text_end):
                identity = (mention.subject, mention.attribute, phrasing.normalize_value(mention.value), mention.mode)
                found.setdefault(identity, mention)
                if len(found) >= MAX_STATEMENTS:
                    return _without_repeats(_drop_ended(found))
    return _without_repeats(_drop_ended(found))


def is_stated(text: str, start: int, end: int) -> bool:
    """Whether what stands between two places of a message may be a statement of its writer: it is no question, no
    condition, no doubt, and no quotation of others."""
    prepared_text = _PreparedText(text, None)
    passage = prepared_text.passage_at(start)
    if passage is None or passage.is_question or GAP in prepared_text.prepared[start:end]:
        return False
    low = prepared_text.prepared
    for grammar in GRAMMARS:
        foreign_start = grammar.elsewhere.search(low)
        if foreign_start is not None and foreign_start.start() < end:
            return False
        said = grammar.harmless.sub(" ", low[passage.start : end])
        if grammar.unreal.search(said) or grammar.unsure.search(_CLAUSE_BREAK.split(said)[-1]):
            return False
        if prepared_text.low[end : passage.end] and grammar.undone.match(low, end, passage.end):
            return False
    return True


def _drop_ended(found: dict[tuple[str, str, str, Mode], FactMention]) -> list[FactMention]:
    ended = {identity[:3] for identity in found if identity[3] == "ended"}
    held = [mention for identity, mention in found.items() if identity[3] == "ended" or identity[:3] not in ended]
    return sorted(held, key=lambda mention: mention.start)


_CALL_ME = r"(?:please |bitte |por favor,? )?(?:(?:just )?call me|nenn(?:t|e)? mich|llámame) {name}"
_FROM_NOW_ON = r"(?:,? (?:from now on|ab jetzt|von nun an|ab sofort|a partir de ahora|desde ahora|please|bitte))?"


def _without_repeats(found: list[FactMention]) -> list[FactMention]:
    """Leave out what a sentence says once and two rules have understood: of a date the less exact event, and of a
    standing instruction what is a name, or one that is a part of another one."""
    kept = []
    for mention in found:
        same = [
            other
            for other in found
            if other is not mention and (other.start, other.end) == (mention.start, mention.end)
        ]
        if mention.kind == "date" and any(_is_less_exact(mention, other) for other in same):
            continue
        if mention.attribute == CHANGE and any(_is_surer(other, mention) for other in same):
            continue
        if mention.kind == "instruction":
            name = next((other.value for other in same if other.attribute == "called"), None)
            rest = mention.value
            if name is not None:
                said = _CALL_ME.format(name=re.escape(name)) + _FROM_NOW_ON + r"[ ,.;]*(?:(?:and|und|y)\b)?[ ,]*"
                rest = re.sub(said, "", rest, count=1, flags=re.IGNORECASE)
            others = [other.value.casefold() for other in same if other.kind == "instruction"]
            if not rest.strip() or (rest != mention.value and rest.strip().casefold() in others):
                continue
            if any(mention.value.casefold() in other and _holds_more(other, name) for other in others):
                continue
        kept.append(mention)
    return kept


def _holds_more(instruction: str, name: str | None) -> bool:
    """Whether an instruction is more than a name beside another instruction."""
    return name is None or re.search(_CALL_ME.format(name=re.escape(name)), instruction, re.IGNORECASE) is None


def _is_surer(change: FactMention, other: FactMention) -> bool:
    """Whether two mentions take back the same thing, and the first one says so more surely."""
    mine, theirs = change.value.casefold(), other.value.casefold()
    is_same = mine != theirs and (mine.endswith(theirs) or theirs.endswith(mine))
    return change.attribute == CHANGE and is_same and change.confidence > other.confidence


def _is_less_exact(mention: FactMention, other: FactMention) -> bool:
    """Whether two mentions are of one day, and the other one says more of the event."""
    mine, theirs = set(mention.attribute.split()), set(other.attribute.split())
    return other.kind == "date" and other.value == mention.value and other.subject == mention.subject and mine < theirs


def _apply_rule(
    rule: FactRule, prepared_text: _PreparedText, grammar: FactGrammar, own_text_end: int
) -> Iterator[FactMention]:
    low = prepared_text.prepared
    for match in islice(prepared_text.matches(rule, own_text_end), MAX_MATCHES_PER_RULE):
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
    if rule.attribute == "{rel}" and _is_title(groups.get("rel", ""), sentence):
        return
    attribute = _attribute(rule, groups, sentence)
    at, end = match.end(), match.end()
    values: list[tuple[str, int]] = []
    if not rule.read:
        values = [(_group_value(rule, groups), end)]
        if rule.attribute == "{rel}" and not _is_name(values[0][0], sentence.grammar):
            return
    else:
        reader = READERS[rule.read]
        read = reader(sentence, at)
        while read is not None and len(values) < MAX_LISTED_VALUES:
            end = read.end
            words = rule.value.replace("{value}", read.value).replace("{verb}", groups.get("verb", ""))
            values.append((words, end))
            after = separator_end(sentence, end) if rule.accepts_list else None
            # "I enjoy preparing meals for my friends and family": what is no gerund belongs to the one before it.
            if after is not None and " " in read.value and is_gerund(sentence, at) and not is_gerund(sentence, after):
                break
            if " of all " in read.value:  # "animals of all shapes and sizes"
                break
            read = reader(sentence, after) if after is not None else None
    if not values or (rule.follows and not sentence.match(rule.follows, end)):
        return
    if rule.unless and sentence.match(rule.unless, at if rule.read == "rest" else end):
        return
    since, until, times_end = validity.period(rule, sentence, match.start(), end)
    if rule.attribute == "plans":
        until = dates.within(sentence.low, at, min(times_end + MAX_TIME_CHARACTERS, sentence.end), sentence.sent_on)
    if since is None and until is None:
        since, until = validity.period_before(rule, sentence, passage.start, match)
    followed = list(_continued(rule, (subject, attribute), values[-1][0], sentence, passage, end))
    if (
        begins := since or until
    ):  # "in March I moved from Berlin to Munich", "since 2019 I've worked at Bosch as a cook"
        followed = [
            (replace(mention, since=mention.since or begins), stop)
            if mention.mode != "ended" and validity.has_beginning(mention.attribute)
            else (mention, stop)
            for mention, stop in followed
        ]
    if rule.mode == "ended" and until is None:  # "from Berlin to Munich in March 2024": Berlin ended when Munich began
        until = next((mention.since for mention, _ in followed if mention.attribute == attribute), None)
    for value, ends in values:
        yield FactMention(
            rule.kind, subject, attribute, value, rule.mode, rule.confidence, *_trim_passage(sentence.text, passage),
            rule.name, since, until,
        ), times_end if ends == end else ends  # fmt: skip
    yield from followed


def _continued(
    rule: FactRule, about: tuple[str, str], value: str, sentence: RuleInput, passage: Passage, end: int
) -> Iterator[tuple[FactMention, int]]:
    """What the rules say that may go on where a statement about a subject's attribute ends."""
    subject, attribute = about
    for next_rule in rule.continuations:
        if continuation := sentence.match(next_rule.pattern, end):
            whose = {"me": "me", "{value}": value}.get(next_rule.subject, subject)
            is_same = "{what}" in rule.attribute and next_rule.attribute == rule.attribute
            what = attribute if is_same else next_rule.attribute
            stated = replace(next_rule, subject=whose, attribute=what)
            yield from _extract_values(stated, continuation, sentence, passage)


def _group_value(rule: FactRule, groups: dict[str, str]) -> str:
    stated = next((words for name, words in groups.items() if name.startswith("value")), "")
    value = rule.value.replace("{value}", stated)
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


def _is_title(relation: str, sentence: RuleInput) -> bool:
    """Whether a relation has a capital that its language gives to no noun: "My Neighbor Totoro" is a film."""
    return (
        relation.istitle()
        and not sentence.capitalizes_nouns
        and not sentence.uncapitalized
        and relation.lower() not in _TITLES_OF_KIN
    )


def _is_name(value: str, grammar: FactGrammar) -> bool:
    """Whether a word beside a relation may be a name: "Bonnie, my friend", but not "Umm, my friend"."""
    word = value.lower()
    no_names = (grammar.not_names, grammar.stops, grammar.hollow, grammar.leads)
    return value[:1].isupper() and not any(word in words for words in no_names) and not _INTERJECTION.fullmatch(word)


def _relation(groups: dict[str, str], grammar: FactGrammar) -> str:
    return grammar.language.relations[" ".join(groups["rel"].lower().split())]


def _attribute(rule: FactRule, groups: dict[str, str], sentence: RuleInput) -> str:
    if rule.attribute == "{rel}":
        return phrasing.relation_attribute(_relation(groups, sentence.grammar))
    if rule.attribute == "{event}":
        event = next(" ".join(words.lower().split()) for name, words in groups.items() if name.startswith("event"))
        event = sentence.grammar.events.get(event, event)
        if "by" in groups:
            event = f"{groups['by'].lower()} {event}"
        return f"{event} to {groups['to']}" if "to" in groups else event
    if "{what}" in rule.attribute:
        return rule.attribute.replace("{what}", " ".join(groups["what"].lower().split()))
    return rule.attribute


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

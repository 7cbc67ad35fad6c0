"""From when to when a value holds, as the words around a statement say: behind its value, or before it."""

from __future__ import annotations

import re

from appliance.languages.temporal import words
from appliance.memory.facts import dates
from appliance.memory.facts.grammar import FactRule
from appliance.memory.facts.value_readers import RuleInput

_UNTIL = re.compile(r"[ \t]+(?:until|till|bis|hasta)\b")
_FROM = re.compile(rf"[ \t]+{words('range_start')}\b")
_TO = re.compile(rf"[ \t]+{words('range_end')}\b|[ \t]*[–-]")
_MAX_TIME_CHARACTERS = 40  # of a time that stands before a statement

_SINCE_BEFORE = re.compile(r"\b(?:since|seit|desde)(?=[ \t])")
_SINCE = re.compile(r"[ \t]+(?:since|in|seit|desde|en|im)\b")
_FOR = re.compile(r"(?:[ \t]+for\b)?")
# Of these, a time behind the value says when it began: "moved to Bremen last month".
_BEGINNING = frozenset("home employer employment job school studies business status partner team".split())
# What somebody gave up, they left off at the time behind it: "I quit smoking two weeks ago".
_GAVE_UP = re.compile(
    r"\b(?:quit|stopped|gave up|given up|cut out|went|became|turned|aufgehört|verzichte|dejé|dejado|hice)\b"
)

# What happened at a time that stands before it: "in March we moved to", "ich bin letztes Jahr nach Bremen gezogen".
_HAPPENED = re.compile(
    r"\b(?:moved|relocated|separated|split|broke|divorced|getrennt|trennten|separ(?:é|amos|ado)|divorci(?:é|amos|ado)|started|joined|became|got|quit|left|resigned|retired|lost|gezogen|zog|gekündigt|angefangen|gemacht"
    r"|mud(?:é|ó|amos|ado)|dejé|empecé|renuncié)\b"
)
_TIME_LEADS = re.compile(
    r"\b(?:(?:(?:back )?in|im|en)(?=[ \t])|(?=(?:last|letzte[nrsm]?|vor|hace|el|la|a|an|one|two|three|four|five|six"
    r"|\d{1,2}|yesterday|gestern|vorgestern|ayer|anteayer|antier|anoche)\b))"
)
_MAX_STATEMENT_CHARACTERS = 60  # from its first words to the participle that ends a German one


def has_beginning(attribute: str) -> bool:
    """Whether a time beside a value of an attribute says when it began."""
    return attribute in _BEGINNING


def period(rule: FactRule, sentence: RuleInput, start: int, end: int) -> tuple[str | None, str | None, int]:
    """From when to when a value holds, as the words after it say, and the place after these words; ``start`` is where
    the statement begins."""
    since = until = None
    if rule.mode != "ended":
        if begins := sentence.match(_SINCE, end):
            if begins.group().strip() in ("in", "en", "im"):
                named = _year(sentence, begins)
                if named is None and rule.attribute in _BEGINNING:
                    named = dates.since(sentence.low, begins.end(), sentence.end, sentence.sent_on)
            else:
                named = dates.since(sentence.low, begins.end(), sentence.end, sentence.sent_on)
            since, end = named or (None, end)
        elif (rule.attribute in _BEGINNING or _GAVE_UP.search(sentence.low, start, end)) and (
            named := dates.past(sentence.low, _FOR.match(sentence.low, end).end(), sentence.end, sentence.sent_on)  # type: ignore[union-attr]
        ):
            since, end = named
        return since, None, end
    begins = sentence.match(_FROM, end)
    if begins and (named := _year(sentence, begins)):
        since, end = named
        ends = sentence.match(_TO, end)
    else:
        ends = sentence.match(_UNTIL, end)
    if ends and (
        named := _year(sentence, ends) or dates.past(sentence.low, ends.end(), sentence.end, sentence.sent_on)
    ):
        until, end = named
    elif until is None and (named := dates.past(sentence.low, end, sentence.end, sentence.sent_on)):
        until, end = named  # "I quit my job at Acme two days ago"
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


def period_before(
    rule: FactRule, sentence: RuleInput, start: int, match: re.Match[str]
) -> tuple[str | None, str | None]:
    """From when or until when a value holds, as the words of a sentence before the value say; ``start`` is where the
    sentence begins."""
    start = max(start, match.start() - _MAX_TIME_CHARACTERS)
    since = _since_before(sentence, start, match) if rule.mode != "ended" else None
    gave_up = _GAVE_UP.search(sentence.low, match.start(), match.end())
    if since is not None or (rule.attribute not in _BEGINNING and gave_up is None):
        return since, None
    if gave_up is None and not _HAPPENED.search(
        sentence.low, match.start(), min(sentence.end, match.end() + _MAX_STATEMENT_CHARACTERS)
    ):
        return None, None
    for lead in _TIME_LEADS.finditer(sentence.low, start, match.end()):
        named = (dates.since if lead.group() else dates.past)(sentence.low, lead.end(), match.end(), sentence.sent_on)
        if named is not None:
            return (None, named[0]) if rule.mode == "ended" else (named[0], None)
    return None, None

"""Parts of the patterns of English rules: how a statement about oneself or about one's people begins."""

# A pattern is one line, however long.
# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from appliance import languages
from appliance.memory.facts.grammar import clause_opening, longest_first, opening

_TEMPORAL = languages.ENGLISH.temporal
AM = r"\b(?:i'm|i am|im)"
ADV = (
    r"(?: (?:currently|actually|also|really|now|still|mostly|usually|generally|just|both|all|mainly|personally|already"
    r"|originally|basically|always|absolutely|honestly|truly|so|totally|definitely|do|kinda|quite|happily))?"
)
SELF = rf"\b(?:i|we){ADV}"
HAVE = r"\b(?:i|we)(?:'ve got| have got| have|'ve| got)"
REL = rf"(?P<rel>{longest_first(languages.ENGLISH.relations)})\b"
OLDER = r"(?:(?:two|three|four|both|best|older|younger|little|big|elder|eldest|oldest|youngest|twin|dear|new|beloved|good|close|late|\d{1,2}[ -]year[ -]old) ){0,2}"
DISTANT = r"(?!(?:my|our) (?:neighbou?r|landlord|boss|colleague|coworker|manager|supervisor|teacher|doctor|dentist|advisor))"
MY = rf"\b(?:my|our) {OLDER}{REL}"
WHO = rf"{MY}(?:,? (?P<who>[^\W\d_][\w'-]{{1,24}}))?,? (?:also |currently |still |now )?"
SOON = (
    r"(?=next (?:month|year)\b|(?:(?:on|by|for|until|before|next|this|coming|the|in|already|due) ){0,3}(?:\d"
    rf"|(?:{'|'.join((*_TEMPORAL.months, *_TEMPORAL.weekdays))}|tomorrow|today|tonight|two weeks|three weeks|a week)\b))"
)
WE_ARE = r"\b(?:i'm|i am|im|we're|we are|i are)(?: (?:also|now|finally|actually|just|currently|still))?"
# Where rules can begin: at a word for oneself or for one's own, or where a clause does.
SELF_OPENING = opening(r"(?:im?|we|my|our)\b")
CLAUSE_OPENING = clause_opening(r"(?:im?|we|my|our)\b")
THE_OPENING = opening(r"(?:the|my|our|they|s?he)\b")
OWNED = frozenset(("my", "our"))  # one of these words stands before a relation
RELATION_OPENING = opening(MY.removeprefix(r"\b"))
RELATED = tuple(languages.ENGLISH.relations)

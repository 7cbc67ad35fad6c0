"""Which notes about the person contradict what is held: a note is read as if the person had said it themselves.

"Ana lives in Berlin" becomes "I live in Berlin", and the rules read it. A note that they do not understand contradicts
nothing, so that what is flagged is a contradiction of one slot and not a difference of words."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from appliance.lazy_dataclasses import dataclass
from appliance.memory.facts import phrasing, timeline
from appliance.memory.facts.rule_extractor import extract_statements
from appliance.types import Fact

_PERSON_WORDS = r"(?:the |der |die |el |la )?(?:user|person|nutzer|nutzerin|benutzer|benutzerin|usuario|usuaria)"


@dataclass(frozen=True, slots=True)
class _FirstPerson:
    """How a language turns a statement about the person into one by the person: its words, and what becomes of the
    endings of its verbs, the first that fits."""

    subject: str
    possessive: str
    pronouns: Mapping[str, str]
    verbs: Mapping[str, str]
    endings: Sequence[tuple[str, str]]


_LANGUAGES = (
    _FirstPerson(
        "I",
        "My",
        {"his": "my", "her": "my", "their": "my"},
        {"is": "am", "has": "have", "was": "was", "does": "do", "doesn't": "don't", "isn't": "am not", "no": "no"},
        (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("sses", "ss"), ("oes", "o"), ("s", "")),
    ),
    _FirstPerson(
        "Ich",
        "Mein",
        {"sein": "mein", "seine": "meine", "ihr": "mein", "ihre": "meine"},
        {"ist": "bin", "hat": "habe", "wird": "werde", "heißt": "heiße"},
        (("et", "e"), ("t", "e")),
    ),
    _FirstPerson(
        "",
        "Mi",
        {"su": "mi"},
        {"es": "soy", "está": "estoy", "tiene": "tengo", "se": "me", "va": "voy"},
        (("e", "o"), ("a", "o")),
    ),
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A note that says something else than a held fact."""

    note: str
    fact_id: str
    fact: str


def find_contradictions(notes: Sequence[str], held: Mapping[str, Fact], names: Collection[str]) -> list[Contradiction]:
    """Return the notes that contradict held facts.

    Args:
        notes: The texts of notes, without their marks and citations.
        held: The facts that hold now, by slot.
        names: The names that the person has in notes; words such as "the user" always mean the person.
    """
    found = []
    for note in notes:
        facts = {fact.id: fact for text in _first_person_forms(note, names) for fact in _contradicted(text, held)}
        found += [Contradiction(note, fact.id, fact.text) for fact in facts.values()]
    return found


def _contradicted(text: str, held: Mapping[str, Fact]) -> list[Fact]:
    facts = []
    for stated in extract_statements(text):
        fact = held.get(timeline.slot_key(stated.subject, stated.kind, stated.attribute, stated.value))
        if fact is None:
            continue
        is_same = phrasing.normalize_value(stated.value) == phrasing.normalize_value(fact.value)
        if is_same == (stated.mode == "ended"):
            facts.append(fact)
    return facts


def _first_person_forms(note: str, names: Collection[str]) -> list[str]:
    """A note as the person would say it, in each language; empty if it is not about the person."""
    person = "|".join([_PERSON_WORDS, *map(re.escape, sorted(names, key=len, reverse=True))])
    about = re.match(rf"\W*(?:{person})(?P<possessive>['’]s)?\s+(?P<rest>\S.*)", note, re.IGNORECASE | re.DOTALL)
    if about is None:
        return []
    return [_first_person(about["rest"], about["possessive"] is not None, language) for language in _LANGUAGES]


def _first_person(rest: str, is_possessive: bool, language: _FirstPerson) -> str:
    words = [language.pronouns.get(word, word) for word in rest.split(" ")]
    if is_possessive:
        return f"{language.possessive} {' '.join(words)}"
    # "Ana no longer lives", "Ana still lives": the verb is the first word that is inflected.
    place = next((number for number, word in enumerate(words[:4]) if _inflect(word, language) != word), 0)
    words[place] = _inflect(words[place], language)
    return f"{language.subject} {' '.join(words)}".strip()


def _inflect(verb: str, language: _FirstPerson) -> str:
    if verb in language.verbs:
        return language.verbs[verb]
    ending, own = next((pair for pair in language.endings if verb.endswith(pair[0])), ("", ""))
    return verb[: len(verb) - len(ending)] + own

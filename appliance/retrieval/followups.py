"""Follow-up questions, such as "and when was that?", "was ist mit dem?", "¿y cuánto costó?".

``is_follow_up`` recognises them by their form, in English, German and Spanish. The memory is searched twice for such a
question: for its own words, and with the words of the latest turns added. ``blend`` merges the two lists of hits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace

from appliance.languages import LANGUAGES, recall_questions
from appliance.requests import SearchRequest
from appliance.store import lexical
from appliance.store.lexical import stem
from appliance.types import Hit, Hits

READ_TURNS = 2
"""How many of the latest turns are used: the last question and its answer."""

READ_CHARACTERS = 1_000
"""How much of a turn and of a hit is read; the beginning of a pasted page says what it is about."""

MAX_ADDED_WORDS = 24
"""How many words of the turns are added to the query; the hundreds of a pasted page would outweigh the question."""

OWN_WEIGHT = 0.3
"""The weight of the unchanged question against the augmented one, both as shares of their best hit. Fitted together
with ``REPETITION_PENALTY`` by tests/eval/followups.py, which reports how both generalise."""

REPETITION_PENALTY = 0.25
"""The penalty of a hit that only repeats the turns: it states the topic again, and answers nothing."""

MAX_FOLLOW_UP_WORDS = 14
"""A question of more words is understood by itself, with or without pronouns."""

MAX_CONTENT_BEFORE_PRONOUN = 3
"""A pronoun after so many content words refers to something in the question itself."""

MAX_VAGUE_CONTENT = 2
"""A question of no more content words, none of them a name or a number, says too little by itself."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

_BEGINS = re.compile(rf"[\W_]*(?:{'|'.join(one.discourse_markers for one in LANGUAGES)})(?![\w'’-])", re.IGNORECASE)
_NO_ANTECEDENT = frozenset({"of"}).union(*(one.expletive_verbs for one in LANGUAGES))
"""Words that follow a pronoun without antecedent ("it rains"), or one that refers to what follows ("that of Ana")."""


def is_follow_up(question: str) -> bool:
    """Whether a question can only be understood with the turns before it: it begins with a discourse marker ("and",
    "what about"), has a pronoun without an antecedent, or has too few content words."""
    written = _WORD.findall(question)
    words = [word.casefold() for word in written]
    if not words or len(words) > MAX_FOLLOW_UP_WORDS or lexical.phrases(question):
        return False
    if (asked := recall_questions.read(question)) is not None and not asked.topic:
        return False  # "what do you know about me"
    if _BEGINS.match(question):
        return True
    language = max(LANGUAGES, key=lambda one: sum(word in one.function_words for word in words))
    telling = [word not in language.function_words for word in words]
    named = [
        any(map(str.isdigit, word)) or (at > 0 and telling[at] and word[0].isupper()) for at, word in enumerate(written)
    ]
    for at, word in enumerate(words):
        if word in language.anaphors and not any(named[:at]) and sum(telling[:at]) < MAX_CONTENT_BEFORE_PRONOUN:
            follows = words[at + 1] if at + 1 < len(words) else ""
            before_noun = word in language.determiners and follows and telling[at + 1]
            if not before_noun and follows not in _NO_ANTECEDENT and not any(named[at : at + 2]):
                return True
    says_little = sum(telling) < len(words) and sum(telling) <= MAX_VAGUE_CONTENT and not any(named)
    return says_little and language.first_person.isdisjoint(words)


def augment(question: str, turns: Sequence[str]) -> str:
    """Append the words of the latest turns to a question, those of the latest turn first. ``turns`` are texts, oldest
    first."""
    words: dict[str, None] = {}
    for text in reversed(turns[-READ_TURNS:]):
        words.update(dict.fromkeys(lexical.query_words(text[:READ_CHARACTERS])))
    return " ".join([question, *list(words)[:MAX_ADDED_WORDS]])


def blend(plain: Hits, augmented: Hits, turns: Sequence[str]) -> Hits:
    """Merge the hits of a question and of the augmented question, best first.

    They are ordered by shares of the best: 1 for a hit that is the best of both lists and contains only new words.
    ``why["score"]`` has the parts.
    """
    turn_stems = {stem(word) for text in turns[-READ_TURNS:] for word in lexical.query_words(text[:READ_CHARACTERS])}
    plain_shares, augmented_shares = _shares(plain), _shares(augmented)
    found = []
    for id, hit in {hit.message_id: hit for hit in (*augmented, *plain)}.items():
        parts = {
            "question": OWN_WEIGHT * plain_shares.get(id, 0.0),
            "turns": (1 - OWN_WEIGHT) * augmented_shares.get(id, 0.0),
        }
        parts["repeats"] = -REPETITION_PENALTY * (1 - _new(hit.text, turn_stems)) * sum(parts.values())
        found.append(replace(hit, why={**hit.why, "score": parts}))
    found.sort(key=lambda hit: -hit.points)
    return Hits(
        tuple(replace(hit, rank=rank) for rank, hit in enumerate(found, 1)),
        query=plain.query,
        mode=plain.mode,
        notes=tuple(dict.fromkeys((*plain.notes, *augmented.notes))),
        took_ms=plain.took_ms + augmented.took_ms,
        summaries=augmented.summaries,
        found=plain.found or augmented.found,
        supports_context=plain.supports_context or augmented.supports_context,
    )


def _shares(hits: Sequence[Hit]) -> Mapping[str, float]:
    best = max((hit.points for hit in hits), default=0.0)
    return {hit.message_id: max(hit.points / best, 0.0) for hit in hits} if best > 0 else {}


def _new(text: str, turn_stems: Set[str]) -> float:
    """The share of words at the beginning of a text that the turns do not have."""
    words = {stem(word) for word in lexical.query_words(text[:READ_CHARACTERS])}
    return len(words - turn_stems) / len(words) if words else 0.0


def search_with_turns(
    search: Callable[[SearchRequest], Hits], request: SearchRequest, turn_texts: Sequence[str]
) -> tuple[Hits, str]:
    """Search for a request, and resolve it with the words of the latest turns if it is a follow-up.

    Returns:
        The hits, and the query that was searched for.
    """
    plain = search(request)
    if not turn_texts or not is_follow_up(request.query):
        return plain, request.query
    query = augment(request.query, turn_texts)
    return blend(plain, search(replace(request, query=query)), turn_texts), query

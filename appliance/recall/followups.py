"""Questions that live on what was said just before: "and when was that?", "was ist mit dem?", "¿y cuánto costó?".

``depends`` tells them by their form, in English, German and Spanish. Such a question is asked twice: as it stands, and
with the words of the latest turns; ``blended`` makes one list of the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from appliance.recall.small_words import LANGUAGES, word_set
from appliance.store import lexical
from appliance.store.lexical import stem
from appliance.types import Hit, Hits

TURNS = 2
"""So many of the latest turns say what a question is about: what was asked last, and the answer to it."""

CHARACTERS = 1_000
"""How much of a turn and of a memory is looked at; a pasted page tells what it is about at its beginning."""

TERMS = 24
"""So many of their words go into the second query; a pasted page has hundreds, and would drown the question."""

OWN = 0.3
"""What the question as it stands counts beside the one with the turns' words, both as shares of their best. Fitted
together with ``NEW`` by tests/eval/followups.py, which says how both carry over."""

NEW = 0.25
"""What a memory loses that says nothing but what the turns say: it repeats the topic, and answers nothing."""

LONGEST = 14
"""A question of more words tells what it is about, pronouns or not."""

FAR = 3
"""A pronoun behind so many telling words has something in the question to stand for."""

FEW = 2
"""A question of no more telling words, none of them a name or a number, says too little by itself."""

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")

_BEGINS = re.compile(
    r"[\W_]*(?:and|but|or|what about|how about|what else|since when"
    r"|und|aber|oder|was ist mit|wie ist es mit|wie wäre|was noch|seit wann"
    r"|y|e|pero|o|qué tal|qué hay de|qué más|desde cuándo)(?![\w'’-])",
    re.IGNORECASE,
)


_EXPLETIVE = word_set("take took taken likely possible true rain rains raining")
"""What "it" is followed by where it stands for nothing."""


def depends(question: str) -> bool:
    """Whether a question, by its form, can only be understood by what was said before it: it begins by going on ("and",
    "what about"), points to something that it does not name, or says too little to be about anything."""
    written = _WORD.findall(question)
    words = [word.casefold() for word in written]
    if not words or len(words) > LONGEST or lexical.phrases(question):
        return False
    if _BEGINS.match(question):
        return True
    language = max(LANGUAGES, key=lambda one: sum(word in one.small for word in words))
    telling = [word not in language.small for word in words]
    named = [
        any(map(str.isdigit, word)) or (at > 0 and telling[at] and word[0].isupper())
        for at, word in enumerate(written)
    ]
    for at, word in enumerate(words):
        if word in language.pointing and not any(named[:at]) and sum(telling[:at]) < FAR:
            follows = words[at + 1] if at + 1 < len(words) else ""
            before_noun = word in language.articles and follows and telling[at + 1]
            if not before_noun and follows not in _EXPLETIVE | {"of"} and not any(named[at : at + 2]):
                return True
    says_little = sum(telling) < len(words) and sum(telling) <= FEW and not any(named)
    return says_little and language.own.isdisjoint(words)


def augmented(question: str, turns: Sequence[str]) -> str:
    """A question with the words of the latest turns behind it, the latest turn's first; ``turns`` are their texts,
    oldest first."""
    words: dict[str, None] = {}
    for text in reversed(turns[-TURNS:]):
        words.update(dict.fromkeys(lexical.words(text[:CHARACTERS])))
    return " ".join([question, *list(words)[:TERMS]])


def blended(plain: Hits, augmented: Hits, turns: Sequence[str]) -> Hits:
    """One list of what a question found as it stands and what it found with the turns' words, best first.

    A score is now a share of the best: 1 for a hit that is the best of both and says something new. ``why["score"]``
    gives its parts.
    """
    said = {stem(word) for text in turns[-TURNS:] for word in lexical.words(text[:CHARACTERS])}
    own, wider = _shares(plain), _shares(augmented)
    found = []
    for id, hit in {hit.message_id: hit for hit in (*augmented, *plain)}.items():
        parts = {"question": OWN * own.get(id, 0.0), "turns": (1 - OWN) * wider.get(id, 0.0)}
        parts["repeats"] = -NEW * (1 - _new(hit.text, said)) * sum(parts.values())
        found.append(replace(hit, score=sum(parts.values()), why={**hit.why, "score": parts}))
    found.sort(key=lambda hit: -hit.score)
    answer = Hits(
        [replace(hit, rank=rank) for rank, hit in enumerate(found, 1)],
        query=plain.query,
        mode=plain.mode,
        notes=tuple(dict.fromkeys((*plain.notes, *augmented.notes))),
        took_ms=plain.took_ms + augmented.took_ms,
    )
    answer.summaries = augmented.summaries
    return answer


def _shares(hits: Sequence[Hit]) -> Mapping[str, float]:
    best = max((hit.score for hit in hits), default=0.0)
    return {hit.message_id: max(hit.score / best, 0.0) for hit in hits} if best > 0 else {}


def _new(text: str, said: Set[str]) -> float:
    """The share of a text's words that have not been said; of a long one, its first words tell."""
    words = {stem(word) for word in lexical.words(text[:CHARACTERS])}
    return len(words - said) / len(words) if words else 0.0

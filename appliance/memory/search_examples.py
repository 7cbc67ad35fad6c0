"""Searches to try, about the person's own people and topics: each finds something in the latest conversations."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from appliance.languages import LANGUAGES, STOP_WORDS
from appliance.languages.language import calendar_names
from appliance.lazy_dataclasses import dataclass
from appliance.memory.people.names import is_machine
from appliance.store import examples as stored
from appliance.store.examples import Sample
from appliance.store.lexical import count_matches, quote_fts
from appliance.store.people import ME_WORDS
from appliance.types import Scope, SessionInfo

MAX_EXAMPLES = 3

SHOWN_SESSIONS = 8
"""Conversations that the start page lists first: a title of another one is a better example."""

MAX_PEOPLE = 2

TOPICS_PER_PERSON = 2

MAX_RATED_WORDS, MAX_LOOKED_UP_WORDS = 5, 16
"""Words of a person that are compared, and the most of which it is looked up whether they are rare enough."""

COMMON_SHARE, MIN_COMMON, MAX_COMMON = 0.01, 500, 2_000
"""A word in more than this share of all messages, within these bounds, is no topic."""

MAX_COUNTED_USES, MAX_COUNTED_LETTERS = 3, 9
"""Messages with a word, and letters of it, beyond which more say nothing more of how much it is a topic: what is said
again and again is a manner of speaking, and short words are."""

PROPER_BONUS = 1.6
"""How much more a word with a capital within a sentence says: names, and in German all nouns."""

GERUND_WEIGHT = 0.4
"""How much less an English word says that is most often a verb: "asking" is no topic."""

MAX_TITLE_WORDS = 6
MIN_WORD, MAX_WORD = 4, 18

_FILLERS = STOP_WORDS.union(
    *(
        words
        for language in LANGUAGES
        for words in (
            language.function_words, language.filler_words, language.talk_words, language.time_words,
            language.vague_time_words, map(str.casefold, calendar_names(language.temporal)),
        )
    )
)  # fmt: skip
_NO_WORDS = re.compile(r"\S*(?:[/@\\<>{}=_]|\w[.:]\w)\S*")
_OPENING, _ENDING = " \"'“„«(", ".!?…:\n"
_WORD = re.compile(rf"[^\W\d_]{{{MIN_WORD},{MAX_WORD}}}")


@dataclass(frozen=True, slots=True)
class _Topic:
    """A word that a person uses, and the month ("2025-03") in which it was used last, "" if that is not known."""

    word: str
    month: str


def search_examples(db: sqlite3.Connection, scope: Scope, recent: Sequence[SessionInfo]) -> tuple[str, ...]:
    """Return up to ``MAX_EXAMPLES`` queries as they are typed: a question for what somebody said, the topic of a
    conversation, a word with filters.

    Args:
        db: The connection.
        scope: Whose messages.
        recent: The sessions with the latest messages, the latest first.
    """
    shared = [info for info in recent if info.storage_scope in ("all", "conversational")]
    people = [one for one in stored.people_of(db, scope, shared) if _is_another(one.name)][:MAX_PEOPLE]
    names = {part.casefold() for one in people for part in _WORD.findall(one.name)}
    taken: set[str] = set()
    topics: list[tuple[str, _Topic]] = []
    for person in people:
        own = [topic for topic in _topics(db, stored.samples(db, person), names) if topic.word not in taken]
        topics += [(person.name, topic) for topic in own[:TOPICS_PER_PERSON]]
        taken |= {topic.word for topic in own[:TOPICS_PER_PERSON]}
    questions = [f"what did {name} say about {topic.word}" for name, topic in topics[:1]]
    filtered = [_with_filters(name, topic) for name, topic in topics[:0:-1]]
    titles = list(islice(_title_queries(db, shared), MAX_EXAMPLES))
    # One of each kind, then more of what there is.
    found = [*questions, *titles[:1], *filtered[:1], *titles[1:], *filtered[1:]]
    return tuple(dict.fromkeys(found))[:MAX_EXAMPLES]


def _is_another(name: str) -> bool:
    """Whether it is the name of a person that can be typed, and none for the person whose memory it is."""
    return name.isprintable() and '"' not in name and not is_machine("name", name) and name.casefold() not in ME_WORDS


def _with_filters(name: str, topic: _Topic) -> str:
    author = f'"{name}"' if " " in name else name
    return " ".join(filter(None, (f"author:{author}", topic.month and f"since:{topic.month}", topic.word)))


def _title_queries(db: sqlite3.Connection, sessions: Sequence[SessionInfo]) -> Iterator[str]:
    """The titles of conversations with an assistant, which are about one topic, those that are not listed first."""
    for info in (*sessions[SHOWN_SESSIONS:], *sessions[:SHOWN_SESSIONS]):
        if info.title_found:  # the beginning of a message is no topic
            continue
        words = [word.strip("\"'“”„«».,:;!?()[]") for word in (info.title or "").split()]
        words = [word for word in words if word and not _NO_WORDS.fullmatch(word)][:MAX_TITLE_WORDS]
        if len([word for word in words if word.casefold() not in _FILLERS]) < 2 or not stored.is_answered(db, info):
            continue
        yield " ".join(words)


def _topics(db: sqlite3.Connection, samples: Sequence[Sample], names: Collection[str]) -> Iterator[_Topic]:
    """The words that tell most about what a person writes, the best first."""
    messages: Counter[str] = Counter()
    spellings: defaultdict[str, Counter[str]] = defaultdict(Counter)
    months: dict[str, str] = {}
    rated: dict[str, float] = {}
    for sample in samples:
        text = _NO_WORDS.sub(" ", sample.text)
        seen = set()
        for match in _WORD.finditer(text):
            word = match[0]
            folded = word.casefold()
            if folded in _FILLERS or folded in names:
                continue
            before = text[: match.start()].rstrip(_OPENING)
            if before and before[-1] not in _ENDING:  # at the beginning of a sentence every word has a capital
                spellings[folded][word] += 1
            seen.add(folded)
        messages.update(seen)
        for folded in seen:
            months[folded] = max(months.get(folded, ""), (sample.sent_at or "")[:7])
    total = stored.message_count(db)
    common = min(max(MIN_COMMON, int(total * COMMON_SHARE)), MAX_COMMON)
    words = {folded: spellings[folded].most_common(1)[0][0] if folded in spellings else folded for folded in messages}
    weights = {
        folded: math.sqrt(min(count, MAX_COUNTED_USES) * min(len(folded), MAX_COUNTED_LETTERS))
        * (PROPER_BONUS if words[folded][0].isupper() else GERUND_WEIGHT if folded.endswith("ing") else 1.0)
        for folded, count in messages.items()
    }
    for folded in sorted(weights, key=lambda folded: (-weights[folded], -len(folded), folded))[:MAX_LOOKED_UP_WORDS]:
        known = count_matches(db, quote_fts(folded), common)
        if known <= common:
            rated[folded] = weights[folded] * math.log1p(total / (1 + known))
        if len(rated) == MAX_RATED_WORDS:
            break
    for folded in sorted(rated, key=lambda folded: (-rated[folded], folded)):
        yield _Topic(words[folded], months[folded])

"""What a stretch of conversation settled and left open, and what it speaks of: a summary's metadata."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from appliance.memory.summarise.cues import answers_nothing, offers
from appliance.memory.summarise.names import paths
from appliance.memory.summarise.reading import Reading, Sentence, is_talk
from appliance.types import Message

MOST = 12
"""Items of each kind: of decisions and the like the latest, of names the most frequent."""

FEWEST_WORDS = 4
"""A question of fewer words ("And you?") does not say what it asks."""

REACH = 30
"""Messages before the word that something works in which its problem is looked for."""


def findings(reading: Reading) -> Mapping[str, Any]:
    """``decisions``, ``commitments``, ``unresolved`` and ``solved`` as lists of ``{"text", "message_id"}``; ``tools``,
    ``files`` and ``entities`` as lists of names. What was not found is an empty list."""
    said = reading.messages
    people = [s for s in reading.sentences if said[s.message].role == "user"]
    return {
        "decisions": _items(reading, [s for s in people if "decided" in s.cues]),
        "commitments": _items(reading, [s for s in people if "promised" in s.cues]),
        "unresolved": _items(reading, _unresolved(reading)),
        "solved": _solved(reading),
        "tools": _tools(reading.given),
        "files": _files(reading.given),
        "entities": _entities(reading),
    }


def _items(reading: Reading, sentences: Sequence[Sentence]) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for sentence in sentences:
        text = " ".join(reading.text(sentence).split())
        found.pop(text.casefold(), None)
        found[text.casefold()] = {"text": text, "message_id": reading.messages[sentence.message].id}
    return list(found.values())[-MOST:]


def _unresolved(reading: Reading) -> list[Sentence]:
    """What is said to be open, and questions without an answer; an assistant only asks to go on."""
    own = [s for s in reading.sentences if reading.messages[s.message].role == "user"]
    return [
        s
        for s in own
        if ("open" in s.cues and not s.asks) or ((s.asks or "wonders" in s.cues) and _unanswered(reading, s))
    ]


def _unanswered(reading: Reading, sentence: Sentence) -> bool:
    """Whether a question found no answer: nobody else spoke after it, or who did knew none."""
    text = reading.text(sentence)
    if sentence.words < FEWEST_WORDS or sentence.empty or offers(text):
        return False
    asker = reading.speaker(sentence.message)
    following = range(sentence.message + 1, len(reading.messages))
    reply = next((i for i in following if reading.speaker(i) != asker), None)
    return reply is None or answers_nothing(reading.messages[reply].text)


def _solved(reading: Reading) -> list[dict[str, str]]:
    """Each problem that is later said to be gone: its sentence, and the message that says so."""
    problems: list[Sentence] = []
    found: dict[Sentence, dict[str, str]] = {}
    for sentence in reading.sentences:
        if "problem" in sentence.cues:
            problems.append(sentence)
        elif "solved" in sentence.cues:
            while problems and sentence.message - problems[0].message > REACH:
                problems.pop(0)
            who = reading.speaker(sentence.message)
            own = [s for s in problems if reading.speaker(s.message) == who] or problems
            if own and own[-1] not in found:
                found[own[-1]] = {
                    "text": " ".join(reading.text(own[-1]).split()),
                    "message_id": reading.messages[own[-1].message].id,
                    "solved_by": reading.messages[sentence.message].id,
                }
    return list(found.values())[-MOST:]


def _tools(messages: Sequence[Message]) -> list[str]:
    return _named(messages, "tools", "name")


def _files(messages: Sequence[Message]) -> list[str]:
    told = _named(messages, "files", "path")
    seen = Counter(path for message in messages if is_talk(message) for path in paths(message.text))
    return list(dict.fromkeys([*told, *(path for path, _ in seen.most_common(MOST))]))[: 2 * MOST]


def _named(messages: Sequence[Message], key: str, name: str) -> list[str]:
    """The names under a key of the metadata, which a parser gives as text or as objects that have one."""
    found: dict[str, None] = {}
    for message in messages:
        listed = message.metadata.get(key)
        for one in listed if isinstance(listed, list | tuple) else ():
            value = one.get(name) or one.get("name") if isinstance(one, Mapping) else one
            if isinstance(value, str) and value.strip():
                found[value.strip()] = None
    return list(found)[: 2 * MOST]


def _entities(reading: Reading) -> list[str]:
    """Names and numbers, the most frequent first; who takes part is no news."""
    counts = Counter(chain.from_iterable(sentence.names for sentence in reading.sentences))
    authors = {message.author for message in reading.given if message.author}
    known = authors | {author.split()[0] for author in authors if author.split()}
    return [name for name, _ in counts.most_common(2 * MOST) if name not in known][:MOST]

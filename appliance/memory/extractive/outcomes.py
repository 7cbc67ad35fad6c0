"""What a part of a conversation settled and left open, and what it speaks of: the metadata of a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from appliance.memory.extractive.analysis import AnalyzedSentence, ConversationAnalysis, is_conversational
from appliance.memory.extractive.cues import Cue, is_non_answer, is_offer, settles
from appliance.types import Message
from appliance.types.file_names import paths

MAX_ITEMS = 12  # of each kind: the latest decisions and the like, the most frequent names
MIN_QUESTION_WORDS = 4  # a question of fewer words ("And you?") does not say what it asks
MAX_PROBLEM_DISTANCE = 30  # messages between a problem and the word that something works

SETTLING_CUES: tuple[Cue, ...] = ("decided", "solved")
"""What ends an open item; only people decide, but an assistant can solve."""


def extract_outcomes(analysis: ConversationAnalysis) -> Mapping[str, Any]:
    """Return the outcomes of a part of a conversation.

    ``decisions``, ``commitments``, ``unresolved`` and ``solved`` are lists of ``{"text", "message_id"}``; ``tools``,
    ``files`` and ``entities`` are lists of names. A kind without items is an empty list."""
    messages = analysis.messages
    people = [s for s in analysis.sentences if messages[s.message].role == "user"]
    return {
        "decisions": _items(analysis, [s for s in people if "decided" in s.cues]),
        "commitments": _items(analysis, [s for s in people if "promised" in s.cues]),
        "unresolved": _items(analysis, _unresolved(analysis)),
        "solved": _solved(analysis),
        "tools": _metadata_names(analysis.all_messages, "tools", "name"),
        "files": _files(analysis.all_messages),
        "entities": _entities(analysis),
    }


def _items(analysis: ConversationAnalysis, sentences: Sequence[AnalyzedSentence]) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for sentence in sentences:
        text = " ".join(analysis.text(sentence).split())
        found.pop(text.casefold(), None)
        found[text.casefold()] = {"text": text, "message_id": analysis.messages[sentence.message].id}
    return list(found.values())[-MAX_ITEMS:]


def _unresolved(analysis: ConversationAnalysis) -> list[AnalyzedSentence]:
    """What people call open and do not settle later, and their questions without an answer.

    An assistant's questions only invite to go on.
    """
    return [
        s
        for s in analysis.sentences
        if analysis.messages[s.message].role == "user"
        and (
            ("open" in s.cues and not s.is_question and not _is_settled(analysis, s))
            or ((s.is_question or "wonders" in s.cues) and _is_unanswered(analysis, s))
        )
    ]


def _is_settled(analysis: ConversationAnalysis, sentence: AnalyzedSentence) -> bool:
    """Whether something is decided or solved later that was left open."""
    later = (s for s in analysis.sentences if (s.message, s.start) > (sentence.message, sentence.start))
    return any(
        settles(analysis.text(other), cue, analysis.text(sentence))
        for other in later
        if not other.is_question
        for cue in SETTLING_CUES
        if cue in other.cues and (cue == "solved" or analysis.messages[other.message].role == "user")
    )


def _is_unanswered(analysis: ConversationAnalysis, sentence: AnalyzedSentence) -> bool:
    """Whether no other speaker followed a question, or the next one had no answer."""
    text = analysis.text(sentence)
    if sentence.word_count < MIN_QUESTION_WORDS or sentence.is_filler or is_offer(text):
        return False
    asker = analysis.speaker(sentence.message)
    following = range(sentence.message + 1, len(analysis.messages))
    reply = next((i for i in following if analysis.speaker(i) != asker), None)
    return reply is None or is_non_answer(analysis.messages[reply].text)


def _solved(analysis: ConversationAnalysis) -> list[dict[str, str]]:
    """Each problem that is gone later: its sentence, and the message that says so."""
    problems: list[AnalyzedSentence] = []
    found: dict[AnalyzedSentence, dict[str, str]] = {}
    for sentence in analysis.sentences:
        if "problem" in sentence.cues:
            problems.append(sentence)
        elif "solved" in sentence.cues:
            while problems and sentence.message - problems[0].message > MAX_PROBLEM_DISTANCE:
                problems.pop(0)
            speaker = analysis.speaker(sentence.message)
            own_problems = [s for s in problems if analysis.speaker(s.message) == speaker] or problems
            if own_problems and own_problems[-1] not in found:
                found[own_problems[-1]] = {
                    "text": " ".join(analysis.text(own_problems[-1]).split()),
                    "message_id": analysis.messages[own_problems[-1].message].id,
                    "solved_by": analysis.messages[sentence.message].id,
                }
    return list(found.values())[-MAX_ITEMS:]


def _files(messages: Sequence[Message]) -> list[str]:
    mentioned = Counter(path for message in messages if is_conversational(message) for path in paths(message.text))
    files = [*_metadata_names(messages, "files", "path"), *(path for path, _ in mentioned.most_common(MAX_ITEMS))]
    return list(dict.fromkeys(files))[: 2 * MAX_ITEMS]


def _metadata_names(messages: Sequence[Message], key: str, name: str) -> list[str]:
    """The names under a key of the metadata, which holds names or objects with a name."""
    found: dict[str, None] = {}
    for message in messages:
        listed = message.metadata.get(key)
        for item in listed if isinstance(listed, list | tuple) else ():
            value = item.get(name) or item.get("name") if isinstance(item, Mapping) else item
            if isinstance(value, str) and value.strip():
                found[value.strip()] = None
    return list(found)[: 2 * MAX_ITEMS]


def _entities(analysis: ConversationAnalysis) -> list[str]:
    """Names and numbers, the most frequent first, without the participants."""
    counts = Counter(chain.from_iterable(sentence.names for sentence in analysis.sentences))
    authors = {message.author for message in analysis.all_messages if message.author}
    known = authors | {author.split()[0] for author in authors if author.split()}
    return [name for name, _ in counts.most_common(2 * MAX_ITEMS) if name not in known][:MAX_ITEMS]

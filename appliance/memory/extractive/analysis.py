"""The sentences of a conversation as a summary needs them: what each of them is, and its vector."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache, lru_cache
from itertools import accumulate, chain
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from appliance.languages import Language
from appliance.lazy_dataclasses import dataclass
from appliance.memory.extractive.cues import CUES, Cue, cues, detect_languages, is_filler, words_of
from appliance.memory.extractive.entities import names
from appliance.memory.extractive.sentences import sentence_spans
from appliance.store.scripts import is_question, split_unspaced
from appliance.types import Message

Embed = Callable[[Sequence[str]], NDArray[np.float32]]  # texts to vectors of length one, (texts, dimension)

# Sentences of an assistant's message that are analyzed, at its beginning and its end: the answer and the conclusion.
# Its explanations are many times longer than what people say, and can be asked for again.
ASSISTANT_FIRST_SENTENCES, ASSISTANT_LAST_SENTENCES = 8, 4
# Longer messages are not cached. The same few messages are analyzed at each level, and at each compaction.
MAX_CACHED_CHARACTERS = 4_000


_ASSISTANT_CUES: tuple[Cue, ...] = ("problem", "solved", "concluded")


@dataclass(frozen=True, slots=True)
class AnalyzedSentence:
    """A sentence of ``ConversationAnalysis.messages[message]``, from ``start`` to ``end``.

    A filler greets, thanks or says nothing else. Content words are those that are no function words. Time words are
    words of time and numbers; ``names`` are names and numbers."""

    message: int
    start: int
    end: int
    is_first: bool
    is_question: bool
    is_filler: bool
    cues: frozenset[Cue]
    word_count: int
    content_words: int
    time_words: int
    names: tuple[str, ...]
    is_self_reference: bool


@dataclass(frozen=True, slots=True)
class ConversationAnalysis:
    """The analysis of ``all_messages``: a whole conversation, or a part of one.

    ``messages`` are the conversational messages of the whole conversation, and ``ends_in_question`` says of each
    whether it ends in a question. ``conversational_before`` counts them before each place of the whole conversation.
    ``sentences`` are those of the part, in order; ``vectors`` has a row for each of them."""

    all_messages: tuple[Message, ...]
    conversational_before: tuple[int, ...]
    messages: tuple[Message, ...]
    ends_in_question: tuple[bool, ...]
    sentences: tuple[AnalyzedSentence, ...]
    vectors: NDArray[np.float32]
    has_assistant: bool

    def text(self, sentence: AnalyzedSentence) -> str:
        return self.messages[sentence.message].text[sentence.start : sentence.end]

    def speaker(self, message: int) -> str:
        """Return who wrote a message: an assistant, or a person by name."""
        turn = self.messages[message]
        return turn.role if turn.role != "user" or not turn.author else f"user {turn.author}"


def is_conversational(message: Message) -> bool:
    """Whether a person or an assistant said a message openly."""
    return message.role in ("user", "assistant") and not message.metadata.get("hidden")


def analyze(messages: Sequence[Message], embed: Embed) -> ConversationAnalysis:
    """Return the sentences of a conversation. ``embed`` is called once, for all of them together."""
    conversation = tuple(message for message in messages if is_conversational(message))
    people = frozenset(word for message in conversation if message.author for word in words_of(message.author))
    sentences = tuple(chain.from_iterable(_sentences(i, message, people) for i, message in enumerate(conversation)))
    texts = [conversation[sentence.message].text[sentence.start : sentence.end] for sentence in sentences]
    return ConversationAnalysis(
        all_messages=tuple(messages),
        conversational_before=tuple(accumulate(map(is_conversational, messages), initial=0)),
        messages=conversation,
        ends_in_question=tuple(is_question(message.text) for message in conversation),
        sentences=sentences,
        vectors=embed(texts) if texts else np.zeros((0, 1), np.float32),
        has_assistant=any(message.role == "assistant" for message in conversation),
    )


def slice_analysis(analysis: ConversationAnalysis, start: int, end: int) -> ConversationAnalysis:
    """Return the analysis of the messages from ``start`` to ``end``; nothing is analyzed again. ``analysis`` must
    cover the whole conversation."""
    bounds = (analysis.conversational_before[start], analysis.conversational_before[end])
    rows = slice(*(bisect_left(analysis.sentences, place, key=attrgetter("message")) for place in bounds))
    return replace(
        analysis,
        all_messages=analysis.all_messages[start:end],
        sentences=analysis.sentences[rows],
        vectors=analysis.vectors[rows],
    )


def message_vectors(analysis: ConversationAnalysis) -> NDArray[np.float32]:
    """Return a vector of each message for ``topics``, (messages, dimension): the sum of its sentences' vectors,
    zeros where it has none. ``analysis`` must cover the whole conversation."""
    rows = [row for row, message in enumerate(analysis.all_messages) if is_conversational(message)]
    sums = np.zeros((len(analysis.all_messages), analysis.vectors.shape[1]), np.float32)
    if analysis.sentences:
        np.add.at(sums, [rows[sentence.message] for sentence in analysis.sentences], analysis.vectors)
    return sums


@dataclass(frozen=True, slots=True)
class _UnnumberedSentence:
    """A sentence, before the number of its message is known."""

    sentence: AnalyzedSentence
    content_words: frozenset[str]


def _sentences(number: int, message: Message, people: frozenset[str]) -> Iterator[AnalyzedSentence]:
    """The sentences of a message. The names of the participants do not count."""
    analyze_text = _cached_analyze_text if len(message.text) <= MAX_CACHED_CHARACTERS else _analyze_text
    for item in analyze_text(message.text, message.role == "assistant"):
        names = tuple(name for name in item.sentence.names if name.lower() not in people)
        yield replace(item.sentence, message=number, content_words=len(item.content_words - people), names=names)


def _analyze_text(text: str, by_assistant: bool) -> tuple[_UnnumberedSentence, ...]:
    limits = (ASSISTANT_FIRST_SENTENCES, ASSISTANT_LAST_SENTENCES) if by_assistant else ()
    spans = sentence_spans(text, *limits)
    kinds = _ASSISTANT_CUES if by_assistant else CUES
    texts = [text[span.start : span.end] for span in spans]
    words_by_sentence = [words_of(split_unspaced(sentence)) for sentence in texts]
    detected = detect_languages(chain.from_iterable(words_by_sentence))
    empty_words, first_person, time_words = _word_sets(detected)
    nouns_capitalized = any(language.capitalizes_nouns for language in detected)
    return tuple(
        _UnnumberedSentence(
            AnalyzedSentence(
                message=0, start=span.start, end=span.end, is_first=span.is_first, is_question=span.is_question,
                is_filler=is_filler(sentence), cues=cues(sentence, detected, kinds), word_count=len(words),
                content_words=0, time_words=sum(word in time_words or word[0].isdigit() for word in words),
                names=tuple(names(sentence, nouns_capitalized=nouns_capitalized)),
                is_self_reference=not first_person.isdisjoint(words),
            ),
            frozenset(word for word in words if len(word) > 1 and word not in empty_words),
        )
        for span, sentence, words in zip(spans, texts, words_by_sentence, strict=True)
    )  # fmt: skip


_cached_analyze_text = lru_cache(maxsize=1_024)(_analyze_text)


@cache
def _word_sets(languages: tuple[Language, ...]) -> tuple[AbstractSet[str], ...]:
    """The empty words, the words of the first person, and the words of time of several languages."""
    return (
        frozenset().union(*(language.function_words | language.filler_words for language in languages)),
        frozenset().union(*(language.first_person for language in languages)),
        frozenset().union(*(language.time_words | language.vague_time_words for language in languages)),
    )

"""A stretch of conversation as it is summarised: its sentences, what each is, and what each says as a vector."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from appliance.memory.summarise.cues import CUES, Cue, cues, languages, says_nothing, words_of
from appliance.memory.summarise.names import names
from appliance.memory.summarise.sentences import spans
from appliance.store.scripts import is_question, spaced
from appliance.types import Message

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to vectors of length one, (texts, dimension)."""

FIRST, LAST = 8, 4
"""Sentences of an assistant's message that are read, at its beginning and its end: what it answers, and what that
comes to. Its explanations are many times what all people say, and can be asked for again."""

HELD = 4_000
"""Characters up to which a message's sentences are remembered: the same few messages are read at each level, and each
time that a conversation is folded."""

_OF_PERSON = CUES
_OF_ASSISTANT: tuple[Cue, ...] = ("problem", "solved", "concluded")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of ``Reading.messages[message]``, from ``start`` to ``end``.

    ``first``: it begins its message. ``empty``: it greets, thanks or fills. Counted are its ``words``,
    ``telling`` ones among them that are no small words, and ``times`` (words of time, numbers). ``names``
    are its names and numbers. ``own`` says that somebody speaks of themselves.
    """

    message: int
    start: int
    end: int
    first: bool
    asks: bool
    empty: bool
    cues: frozenset[Cue]
    words: int
    telling: int
    times: int
    names: tuple[str, ...]
    own: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of ``given``, which is all of a conversation or a part.

    ``messages`` is the talk of the whole conversation, ``asks`` whether each ends in a question, ``talk_before`` how
    many of them stand before each place of it. ``sentences`` are those of the part, in order, and ``vectors`` has a
    row for each. ``assisted`` says that an assistant takes part.
    """

    given: tuple[Message, ...]
    talk_before: tuple[int, ...]
    messages: tuple[Message, ...]
    asks: tuple[bool, ...]
    sentences: tuple[Sentence, ...]
    vectors: NDArray[np.float32]
    assisted: bool

    def text(self, sentence: Sentence) -> str:
        return self.messages[sentence.message].text[sentence.start : sentence.end]

    def speaker(self, message: int) -> str:
        """Who said it: an assistant, or a person by name."""
        said = self.messages[message]
        return said.role if said.role != "user" or not said.author else f"user {said.author}"


def is_talk(message: Message) -> bool:
    """Whether a message is what a person or an assistant said in the open."""
    return message.role in ("user", "assistant") and not message.metadata.get("hidden")


def read(messages: Sequence[Message], embed: Embed) -> Reading:
    """The sentences of a conversation. Vectors are asked for once, for all of them together."""
    talk = tuple(message for message in messages if is_talk(message))
    people = frozenset(word for one in talk if one.author for word in words_of(one.author))
    sentences = tuple(
        one for number, message in enumerate(talk) for one in _sentences(number, message, people)
    )
    texts = [talk[one.message].text[one.start : one.end] for one in sentences]
    return Reading(
        given=tuple(messages),
        talk_before=tuple(accumulate(map(is_talk, messages), initial=0)),
        messages=talk,
        asks=tuple(is_question(message.text) for message in talk),
        sentences=sentences,
        vectors=embed(texts) if texts else np.zeros((0, 1), np.float32),
        assisted=any(message.role == "assistant" for message in talk),
    )


def part(reading: Reading, start: int, end: int) -> Reading:
    """What was read of the messages from ``start`` to ``end`` of ``given``; nothing is read again. Only a reading of
    the whole conversation has parts."""
    places = (reading.talk_before[start], reading.talk_before[end])
    rows = slice(*(bisect_left(reading.sentences, place, key=attrgetter("message")) for place in places))
    return replace(
        reading,
        given=reading.given[start:end],
        sentences=reading.sentences[rows],
        vectors=reading.vectors[rows],
    )


def message_vectors(reading: Reading) -> NDArray[np.float32]:
    """What each message of ``given`` says, as ``topics`` takes it: the sum of its sentences' vectors, all zeros where
    it has none. Only for a reading of the whole conversation."""
    rows = [row for row, one in enumerate(reading.given) if is_talk(one)]
    found = np.zeros((len(reading.given), reading.vectors.shape[1]), np.float32)
    if reading.sentences:
        np.add.at(found, [rows[one.message] for one in reading.sentences], reading.vectors)
    return found


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence whose message has no number yet."""

    sentence: Sentence
    telling: frozenset[str]


def _sentences(number: int, message: Message, people: frozenset[str]) -> Iterator[Sentence]:
    """The sentences of a message. What names those who take part is no news."""
    said = _held if len(message.text) <= HELD else _said
    for one in said(message.text, message.role == "assistant"):
        names = tuple(name for name in one.sentence.names if name.lower() not in people)
        yield replace(one.sentence, message=number, telling=len(one.telling - people), names=names)


def _said(text: str, by_assistant: bool) -> tuple[_Said, ...]:
    found = spans(text, FIRST, LAST) if by_assistant else spans(text)
    kinds = _OF_ASSISTANT if by_assistant else _OF_PERSON
    texts = [text[span.start : span.end] for span in found]
    words = [words_of(spaced(one)) for one in texts]
    spoken = languages(chain.from_iterable(words))
    small, own, times = (frozenset().union(*(getattr(one, name) for one in spoken)) for name in _SETS)
    nouns = any(one.nouns for one in spoken)
    return tuple(
        _Said(
            Sentence(
                message=0,
                start=span.start,
                end=span.end,
                first=span.first,
                asks=span.asks,
                empty=says_nothing(one),
                cues=cues(one, spoken, kinds),
                words=len(own_words),
                telling=0,
                times=sum(word in times or word[0].isdigit() for word in own_words),
                names=tuple(names(one, nouns=nouns)),
                own=not own.isdisjoint(own_words),
            ),
            frozenset(word for word in own_words if len(word) > 1 and word not in small),
        )
        for span, one, own_words in zip(found, texts, words, strict=True)
    )


_held = lru_cache(maxsize=1_024)(_said)
_SETS = ("small", "own", "times")

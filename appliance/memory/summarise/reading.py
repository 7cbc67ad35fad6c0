"""A stretch of conversation as it is summarised: its sentences, what each is, and what each says as a vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from appliance.memory.summarise.cues import Cue, cues, says_nothing
from appliance.memory.summarise.sentences import spans
from appliance.types import Message

Embed = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to vectors of length one, (texts, dimension)."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of ``Reading.messages[message]``, from ``start`` to ``end``. ``at`` is how far into its message it
    stands, 0 to 1; ``empty`` says that it greets, thanks or fills."""

    message: int
    start: int
    end: int
    at: float
    asks: bool
    empty: bool
    cues: frozenset[Cue]


@dataclass(frozen=True, slots=True)
class Reading:
    """``messages`` are the talk of ``everything`` that was given; ``assisted`` says that an assistant takes part;
    ``vectors`` has a row for each sentence."""

    everything: tuple[Message, ...]
    messages: tuple[Message, ...]
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
    sentences: list[Sentence] = []
    texts: list[str] = []
    for number, message in enumerate(talk):
        for span in spans(message.text):
            text = message.text[span.start : span.end]
            texts.append(text)
            sentences.append(
                Sentence(number, span.start, span.end, span.at, span.asks, says_nothing(text), cues(text))
            )
    vectors = embed(texts) if texts else np.zeros((0, 1), np.float32)
    return Reading(
        tuple(messages),
        talk,
        tuple(sentences),
        vectors,
        any(message.role == "assistant" for message in talk),
    )

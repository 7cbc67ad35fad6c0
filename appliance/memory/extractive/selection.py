"""The sentences that a summary quotes: they say much in few words, and each says something new.

The weights follow what mattered in conversations with human summaries (docs/decisions/0013): content words, times,
names, self-references, and replies to a question. Centrality is no part of them: the sentence that is most like all
others says least, because people agree about what is general. Diversity is maximal marginal relevance (Carbonell and
Goldstein 1998)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from appliance.lazy_dataclasses import dataclass
from appliance.memory.extractive.analysis import AnalyzedSentence, ConversationAnalysis, Embed, analyze
from appliance.memory.extractive.cues import Cue, words_of
from appliance.memory.extractive.outcomes import extract_outcomes
from appliance.types import Message, Quote

EXTRACTIVE = "extractive"  # the writer of a summary that no model wrote

Scores = NDArray[np.float64]

MIN_CONTENT_WORDS = 3  # a sentence of fewer content words only makes sense where it was said
# The weight of content words, and the number of them beyond which more add nothing.
CONTENT_WEIGHT, FULL_CONTENT_WORDS = 0.35, 16
TIME_WEIGHT, FULL_TIME_WORDS = 0.2, 3
NAME_WEIGHT, FULL_NAMES = 0.07, 2
SELF_REFERENCE_WEIGHT = 0.07
REPLY_WEIGHT = 0.05  # a sentence of a message that follows a question
CUE_WEIGHTS: dict[Cue, float] = {
    "decided": 0.1, "solved": 0.1, "promised": 0.05, "open": 0.05, "concluded": 0.05, "problem": 0.03
}  # fmt: skip

USER_WEIGHT = 0.3  # what the person says to an assistant: it stands nowhere else
FIRST_SENTENCE_WEIGHT = 0.1  # of a message in a conversation with an assistant: what is wanted, or the answer
BASE_SCORE = 0.05  # every sentence's, for being one
# The content of a sentence is divided by this power of its length, because a summary has room for so many words.
LENGTH_EXPONENT = 0.4
REDUNDANCY_PENALTY = 0.1  # what a sentence that repeats a chosen one loses
MAX_SENTENCES = 30  # of a summary


@dataclass(frozen=True, slots=True)
class SummaryDraft:
    """A summary before it is stored. ``quotes`` stand in the order in which they were said; ``metadata`` is as in
    ``types.Summary``."""

    text: str
    quotes: tuple[Quote, ...]
    metadata: Mapping[str, Any]


def summarize(messages: Sequence[Message], embed: Embed, sentences: int | None = None) -> SummaryDraft:
    """Return a summary of a part of a conversation, of at most ``sentences`` sentences (by its length unless given)."""
    return draft_summary(analyze(messages, embed), sentences)


def draft_summary(analysis: ConversationAnalysis, sentences: int | None = None) -> SummaryDraft:
    """Return the summary of an analysis."""
    count = summary_length(len(analysis.sentences)) if sentences is None else sentences
    chosen = sorted(islice(select_diverse(analysis, score_sentences(analysis)), count))
    quotes = to_quotes(analysis, chosen)
    quoted_messages = [analysis.messages[analysis.sentences[i].message] for i in chosen]
    return SummaryDraft(render_quotes(quotes, quoted_messages), quotes, extract_outcomes(analysis))


def to_quotes(analysis: ConversationAnalysis, chosen: Sequence[int]) -> tuple[Quote, ...]:
    """Return the sentences of some indices as quotes."""
    sentences = [analysis.sentences[i] for i in chosen]
    return tuple(Quote(analysis.messages[s.message].id, s.start, s.end, analysis.text(s)) for s in sentences)


def render_quotes(quotes: Sequence[Quote], messages: Sequence[Message]) -> str:
    """Return lines of "Author (when): sentence". The quotes of a message share a line, with "…" for what was left
    out."""
    messages_by_id = {message.id: message for message in messages}
    lines: list[str] = []
    for key, message_quotes in groupby(quotes, lambda quote: quote.message_id):
        message = messages_by_id[key]
        words = ""
        end = None
        for quote in message_quotes:
            if words:
                words += " " if end is not None and not message.text[end : quote.start].strip() else " … "
            words += " ".join(quote.text.split())
            end = quote.end
        when = f" ({message.timestamp[:16].replace('T', ' ')})" if message.timestamp else ""
        lines.append(f"{message.author or message.role}{when}: {words}")
    return "\n".join(lines)


def summary_length(sentences: int) -> int:
    """Return the number of sentences of a summary: the square root, so that a day's conversation is a page and not a
    book."""
    return max(1, min(MAX_SENTENCES, round(math.sqrt(sentences)))) if sentences else 0


def score_sentences(analysis: ConversationAnalysis) -> Scores:
    """Return how much each sentence says for its length; -inf for a sentence that cannot be quoted."""
    quotable = np.array([_is_quotable(analysis, sentence) for sentence in analysis.sentences], bool)
    scores = np.full(len(quotable), -np.inf)
    if quotable.any():
        content_scores = np.array([_content_score(analysis, sentence) for sentence in analysis.sentences])
        words = np.array([max(sentence.word_count, 1) for sentence in analysis.sentences])
        scores[quotable] = (content_scores + BASE_SCORE)[quotable] / words[quotable] ** LENGTH_EXPONENT
    return scores


def _is_quotable(analysis: ConversationAnalysis, sentence: AnalyzedSentence) -> bool:
    """Whether a sentence can be quoted by itself; one that ends in a colon announces the next."""
    if sentence.is_filler or sentence.content_words < MIN_CONTENT_WORDS:
        return False
    return not analysis.messages[sentence.message].text.startswith((":", "："), sentence.end - 1)


def _content_score(analysis: ConversationAnalysis, sentence: AnalyzedSentence) -> float:
    value = CONTENT_WEIGHT * min(1.0, sentence.content_words / FULL_CONTENT_WORDS)
    value += TIME_WEIGHT * min(1.0, sentence.time_words / FULL_TIME_WORDS)
    value += NAME_WEIGHT * min(1.0, len(sentence.names) / FULL_NAMES)
    value += SELF_REFERENCE_WEIGHT * sentence.is_self_reference
    value += REPLY_WEIGHT * (sentence.message > 0 and analysis.ends_in_question[sentence.message - 1])
    value += max((CUE_WEIGHTS.get(cue, 0.0) for cue in sentence.cues), default=0.0)
    if analysis.has_assistant:
        by_user = analysis.messages[sentence.message].role == "user"
        value += USER_WEIGHT * by_user + FIRST_SENTENCE_WEIGHT * sentence.is_first
    return value


def select_diverse(analysis: ConversationAnalysis, weights: Scores) -> Iterator[int]:
    """Yield the indices of sentences until none is left, always the one that adds most. What is said again in the same
    words adds nothing."""
    remaining = weights.copy()
    numbers: dict[str, int] = {}
    wording = np.array([numbers.setdefault(_wording(analysis, one), len(numbers)) for one in analysis.sentences], int)
    similarity = np.zeros(len(remaining))
    while len(remaining):
        best = int(np.argmax(remaining - REDUNDANCY_PENALTY * similarity))
        if remaining[best] == -np.inf:
            return
        yield best
        remaining[wording == wording[best]] = -np.inf
        np.maximum(similarity, analysis.vectors @ analysis.vectors[best], out=similarity)


def _wording(analysis: ConversationAnalysis, sentence: AnalyzedSentence) -> str:
    """What is equal of sentences that say the same in the same words."""
    text = analysis.text(sentence)
    return " ".join(words_of(text)) or text

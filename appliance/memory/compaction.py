"""Compaction: which turns of a conversation stay as they were said, and what its running summary says of the others.

When a window reaches a share of its budget, the oldest turns move into the running summary, until the window is down
to a smaller share; the latest few always stay. When this happens depends on the turns alone, one after the other:
not on when a window is requested, nor on who wrote the summary, which has a fixed part of the budget reserved.
Compacted turns are summarised together with the summary so far, so that its length is bounded however long the
conversation grows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.memory.extractive import (
    EXTRACTIVE,
    ConversationAnalysis,
    Embed,
    analyze,
    render_quotes,
    score_sentences,
    select_diverse,
    to_quotes,
)
from appliance.runtime.decoding import convert
from appliance.types import Message, Quote

CountTokens = Callable[[str], int]

SUMMARY_BUDGET_SHARE = 0.25  # of the budget, reserved for the running summary: some twenty sentences of 2,000 tokens
# A sentence counts half when three times as many messages have been compacted since, because recent matters are
# likelier to continue. It falls with a power of the age, so that an old decision can stay.
AGE_DECAY_MESSAGES = 100
MIN_SENTENCE_TOKENS = 8  # no shorter sentence says anything
HEADING_TOKENS = 16  # of a window's own headings, in any encoding

Strategy = Literal["summary_buffer", "buffer_window"]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """How a session's window is kept, as in the settings ([working]). ``encoding`` is an encoding, or the name of
    the assistant's model."""

    strategy: Strategy = "summary_buffer"
    budget: Annotated[int, Meta(ge=64)] = 2000
    threshold: Share = 0.8
    target: Share = 0.6
    keep: Annotated[int, Meta(ge=1)] = 3
    turns: Annotated[int, Meta(ge=1)] = 20
    encoding: str = "o200k_base"

    @property
    def summary_budget(self) -> int:
        """The most tokens of the running summary."""
        return int(min(SUMMARY_BUDGET_SHARE, self.target / 2) * self.budget)


def resolve_policy(default: WindowPolicy, options: object, where: str) -> WindowPolicy:
    """Return the default policy with a session's ``options`` in place of its own values.

    Raises:
        UsageError: An option is unknown or invalid. The error names the option and ``where``.
    """
    if not isinstance(options, Mapping):
        raise UsageError("The option working must be a table of options.", where=where)
    known = asdict(default)
    if unknown := sorted(map(str, options.keys() - known.keys())):
        raise UsageError(f"Unknown option working.{unknown[0]}.", where=where, hint=f"Use one of {', '.join(known)}.")
    try:
        policy = convert({**known, **options}, WindowPolicy)
    except msgspec.ValidationError as error:
        raise UsageError(f"The option working is invalid: {error}.", where=where) from error
    if policy.target > policy.threshold:
        raise UsageError(
            f"working.target ({policy.target}) must not exceed working.threshold ({policy.threshold}).",
            where=where,
            hint="Compaction begins at the threshold and ends at the target.",
        )
    return policy


def compaction_points(tokens: Sequence[int], policy: WindowPolicy, has_summary: bool) -> Iterator[int]:
    """Yield how many turns, counted from the first one, are compacted after each compaction that is due.

    Args:
        tokens: Of the turns that are not compacted yet.
        has_summary: Whether some turns are compacted already.
    """
    start, window_tokens, reserved_tokens = 0, HEADING_TOKENS, policy.summary_budget if has_summary else 0
    for end, size in enumerate(tokens, 1):
        window_tokens += size
        if window_tokens + reserved_tokens < policy.threshold * policy.budget or end - start <= policy.keep:
            continue
        while end - start > policy.keep and window_tokens + policy.summary_budget > policy.target * policy.budget:
            window_tokens -= tokens[start]
            start += 1
        reserved_tokens = policy.summary_budget
        yield start


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence of the running summary; ``number`` counts its message among all compacted ones."""

    quote: Quote
    number: int


@dataclass(frozen=True, slots=True)
class RunningSummary:
    """The running summary of the first ``compacted`` turns, the last of which is ``until``.

    ``text`` consists of ``sentences``, or a model wrote it (``made_by``) with ``sentences`` as its evidence."""

    until: str
    compacted: int
    text: str
    sentences: tuple[SummarySentence, ...]
    made_by: str


# Summary so far and compacted turns to the new summary; None where there is none.
WriteSummary = Callable[[str, Sequence[Message]], str | None]


@dataclass(frozen=True, slots=True)
class RunningSummaryWriter:
    """A model that writes running summaries."""

    name: str
    write: WriteSummary


def compact(
    previous: RunningSummary | None,
    sources: Mapping[str, Message],
    turns: Sequence[Message],
    policy: WindowPolicy,
    count_tokens: CountTokens,
    embed: Embed,
) -> RunningSummary:
    """Return the running summary after the compaction of further ``turns``, in sentences of the conversation.

    Args:
        sources: The messages that the summary so far quotes, by id.
    """
    sentences = previous.sentences if previous else ()
    compacted = previous.compacted if previous else 0
    numbers = {sentence.quote.message_id: sentence.number for sentence in sentences}
    quoted_messages = [sources[id] for id in numbers if id in sources]
    numbers |= {turn.id: number for number, turn in enumerate(turns, compacted)}
    compacted += len(turns)
    kept = {(sentence.quote.message_id, sentence.quote.start) for sentence in sentences}
    analysis = _restrict_analysis(analyze([*quoted_messages, *turns], embed), {turn.id for turn in turns}, kept)
    ages = [compacted - numbers[analysis.messages[sentence.message].id] for sentence in analysis.sentences]
    weights = score_sentences(analysis) / np.sqrt(1 + np.array(ages, np.float64) / AGE_DECAY_MESSAGES)
    chosen: list[int] = []
    remaining_tokens = policy.summary_budget
    for i in select_diverse(analysis, weights):
        if remaining_tokens < MIN_SENTENCE_TOKENS:
            break
        cost = _token_cost(analysis, i, chosen, count_tokens)
        if cost <= remaining_tokens:
            chosen.append(i)
            remaining_tokens -= cost
    quotes = to_quotes(analysis, sorted(chosen))
    while quotes and count_tokens(render_quotes(quotes, analysis.messages)) > policy.summary_budget:
        quotes = to_quotes(analysis, sorted(chosen := chosen[:-1]))
    return RunningSummary(
        until=turns[-1].id,
        compacted=compacted,
        text=render_quotes(quotes, analysis.messages),
        sentences=tuple(SummarySentence(quote, numbers[quote.message_id]) for quote in quotes),
        made_by=EXTRACTIVE,
    )


def with_model_text(
    running: RunningSummary, text: str | None, made_by: str, policy: WindowPolicy, count_tokens: CountTokens
) -> RunningSummary:
    """Return the summary with a model's text in place of the sentences, in whole lines as far as the budget reaches."""
    lines = (text or "").strip().splitlines()
    while lines and count_tokens("\n".join(lines)) > policy.summary_budget:
        lines.pop()
    short = "\n".join(lines).strip()
    return replace(running, text=short, made_by=made_by) if short else running


def _restrict_analysis(
    analysis: ConversationAnalysis, new_ids: set[str], kept: set[tuple[str, int]]
) -> ConversationAnalysis:
    """The analysis without the sentences of earlier messages that the summary so far does not quote."""
    rows = [
        i
        for i, sentence in enumerate(analysis.sentences)
        if (id := analysis.messages[sentence.message].id) in new_ids or (id, sentence.start) in kept
    ]
    return replace(analysis, sentences=tuple(analysis.sentences[i] for i in rows), vectors=analysis.vectors[rows])


def _token_cost(analysis: ConversationAnalysis, i: int, chosen: Sequence[int], count_tokens: CountTokens) -> int:
    """About how many tokens a sentence takes: with its author and time, unless a chosen sentence shares its message."""
    message = analysis.sentences[i].message
    quotes = to_quotes(analysis, [i])
    if any(analysis.sentences[j].message == message for j in chosen):
        return count_tokens(f" … {quotes[0].text}")
    return count_tokens(render_quotes(quotes, analysis.messages) + "\n")


@dataclass(frozen=True, slots=True)
class RunningSummaryState:
    """The running summary of a conversation, the messages that it quotes by id, and the turns after it."""

    running: RunningSummary | None
    sources: Mapping[str, Message]
    turns: Sequence[Message]


def compact_due(
    state: RunningSummaryState,
    sizes: Sequence[int],
    policy: WindowPolicy,
    count_tokens: CountTokens,
    embed: Embed,
    writer: RunningSummaryWriter | None = None,
    max_compactions: int | None = None,
) -> tuple[RunningSummaryState, int]:
    """Run the compactions of a conversation that are due. Returns the state after them, and their number.

    Args:
        sizes: The tokens of the turns.
        writer: Writes the summary of the last compaction only.
        max_compactions: The others are run by the next call.
    """
    running, sources, start, compactions = state.running, dict(state.sources), 0, 0
    ends = [*compaction_points(sizes, policy, running is not None)]
    for end in ends[:max_compactions]:
        turns, prior = state.turns[start:end], running.text if running else ""
        running = compact(running, sources, turns, policy, count_tokens, embed)
        if writer is not None and end == ends[-1]:
            running = with_model_text(running, writer.write(prior, turns), writer.name, policy, count_tokens)
        sources.update((turn.id, turn) for turn in turns)
        quoted_ids = {sentence.quote.message_id for sentence in running.sentences}
        sources = {id: message for id, message in sources.items() if id in quoted_ids}
        start, compactions = end, compactions + 1
    return RunningSummaryState(running, sources, state.turns[start:]), compactions

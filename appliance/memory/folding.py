"""What of a running conversation stands as it was said, and what its running summary says of the rest. Pure.

Turns are folded from the oldest on whenever the window has grown to a share of its budget, down to a smaller share, but
never the latest few. When they fold depends on the turns alone, one after the other: not on when a window is asked for,
nor on who wrote the summary, which has a fixed part of the budget set aside. What is folded is summarised together with
the summary so far, so that it stays as long as it is however long the conversation grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from appliance.errors import UsageError
from appliance.memory.summarise import Embed, Reading, picked, quoted, read, rendered, scores
from appliance.types import Message, Quote

CountTokens = Callable[[str], int]

ROOM = 0.25
"""The share of the budget that is set aside for the running summary: some twenty sentences of 2,000 tokens."""

FADES = 100
"""A sentence counts for half when three times as many messages have been folded since: what was said lately is
likelier to be gone on with. It falls with a power of the age, so that what was decided long ago can stay."""

LEAST = 8
"""Tokens in which a sentence can still say something."""

HEADINGS = 16
"""Tokens of what a window says of itself, in any encoding."""

Strategy = Literal["summary_buffer", "buffer_window"]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


@dataclass(frozen=True, slots=True)
class Habits:
    """How a session's window is kept; ``encoding`` is one, or the name of the assistant's model. The rest is as in the
    settings ([working])."""

    strategy: Strategy = "summary_buffer"
    budget: Annotated[int, Meta(ge=64)] = 2000
    threshold: Share = 0.8
    target: Share = 0.6
    keep: Annotated[int, Meta(ge=1)] = 3
    turns: Annotated[int, Meta(ge=1)] = 20
    encoding: str = "o200k_base"

    @property
    def room(self) -> int:
        """Tokens that the summary may take."""
        return int(min(ROOM, self.target / 2) * self.budget)


def habits(usual: Habits, options: object, where: str) -> Habits:
    """The usual ones, with what a session's ``options`` say instead.

    Raises:
        UsageError: an option is unknown or can't be; it names the option and ``where``.
    """
    if not isinstance(options, Mapping):
        raise UsageError("option 'working' is no table of options", where=where)
    known = asdict(usual)
    if unknown := sorted(map(str, options.keys() - known.keys())):
        raise UsageError(f"no option working.{unknown[0]}", where=where, hint="known are " + ", ".join(known))
    try:
        found = msgspec.convert({**known, **options}, Habits)
    except msgspec.ValidationError as error:
        raise UsageError(f"option working: {error}", where=where) from error
    if found.target > found.threshold:
        raise UsageError(
            f"working.target ({found.target}) is above working.threshold ({found.threshold})",
            where=where,
            hint="turns are folded from the threshold on, down to the target",
        )
    return found


def folds(tokens: Sequence[int], habits: Habits, folded: bool) -> Iterator[int]:
    """How many turns, counted from the first of ``tokens``, are folded after each fold that is due. ``tokens`` are
    those of the turns that are not folded, ``folded`` says whether some are already."""
    start, held, room = 0, HEADINGS, habits.room if folded else 0
    for end, size in enumerate(tokens, 1):
        held += size
        if held + room < habits.threshold * habits.budget or end - start <= habits.keep:
            continue
        while end - start > habits.keep and held + habits.room > habits.target * habits.budget:
            held -= tokens[start]
            start += 1
        room = habits.room
        yield start


# --- the running summary -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Kept:
    """A sentence of the running summary; ``number`` counts its message among all that were folded."""

    quote: Quote
    number: int


@dataclass(frozen=True, slots=True)
class Running:
    """The running summary of the first ``folded`` turns, the last of which is ``until``. ``text`` is what ``kept``
    says, or what a model wrote (``made_by``) with ``kept`` as its evidence."""

    until: str
    folded: int
    text: str
    kept: tuple[Kept, ...]
    made_by: str


EXTRACTIVE = "extractive"

Write = Callable[[str, Sequence[Message]], str | None]
"""Summary so far and folded turns to the new summary; None where there is none."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A model that writes running summaries, by its name."""

    name: str
    write: Write


def fold(
    before: Running | None,
    sources: Mapping[str, Message],
    turns: Sequence[Message],
    habits: Habits,
    count: CountTokens,
    embed: Embed,
) -> Running:
    """The running summary after ``turns`` were folded too, in sentences of the conversation. ``sources`` has the
    messages that the summary so far quotes, by id."""
    kept = {} if before is None else {(k.quote.message_id, k.quote.start): k for k in before.kept}
    folded = 0 if before is None else before.folded
    numbers = {k.quote.message_id: k.number for k in kept.values()}
    old = [sources[id] for id in numbers if id in sources]
    numbers |= {turn.id: folded + place for place, turn in enumerate(turns)}
    folded += len(turns)
    reading = _of(read([*old, *turns], embed), {turn.id for turn in turns}, kept)
    ages = [folded - numbers[reading.messages[one.message].id] for one in reading.sentences]
    weighed = scores(reading) / np.sqrt(1 + np.array(ages, np.float64) / FADES)
    chosen: list[int] = []
    left = habits.room
    for i in picked(reading, weighed):
        if left < LEAST:
            break
        cost = _cost(reading, i, chosen, count)
        if cost <= left:
            chosen.append(i)
            left -= cost
    quotes = quoted(reading, sorted(chosen))
    while quotes and count(rendered(quotes, reading.messages)) > habits.room:
        quotes = quoted(reading, sorted(chosen := chosen[:-1]))
    return Running(
        until=turns[-1].id,
        folded=folded,
        text=rendered(quotes, reading.messages),
        kept=tuple(Kept(quote, numbers[quote.message_id]) for quote in quotes),
        made_by=EXTRACTIVE,
    )


def written(running: Running, text: str | None, made_by: str, habits: Habits, count: CountTokens) -> Running:
    """The same with what a model wrote in the place of the sentences, as far as there is room: whole lines of it."""
    lines = (text or "").strip().splitlines()
    while lines and count("\n".join(lines)) > habits.room:
        lines.pop()
    short = "\n".join(lines).strip()
    return replace(running, text=short, made_by=made_by) if short else running


def _of(reading: Reading, fresh: set[str], kept: Mapping[tuple[str, int], Kept]) -> Reading:
    """Of earlier messages only what the summary so far says."""
    rows = [
        i
        for i, one in enumerate(reading.sentences)
        if (id := reading.messages[one.message].id) in fresh or (id, one.start) in kept
    ]
    return replace(
        reading, sentences=tuple(reading.sentences[i] for i in rows), vectors=reading.vectors[rows]
    )


def _cost(reading: Reading, i: int, chosen: Sequence[int], count: CountTokens) -> int:
    """About what a sentence takes: with its author and time, unless its message has been named."""
    message = reading.sentences[i].message
    quotes = quoted(reading, [i])
    if any(reading.sentences[j].message == message for j in chosen):
        return count(f" … {quotes[0].text}")
    return count(rendered(quotes, reading.messages) + "\n")


# --- one after the other --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class State:
    """The running summary of a conversation, the messages that it quotes by id, and the ``turns`` behind it."""

    running: Running | None
    sources: Mapping[str, Message]
    turns: Sequence[Message]


def caught_up(
    state: State,
    sizes: Sequence[int],
    habits: Habits,
    count: CountTokens,
    embed: Embed,
    writer: Writer | None = None,
    most: int | None = None,
) -> tuple[State, int]:
    """What becomes of a conversation when all is folded that is due, and the number of foldings. ``sizes`` are the
    tokens of its turns. Only the last folding is written by a model (``writer``). ``most`` bounds
    the foldings: the others are done when it is called again."""
    running, sources, start, foldings = state.running, dict(state.sources), 0, 0
    ends = [*folds(sizes, habits, running is not None)]
    for end in ends[:most]:
        turns, prior = state.turns[start:end], running.text if running else ""
        running = fold(running, sources, turns, habits, count, embed)
        if writer is not None and end == ends[-1]:
            running = written(running, writer.write(prior, turns), writer.name, habits, count)
        sources.update((turn.id, turn) for turn in turns)
        quoted_ids = {one.quote.message_id for one in running.kept}
        sources = {id: message for id, message in sources.items() if id in quoted_ids}
        start, foldings = end, foldings + 1
    return State(running, sources, state.turns[start:]), foldings

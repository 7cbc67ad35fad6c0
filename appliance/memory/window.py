"""A window on a conversation as callers get it: rendered, counted exactly, within its budget. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from appliance.memory import compaction
from appliance.memory.compaction import RunningSummaryState, WindowPolicy
from appliance.memory.extractive import EXTRACTIVE, Embed, render_quotes
from appliance.types import Message, Quote, Window

SUMMARY_HEADING = "# Earlier in this conversation\n\n"
TURNS_HEADING = "# This conversation so far\n\n"

TURN_OVERHEAD_TOKENS = 1  # a turn may take so many more tokens among others than by itself


class WindowTokenCounter(Protocol):
    """Counts tokens. ``note`` explains where the encoding ``name`` is not the requested one."""

    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    def count(self, text: str) -> int: ...


def render_turn(turn: Message) -> str:
    """Return a turn as a window shows it."""
    return f"{turn.author or turn.role}: {turn.text}\n\n"


def turn_tokens(turn: Message, count: Callable[[str], int]) -> int:
    """Return the most tokens that a turn takes in a window."""
    return count(render_turn(turn)) + TURN_OVERHEAD_TOKENS


def render_window(summary: str | None, turns: Sequence[Message]) -> str:
    """Return a window as one text, on which its tokens are counted."""
    rendered_text = f"{SUMMARY_HEADING}{summary}\n\n" if summary else ""
    if turns:
        rendered_text += TURNS_HEADING + "".join(map(render_turn, turns))
    return rendered_text.rstrip("\n")


def build_window(
    session_id: str, state: RunningSummaryState, policy: WindowPolicy, counter: WindowTokenCounter
) -> Window:
    """Return the window of a conversation after all compactions that are due.

    The summary gives way to the turns: where both exceed the budget, its oldest sentences are left out. The latest
    turns (``policy.keep``) stay as they were said even if they exceed the budget by themselves; a note says so."""
    summary: str | None = None
    quotes: tuple[Quote, ...] = ()
    tokens = 0
    for summary, quotes in _shrinking_summaries(state):  # noqa: B007 the last one tried is returned
        tokens = counter.count(render_window(summary, state.turns))
        if tokens <= policy.budget:
            break
    notes = [counter.note] if counter.note else []
    if state.running and summary != (state.running.text or None):
        notes.append("the summary is shortened to make room for the latest turns")
    if tokens > policy.budget:
        subject = "the latest turn takes" if len(state.turns) == 1 else f"the latest {len(state.turns)} turns take"
        notes.append(f"{subject} {tokens} tokens, more than the budget of {policy.budget}")
    return Window(
        session_id=session_id, strategy="summary_buffer", summary=summary, quotes=quotes,
        compacted=state.running.compacted if state.running else 0, turns=tuple(state.turns), tokens=tokens,
        budget=policy.budget, encoding=counter.name,
        made_by=state.running.made_by if state.running and summary else "", notes=tuple(notes),
    )  # fmt: skip


def latest_turns_window(session_id: str, turns: Sequence[Message], earlier: int, counter: WindowTokenCounter) -> Window:
    """Return the last turns as they were said, after ``earlier`` other turns (strategy "buffer_window")."""
    return Window(
        session_id=session_id, strategy="buffer_window", summary=None, quotes=(), compacted=earlier, turns=tuple(turns),
        tokens=counter.count(render_window(None, turns)), budget=None, encoding=counter.name, made_by="",
        notes=(counter.note,) if counter.note else (),
    )  # fmt: skip


def window_of_messages(
    session_id: str, messages: Sequence[Message], policy: WindowPolicy, counter: WindowTokenCounter, embed: Embed
) -> Window:
    """Return the window of a conversation that is not stored; ``messages`` are its conversational messages."""
    if policy.strategy == "buffer_window":
        last = messages[-policy.turns :]
        return latest_turns_window(session_id, last, len(messages) - len(last), counter)
    sizes = [turn_tokens(message, counter.count) for message in messages]
    state, _ = compaction.compact_due(RunningSummaryState(None, {}, messages), sizes, policy, counter.count, embed)
    return build_window(session_id, state, policy, counter)


def describe_window(window: Window) -> str:
    """Return a window for a person to read: what it consists of, then what an assistant is given."""
    budget = f" of {window.budget:,}" if window.budget is not None else ""
    parts = [
        window.session_id,
        window.strategy,
        f"{window.compacted} turn{'' if window.compacted == 1 else 's'} compacted",
        f"{len(window.turns)} in full",
        f"{window.tokens:,}{budget} tokens ({window.encoding})",
    ]
    if window.made_by not in ("", EXTRACTIVE):
        parts.append(f"summarised by {window.made_by}")
    return "\n".join([" · ".join(parts), *window.notes, "", render_window(window.summary, window.turns)]).rstrip()


def _shrinking_summaries(state: RunningSummaryState) -> Iterator[tuple[str | None, tuple[Quote, ...]]]:
    """The summary with its quotes, then ever shorter ones, and None at the end. Of an extractive summary the
    sentences of the oldest message go first, of a model's the last line."""
    running = state.running
    if running is not None and running.text:
        quotes = tuple(sentence.quote for sentence in running.sentences)
        if running.made_by == EXTRACTIVE:
            groups = [tuple(own) for _, own in groupby(quotes, lambda quote: quote.message_id)]
            for start in range(len(groups)):
                remaining = tuple(quote for own in groups[start:] for quote in own)
                yield render_quotes(remaining, list(state.sources.values())), remaining
        else:
            lines = running.text.splitlines()
            yield from (("\n".join(lines[:end]), quotes) for end in range(len(lines), 0, -1))
    yield None, ()

"""A window on a conversation as it is handed out: rendered, counted exactly, within its budget. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Protocol

from appliance.memory import folding
from appliance.memory.folding import EXTRACTIVE, Habits, State
from appliance.memory.summarise import Embed, rendered
from appliance.types import Message, Quote, Window

SUMMARY = "# Earlier in this conversation\n\n"
TURNS = "# This conversation so far\n\n"

SEAM = 1
"""Tokens that a turn may take more beside others than by itself."""


class Counter(Protocol):
    """Counts tokens; ``note`` says in words where the encoding ``name`` is not the one that was asked for."""

    @property
    def name(self) -> str: ...
    @property
    def note(self) -> str: ...
    def count(self, text: str) -> int: ...


def turn_text(turn: Message) -> str:
    """A turn as a window shows it."""
    return f"{turn.author or turn.role}: {turn.text}\n\n"


def size(turn: Message, count: Callable[[str], int]) -> int:
    """The tokens of a turn in a window, at most."""
    return count(turn_text(turn)) + SEAM


def text(summary: str | None, turns: Sequence[Message]) -> str:
    """A window as one text: what its tokens are counted on."""
    whole = f"{SUMMARY}{summary}\n\n" if summary else ""
    if turns:
        whole += TURNS + "".join(map(turn_text, turns))
    return whole.rstrip("\n")


def handed_out(session_id: str, state: State, habits: Habits, counter: Counter) -> Window:
    """The window of a conversation in which all is folded that is due.

    The summary gives way to the turns: where both are more than the budget, its oldest sentences are left out. The
    latest turns (``habits.keep``) stand as they were said even if they are more by themselves; that is said.
    """
    summary: str | None = None
    quotes: tuple[Quote, ...] = ()
    tokens = 0
    for summary, quotes in _shorter(state):  # noqa: B007 the last one tried is the one that is handed out
        tokens = counter.count(text(summary, state.turns))
        if tokens <= habits.budget:
            break
    notes = [counter.note] if counter.note else []
    if state.running and summary != (state.running.text or None):
        notes.append("the summary is shortened: the latest turns leave it less room")
    if tokens > habits.budget:
        notes.append(
            f"the latest {len(state.turns)} turns take {tokens} tokens of a budget of {habits.budget}: they stand as"
            " they were said"
        )
    return Window(
        session_id=session_id,
        strategy="summary_buffer",
        summary=summary,
        quotes=quotes,
        folded=state.running.folded if state.running else 0,
        turns=tuple(state.turns),
        tokens=tokens,
        budget=habits.budget,
        encoding=counter.name,
        made_by=state.running.made_by if state.running and summary else "",
        notes=tuple(notes),
    )


def latest(session_id: str, turns: Sequence[Message], earlier: int, counter: Counter) -> Window:
    """The last turns as they were said, after ``earlier`` ones (buffer_window)."""
    return Window(
        session_id=session_id,
        strategy="buffer_window",
        summary=None,
        quotes=(),
        folded=earlier,
        turns=tuple(turns),
        tokens=counter.count(text(None, turns)),
        budget=None,
        encoding=counter.name,
        made_by="",
        notes=(counter.note,) if counter.note else (),
    )


def of_messages(
    session_id: str, messages: Sequence[Message], habits: Habits, counter: Counter, embed: Embed
) -> Window:
    """The window of a conversation that is stored nowhere; ``messages`` are its talk."""
    if habits.strategy == "buffer_window":
        last = messages[-habits.turns :]
        return latest(session_id, last, len(messages) - len(last), counter)
    sizes = [size(message, counter.count) for message in messages]
    state, _ = folding.caught_up(State(None, {}, messages), sizes, habits, counter.count, embed)
    return handed_out(session_id, state, habits, counter)


def shown(window: Window) -> str:
    """A window for a person to read: what it is made of, then what an assistant is given."""
    budget = f" of {window.budget:,}" if window.budget is not None else ""
    parts = [
        window.session_id,
        window.strategy,
        f"{window.folded} turns folded",
        f"{len(window.turns)} as they were said",
        f"{window.tokens:,}{budget} tokens ({window.encoding})",
    ]
    if window.made_by not in ("", EXTRACTIVE):
        parts.append(f"summarised by {window.made_by}")
    return "\n".join([" · ".join(parts), *window.notes, "", text(window.summary, window.turns)]).rstrip()


def _shorter(state: State) -> Iterator[tuple[str | None, tuple[Quote, ...]]]:
    """The summary with its sentences, then ever shorter ones: of sentences the oldest message's go first, of what a
    model wrote the last line. None at the end."""
    running = state.running
    if running is not None and running.text:
        quotes = tuple(one.quote for one in running.kept)
        if running.made_by == EXTRACTIVE:
            groups = [tuple(own) for _, own in groupby(quotes, lambda quote: quote.message_id)]
            for start in range(len(groups)):
                left = tuple(quote for own in groups[start:] for quote in own)
                yield rendered(left, list(state.sources.values())), left
        else:
            lines = running.text.splitlines()
            yield from (("\n".join(lines[:end]), quotes) for end in range(len(lines), 0, -1))
    yield None, ()

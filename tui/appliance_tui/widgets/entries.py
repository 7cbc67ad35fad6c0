"""What the memory screen lists: facts, summaries and pinned messages, a line each, under their heads."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.reasons import FACT_HEADS
from appliance_tui.about import span, sure
from appliance_tui.widgets.rows import MUTED
from appliance_tui.widgets.words import day, fitted, one_line

if TYPE_CHECKING:
    from appliance.types import Fact, Message, Summary

DRAWN = 600
"""Characters of a text that a line is made of; no window is wider."""


@dataclass(frozen=True, slots=True)
class Group:
    """A head over entries."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Known:
    """A fact."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Told:
    """A summary, with the title of its conversation."""

    summary: Summary
    title: str


@dataclass(frozen=True, slots=True)
class Pin:
    """A pinned message."""

    message: Message


Entry = Group | Known | Told | Pin


def of_facts(facts: Sequence[Fact]) -> Iterator[Entry]:
    """Facts under the heads of their kinds, in the order of a profile."""
    for kind, name in FACT_HEADS.items():
        group = [fact for fact in facts if fact.kind == kind]
        if group:
            yield Group(name, len(group))
            yield from map(Known, group)


def of_summaries(summaries: Sequence[Summary], titles: Mapping[str, str]) -> Iterator[Entry]:
    """Summaries under their conversations, which come one after the other."""
    counts: dict[str, int] = {}
    for one in summaries:
        counts[one.session_id] = counts.get(one.session_id, 0) + 1
    before = ""
    for one in summaries:
        title = titles.get(one.session_id, "") or one.session_id
        if one.session_id != before:
            yield Group(title, counts[one.session_id])
            before = one.session_id
        yield Told(one, title)


def words(entry: Entry) -> str:
    """What of an entry is looked through for words."""
    match entry:
        case Known(fact):
            return f"{fact.text} {fact.attribute} {fact.value} {fact.subject}"
        case Told(summary, title):
            return f"{title} {summary.text}"
        case Pin(message):
            return f"{message.author or ''} {message.text}"
        case Group():
            return ""


def narrowed(entries: Sequence[Entry], typed: str) -> list[Entry]:
    """The entries that hold all of some words, under their heads."""
    wanted = typed.casefold().split()
    if not wanted:
        return list(entries)
    found: list[Entry] = []
    head: Group | None = None
    for entry in entries:
        if isinstance(entry, Group):
            head = entry
        elif all(word in words(entry).casefold() for word in wanted):
            if head is not None:
                found.append(head)
                head = None
            found.append(entry)
    return found


def key(entry: Entry) -> Hashable:
    """By what an entry is known when the list is made anew."""
    match entry:
        case Known(fact):
            return fact.id
        case Told(summary, _):
            return summary.id
        case Pin(message):
            return message.id
        case Group(name):
            return "group", name


def is_group(entry: Entry) -> bool:
    """Whether it is a head, which can't be marked."""
    return isinstance(entry, Group)


def drawn(entry: Entry, width: int) -> Content:
    """An entry on a line of so many cells."""
    match entry:
        case Group(name, count):
            return Content.assemble((one_line(name), "bold $text-primary"), (f"  {count:,}", MUTED))
        case Known(fact):
            count = len(fact.evidence)
            behind = f"{span(fact)[:16]:<16} {sure(fact):>9} {f'{count:,}×' if count else '-':>4}"
            if width < 60:
                behind = f"{sure(fact):>9}"
            room = max(8, width - 7 - len(behind) - 1)
            return Content.assemble(
                (f" {fact.id:<6}", MUTED), fitted(fact.text[:DRAWN], room), (f" {behind}", MUTED)
            )
        case Told(summary, _):
            depth = {"session": 0, "topic": 1, "exchange": 2}.get(summary.level, 0)
            return Content.assemble(
                " " + "  " * depth,
                (f"{summary.level:<10}", "$secondary" if depth else "bold $secondary"),
                (f"{day(summary.since):<11}", MUTED),
                one_line(_said(summary)[:DRAWN]),
            )
        case Pin(message):
            return Content.assemble(
                (f" {message.id:<7}", MUTED),
                (f"{day(message.timestamp):<11}", MUTED),
                (f"{one_line(message.author or message.role)[:20]}: ", "bold"),
                one_line(message.text[:DRAWN]),
            )


def _said(summary: Summary) -> str:
    """What a summary says, without who said it and when, which stand beside it."""
    if summary.made_by == "extractive" and summary.quotes:
        return " · ".join(quote.text for quote in summary.quotes)
    return summary.text

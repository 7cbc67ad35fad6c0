"""The entries of the memory screen: facts, summaries, pinned messages and blocks of core memory, a line each, some
under headings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

from appliance.types.labels import FACT_KIND_HEADINGS
from appliance_tui.details import confidence_label, validity_period
from appliance_tui.widgets.display_text import day, fit_width, one_line
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import CoreBlock, Fact, Message, Summary

MAX_LINE_CHARACTERS = 600
"""Characters of a text that a line is made from; no window is wider."""


EDITOR_COLUMNS = 14
"""Cells of who wrote a block."""

WIDE_COLUMNS = 90
"""Cells from which a block's line says who wrote it, and when."""

LABEL_COLUMNS = 18
"""Cells of a block's label in its line, at most."""


@dataclass(frozen=True, slots=True)
class GroupHead:
    """The heading of a group of entries."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class FactEntry:
    fact: Fact


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """A summary, with the title of its conversation."""

    summary: Summary
    title: str


@dataclass(frozen=True, slots=True)
class PinEntry:
    message: Message


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """A block of core memory; ``used`` is how many characters all blocks have, ``together`` how many their limits
    are."""

    block: CoreBlock
    used: int
    together: int


Entry = GroupHead | FactEntry | SummaryEntry | PinEntry | BlockEntry


def fact_entries(facts: Sequence[Fact]) -> Iterator[Entry]:
    """Facts under the headings of their kinds, in the order of a profile."""
    for kind, name in FACT_KIND_HEADINGS.items():
        group = [fact for fact in facts if fact.kind == kind]
        if group:
            yield GroupHead(name, len(group))
            yield from map(FactEntry, group)


def summary_entries(summaries: Sequence[Summary], titles: Mapping[str, str]) -> Iterator[Entry]:
    """Summaries under the titles of their conversations; those of one conversation must be adjacent."""
    for session_id, group in groupby(summaries, key=lambda summary: summary.session_id):
        title, entries = titles.get(session_id, "") or session_id, list(group)
        yield GroupHead(title, len(entries))
        yield from (SummaryEntry(summary, title) for summary in entries)


def block_entries(blocks: Sequence[CoreBlock]) -> Iterator[Entry]:
    """The blocks of core memory, in their order in contexts."""
    used, together = sum(len(block.value) for block in blocks), sum(block.limit for block in blocks)
    return (BlockEntry(block, used, together) for block in blocks)


def searchable_text(entry: Entry) -> str:
    """The text of an entry that the filter searches."""
    match entry:
        case FactEntry(fact):
            return f"{fact.text} {fact.attribute} {fact.value} {fact.subject}"
        case SummaryEntry(summary, title):
            return f"{title} {summary.text}"
        case PinEntry(message):
            return f"{message.author or ''} {message.text}"
        case BlockEntry(block):
            return f"{block.label} {block.description} {block.value}"
        case GroupHead():
            return ""


def filter_entries(entries: Sequence[Entry], typed: str) -> list[Entry]:
    """The entries that contain all words of a filter, under their headings."""
    terms = typed.casefold().split()
    if not terms:
        return list(entries)
    matches: list[Entry] = []
    for entry in entries:
        # A heading without a match gives way to the next one.
        if isinstance(entry, GroupHead) and matches and isinstance(matches[-1], GroupHead):
            matches[-1] = entry
        elif isinstance(entry, GroupHead) or all(term in searchable_text(entry).casefold() for term in terms):
            matches.append(entry)
    return matches[:-1] if matches and isinstance(matches[-1], GroupHead) else matches


def block_key(label: str) -> Hashable:
    """What identifies a block of core memory, by its label as a person writes it."""
    return "block", label.strip().casefold()


def entry_key(entry: Entry) -> Hashable:
    """What identifies an entry when the list is reloaded."""
    match entry:
        case FactEntry(fact):
            return fact.id
        case SummaryEntry(summary, _):
            return summary.id
        case PinEntry(message):
            return message.id
        case BlockEntry(block):
            return block_key(block.label)
        case GroupHead(name):
            return "group", name


def is_group_head(entry: Entry) -> bool:
    """Whether an entry is a heading, which can't be selected."""
    return isinstance(entry, GroupHead)


def render_entry(entry: Entry, width: int, name_of: Callable[[str], str] = one_line) -> Content:
    """An entry as a line of ``width`` cells; ``name_of`` says how authors are shown."""
    match entry:
        case GroupHead(name, count):
            return Content.assemble((one_line(name), "bold $text-primary"), (f"  {count:,}", MUTED))
        case FactEntry(fact):
            count = len(fact.evidence)
            details = (
                f"{validity_period(fact)[:16]:<16} {confidence_label(fact):>9} {f'{count:,}×' if count else '-':>4}"
            )
            if width < 60:
                details = f"{confidence_label(fact):>9}"
            text_width = max(8, width - 7 - len(details) - 1)
            return Content.assemble(
                (f" {fact.id:<6}", MUTED),
                fit_width(fact.text[:MAX_LINE_CHARACTERS], text_width),
                (f" {details}", MUTED),
            )
        case SummaryEntry(summary, _):
            depth = {"session": 0, "topic": 1, "exchange": 2}.get(summary.level, 0)
            return Content.assemble(
                " " + "  " * depth,
                (f"{summary.level:<10}", "$secondary" if depth else "bold $secondary"),
                (f"{day(summary.since):<11}", MUTED),
                one_line(_summary_text(summary)[:MAX_LINE_CHARACTERS]),
            )
        case PinEntry(message):
            return Content.assemble(
                (f" {message.id:<7}", MUTED),
                (f"{day(message.timestamp):<11}", MUTED),
                (f"{name_of(message.who)[:20]}: ", "bold"),
                one_line(message.text[:MAX_LINE_CHARACTERS]),
            )
        case BlockEntry(block):
            return _render_block(block, width)


def _render_block(block: CoreBlock, width: int) -> Content:
    size = f"{len(block.value):,} of {block.limit:,}"
    by = "you" if block.changed_by == "person" else one_line(block.assistant) or "assistant"
    details = (
        f"{day(block.changed_at):<11}{fit_width(by, EDITOR_COLUMNS)} {size:>14}"
        if width >= WIDE_COLUMNS
        else f"{size:>14}"
    )
    label_width = min(LABEL_COLUMNS, max(8, width // 4))
    return Content.assemble(
        " ",
        (fit_width(block.label, label_width), "bold"),
        " ",
        fit_width(
            one_line(block.value[:MAX_LINE_CHARACTERS]) or "(empty)", max(8, width - label_width - len(details) - 4)
        ),
        (f"  {details}", MUTED),
    )


def _summary_text(summary: Summary) -> str:
    """The text of a summary without authors and times, which are shown in other columns."""
    if summary.made_by == "extractive" and summary.quotes:
        return " · ".join(quote.text for quote in summary.quotes)
    return summary.text

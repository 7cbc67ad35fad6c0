"""What the memory screen lists and shows, read from the memory: on a thread, as all functions here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from appliance_tui import details
from appliance_tui.core_blocks import block_parts
from appliance_tui.details import DetailPart
from appliance_tui.widgets.display_text import pluralize
from appliance_tui.widgets.entries import (
    BlockEntry,
    Entry,
    FactEntry,
    PinEntry,
    SummaryEntry,
    block_entries,
    fact_entries,
    summary_entries,
)

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Fact, FactState, Level, Message
    from appliance_tui.app import ApplianceApp

MAX_MESSAGES_PER_READ = 500
"""Messages that the memory returns at once."""


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """The entries of a view, a note about them, how many statements are to be reviewed, and the ids of all pinned
    messages. ``more`` says that there are further entries."""

    entries: Sequence[Entry]
    note: str
    review_count: int
    pinned: frozenset[str] = frozenset()
    more: bool = False


def load_listing(
    memory: Appliance, view: str, user: str | None, state: FactState, level: Level | None, limit: int
) -> MemoryListing:
    """The entries of a view of a user's memory: facts of a state, summaries of a level, ``limit`` of them at most.

    Raises:
        ApplianceError: as the memory says.
    """
    review = memory.facts.review(user)
    pinned = memory.pins.pinned(memory.settings.user if user is None else user)
    notes, more = [], False
    entries: Iterable[Entry]
    if view == "facts":
        entries = fact_entries(memory.facts.profile(user) if state == "held" else memory.facts.list(user, state=state))
    elif view == "review":
        entries = fact_entries(review)
    elif view == "summaries":
        summaries = memory.summaries.list(user_id=user, level=level, limit=limit + 1)
        summaries, more = summaries[:limit], len(summaries) > limit
        titles = {id: memory.sessions.info(id).title or "" for id in {summary.session_id for summary in summaries}}
        entries = summary_entries(summaries, titles)
        notes += [f"first {limit:,}; press + for more"] if more else []
    elif view == "core":
        entries = block_entries(memory.core.list(user))
    else:
        entries = map(PinEntry, pinned)
    if view == "facts" and (pending := memory.facts.pending()):
        notes.append(f"{pluralize(pending, 'message')} not yet searched for facts")
    return MemoryListing(list(entries), " · ".join(notes), len(review), frozenset(one.id for one in pinned), more)


def load_details(
    memory: Appliance, entry: Entry | None, with_conflicts: bool, importance_of: str, app: ApplianceApp
) -> tuple[list[DetailPart], list[DetailPart]]:
    """The two columns on the right: the facts that an entry contradicts, and the entry. Authors have the names of
    ``app``.

    Raises:
        ApplianceError: as the memory says; NotFound if the entry is gone.
    """
    if importance_of:
        message = _with_name(memory.message(importance_of), app)
        return [], list(details.message_parts(message, memory.pins.importance(message.id)))
    match entry:
        case FactEntry(fact):
            history = memory.facts.history(fact.id)
            if not with_conflicts:
                return [], list(details.fact_parts(fact, history, _evidence_messages(memory, [fact], app)))
            held = [version for version in history if version.state == "held"]
            messages = _evidence_messages(memory, [fact, *held], app)
            statement = details.evidence_parts(fact, messages, "New statement: ")
            return list(details.held_fact_parts(held, messages)), list(statement)
        case SummaryEntry(summary, title):
            ids = list(dict.fromkeys(quote.message_id for quote in summary.quotes))[:MAX_MESSAGES_PER_READ]
            messages_by_id = {message.id: _with_name(message, app) for message in memory.overview.messages(ids)}
            return [], list(details.summary_parts(summary, title, messages_by_id))
        case BlockEntry(block, used, together):
            revisions = memory.core.history(block.label, user_id=block.user_id)
            return [], list(block_parts(block, used, together, revisions))
        case PinEntry(message):
            return [], list(details.message_parts(_with_name(message, app), memory.pins.importance(message.id)))
    return [], []


def _with_name(message: Message, app: ApplianceApp) -> Message:
    """A message to be shown: its author by name."""
    return replace(message, author=app.name_of(message.author)) if message.author else message


def _evidence_messages(memory: Appliance, facts: Sequence[Fact], app: ApplianceApp) -> dict[str, Message]:
    """The messages that facts rest on, by id."""
    ids = dict.fromkeys(quote.message_id for fact in facts for quote in details.latest_evidence(fact))
    found = memory.overview.messages(list(ids)[:MAX_MESSAGES_PER_READ])
    return {message.id: _with_name(message, app) for message in found}


def message_of(entry: Entry | None) -> str:
    """The id of the message that an entry is or comes from; "" without one."""
    match entry:
        case FactEntry(fact):
            return fact.evidence[-1].message_id if fact.evidence else ""
        case SummaryEntry(summary, _):
            return summary.first_id
        case PinEntry(message):
            return message.id
    return ""

"""The details of a person, and of two people who may be one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from appliance_tui.details import DetailPart
from appliance_tui.widgets.display_text import day, one_line, pluralize
from appliance_tui.widgets.month_bars import render_months
from appliance_tui.widgets.person_rows import ProposalRow, aliases, person_sources
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Person, PersonDetails

MAX_IDENTITIES = 30
"""Accounts that are shown: a mailing list may have written from hundreds."""


def person_parts(found: PersonDetails, months: Mapping[str, int], names: Mapping[str, str]) -> Iterator[DetailPart]:
    """Everything that is known of a person.

    Args:
        months: The number of messages by month ("2025-03").
        names: Names by the ids of people, for those who may be the same.
    """
    person = found.person
    yield _heading(person)
    yield DetailPart(Content.styled(_span(person), MUTED))
    if bars := render_months(months):
        yield DetailPart(Content.assemble("\n", bars))
    if found.proposals:
        yield DetailPart(_title("May be the same person"))
        for proposal in found.proposals:
            other = proposal.b if proposal.a == person.id else proposal.a
            label = f"{one_line(names.get(other, other))} ({other})"
            yield DetailPart(Content.assemble((label, "bold"), (f"  {one_line(proposal.reason)}", MUTED)))
        yield DetailPart(Content.styled("a accepts, r rejects", MUTED))
    yield DetailPart(_title("Accounts"))
    yield from _identity_parts(person)
    counted = {source.source: source for source in found.sources}
    if len(counted) > 1:
        texts = (f"{one_line(one.source)} {one.messages:,}" for one in counted.values())
        yield DetailPart(Content.styled("Messages: " + ", ".join(texts), MUTED))
    if found.conversations:
        yield DetailPart(_title("Conversations"))
    for one in found.conversations:
        title = one_line(one.title or one.session_id)
        about = f"  {pluralize(one.messages, 'message')} · {one_line(one.source)}"
        content = Content.assemble((f"{day(one.last) or 'no date':<11}", MUTED), title, (about, MUTED))
        yield DetailPart(content, session_id=one.session_id)
    if found.evidence:
        yield DetailPart(_title("Why these are one person"))
        yield from (DetailPart(Content(one_line(sentence))) for sentence in found.evidence)
    if found.asked_about:
        yield DetailPart(_title(f"Recalled {pluralize(found.recalled, 'time')}, most of all"))
    for message in found.asked_about:
        content = Content.assemble((f"{message.times:>3}×  ", MUTED), one_line(message.snippet))
        yield DetailPart(content, message.message_id)


def proposal_parts(row: ProposalRow) -> Iterator[DetailPart]:
    """Two people who may be one, one below the other."""
    yield DetailPart(Content.assemble((one_line(row.reason), "bold")))
    yield DetailPart(Content.styled("a: one person · r: two people · enter: read what both wrote", MUTED))
    for person in (row.a, row.b):
        yield DetailPart(Content.assemble("\n", _heading(person).content))
        yield DetailPart(Content.styled(_span(person), MUTED))
        yield from _identity_parts(person)


def _heading(person: Person) -> DetailPart:
    note = " · you" if person.me else " · automated" if person.automated else ""
    return DetailPart(Content.assemble((one_line(person.name), "bold $text-primary"), (f"  {person.id}{note}", MUTED)))


def _span(person: Person) -> str:
    """How much a person wrote, and from when to when."""
    if not person.messages:
        return f"no messages; known from {', '.join(person_sources(person))}"
    days = " to ".join(dict.fromkeys(filter(None, (day(person.first), day(person.last)))))
    counts = f"{pluralize(person.messages, 'message')} in {pluralize(person.sessions, 'conversation')}"
    return f"{counts}, {days}" if days else counts


def _identity_parts(person: Person) -> Iterator[DetailPart]:
    """The accounts of a person, a line for each source."""
    by_source: defaultdict[str, list[str]] = defaultdict(list)
    shown = person.identities[:MAX_IDENTITIES]
    for identity in shown:
        by_source[identity.source].append(one_line(identity.value))
    for source in person_sources(person):
        if values := by_source[source]:
            text = ", ".join(dict.fromkeys(values))
            yield DetailPart(Content.assemble((f"{one_line(source)}: ", "$text-accent"), text))
    if (left := len(person.identities) - len(shown)) > 0:
        yield DetailPart(Content.styled(f"and {left:,} more", MUTED))


def identity_labels(person: Person) -> list[tuple[str, str]]:
    """The accounts that can be split off a person: what names each, and a label."""
    values: dict[str, list[str]] = {}
    for identity in person.identities:
        values.setdefault(identity.value, []).append(f"{identity.source} {identity.kind}")
    return [(value, ", ".join(dict.fromkeys(where))) for value, where in values.items()]


def other_people(people: Sequence[Person], person: Person) -> list[tuple[Person, str]]:
    """The people with whom a person can be merged, each with a note that tells them apart."""
    return [(other, " · ".join(filter(None, _notes(other)))) for other in people if other.id != person.id]


def _notes(person: Person) -> tuple[str, ...]:
    return (
        person.id,
        ", ".join(person_sources(person)),
        pluralize(person.messages, "message"),
        ", ".join(aliases(person)),
    )


def _title(text: str) -> Content:
    return Content.assemble("\n", (text, "bold $text-primary"))

"""The details of a fact, a summary or a message on the memory screen: parts that may lead to messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets.option_list import Option

from appliance_tui.list_keys import OptionRows
from appliance_tui.widgets.display_text import day, minute, one_line, pluralize, render_bar, sanitize, time_of
from appliance_tui.widgets.rows import MUTED

if TYPE_CHECKING:
    from appliance.types import Fact, Importance, Message, Quote, Summary

MAX_QUOTES = 50
"""Pieces of evidence that are shown, the latest ones: more than a person reads to believe a fact."""

BAR_WIDTH = 20

METADATA_HEADINGS = {"decisions": "Decided", "commitments": "Promised", "unresolved": "Open", "solved": "Solved"}
"""Metadata of a summary that are lists of sentences, with their headings."""

Messages = Mapping[str, "Message"]


@dataclass(frozen=True, slots=True)
class DetailPart:
    """A part of the details. ``message_id`` or ``session_id`` is what it leads to, both "" for nothing."""

    content: Content
    message_id: str = ""
    session_id: str = ""

    @property
    def target(self) -> str:
        return self.message_id or self.session_id


class DetailList(OptionRows):
    """Details part by part; the parts that lead to a message can be highlighted."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, markup=False)
        self.parts: Sequence[DetailPart] = ()

    def show(self, parts: Sequence[DetailPart]) -> None:
        """Show other parts. Highlight and position stay if they lead to the same places, else both begin anew."""
        same = [part.target for part in parts] == [part.target for part in self.parts]
        previous, top = (self.highlighted, self.scroll_y) if same else (None, 0.0)
        self.parts = parts
        with self.app.batch_update():
            self.clear_options()
            self.add_options(Option(part.content, disabled=not part.target) for part in parts)
            first = next((index for index, part in enumerate(parts) if part.target), None)
            self.highlighted = first if previous is None else previous
            # Else it scrolls to what is highlighted.
            self.scroll_to(y=top, animate=False, force=True)

    @property
    def highlighted_part(self) -> DetailPart | None:
        """The highlighted part, None without one."""
        index = self.highlighted
        return self.parts[index] if index is not None and index < len(self.parts) else None

    @property
    def message_id(self) -> str:
        """The message of the highlighted part, "" without one."""
        part = self.highlighted_part
        return part.message_id if part is not None else ""


def state_label(state: str) -> str:
    return "current" if state == "held" else state


def confidence_label(fact: Fact) -> str:
    """How certain a fact is, in words."""
    return "confirmed" if fact.made_by == "person" else f"{fact.confidence:.0%}"


def validity_period(fact: Fact) -> str:
    """The time for which a fact holds."""
    since, until = day(fact.since), day(fact.until)
    if until:
        return f"{since or '…'} to {until}"
    return f"since {since}" if since else ""


def latest_evidence(fact: Fact) -> Sequence[Quote]:
    """The evidence that is shown, latest first."""
    return fact.evidence[::-1][:MAX_QUOTES]


def fact_parts(fact: Fact, history: Sequence[Fact], messages: Messages) -> Iterator[DetailPart]:
    """A fact with its evidence and its history."""
    yield from evidence_parts(fact, messages)
    if all(version.id == fact.id for version in history):
        return
    yield DetailPart(_title("History"))
    for version in sorted(history, key=lambda version: version.said_at or ""):
        state = state_label(version.state) + (f", replaced by {version.replaced_by}" if version.replaced_by else "")
        marker = "▪ " if version.id == fact.id else "  "
        said = f"said {day(version.said_at)}" if version.said_at else "no time"
        about = " · ".join(filter(None, (validity_period(version), version.id, confidence_label(version))))
        yield DetailPart(
            Content.assemble(
                (f"{marker}{said:<16}", MUTED),
                (one_line(version.value), "bold" if version.state == "held" else ""),
                (f"  {state}  {about}", MUTED),
            ),
            version.evidence[-1].message_id if version.evidence else "",
        )


def held_fact_parts(held: Sequence[Fact], messages: Messages) -> Iterator[DetailPart]:
    """The current facts that a new statement contradicts."""
    if not held:
        yield DetailPart(Content.assemble(("Current fact: ", "bold"), ("none", MUTED)))
    for fact in held:
        yield from evidence_parts(fact, messages, "Current fact: ")


def summary_parts(summary: Summary, title: str, messages: Messages) -> Iterator[DetailPart]:
    """A summary with its quotes."""
    period = " to ".join(dict.fromkeys(filter(None, (day(summary.since), day(summary.until)))))
    writer = "" if summary.made_by == "extractive" else f"by {summary.made_by}"
    about = [summary.level, pluralize(summary.messages, "message"), period, writer, summary.id]
    yield DetailPart(Content.assemble((one_line(title), "bold")), summary.first_id)
    yield DetailPart(Content.assemble((" · ".join(filter(None, map(one_line, about))), MUTED)))
    if summary.made_by != "extractive" or not summary.quotes:
        yield DetailPart(Content.assemble("\n", sanitize(summary.text)))
    if summary.quotes:
        yield DetailPart(_title("Key quotes" if summary.made_by == "extractive" else "Sources"))
    yield from (_quote_part(quote, messages) for quote in summary.quotes)
    for name, heading in METADATA_HEADINGS.items():
        if sentences := summary.metadata.get(name):
            yield DetailPart(_title(heading))
            yield from map(_metadata_part, sentences)
    for name in ("entities", "tools", "files"):
        if values := summary.metadata.get(name):
            text = ", ".join(one_line(str(value)) for value in values)
            yield DetailPart(Content.assemble("\n", (f"{name.capitalize()}: ", "bold"), text))


SHOWN_PART = 0.005
"""Parts of an importance below it would be shown as 0.00."""

IMPORTANCE_LABELS = {
    "role": "who wrote it",
    "own": "about oneself",
    "density": "length",
    "names": "names, numbers",
    "decisions": "decisions",
    "unresolved": "open questions",
    "tools": "code, tools",
    "recalled": "recalled",
    "feedback": "feedback",
    "pinned": "pinned",
}
"""The parts of an importance in words."""


def message_parts(message: Message, importance: Importance) -> Iterator[DetailPart]:
    """A message, and the parts of its importance."""
    who = f"{one_line(message.who)} · {time_of(message) or 'no time'}"
    pinned = " · ★ pinned" if importance.pinned else ""
    yield DetailPart(
        Content.assemble((who, "bold"), (f"  {message.id}{pinned}\n", MUTED), sanitize(message.text)), message.id
    )
    yield DetailPart(_title(f"Importance {importance.score:.2f}, the sum of"))
    parts = sorted(((part, name) for name, part in importance.parts.items() if abs(part) >= SHOWN_PART), reverse=True)
    for part, name in parts:
        label = IMPORTANCE_LABELS.get(name, name)
        bar = render_bar(max(0.0, part / parts[0][0]), BAR_WIDTH)
        yield DetailPart(Content.assemble(f"{label:<18}", (bar, "$accent"), f" {part:+.2f}"))
    if importance.pinned:
        yield DetailPart(Content.styled("A pinned message has 1.00: its pin adds what the others lack.", MUTED))
    times = f"recalled {pluralize(importance.times, 'time')}" if importance.times else "never recalled"
    last = f", last {minute(importance.last_at)}" if importance.last_at else ""
    given = "".join(f" · {kind} ({count})" for kind, count in importance.feedback.items())
    holds = f", counts as {importance.judgement}" if importance.judgement else ""
    yield DetailPart(Content.assemble((f"\n{times}{last}{given}{holds}", MUTED)))


def evidence_parts(fact: Fact, messages: Messages, prefix: str = "") -> Iterator[DetailPart]:
    """A fact with its evidence."""
    yield DetailPart(Content.assemble((prefix, MUTED), (one_line(fact.text), "bold $accent")))
    attribute_label = fact.attribute if fact.subject == "me" else f"{fact.attribute} of {fact.subject}"
    about = [
        f"{one_line(attribute_label)}: {one_line(fact.value)}",
        validity_period(fact),
        f"{state_label(fact.state)}, {confidence_label(fact)}",
        "added by you" if fact.made_by == "person" else f"read in {pluralize(len(fact.evidence), 'message')}",
        fact.id,
    ]
    yield DetailPart(Content.assemble((" · ".join(filter(None, about)), MUTED)))
    if not fact.evidence:
        yield DetailPart(Content.assemble(("\nNo evidence: you entered this fact.", MUTED)))
        return
    total = len(fact.evidence)
    yield DetailPart(_title("Evidence" + (f", the latest {MAX_QUOTES} of {total:,}" if total > MAX_QUOTES else "")))
    yield from (_quote_part(quote, messages) for quote in latest_evidence(fact))


def _quote_part(quote: Quote, messages: Messages) -> DetailPart:
    message = messages.get(quote.message_id)
    who = one_line(message.who)[:30] + " · " if message is not None else ""
    when = minute(message.timestamp) if message is not None else ""
    head = f"{quote.message_id} · {who}{when or 'no time'}\n"
    return DetailPart(Content.assemble((head, MUTED), f"“{one_line(quote.text)}”"), quote.message_id)


def _metadata_part(entry: object) -> DetailPart:
    """A sentence of a summary's metadata, with its message."""
    if isinstance(entry, Mapping):
        message = str(entry.get("message_id", ""))
        return DetailPart(Content.assemble(one_line(str(entry.get("text", ""))), (f"  {message}", MUTED)), message)
    return DetailPart(Content(one_line(str(entry))))


def _title(text: str) -> Content:
    return Content.assemble("\n", (text, "bold $text-primary"))

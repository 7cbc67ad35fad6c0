"""What the memory screen says of a fact, a summary and a message, as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from appliance_tui.widgets.bars import bar
from appliance_tui.widgets.detail import Part
from appliance_tui.widgets.rows import MUTED
from appliance_tui.widgets.words import day, minute, one_line, shown

if TYPE_CHECKING:
    from appliance.types import Fact, Importance, Message, Quote, Summary

QUOTES = 50
"""Pieces of evidence that are shown, the latest: nobody reads more to believe it."""

BAR = 20

LISTS = {
    "decisions": "Decided",
    "commitments": "Promised",
    "unresolved": "Open",
    "solved": "Solved",
}
"""What is noted beside a summary, each with the sentences that say so."""

Messages = Mapping[str, "Message"]


def sure(fact: Fact) -> str:
    """How sure a fact is, in words."""
    return "your word" if fact.made_by == "person" else f"{fact.confidence:.0%}"


def span(fact: Fact) -> str:
    """From when to when a fact holds."""
    since, until = day(fact.since), day(fact.until)
    if until:
        return f"{since or '…'} to {until}"
    return f"since {since}" if since else ""


def evidence(fact: Fact) -> Sequence[Quote]:
    """The evidence that is shown, the latest first."""
    return fact.evidence[::-1][:QUOTES]


def of_fact(fact: Fact, history: Sequence[Fact], messages: Messages) -> Iterator[Part]:
    """A fact with its evidence and its history."""
    yield from _head(fact, "")
    yield from _evidence(fact, messages)
    others = [one for one in history if one.id != fact.id]
    if others:
        yield Part(_title("History"))
    for one in sorted(history, key=lambda one: one.said_at or "") if others else ():
        state = one.state + (f", replaced by {one.replaced_by}" if one.replaced_by else "")
        here = "▪ " if one.id == fact.id else "  "
        yield Part(
            Content.assemble(
                (f"{here}{day(one.said_at) or 'no time':<11}", MUTED),
                (one_line(one.value), "bold" if one.state == "held" else ""),
                (f"  {state}  {one.id} · {sure(one)}", MUTED),
            ),
            one.evidence[-1].message_id if one.evidence else "",
        )


def of_rivals(held: Sequence[Fact], messages: Messages) -> Iterator[Part]:
    """What holds now, where something contradicts it."""
    if not held:
        yield Part(Content.assemble(("What holds: ", "bold"), ("nothing yet", MUTED)))
    for fact in held:
        yield from _head(fact, "Holds now: ")
        yield from _evidence(fact, messages)


def of_waiting(fact: Fact, messages: Messages) -> Iterator[Part]:
    """What waits for the person's word."""
    yield from _head(fact, "Waits for you: ")
    yield from _evidence(fact, messages)


def of_summary(summary: Summary, title: str, messages: Messages) -> Iterator[Part]:
    """A summary with the messages that it is from."""
    when = " to ".join(dict.fromkeys(filter(None, (day(summary.since), day(summary.until)))))
    about = [summary.level, f"{summary.messages:,} messages", when, f"by {summary.made_by}", summary.id]
    yield Part(Content.assemble((one_line(title), "bold")), summary.first_id)
    yield Part(Content.assemble((" · ".join(filter(None, map(one_line, about))), MUTED)))
    if summary.made_by != "extractive" or not summary.quotes:
        yield Part(Content.assemble("\n", shown(summary.text)))
    if summary.quotes:
        yield Part(_title("In its words" if summary.made_by == "extractive" else "From"))
    yield from (_quote(quote, messages) for quote in summary.quotes)
    for name, called in LISTS.items():
        found = summary.metadata.get(name) or ()
        if found:
            yield Part(_title(called))
        yield from (_noted(one) for one in found)
    for name in ("entities", "tools", "files"):
        if found := summary.metadata.get(name):
            words = ", ".join(one_line(str(one)) for one in found)
            yield Part(Content.assemble("\n", (f"{name.capitalize()}: ", "bold"), words))


def of_message(message: Message, importance: Importance) -> Iterator[Part]:
    """A message, and what its importance is made of."""
    who = f"{one_line(message.author or message.role)} · {minute(message.timestamp) or 'no time'}"
    pinned = " · ★ pinned" if importance.pinned else ""
    yield Part(
        Content.assemble((who, "bold"), (f"  {message.id}{pinned}\n", MUTED), shown(message.text)), message.id
    )
    yield Part(_title(f"Importance {importance.score:.2f}"))
    most = max(importance.parts.values(), default=0.0)
    for name, part in importance.parts.items():
        yield Part(
            Content.assemble(
                f"{name:<12}", (bar(part / most if most > 0 else 0.0, BAR), "$accent"), f" {part:+.2f}"
            )
        )
    times = f"recalled {importance.times:,} times" if importance.times else "never recalled"
    last = f", last {minute(importance.last_at)}" if importance.last_at else ""
    yield Part(Content.assemble((f"\n{times}{last}", MUTED)))


def _head(fact: Fact, before: str) -> Iterator[Part]:
    yield Part(Content.assemble((before, MUTED), (one_line(fact.text), "bold $accent")))
    whose = fact.attribute if fact.subject == "me" else f"{fact.attribute} of {fact.subject}"
    about = [
        f"{one_line(whose)}: {one_line(fact.value)}",
        span(fact),
        f"{fact.state}, {sure(fact)}",
        f"found by {'you' if fact.made_by == 'person' else one_line(fact.made_by)}",
        fact.id,
    ]
    yield Part(Content.assemble((" · ".join(filter(None, about)), MUTED)))


def _evidence(fact: Fact, messages: Messages) -> Iterator[Part]:
    if not fact.evidence:
        yield Part(Content.assemble(("\nNo message says it: it is your own word.", MUTED)))
        return
    more = len(fact.evidence) - QUOTES
    yield Part(_title("Evidence" + (f", the latest of {len(fact.evidence):,}" if more > 0 else "")))
    yield from (_quote(quote, messages) for quote in evidence(fact))


def _quote(quote: Quote, messages: Messages) -> Part:
    message = messages.get(quote.message_id)
    who = one_line(message.author or message.role)[:30] + " · " if message is not None else ""
    when = minute(message.timestamp) if message is not None else ""
    head = f"{quote.message_id} · {who}{when or 'no time'}\n"
    return Part(Content.assemble((head, MUTED), f"“{one_line(quote.text)}”"), quote.message_id)


def _noted(one: object) -> Part:
    """A sentence that is noted beside a summary, with its message."""
    if isinstance(one, Mapping):
        message = str(one.get("message_id", ""))
        return Part(Content.assemble(one_line(str(one.get("text", ""))), (f"  {message}", MUTED)), message)
    return Part(Content(one_line(str(one))))


def _title(words: str) -> Content:
    return Content.assemble("\n", (words, "bold $text-primary"))

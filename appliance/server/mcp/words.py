"""What the tools give, in text that a model of any size can act on: a head, a line for each thing, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appliance.context import render
from appliance.server.mcp import shapes


def line(one: shapes.Line) -> str:
    """A message in an index."""
    more = f" ({one.characters:,} characters)" if one.characters > len(one.text) else ""
    alike = f" [said alike {one.alike} more times]" if one.alike else ""
    where = f"{one.session} {one.title}".rstrip()
    return f"{'> ' if one.here else ''}{one.id} | {when(one.when)} | {one.who} | {where} | {one.text}{more}{alike}"


def _in_session(one: shapes.Line) -> str:
    """A message in an index under its session's head."""
    more = f" ({one.characters:,} characters)" if one.characters > len(one.text) else ""
    return f"{'> ' if one.here else ''}{one.id} | {when(one.when)} | {one.who} | {one.text}{more}"


def session(one: shapes.SessionLine) -> str:
    span = " to ".join(dict.fromkeys(filter(None, (one.first[:10], one.last[:10])))) or "no time"
    return f"{one.id} | {one.title} | {one.source} | {_count(one.messages, 'message')} | {span}" + (
        " | pinned" if one.pinned else ""
    )


def fact(one: shapes.FactLine) -> str:
    span = (f" since {one.since[:10]}" if one.since else "") + (
        f" until {one.until[:10]}" if one.until else ""
    )
    sure = "the person's word" if one.by == "person" else f"{one.sure:.0%} sure"
    said = f", from {', '.join(one.messages)}" if one.messages else ""
    state = (
        "" if one.state == "held" else f" [{one.state}{f' by {one.replaced_by}' if one.replaced_by else ''}]"
    )
    return f"{one.id} | {one.kind} | {one.text}{state} |{span} {sure}{said}"


def piece(one: shapes.Piece) -> str:
    """A message in full, or a part of it, under a head that nobody's text can imitate."""
    part = (
        ""
        if one.end - one.start == one.characters
        else f", characters {one.start:,} to {one.end:,} of {one.characters:,}"
    )
    names = f", attachments: {', '.join(one.attachments)}" if one.attachments else ""
    title = f" {render.plain(one.title, render.LONGEST_TITLE)}" if one.title else ""
    who = render.plain(one.who, render.LONGEST_NAME)
    return f"[{one.id} {who}, {when(one.when)}, {one.session}{title}{part}{names}]\n{render.quoted(one.text)}"


def stretch(one: shapes.Stretch) -> str:
    head = f"# {session(one.session)}"
    place = f"\nmessages {one.first:,} to {one.last:,} of {one.of:,}" if one.lines else "\nno message"
    left = (
        f"; {_count(one.records, 'tool or system record')} left out (records=true shows them)"
        if one.records
        else ""
    )
    return head + place + left + "".join(f"\n{_in_session(each)}" for each in one.lines)


# --- whole answers ----------------------------------------------------------------------------------------


def found(one: shapes.Found) -> str:
    notes = [f"note: {note}" for note in one.notes]
    if not one.hits:
        hint = "Nothing found. Try other words, fewer filters, or memory_timeline with since and until."
        return _joined([hint, *notes])
    return _joined(
        [
            f"{_count(len(one.hits), 'hit')}, best first (id | when | who | session | what matched):",
            *map(line, one.hits),
            *notes,
            _more(one.next),
            f'Next: memory_get ids ["{one.hits[0].id}"] for the full text, memory_timeline around "{one.hits[0].id}"'
            " for what was said before and after.",
        ]
    )


def passed(one: shapes.Passed) -> str:
    if not one.stretches:
        return _joined(["No message there.", _more(one.next)])
    return _joined(
        [*map(stretch, one.stretches), _more(one.next), "memory_get with ids gives the full texts."], gap="\n"
    )


def read(one: shapes.Read) -> str:
    missing = f"not found: {', '.join(one.missing)}" if one.missing else ""
    begun = bool(one.messages) and one.messages[-1].end < one.messages[-1].characters
    rest = one.left - 1 if begun else one.left
    left = " and ".join(
        filter(
            None,
            [f"the rest of {one.messages[-1].id}" if begun else "", _count(rest, "message") if rest else ""],
        )
    )
    more = (
        f'Left: {left}. Call memory_get again with the same ids and cursor "{one.next}".' if one.next else ""
    )
    return _joined([*map(piece, one.messages), missing, more], gap="\n\n")


def built(one: shapes.Built) -> str:
    if not one.text.strip():
        return _joined(["Nothing is remembered about that.", *(f"note: {note}" for note in one.notes)])
    left = f"; {one.left_out} more did not fit" if one.left_out else ""
    tail = f"({one.tokens:,} of {one.budget:,} tokens{left}; memory_get reads an m-id in full)"
    return _joined([one.text.rstrip(), *(f"note: {note}" for note in one.notes), tail])


def stored(one: shapes.Stored) -> str:
    pinned = ", pinned" if one.pinned else ""
    return (
        f"Remembered as {one.id} in session {one.session} ({one.role}, {one.characters:,} characters{pinned})."
        f' Give session "{one.session}" with the next turn of this conversation.'
    )


def listed(one: shapes.Listed) -> str:
    if not one.sessions:
        return _joined(["No such session.", _more(one.next)])
    if len(one.sessions) == 1 and not one.next:
        id = one.sessions[0].id
        about = f"Summary: {one.summary}" if one.summary else ""
        return _joined([session(one.sessions[0]), about, f'Read it with memory_timeline session "{id}".'])
    return _joined(
        [
            "Sessions, the last active first (id | title | source | messages | when):",
            *map(session, one.sessions),
            _more(one.next),
            "memory_sessions with session gives the summary of one, memory_timeline with session its messages.",
        ]
    )


def known(one: shapes.Known) -> str:
    if not one.facts:
        return _joined(["Nothing is known like that.", _reviews(one)])
    return _joined([*map(fact, one.facts), _left(one.left, "fact", one.next), _reviews(one)])


def forgotten(one: shapes.Forgotten) -> str:
    where = "".join(f"; {count:,} from {name}" for name, count in one.sources.items())
    what = (
        f"{_count(one.messages, 'message')} ({one.characters:,} characters{where}),"
        f" {_count(one.sessions, 'whole session')}, {_count(one.facts, 'fact')}"
    )
    outside = ""
    if one.files:
        stay = "file that it was read from stays" if one.files == 1 else "files that it was read from stay"
        outside = f"{one.files:,} {stay} on the disk as before."
    if not one.done:
        return _joined(
            [
                f"Preview: nothing is erased yet. This would erase for good: {what}.",
                *map(line, one.sample),
                "…" if one.messages > len(one.sample) else "",
                outside,
                "Show this to the person. Only if they agree, call memory_forget again with the same arguments and"
                f' confirm "{one.confirm}".',
            ]
        )
    traces = "no trace was found" if not one.traces else f"traces were found in {_count(one.traces, 'file')}"
    inbox = (
        f"{_count(one.exports_with_traces, 'export')} in the inbox still hold it."
        if one.exports_with_traces
        else ""
    )
    return _joined(
        [
            f"Erased for good: {what}.",
            f"Receipt {one.receipt}, {one.at}: {one.vectors:,} vectors erased,"
            f" {_count(one.searched_files, 'file')} searched, {traces}.",
            inbox,
            outside,
        ]
    )


def state(one: shapes.State) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in one.counts.items())
    scope = f"user {one.user}" + (f", namespace {one.namespace}" if one.namespace else "")
    return _joined(
        [
            f"health: {one.health}",
            f"this access: {scope}, {'reading only' if one.read_only else 'reading and writing'}",
            f"in {one.counted}: {counts}",
            f"appliance {one.version}, model {one.model}",
        ]
    )


SAID: dict[type, Callable[[Any], str]] = {
    shapes.Found: found,
    shapes.Passed: passed,
    shapes.Read: read,
    shapes.Built: built,
    shapes.Stored: stored,
    shapes.Listed: listed,
    shapes.Known: known,
    shapes.Forgotten: forgotten,
    shapes.State: state,
}


# --- pieces of text -----------------------------------------------------------------------------------------


def when(timestamp: str) -> str:
    """A moment to the minute, as it stands, without its zone."""
    return timestamp[:16].replace("T", " ") if timestamp else "no time"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def _left(count: int, what: str, cursor: str) -> str:
    return (
        f'{_count(count, what)} left: call again with the same arguments and cursor "{cursor}".'
        if cursor
        else ""
    )


def _more(cursor: str) -> str:
    return f'There is more: call again with the same arguments and cursor "{cursor}".' if cursor else ""


def _reviews(one: shapes.Known) -> str:
    waits = (
        f"{_count(one.in_review, 'contradiction')} to be settled: action review shows them."
        if one.in_review
        else ""
    )
    unread = (
        f"{_count(one.pending, 'message')} not yet read for facts: ask again later." if one.pending else ""
    )
    return " ".join(filter(None, (waits, unread)))


def _joined(parts: Sequence[str], gap: str = "\n") -> str:
    return gap.join(part for part in parts if part)

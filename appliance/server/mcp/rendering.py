"""The results of the tools as text that a model of any size can act on: a heading, a line per item, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appliance.context import render
from appliance.server.mcp import results
from appliance.types.search import LIKELY_SCORE

LEAST_SCORE = 0.01
"""The least score that two digits show as it is."""


def render_message_line(message: results.MessageLine) -> str:
    """A hit in an index."""
    similar = f" [{_plural(message.alike, 'similar message')}]" if message.alike else ""
    score = f"{message.score:.2f}" if message.score >= LEAST_SCORE else f"<{LEAST_SCORE}"
    return _render_line(message, f"{message.session} {message.title}".rstrip(), score) + similar


def render_sample_line(message: results.MessageLine) -> str:
    """A message that would be erased."""
    return _render_line(message, f"{message.session} {message.title}".rstrip())


def _render_line(message: results.MessageLine, location: str = "", score: str = "") -> str:
    """A message in an index, with its session unless it stands under the session's heading, and a hit's score."""
    marker = "> " if message.here else ""
    more = f" ({message.characters:,} characters)" if message.characters > len(message.text) else ""
    columns = (message.id, score, _when(message), message.who, location)
    return marker + " | ".join([*filter(None, columns), message.text]) + more


def render_session(info: results.SessionLine) -> str:
    span = " to ".join(dict.fromkeys(filter(None, (info.first[:10], info.last[:10])))) or "no time"
    return f"{info.id} | {info.title} | {info.source} | {_plural(info.messages, 'message')} | {span}" + (
        " | pinned" if info.pinned else ""
    )


def render_fact(record: results.FactLine) -> str:
    span = (f" since {record.since[:10]}" if record.since else "") + (
        f" until {record.until[:10]}" if record.until else ""
    )
    confidence = "the person's word" if record.by == "person" else f"{record.sure:.0%} sure"
    sources = f", from {', '.join(record.messages)}" if record.messages else ""
    state = (
        ""
        if record.state == "held"
        else f" [{record.state}{f' by {record.replaced_by}' if record.replaced_by else ''}]"
    )
    return f"{record.id} | {record.kind} | {record.text}{state} |{span} {confidence}{sources}"


def render_person(person: results.PersonLine) -> str:
    span = " to ".join(dict.fromkeys(filter(None, (person.first[:10], person.last[:10])))) or "no time"
    counts = f"{_plural(person.messages, 'message')} in {_plural(person.conversations, 'conversation')}"
    also = f" | also {', '.join(person.also)}" if person.also else ""
    mark = " (the person)" if person.me else " (automated)" if person.automated else ""
    return f"{person.id} | {person.name}{mark} | {counts} | {span}{also}"


def render_block(block: results.BlockLine) -> str:
    """A block of core memory, or a form of one, under a heading that its text can't imitate."""
    about = f" {render.single_line(block.description, render.MAX_TITLE_CHARACTERS)}" if block.description else ""
    read_only = ", read-only" if block.read_only else ""
    end = block.end or block.characters
    part = f", characters {block.start:,} to {end:,}" if block.start or block.end else ""
    size = f"{block.characters:,} of {block.limit:,} characters"
    head = f"[core {block.label}{about}, revision {block.revision} by the {block.by}, {format_time(block.when)}, {size}"
    return f"{head}{part}{read_only}]\n{render.escape_block(block.text) or '(empty)'}"


def render_group(group: results.OverviewGroup) -> str:
    counts = f"{_plural(group.messages, 'message')} in {_plural(group.conversations, 'conversation')}"
    head = f"{' | '.join(key or 'none' for key in group.keys)} | {counts}"
    return head + "".join(f"\n  {_render_line(message)}" for message in group.lines)


def render_attachment(file: results.AttachmentLine) -> str:
    size = f"{file.size:,} bytes" if file.size else "size unknown"
    when = format_time(file.when)
    return " | ".join(filter(None, (file.message, when, file.who, file.kind, file.name, size, file.text)))


def render_part(message_part: results.MessagePart) -> str:
    """A message in full, or a part of it, under a heading that no message text can imitate."""
    range_text = (
        ""
        if message_part.end - message_part.start == message_part.characters
        else f", characters {message_part.start:,} to {message_part.end:,} of {message_part.characters:,}"
    )
    names = f", attachments: {', '.join(message_part.attachments)}" if message_part.attachments else ""
    title = f" {render.single_line(message_part.title, render.MAX_TITLE_CHARACTERS)}" if message_part.title else ""
    who = render.single_line(message_part.who, render.MAX_NAME_CHARACTERS)
    when = _when(message_part)
    heading = f"[{message_part.id} {who}, {when}, {message_part.session}{title}{range_text}{names}]"
    return f"{heading}\n{render.escape_block(message_part.text)}"


def render_span(span: results.TimelineSpan) -> str:
    head = f"# {render_session(span.session)}"
    counted = f"\nmessages {span.first:,} to {span.last:,} of {span.of:,}" if span.of else ""
    range_text = counted if span.lines else "\nno message"
    omitted_text = (
        f"; {_plural(span.records, 'tool or system record')} left out (records=true shows them)" if span.records else ""
    )
    return head + range_text + omitted_text + "".join(f"\n{_render_line(message)}" for message in span.lines)


# --- whole answers ----------------------------------------------------------------------------------------


def render_search(result: results.SearchResult) -> str:
    notes = [f"note: {note}" for note in result.notes]
    found = "" if result.found else "found: false. "
    if not result.hits:
        hint = "No matches. Try other words, fewer filters, or memory_timeline with since and until."
        if result.weaker:
            hint = f"No good match. Try other words, or weak=true for the nearest of {result.weaker} messages."
        return _join([found + hint, *notes])
    is_weak = max(hit.score for hit in result.hits) < LIKELY_SCORE
    weak = "Weak matches only: they may be about something else. " if is_weak else ""
    return _join(
        [
            f"{found}{weak}{_plural(len(result.hits), 'hit')}, best first"
            " (id | score, 1 is certain | when | who | session | what matched):",
            *map(render_message_line, result.hits),
            *notes,
            f"{result.weaker:,} weaker ones are left out; weak=true lists them." if result.weaker else "",
            _more_text(result.next),
            f'Next: memory_get ids ["{result.hits[0].id}"] for the full text, memory_timeline around'
            f' "{result.hits[0].id}" for what was said before and after.',
        ]
    )


def render_timeline(result: results.TimelineResult) -> str:
    notes = [f"note: {note}" for note in result.notes]
    if not result.stretches:
        return _join(["No messages there.", *notes, _more_text(result.next)])
    return _join(
        [
            *map(render_span, result.stretches),
            *notes,
            _more_text(result.next),
            "memory_get with ids gives the full texts.",
        ],
        gap="\n",
    )


def render_get(result: results.GetResult) -> str:
    missing = f"not found: {', '.join(result.missing)}" if result.missing else ""
    is_partly_read = bool(result.messages) and result.messages[-1].end < result.messages[-1].characters
    unread_count = result.left - 1 if is_partly_read else result.left
    left_text = " and ".join(
        filter(
            None,
            [
                f"the rest of {result.messages[-1].id}" if is_partly_read else "",
                _plural(unread_count, "message") if unread_count else "",
            ],
        )
    )
    more = (
        f'Left: {left_text}. Call memory_get again with the same ids and cursor "{result.next}".' if result.next else ""
    )
    return _join([*map(render_part, result.messages), missing, more], gap="\n\n")


def render_context(result: results.ContextResult) -> str:
    notes = [f"note: {note}" for note in result.notes]
    if not result.text.strip():
        return _join(["found: false. The memory has nothing about that.", *notes])
    if not result.found:
        return _join(
            [
                "found: false. No memory matches; the facts and turns below are given anyway.",
                result.text.rstrip(),
                *notes,
            ]
        )
    left_text = f"; {result.left_out} more did not fit" if result.left_out else ""
    tail = f"({result.tokens:,} of {result.budget:,} tokens{left_text}; memory_get reads an m-id in full)"
    return _join([result.text.rstrip(), *notes, tail])


def render_add(result: results.AddResult) -> str:
    pinned = ", pinned" if result.pinned else ""
    return (
        f"Remembered as {result.id} in session {result.session}"
        f" ({result.role}, {_plural(result.characters, 'character')}{pinned})."
        f' Give session "{result.session}" with the next turn of this conversation.'
    )


def render_feedback(result: results.FeedbackResult) -> str:
    lines = ", ".join(f"{line.id} (importance {line.importance:.2f})" for line in result.messages)
    return f"Noted as {result.kind}: {lines}."


def render_update(result: results.UpdateResult) -> str:
    return (
        f"{result.id} in session {result.session} has its new text ({_plural(result.characters, 'character')});"
        f" what it said before is kept ({_plural(result.versions, 'version')} in all)."
    )


def render_sessions(result: results.SessionsResult) -> str:
    if not result.sessions:
        return _join(["No such session.", _more_text(result.next)])
    if len(result.sessions) == 1 and not result.next:
        id = result.sessions[0].id
        summary_text = f"Summary: {render.escape(result.summary)}" if result.summary else ""
        return _join(
            [render_session(result.sessions[0]), summary_text, f'Read it with memory_timeline session "{id}".']
        )
    return _join(
        [
            "Sessions, the last active first (id | title | source | messages | when):",
            *map(render_session, result.sessions),
            _more_text(result.next),
            "memory_sessions with session gives the summary of one, memory_timeline with session its messages.",
        ]
    )


def render_overview(result: results.OverviewResult) -> str:
    total = ", ".join(
        filter(
            None,
            (
                _plural(result.messages, "message") if result.messages else "",
                _plural(result.attachments, "attachment") if result.attachments else "",
            ),
        )
    )
    return _join(
        [
            f"In all: {total}" if total else "Nothing matches.",
            *map(render_group, result.groups),
            *map(render_attachment, result.files),
            *(f"note: {note}" for note in result.notes),
            _left_text(result.left, "line", result.next),
        ]
    )


def render_facts(result: results.FactsResult) -> str:
    if not result.facts:
        return _join(["No such facts.", _review_text(result)])
    return _join([*map(render_fact, result.facts), _left_text(result.left, "fact", result.next), _review_text(result)])


def render_people(result: results.PeopleResult) -> str:
    sections = (
        ("may be the same", result.same), ("linked because", result.evidence), ("conversations", result.conversations),
        ("recalled", result.recalled),
    )  # fmt: skip
    return _join(
        [
            result.done,
            *(map(render_person, result.people) if result.people else () if result.done else ("No people.",)),
            *(f"{name}: {'; '.join(lines)}" for name, lines in sections if lines),
            _left_text(result.left, "person", result.next),
        ]
    )


def render_core(result: results.CoreResult) -> str:
    if not result.blocks:
        return "Core memory is empty. The action append begins a block, such as person."
    return _join([result.done, *map(render_block, result.blocks), _more_text(result.next)], gap="\n\n")


def render_forget(result: results.ForgetResult) -> str:
    where = "".join(f"; {count:,} from {name}" for name, count in result.sources.items())
    selection = (
        f"{_plural(result.messages, 'message')} ({result.characters:,} characters{where}),"
        f" {_plural(result.sessions, 'whole session')}, {_plural(result.facts, 'fact')}"
        + (f", sentences of {_plural(len(result.blocks), 'block')} of core memory" if result.blocks else "")
    )
    files_text = ""
    if result.files:
        noun = "file" if result.files == 1 else "files"
        files_text = f"{result.files:,} {noun} that it was read from will not be changed."
    echoes_text = ""
    if result.echoes:
        echoes = _plural(result.echoes, "other item")
        echoes_text = (
            f"{echoes} (copies, answers, summaries, facts, blocks) may still say it; with_echoes erases them too."
        )
    notes = [f"note: {note}" for note in result.notes]
    if not result.done:
        return _join(
            [
                f"Preview: nothing has been erased. This would erase for good: {selection}.",
                _titles_text(result),
                *map(render_sample_line, result.sample),
                "…" if result.messages > len(result.sample) else "",
                *result.blocks,
                echoes_text,
                *notes,
                files_text,
                "Show this to the person. Only if they agree, call memory_forget again with the same arguments and"
                f' confirm "{result.confirm}".',
            ]
        )
    traces = "no traces found" if not result.traces else f"traces found in {_plural(result.traces, 'file')}"
    inbox = (
        f"{_plural(result.exports_with_traces, 'export')} in the inbox still hold it."
        if result.exports_with_traces
        else ""
    )
    return _join(
        [
            f"Erased for good: {selection}.",
            f"Receipt {result.receipt}, {result.at}: {result.vectors:,} vectors erased,"
            f" {_plural(result.searched_files, 'file')} searched, {traces}.",
            echoes_text,
            *notes,
            inbox,
            files_text,
        ]
    )


def _titles_text(result: results.ForgetResult) -> str:
    """The conversations of a preview that go whole, by their titles."""
    if not result.titles:
        return ""
    named = ", ".join(f"{id} {' '.join(title.split()) or '(no title)'}" for id, title in result.titles.items())
    left = result.sessions - len(result.titles)
    return f"Whole sessions: {named}{f' and {left:,} more' if left else ''}."


def render_status(result: results.StatusResult) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in result.counts.items())
    scope = f"user {result.user}" + (f", namespace {result.namespace}" if result.namespace else "")
    return _join(
        [
            f"health: {result.health}",
            f"this access: {scope}, {'read-only' if result.read_only else 'read and write'}",
            f"in {result.counted}: {counts}",
            f"appliance {result.version}, model {result.model}",
        ]
    )


RENDERERS: dict[type, Callable[[Any], str]] = {
    results.SearchResult: render_search,
    results.TimelineResult: render_timeline,
    results.GetResult: render_get,
    results.ContextResult: render_context,
    results.AddResult: render_add,
    results.FeedbackResult: render_feedback,
    results.UpdateResult: render_update,
    results.SessionsResult: render_sessions,
    results.OverviewResult: render_overview,
    results.FactsResult: render_facts,
    results.PeopleResult: render_people,
    results.CoreResult: render_core,
    results.ForgetResult: render_forget,
    results.StatusResult: render_status,
}


# --- pieces of text -----------------------------------------------------------------------------------------


def _when(shown: results.MessageLine | results.MessagePart) -> str:
    return format_time(shown.when) + (" (conversation)" if shown.time else "")


def format_time(timestamp: str) -> str:
    """A timestamp to the minute, without its zone."""
    return timestamp[:16].replace("T", " ") if timestamp else "no time"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def _left_text(count: int, noun: str, cursor: str) -> str:
    return f'{_plural(count, noun)} left: call again with the same arguments and cursor "{cursor}".' if cursor else ""


def _more_text(cursor: str) -> str:
    return f'There is more: call again with the same arguments and cursor "{cursor}".' if cursor else ""


def _review_text(result: results.FactsResult) -> str:
    review_text = (
        f"{_plural(result.in_review, 'contradiction')} to review: action review shows them." if result.in_review else ""
    )
    unread_text = (
        f"{_plural(result.pending, 'message')} not yet read for facts: try again later." if result.pending else ""
    )
    return " ".join(filter(None, (review_text, unread_text)))


def _join(parts: Sequence[str], gap: str = "\n") -> str:
    return gap.join(part for part in parts if part)

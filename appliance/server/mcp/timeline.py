"""The timeline: messages around a message, of a session, in a time range, or by a person."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, cast

import msgspec

from appliance import timestamps
from appliance.errors import UsageError
from appliance.server.mcp import pagination, rendering, results, schemas
from appliance.server.mcp.read_tools import hit_line, message_line, session_line, short_notes

if TYPE_CHECKING:
    from appliance.server.mcp.access import McpAccess
    from appliance.types import Message, SessionInfo

SESSIONS_PER_FETCH = 20
"""Sessions listed at once while a time range is read."""

MAX_SESSIONS_READ = 200
"""The most sessions read for one answer, so that none takes long; the next page continues."""

MIN_SESSION_CHARACTERS = 600
"""If fewer characters are left, the next session goes to the next page."""


def timeline(access: McpAccess, arguments: schemas.TimelineArguments) -> results.TimelineResult:
    """Messages in order: around a message, of a session, in a time range, or by a person."""
    if arguments.person or arguments.filters.strip():
        return _by_filters(access, arguments)
    if arguments.around:
        return _around_message(access, arguments)
    digest = pagination.query_digest("timeline", arguments.session, arguments.since, arguments.until, arguments.records)
    if arguments.session:
        position = cast("tuple[int] | None", pagination.decode_cursor(arguments.cursor, digest, (int,)))
        info = access.readable_session(arguments.session)
        span, next_start = _session_span(
            access, info, arguments, position[0] if position else 0, arguments.limit, pagination.PAGE_CHARACTERS
        )
        return results.TimelineResult(
            stretches=[span], next=pagination.encode_cursor(digest, next_start) if next_start else ""
        )
    if arguments.since or arguments.until:
        return _time_spans(access, arguments, digest)
    raise UsageError(
        "The timeline needs a place to look.",
        hint="Give a message (around), a session, a time (since, until), a person or another filter.",
    )


def _by_filters(access: McpAccess, arguments: schemas.TimelineArguments) -> results.TimelineResult:
    """A page of what a person wrote, or of what passes other filters, in the order of time: the latest page first.
    Stretches of one session stand together as long as no other comes between."""
    if arguments.around:
        raise UsageError(
            "A timeline is around a message, or of a person or other filters, not both.", hint="Leave one of them out."
        )
    filters = {
        "since": arguments.since or None,
        "until": arguments.until or None,
        **schemas.parse_filters(arguments.filters),
    }
    if arguments.person:
        filters["authors"] = [arguments.person, *filters.get("authors", ())]
    digest = pagination.query_digest(
        "person", arguments.person, arguments.session, arguments.since, arguments.until, arguments.limit,
        arguments.filters,
    )  # fmt: skip
    (start,) = cast("tuple[int]", pagination.decode_cursor(arguments.cursor, digest, (int,)) or (0,))
    narrowed = access.readable_session(arguments.session) if arguments.session else None
    hits = access.memory.search(
        "", session_id=narrowed.id if narrowed is not None else None, limit=arguments.limit, offset=start,
        user_id=access.user, namespace=access.namespace, include_archived=True, **filters,
    )  # fmt: skip
    readable = list(access.readable_hits(hits, narrowed))
    infos = {hit.session_id: access.memory.sessions.info(hit.session_id) for hit in readable}
    shown, used = 0, 0
    for number, hit in enumerate(readable):
        line = hit_line(hit)
        used += max(pagination.json_length(line), len(rendering.render_message_line(line))) + 1
        if not number or readable[number - 1].session_id != hit.session_id:
            head = _person_span(infos[hit.session_id], [])
            used += max(pagination.json_length(head), len(rendering.render_span(head))) + 1
        if number and used > pagination.PAGE_CHARACTERS:
            break
        shown = number + 1
    spans = [
        _person_span(infos[session], [hit_line(hit) for hit in group])
        for session, group in groupby(reversed(readable[:shown]), key=lambda hit: hit.session_id)
    ]
    is_cut = shown < len(readable)
    next_start = readable[shown - 1].rank if is_cut else start + arguments.limit
    return results.TimelineResult(
        stretches=spans,
        notes=short_notes(hits.notes),
        next=pagination.encode_cursor(digest, next_start) if is_cut or hits.more else "",
    )


def _person_span(info: SessionInfo, lines: list[results.MessageLine]) -> results.TimelineSpan:
    without_score = [msgspec.structs.replace(line, score=0.0, title="") for line in lines]
    return results.TimelineSpan(session=session_line(info), lines=without_score)


def _around_message(access: McpAccess, arguments: schemas.TimelineArguments) -> results.TimelineResult:
    message, info = access.message_with_session(arguments.around)
    messages = access.messages(info, records=arguments.records)
    index = next((number for number, one in enumerate(messages) if one.id == message.id), None)
    if index is None:  # the message is a record
        messages = access.messages(info, records=True)
        index = next(number for number, one in enumerate(messages) if one.id == message.id)
    first, last = max(0, index - arguments.before), min(len(messages), index + arguments.after + 1)
    # Lines that don't fit are dropped from both ends in turn; the message itself always stays.
    while first < last - 1:
        lines = [message_line(one, is_current=one.id == message.id) for one in messages[first:last]]
        if pagination.count_fitting(lines, rendering.render_message_line) == len(lines):
            break
        if index - first >= last - 1 - index:
            first += 1
        else:
            last -= 1
    lines = [message_line(one, is_current=one.id == message.id) for one in messages[first:last]]
    return results.TimelineResult(stretches=[_to_span(info, lines, first, len(messages))])


def _session_span(
    access: McpAccess,
    info: SessionInfo,
    arguments: schemas.TimelineArguments,
    start: int,
    limit: int,
    max_characters: int,
) -> tuple[results.TimelineSpan, int]:
    """A page of a session's messages from the ``start``-th on, and the start of the next page; 0 if there is none."""
    all_messages = access.messages(info, records=arguments.records)
    first, matching = _in_time_range(all_messages, arguments)
    selected = matching[start : start + limit]
    lines = [message_line(message) for message in selected]
    count = pagination.count_fitting(
        lines, rendering.render_message_line, max_characters - pagination.json_length(session_line(info))
    )
    next_start = start + count
    span = _to_span(info, lines[:count], first + start, len(all_messages))
    return span, next_start if next_start < len(matching) else 0


def _time_spans(access: McpAccess, arguments: schemas.TimelineArguments, digest: str) -> results.TimelineResult:
    """Session by session, the earliest end first. A cursor holds the list's page, the session and the message in it."""
    position = cast("tuple[str, str, int] | None", pagination.decode_cursor(arguments.cursor, digest, (str, str, int)))
    page, session, start = position or ("", "", 0)
    end = timestamps.parse_bound(arguments.until or None, end=True)
    spans: list[results.TimelineSpan] = []
    limit, remaining_characters, sessions_read = arguments.limit, pagination.PAGE_CHARACTERS, 0
    while True:
        # The first session is listed alone: the cursor of its page fixes the order of the others.
        listed = access.memory.sessions.list(
            user_id=access.user, namespace=access.namespace, since=arguments.since or None, reverse=True,
            limit=SESSIONS_PER_FETCH if page else 1, after=page or None,
        )  # fmt: skip
        if session and all(info.id != session for info in listed):
            raise UsageError("The sessions have changed since that page.", hint="Leave the cursor out to start again.")
        for info in listed:
            if session and info.id != session:
                continue
            session = ""
            if not limit or remaining_characters < MIN_SESSION_CHARACTERS or sessions_read >= MAX_SESSIONS_READ:
                return results.TimelineResult(
                    stretches=spans, next=pagination.encode_cursor(digest, page, info.id, start)
                )
            if not access.allows_messages(info) or _starts_after(info, end):
                continue
            sessions_read += 1
            span, next_start = _session_span(access, info, arguments, start, limit, remaining_characters)
            start = 0
            if span.lines:
                spans.append(span)
                limit -= len(span.lines)
                remaining_characters -= max(pagination.json_length(span), len(rendering.render_span(span)))
            if next_start:
                return results.TimelineResult(
                    stretches=spans, next=pagination.encode_cursor(digest, page, info.id, next_start)
                )
        if listed.next is None:
            return results.TimelineResult(stretches=spans)
        page = listed.next


def _starts_after(info: SessionInfo, end: int | None) -> bool:
    """Whether a session began after the time range; a branch's shared past may be older than the branch."""
    return end is not None and info.first_at is not None and not info.shared and _microseconds(info.first_at) >= end


def _in_time_range(messages: Sequence[Message], arguments: schemas.TimelineArguments) -> tuple[int, Sequence[Message]]:
    """The messages in the time range, and how many precede the first of them; all if no time is given."""
    since = timestamps.parse_bound(arguments.since or None, end=False)
    until = timestamps.parse_bound(arguments.until or None, end=True)
    if since is None and until is None:
        return 0, messages
    numbered = [
        (number, one)
        for number, one in enumerate(messages)
        if one.timestamp
        and (since is None or _microseconds(one.timestamp) >= since)
        and (until is None or _microseconds(one.timestamp) < until)
    ]
    return (numbered[0][0] if numbered else 0), [one for _, one in numbered]


def _microseconds(timestamp: str) -> int:
    return timestamps.to_microseconds(datetime.fromisoformat(timestamp))


def _to_span(info: SessionInfo, lines: list[results.MessageLine], preceding: int, count: int) -> results.TimelineSpan:
    total = info.messages + info.shared
    return results.TimelineSpan(
        session=msgspec.structs.replace(session_line(info), messages=total),
        lines=lines,
        first=preceding + 1 if lines else 0,
        last=preceding + len(lines),
        of=count,
        records=max(0, total - count),
    )

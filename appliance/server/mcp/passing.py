"""The timeline: what was said before and after a message, in a session, or in a stretch of time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

import msgspec

from appliance import moments
from appliance.errors import UsageError
from appliance.server.mcp import pages, shapes, words
from appliance.server.mcp.reading import message_line, session_line

if TYPE_CHECKING:
    from appliance.server.mcp.reach import Reach
    from appliance.types import Message, SessionInfo

AT_ONCE = 20
"""Sessions that are listed at once while a stretch of time is looked through."""

LOOKED_AT = 200
"""Sessions of which the messages are read for one answer, so that none takes long; the next page goes on behind."""

HEAD_AT_LEAST = 600
"""Characters of room below which a further session is left for the next page."""


def timeline(reach: Reach, asked: shapes.Timeline) -> shapes.Passed:
    """What stands around a message, in a session, or in a stretch of time, in order."""
    if asked.around:
        return _around(reach, asked)
    question = pages.about("timeline", asked.session, asked.since, asked.until, asked.records)
    if asked.session:
        found = cast("tuple[int] | None", pages.place(asked.cursor, question, (int,)))
        info = reach.open_session(asked.session)
        stretch, rest = _stretch(reach, info, asked, found[0] if found else 0, asked.limit, pages.ROOM)
        return shapes.Passed(stretches=[stretch], next=pages.cursor(question, rest) if rest else "")
    if asked.since or asked.until:
        return _in_time(reach, asked, question)
    raise UsageError(
        "a timeline of what?", hint="name a message (around), a session, or a time (since, until)"
    )


def _around(reach: Reach, asked: shapes.Timeline) -> shapes.Passed:
    message, info = reach.message(asked.around)
    found = reach.messages(info, records=asked.records)
    at = next((number for number, one in enumerate(found) if one.id == message.id), None)
    if at is None:  # a record, which stands among all
        found = reach.messages(info, records=True)
        at = next(number for number, one in enumerate(found) if one.id == message.id)
    first, last = max(0, at - asked.before), min(len(found), at + asked.after + 1)
    # What does not fit goes from the two ends by turns: the message itself always stands.
    while first < last - 1:
        lines = [message_line(one, here=one.id == message.id) for one in found[first:last]]
        if pages.fitting(lines, words.line) == len(lines):
            break
        if at - first >= last - 1 - at:
            first += 1
        else:
            last -= 1
    lines = [message_line(one, here=one.id == message.id) for one in found[first:last]]
    return shapes.Passed(stretches=[_as_stretch(info, lines, first, len(found))])


def _stretch(
    reach: Reach, info: SessionInfo, asked: shapes.Timeline, start: int, limit: int, room: int
) -> tuple[shapes.Stretch, int]:
    """A page of a session's messages from the ``start``-th on, and where the next one begins; 0 without one."""
    everything = reach.messages(info, records=asked.records)
    first, found = _within(everything, asked)
    wanted = found[start : start + limit]
    lines = [message_line(one) for one in wanted]
    count = pages.fitting(lines, words.line, room - pages.size(session_line(info)))
    rest = start + count
    stretch = _as_stretch(info, lines[:count], first + start, len(everything))
    return stretch, rest if rest < len(found) else 0


def _in_time(reach: Reach, asked: shapes.Timeline, question: str) -> shapes.Passed:
    """Session by session, the one that ended first first. A cursor names the list's page, the session and the message
    in it."""
    begin = cast("tuple[str, str, int] | None", pages.place(asked.cursor, question, (str, str, int)))
    page, session, start = begin or ("", "", 0)
    end = moments.bound(asked.until or None, end=True)
    stretches: list[shapes.Stretch] = []
    limit, room, looked = asked.limit, pages.ROOM, 0
    while True:
        # The first session is listed by itself: its page's cursor holds fast how the others stand.
        listed = reach.memory.sessions.list(
            user_id=reach.user, namespace=reach.namespace, since=asked.since or None, reverse=True,
            limit=AT_ONCE if page else 1, after=page or None,
        )  # fmt: skip
        if session and all(info.id != session for info in listed):
            raise UsageError(
                "the sessions have changed since that page", hint="leave the cursor out to begin anew"
            )
        for info in listed:
            if session and info.id != session:
                continue
            session = ""
            if not limit or room < HEAD_AT_LEAST or looked >= LOOKED_AT:
                return shapes.Passed(stretches=stretches, next=pages.cursor(question, page, info.id, start))
            if info.storage_scope in ("none", "summaries_only") or _begins_after(info, end):
                continue
            looked += 1
            stretch, rest = _stretch(reach, info, asked, start, limit, room)
            start = 0
            if stretch.lines:
                stretches.append(stretch)
                limit -= len(stretch.lines)
                room -= max(pages.size(stretch), len(words.stretch(stretch)))
            if rest:
                return shapes.Passed(stretches=stretches, next=pages.cursor(question, page, info.id, rest))
        if listed.next is None:
            return shapes.Passed(stretches=stretches)
        page = listed.next


def _begins_after(info: SessionInfo, end: int | None) -> bool:
    """Whether a session began when a stretch was over; a branch's past may be older than itself."""
    return end is not None and info.first_at is not None and not info.shared and _at(info.first_at) >= end


def _within(found: Sequence[Message], asked: shapes.Timeline) -> tuple[int, Sequence[Message]]:
    """The messages in a stretch of time, and how many stand before the first of them; all where no time is named."""
    since = moments.bound(asked.since or None, end=False)
    until = moments.bound(asked.until or None, end=True)
    if since is None and until is None:
        return 0, found
    within = [
        (number, one)
        for number, one in enumerate(found)
        if one.timestamp
        and (since is None or _at(one.timestamp) >= since)
        and (until is None or _at(one.timestamp) < until)
    ]
    return (within[0][0] if within else 0), [one for _, one in within]


def _at(timestamp: str) -> int:
    return moments.microseconds(datetime.fromisoformat(timestamp))


def _as_stretch(info: SessionInfo, lines: list[shapes.Line], before: int, count: int) -> shapes.Stretch:
    whole = info.messages + info.shared
    return shapes.Stretch(
        session=msgspec.structs.replace(session_line(info), messages=whole),
        lines=lines,
        first=before + 1 if lines else 0,
        last=before + len(lines),
        of=count,
        records=max(0, whole - count),
    )

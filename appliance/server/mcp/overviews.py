"""The tool of overviews: counts, months, what was said on this day in earlier years, and attachments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from appliance.errors import UsageError
from appliance.server.mcp import pagination, rendering, results, schemas
from appliance.server.mcp.pagination import NAME_CHARACTERS, TITLE_CHARACTERS, shorten
from appliance.server.mcp.read_tools import message_line, short_notes
from appliance.types import AttachmentKind

if TYPE_CHECKING:
    from appliance.server.mcp.access import McpAccess
    from appliance.types import Attachment

MESSAGES_A_GROUP = 3
"""Messages shown of a month, or of a conversation on a day."""

FILES_A_PAGE = 50
"""The most attachments of an answer."""


def overview(access: McpAccess, arguments: schemas.OverviewArguments) -> results.OverviewResult:
    """One of the overviews, as many groups or files of it as an answer holds."""
    filters = (arguments.authors, arguments.source, arguments.has, arguments.tags, arguments.since, arguments.until)
    digest = pagination.query_digest("overview", arguments.show, arguments.by, arguments.day, *filters)
    (start,) = cast("tuple[int]", pagination.decode_cursor(arguments.cursor, digest, (int,)) or (0,))
    return _SHOWN[arguments.show](access, arguments, digest, start)


def _counts(access: McpAccess, arguments: schemas.OverviewArguments, digest: str, start: int) -> results.OverviewResult:
    _refuse(arguments, "day")
    counted = access.memory.statistics(
        arguments.by or ["month"],
        user_id=access.user,
        namespace=access.namespace,
        sources=[arguments.source] if arguments.source else None,
        authors=arguments.authors or None,
        has=arguments.has or None,
        tags=arguments.tags or None,
        since=arguments.since or None,
        until=arguments.until or None,
    )
    groups = [
        results.OverviewGroup(
            keys=[shorten(key, NAME_CHARACTERS) for key in row.keys], messages=row.messages, conversations=row.sessions
        )
        for row in counted.rows
    ]
    return _page(groups, digest, start, counted.messages, counted.attachments, short_notes(counted.notes))


def _months(access: McpAccess, arguments: schemas.OverviewArguments, digest: str, start: int) -> results.OverviewResult:
    _refuse(arguments, "by", "day", "source", "has", "tags")
    found = access.memory.timeline(
        arguments.authors or None,
        user_id=access.user,
        namespace=access.namespace,
        since=arguments.since or None,
        until=arguments.until or None,
        limit=MESSAGES_A_GROUP,
    )
    groups = [
        results.OverviewGroup(
            keys=[one.month], messages=one.messages, conversations=one.sessions, lines=list(map(message_line, one.top))
        )
        for one in found
    ]
    return _page(groups, digest, start, sum(one.messages for one in found))


def _on_this_day(
    access: McpAccess, arguments: schemas.OverviewArguments, digest: str, start: int
) -> results.OverviewResult:
    _refuse(arguments, "by", "authors", "source", "has", "tags", "since", "until")
    found = access.memory.on_this_day(
        arguments.day or None, user_id=access.user, namespace=access.namespace, limit=MESSAGES_A_GROUP
    )
    groups = [
        results.OverviewGroup(
            keys=[one.day, one.session.id, shorten(one.session.title or "", TITLE_CHARACTERS)],
            messages=one.count,
            lines=list(map(message_line, one.messages)),
        )
        for one in found
    ]
    return _page(groups, digest, start, sum(one.count for one in found))


def _attachments(
    access: McpAccess, arguments: schemas.OverviewArguments, digest: str, start: int
) -> results.OverviewResult:
    _refuse(arguments, "by", "day")
    kinds = [kind for kind in arguments.has if kind != "attachment"]
    if "link" in kinds:
        raise UsageError("A link is not an attachment.", hint="memory_search with has link finds messages with one.")
    page = access.memory.attachments.list(
        cast("list[AttachmentKind]", [] if len(kinds) < len(arguments.has) else kinds),
        user_id=access.user,
        namespace=access.namespace,
        sources=[arguments.source] if arguments.source else None,
        authors=arguments.authors or None,
        tags=arguments.tags or None,
        since=arguments.since or None,
        until=arguments.until or None,
        limit=FILES_A_PAGE,
        offset=start,
    )
    lines = [_attachment_line(one) for one in page]
    count = pagination.count_fitting(lines, rendering.render_attachment)
    left = max(0, page.total - start - count)
    return results.OverviewResult(
        files=lines[:count],
        attachments=page.total,
        left=left,
        next=pagination.encode_cursor(digest, start + count) if left else "",
    )


_Overview = Callable[["McpAccess", schemas.OverviewArguments, str, int], results.OverviewResult]
_SHOWN: dict[str, _Overview] = {
    "counts": _counts,
    "months": _months,
    "on_this_day": _on_this_day,
    "attachments": _attachments,
}


def _page(
    groups: Sequence[results.OverviewGroup],
    digest: str,
    start: int,
    messages: int,
    attachments: int = 0,
    notes: Sequence[str] = (),
) -> results.OverviewResult:
    count = pagination.count_fitting(groups[start:], rendering.render_group)
    left = max(0, len(groups) - start - count)
    return results.OverviewResult(
        groups=list(groups[start : start + count]),
        messages=messages,
        attachments=attachments,
        notes=list(notes),
        left=left,
        next=pagination.encode_cursor(digest, start + count) if left else "",
    )


def _refuse(arguments: schemas.OverviewArguments, *names: str) -> None:
    """Refuse arguments that the overview does not have, so that none is ignored."""
    for name in names:
        if getattr(arguments, name):
            raise UsageError(f"{name} does not go with show {arguments.show}.", hint="Leave it out.")


def _attachment_line(one: Attachment) -> results.AttachmentLine:
    return results.AttachmentLine(
        id=one.id,
        message=one.message_id,
        who=shorten(one.author or "", NAME_CHARACTERS),
        name=shorten(one.name, NAME_CHARACTERS),
        kind=one.kind,
        when=one.timestamp or "",
        size=one.size or 0,
        text=shorten(one.caption, TITLE_CHARACTERS),
    )

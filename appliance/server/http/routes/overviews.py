"""/v1/attachments, /v1/stats, /v1/on-this-day, /v1/day, /v1/start-page, /v1/timeline and /v1/tags: what there is,
without a query."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server.http.bodies import DEFAULT_PAGE_SIZE, MAX_EXACT_INTEGER, MAX_LIMIT, DateText, TagsBody
from appliance.server.http.caller import HttpCaller, Reader, Writer
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import (
    Anniversary,
    Attachment,
    AttachmentKind,
    Contained,
    Role,
    SessionDay,
    StartPage,
    Statistics,
    StatisticsUnit,
    TagCount,
    TimelineMonth,
)
from appliance.types.vocabulary import MAX_FILTER_VALUES

router = make_router("overviews")


@dataclass(frozen=True, slots=True)
class AttachmentsAnswer:
    """A page of attachments; ``total`` counts those of all pages."""

    attachments: tuple[Attachment, ...]
    total: int


@dataclass(frozen=True, slots=True)
class OnThisDayAnswer:
    """What was said on a day of earlier years, by session."""

    days: tuple[Anniversary, ...]


@dataclass(frozen=True, slots=True)
class DayAnswer:
    """What was said on a day, by session, in the order of their first messages."""

    sessions: tuple[SessionDay, ...]


@dataclass(frozen=True, slots=True)
class TimelineAnswer:
    """The months of a timeline, the first one first."""

    months: tuple[TimelineMonth, ...]


@dataclass(frozen=True, slots=True)
class TagsAnswer:
    """Tags with their numbers of sessions, the most frequent first."""

    tags: tuple[TagCount, ...]


@dataclass(frozen=True, slots=True)
class SessionTagsAnswer:
    """The tags of a session, in order."""

    tags: tuple[str, ...]


User = Annotated[str | None, Query(min_length=1)]
Since = Annotated[DateText | None, Query(description="Only messages from this date, time or period on.")]
Until = Annotated[DateText | None, Query(description="Only messages until this date, time or period.")]
Names = list[Annotated[str, Query(min_length=1)]]
Session = Annotated[str | None, Query(description="Only this session, by id or external id.")]
Sources = Annotated[list[str], Query(max_length=MAX_FILTER_VALUES, description="Names of formats.")]
Authors = Annotated[Names, Query(max_length=MAX_FILTER_VALUES, description="Names of people, or parts of them.")]
Tags = Annotated[Names, Query(max_length=MAX_FILTER_VALUES, description="Tags of sessions, of which one suffices.")]
Limit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="How many at most.")]


@router.get("/v1/attachments", response_model=AttachmentsAnswer, responses=problem_responses(404, 409))
def list_attachments(
    caller: Reader,
    user_id: User = None,
    namespace: str | None = None,
    session_id: Session = None,
    kind: Annotated[list[AttachmentKind], Query(max_length=MAX_FILTER_VALUES, description="Only these kinds.")] = [],  # noqa: B006
    role: Annotated[list[Role], Query(max_length=MAX_FILTER_VALUES, description="By default user and assistant.")] = [],  # noqa: B006
    source: Sources = [],  # noqa: B006
    author: Authors = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    since: Since = None,
    until: Until = None,
    limit: Limit = DEFAULT_PAGE_SIZE,
    offset: Annotated[int, Query(ge=0, le=MAX_EXACT_INTEGER, description="How many to skip.")] = 0,
) -> Response:
    """The files that messages carry, the newest first."""
    with usage_error_as_conflict():
        page = caller.memory.attachments.list(
            kind,
            user_id=caller.resolve_user(user_id),
            namespace=caller.resolve_namespace(namespace),
            session_id=_session(caller, session_id, user_id),
            roles=role or None,
            sources=source or None,
            authors=author or None,
            tags=tag or None,
            since=since,
            until=until,
            limit=limit,
            offset=offset,
        )
    shown = tuple(_without_folders(caller, one) for one in page)
    return json_response(AttachmentsAnswer(shown, page.total))


@router.get("/v1/stats", response_model=Statistics, responses=problem_responses(404, 409))
def statistics(
    caller: Reader,
    by: Annotated[list[StatisticsUnit], Query(max_length=2, description="One or two units.")] = ["month"],  # noqa: B006
    user_id: User = None,
    namespace: str | None = None,
    session_id: Session = None,
    role: Annotated[list[Role], Query(max_length=MAX_FILTER_VALUES, description="By default user and assistant.")] = [],  # noqa: B006
    source: Sources = [],  # noqa: B006
    author: Authors = [],  # noqa: B006
    has: Annotated[
        list[Contained], Query(max_length=MAX_FILTER_VALUES, description="What the messages have besides words.")
    ] = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    since: Since = None,
    until: Until = None,
) -> Response:
    """How many messages there are by time, person, source, session or tag."""
    with usage_error_as_conflict():
        counted = caller.memory.statistics(
            by,
            user_id=caller.resolve_user(user_id),
            namespace=caller.resolve_namespace(namespace),
            session_id=_session(caller, session_id, user_id),
            roles=role or None,
            sources=source or None,
            authors=author or None,
            has=has or None,
            tags=tag or None,
            since=since,
            until=until,
        )
    return json_response(counted)


@router.get("/v1/on-this-day", response_model=OnThisDayAnswer, responses=problem_responses(409))
def on_this_day(
    caller: Reader,
    day: Annotated[str | None, Query(pattern=r"^\d{4}-\d\d-\d\d$", description="By default today.")] = None,
    user_id: User = None,
    namespace: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most messages of a session and year.")] = 50,
) -> Response:
    """What was said on this day in earlier years, by session; the latest year first."""
    with usage_error_as_conflict():
        found = caller.memory.on_this_day(
            day, user_id=caller.resolve_user(user_id), namespace=caller.resolve_namespace(namespace), limit=limit
        )
    return json_response(OnThisDayAnswer(tuple(found)))


@router.get("/v1/day", response_model=DayAnswer, responses=problem_responses(409))
def day(
    caller: Reader,
    day: Annotated[str, Query(pattern=r"^\d{4}-\d\d-\d\d$", description="The day.", examples=["2026-03-05"])],
    user_id: User = None,
    namespace: str | None = None,
    source: Sources = [],  # noqa: B006
    author: Authors = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most messages of a session.")] = 50,
) -> Response:
    """What was said on a day, by session."""
    with usage_error_as_conflict():
        found = caller.memory.day(
            day,
            user_id=caller.resolve_user(user_id),
            namespace=caller.resolve_namespace(namespace),
            sources=source or None,
            authors=author or None,
            tags=tag or None,
            limit=limit,
        )
    return json_response(DayAnswer(tuple(found)))


@router.get("/v1/start-page", response_model=StartPage, responses=problem_responses(409))
def start_page(
    caller: Reader,
    user_id: User = None,
    namespace: str | None = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most entries of each list.")] = 8,
) -> Response:
    """The latest conversations, this day in earlier years, pinned messages, what waits, and examples. Owner only."""
    caller.require_owner("the start page")
    with usage_error_as_conflict():
        page = caller.memory.overview.start_page(
            user_id=caller.resolve_user(user_id), namespace=caller.resolve_namespace(namespace), limit=limit
        )
    return json_response(page)


@router.get("/v1/timeline", response_model=TimelineAnswer, responses=problem_responses(404, 409))
def timeline(
    caller: Reader,
    author: Authors = [],  # noqa: B006
    user_id: User = None,
    namespace: str | None = None,
    session_id: Session = None,
    role: Annotated[list[Role], Query(max_length=MAX_FILTER_VALUES, description="By default user and assistant.")] = [],  # noqa: B006
    source: Sources = [],  # noqa: B006
    participant: Annotated[
        Names, Query(max_length=MAX_FILTER_VALUES, description="People who all wrote in the conversation.")
    ] = [],  # noqa: B006
    has: Annotated[
        list[Contained], Query(max_length=MAX_FILTER_VALUES, description="What the messages have besides words.")
    ] = [],  # noqa: B006
    tag: Tags = [],  # noqa: B006
    tool: Annotated[
        Names, Query(max_length=MAX_FILTER_VALUES, description="Tools whose calls the messages are about.")
    ] = [],  # noqa: B006
    file: Annotated[Names, Query(max_length=MAX_FILTER_VALUES, description="Files that the messages are about.")] = [],  # noqa: B006
    entity: Annotated[Names, Query(max_length=MAX_FILTER_VALUES, description="What the messages name.")] = [],  # noqa: B006
    topic: Annotated[Names, Query(max_length=MAX_FILTER_VALUES, description="Topics of conversations.")] = [],  # noqa: B006
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Most messages a month.")] = 3,
) -> Response:
    """The months in which people wrote, with the most important messages of each."""
    with usage_error_as_conflict():
        found = caller.memory.timeline(
            author or None,
            user_id=caller.resolve_user(user_id),
            namespace=caller.resolve_namespace(namespace),
            since=since,
            until=until,
            limit=limit,
            session_id=None if session_id is None else caller.session_of(session_id, user_id, readable=True).id,
            roles=role or None,
            sources=source or None,
            participants=participant or None,
            has=has or None,
            tags=tag or None,
            tools=tool or None,
            files=file or None,
            entities=entity or None,
            topics=topic or None,
        )
    return json_response(TimelineAnswer(tuple(found)))


@router.get("/v1/tags", response_model=TagsAnswer)
def list_tags(caller: Reader, user_id: User = None, namespace: str | None = None) -> Response:
    """The tags of a user's sessions, the most frequent first."""
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    counts = caller.memory.sessions.tags(user_id=user, namespace=namespace)
    if not caller.grant.is_owner and counts:
        tagged = caller.memory.sessions.list(user_id=user, namespace=namespace, tags=[one.tag for one in counts])
        visible = Counter(tag for info in caller.visible_sessions(tagged) for tag in info.tags)
        counts = [TagCount(one.tag, visible[one.tag]) for one in counts if visible[one.tag]]
    return json_response(TagsAnswer(tuple(counts)))


Id = Annotated[str, Path(description="A session, such as s12, or its external id.", examples=["s12"])]


@router.post("/v1/sessions/{id}/tags", response_model=SessionTagsAnswer, responses=problem_responses(404, 409))
def tag_session(caller: Writer, id: Id, body: TagsBody) -> Response:
    """Give a session tags, and answer with all that it has."""
    with usage_error_as_conflict():
        return json_response(SessionTagsAnswer(caller.open_session(id).tag(body.tags)))


@router.delete("/v1/sessions/{id}/tags/{tag}", response_model=SessionTagsAnswer, responses=problem_responses(404, 409))
def untag_session(caller: Writer, id: Id, tag: Annotated[str, Path(description="The tag.")]) -> Response:
    """Remove a tag from a session, and answer with those that it still has."""
    with usage_error_as_conflict():
        return json_response(SessionTagsAnswer(caller.open_session(id).untag([tag])))


def _session(caller: HttpCaller, reference: str | None, user_id: str | None) -> str | None:
    return None if reference is None else caller.session_of(reference, user_id, readable=True).id


def _without_folders(caller: HttpCaller, attachment: Attachment) -> Attachment:
    """An attachment without the folder of its source, which only the owner may see."""
    if caller.grant.is_owner or attachment.source is None:
        return attachment
    return replace(attachment, source=os.path.basename(attachment.source))

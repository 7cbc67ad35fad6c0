"""Requests for attachments, counts over time, what was said on this day, the start page, and tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import date
from typing import ClassVar

from appliance.requests.base import R, Request
from appliance.types import (
    Anniversary,
    Attachment,
    AttachmentKind,
    AttachmentPage,
    Contained,
    FileProblem,
    ImportedFile,
    ImportedSession,
    Role,
    SessionDay,
    StartPage,
    Statistics,
    StatisticsUnit,
    TagCount,
    TimelineMonth,
    UnfinishedImport,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilteredRequest(Request[R]):
    """An overview of the messages that pass the filters of a search; see ``SearchRequest``."""

    user_id: str | None = None
    namespace: str = ""
    session_id: str | None = None
    roles: Sequence[Role] | None = None
    sources: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    since: str | date | None = None
    until: str | date | None = None


@dataclass(frozen=True, slots=True)
class ListAttachmentsRequest(FilteredRequest[AttachmentPage]):
    """List attachments, the newest first.

    Args:
        kinds: Only these kinds: image, audio, video or file.
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        session_id: Only this session, by its id or external id.
        roles: Only messages with these roles; by default user and assistant.
        sources: Only these formats.
        authors: Only messages by these people, as in a search.
        tags: Only sessions with any of these tags.
        since: Only messages from this day or time on.
        until: Only messages up to this time, or to the end of this day.
        limit: The most attachments on a page.
        offset: How many to skip.

    Raises:
        UsageError: A kind, role, date, limit or offset is invalid.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "overview.attachments"

    kinds: Sequence[AttachmentKind] = ()
    _: KW_ONLY
    limit: int = 50
    offset: int = 0


@dataclass(frozen=True, slots=True)
class MessageAttachmentsRequest(Request[list[Attachment]]):
    """List the attachments of a message, in the order in which it names them.

    Args:
        message_id: The message, by its id ("m345").

    Raises:
        NotFound: There is no such message.
    """

    name: ClassVar[str] = "overview.message_attachments"

    message_id: str


@dataclass(frozen=True, slots=True)
class AttachmentRequest(Request[Attachment]):
    """Read what is known of an attachment.

    Args:
        reference: Its id ("m345.1").

    Raises:
        NotFound: There is no such attachment.
    """

    name: ClassVar[str] = "overview.attachment"

    reference: str


@dataclass(frozen=True, slots=True)
class AttachmentFileRequest(Request[str]):
    """Return the path of an attachment's file. One in a zip is unpacked into a new private folder for temporary files,
    which is the caller's to delete.

    Args:
        reference: Its id ("m345.1").

    Raises:
        NotFound: There is no such attachment, or its file is not where it was when the export was read.
        InputError: The zip is damaged.
    """

    name: ClassVar[str] = "overview.attachment_file"

    reference: str


@dataclass(frozen=True, slots=True)
class ImportedFilesRequest(Request[list[ImportedFile]]):
    """List the files that messages were imported from, by whichever program, and what each gave. The latest read come
    first. A document in a zip is a file of its own.

    Args:
        path: Only this file, or those in it if it is a zip or a folder.
        limit: The most files.
        user_id: Only files that gave conversations to this user, or none to anyone, with what they gave to this user;
            by default the files of all users. The times of a file that others imported too are those at which this
            user's messages were stored.

    Raises:
        UsageError: The limit is invalid.
    """

    name: ClassVar[str] = "overview.imported_files"

    path: str | None = None
    _: KW_ONLY
    limit: int = 100
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class FileProblemsRequest(Request[list[FileProblem]]):
    """List the files that could not be read completely, whether they were watched or imported by hand: those that are
    still there first, then the latest read.

    Args:
        dismissed: Also those that a person dismissed.
        limit: The most files.

    Raises:
        UsageError: The limit is invalid.
    """

    name: ClassVar[str] = "overview.file_problems"

    _: KW_ONLY
    dismissed: bool = False
    limit: int = 100


@dataclass(frozen=True, slots=True)
class DismissProblemsRequest(Request[list[FileProblem]]):
    """Be done with files that could not be read completely: they are no trouble any more. What was read of them stays,
    and ``FileProblemsRequest`` still lists them with ``dismissed``. One that changes, or is imported again, counts
    anew.

    Args:
        paths: The files, or folders in which they lie.
        gone: All that are not there any more.

    Returns:
        Those that were dismissed.
    """

    name: ClassVar[str] = "overview.dismiss_problems"

    paths: Sequence[str] = ()
    _: KW_ONLY
    gone: bool = False


@dataclass(frozen=True, slots=True)
class UnfinishedImportsRequest(Request[list[UnfinishedImport]]):
    """List the imports that were begun and broken off, the first one first. ``memory.ingest(one.path, **one.options)``
    goes on with one: what is stored already is recognised.

    Args:
        user_id: Only those for this user's memory; by default those of all users.
        running: Also those that run now and have stored something.
    """

    name: ClassVar[str] = "overview.unfinished_imports"

    _: KW_ONLY
    user_id: str | None = None
    running: bool = False


@dataclass(frozen=True, slots=True)
class GiveUpImportRequest(Request[None]):
    """Forget that an import was broken off. What was read of it stays.

    Args:
        path: The file, folder or zip, as ``UnfinishedImport`` names it.
        user_id: Whose memory it was for; by default the configured user's.
        namespace: The namespace within that memory.
    """

    name: ClassVar[str] = "overview.give_up_import"

    path: str
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSessionsRequest(Request[list[ImportedSession]]):
    """List the sessions of which an imported file has messages, those with the most first.

    Args:
        path: The file, as ``ImportedFilesRequest`` names it, or a zip or a folder with such files.
        limit: The most sessions.
        user_id: Only this user's sessions; by default those of all users.

    Raises:
        UsageError: The limit is invalid.
    """

    name: ClassVar[str] = "overview.imported_sessions"

    path: str
    _: KW_ONLY
    limit: int = 200
    user_id: str | None = None


@dataclass(frozen=True, slots=True)
class StatisticsRequest(FilteredRequest[Statistics]):
    """Count messages by time, person or source.

    Hours, weekdays, days, months and years are those of this machine's time zone; of a message whose zone is unknown,
    those of its own clock. An author is a person under all names, with the id where two people have the same name, or
    a name as it is written where nothing is known of whose it is. Messages without a time, an author or a tag are
    counted under "". A session with two tags counts under both.

    Args:
        by: One or two of year, month, day, weekday (1 is Monday), hour, author, role, source, session and tag.
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        session_id: Only this session, by its id or external id.
        roles: Only messages with these roles; by default user and assistant.
        sources: Only these formats.
        authors: Only messages by these people, as in a search.
        has: Only messages that have any of these: image, audio, video, file, attachment, link, document.
        tags: Only sessions with any of these tags.
        since: Only messages from this day or time on.
        until: Only messages up to this time, or to the end of this day.

    Raises:
        UsageError: A unit, a role or a date is invalid.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "overview.statistics"

    by: Sequence[StatisticsUnit] = ("month",)
    _: KW_ONLY
    has: Sequence[Contained] | None = None


@dataclass(frozen=True, slots=True)
class OnThisDayRequest(Request[list[Anniversary]]):
    """List what was said on this day in earlier years, by session; the latest year first.

    Args:
        day: The day, as ISO 8601 or in words ("15 March"); by default today. Its own year is not listed.
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        limit: The most messages of one session and year.

    Raises:
        UsageError: The day or the limit is invalid.
    """

    name: ClassVar[str] = "overview.on_this_day"

    day: str | date | None = None
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    limit: int = 50


@dataclass(frozen=True, slots=True)
class DayRequest(Request[list[SessionDay]]):
    """List what was said on a day, by session, in the order of their first messages. The day is the one by which
    ``StatisticsRequest`` counts, and so are the messages.

    Args:
        day: The day, as ISO 8601 or in words ("15 March 2025").
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        sources: Only these formats.
        authors: Only messages by these people, as in a search.
        tags: Only sessions with any of these tags.
        limit: The most messages of one session.

    Raises:
        UsageError: The day or the limit is invalid.
    """

    name: ClassVar[str] = "overview.day"

    day: str | date
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    sources: Sequence[str] | None = None
    authors: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class StartPageRequest(Request[StartPage]):
    """Read what is worth a look before anything is searched for: the latest conversations, what was said on this day of
    earlier years, pinned messages, what waits for the person, and example searches. Facts and people are those that
    have been derived so far.

    Args:
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        limit: The most conversations, days and pinned messages of each list.

    Raises:
        UsageError: The limit is invalid.
    """

    name: ClassVar[str] = "overview.start_page"

    user_id: str | None = None
    namespace: str = ""
    _: KW_ONLY
    limit: int = 8


@dataclass(frozen=True, slots=True)
class TimelineRequest(Request[list[TimelineMonth]]):
    """List the months in which people wrote, with the most important messages of each.

    Args:
        authors: Only messages by these people, as in a search; by default those of all.
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
        since: Only messages from this day or time on.
        until: Only messages up to this time, or to the end of this day.
        limit: The most messages a month.
        session_id: Only this session, by its id or external id. This and what follows is as in a search.
        sources: Only these formats.
        participants: Only conversations in which all these people wrote.
        roles: Only messages with these roles; by default user and assistant.
        has: Only messages that have any of these besides words.
        tags: Only sessions with any of these tags.
        tools: Only messages about a call of any of these tools.
        files: Only messages about any of these files.
        entities: Only messages that name any of these.
        topics: Only conversations about any of these topics.

    Raises:
        UsageError: A filter or the limit is invalid.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "overview.timeline"

    authors: Sequence[str] | None = None
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    since: str | date | None = None
    until: str | date | None = None
    limit: int = 3
    session_id: str | None = None
    sources: Sequence[str] | None = None
    participants: Sequence[str] | None = None
    roles: Sequence[Role] | None = None
    has: Sequence[Contained] | None = None
    tags: Sequence[str] | None = None
    tools: Sequence[str] | None = None
    files: Sequence[str] | None = None
    entities: Sequence[str] | None = None
    topics: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class TagSessionRequest(Request[tuple[str, ...]]):
    """Give a session tags, and return all that it has. Case and a "#" before a tag do not matter.

    Args:
        session_id: The session's id.
        tags: The tags.

    Raises:
        UsageError: A tag is empty, too long, or has a line break.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "sessions.tag"

    session_id: str
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class UntagSessionRequest(Request[tuple[str, ...]]):
    """Remove tags from a session, and return those that it still has.

    Args:
        session_id: The session's id.
        tags: The tags.

    Raises:
        UsageError: A tag is empty, too long, or has a line break.
        NotFound: There is no such session.
    """

    name: ClassVar[str] = "sessions.untag"

    session_id: str
    tags: Sequence[str]


@dataclass(frozen=True, slots=True)
class ListTagsRequest(Request[Sequence[TagCount]]):
    """List the tags of a user's sessions, the most frequent first.

    Args:
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that user's memory.
    """

    name: ClassVar[str] = "sessions.tags"

    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""

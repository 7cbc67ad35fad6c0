"""Overviews that take the filters of a search: attachments, counts over time, and what was said on a day."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import get_args

from appliance import requests as r
from appliance import timestamps
from appliance.engine.query_matches import query_matches
from appliance.engine.start_page import StartPageInputs, read_start_page
from appliance.engine.unfinished_imports import UnfinishedImports
from appliance.errors import UsageError
from appliance.languages.periods import read_day
from appliance.memory.overview import OverviewService, check_limit
from appliance.paths import Home
from appliance.requests.overviews import FilteredRequest
from appliance.retrieval import search_query
from appliance.store import attachments, messages, statistics
from appliance.store.author_selection import missing_author, resolve_authors
from appliance.store.database import Database
from appliance.store.lexical import query_words
from appliance.store.sql import MAX_ROWS
from appliance.types import (
    Anniversary,
    Attachment,
    AttachmentKind,
    AttachmentPage,
    Contained,
    Filters,
    MessageMatches,
    Scope,
    SessionDay,
    StartPage,
    Statistics,
    TimelineMonth,
    UnfinishedImport,
)


class Overviews(OverviewService):
    """All overviews of an open memory. Thread-safe."""

    def __init__(
        self,
        home: Home,
        database: Database,
        owner: str,
        watched_folders: Callable[[], Sequence[Path]],
        refresh_people: Callable[[], object],
        archived_soon: Callable[[Scope], list[int]],
        count_proposals: Callable[[Scope], int],
        unfinished_imports: UnfinishedImports,
    ) -> None:
        """``watched_folders`` returns those of the settings; ``refresh_people`` is called before people are read; the
        others are as in ``StartPageInputs``."""
        super().__init__(home, database, owner, watched_folders)
        self._refresh_people = refresh_people
        self._unfinished_imports = unfinished_imports
        self._start_page_inputs = StartPageInputs(
            owner, archived_soon, count_proposals, lambda scope: len(unfinished_imports.list(scope))
        )

    def unfinished_imports(self, request: r.UnfinishedImportsRequest) -> list[UnfinishedImport]:
        """See ``UnfinishedImportsRequest``."""
        found = self._unfinished_imports.list(running=request.running)
        return [one for one in found if request.user_id in (None, one.user_id)]

    def give_up_import(self, request: r.GiveUpImportRequest) -> None:
        """See ``GiveUpImportRequest``."""
        self._unfinished_imports.give_up(request.path, self._scope(request.user_id, request.namespace))

    def matches(self, request: r.MatchesRequest) -> list[MessageMatches]:
        """See ``MatchesRequest``."""
        words = query_words(request.query)
        found = (query_matches(message.id, message.text, words) for message in self._read_messages(request.ids))
        return [matches for matches in found if matches is not None]

    def attachments(self, request: r.ListAttachmentsRequest) -> AttachmentPage:
        """See ``ListAttachmentsRequest``."""
        for kind in request.kinds:
            if kind not in get_args(AttachmentKind):
                kinds = ", ".join(get_args(AttachmentKind))
                raise UsageError(f"There are no attachments of the kind {kind!r}.", hint=f"Use one of {kinds}.")
        check_limit(request.limit)
        if request.offset < 0:
            raise UsageError(f"The offset must be at least 0, not {request.offset}.")
        filters = self._filters(_search(request))
        wanted = attachments.AttachmentFilter(filters, tuple(request.kinds))
        return attachments.list_page(self._database.read(), wanted, request.limit, min(request.offset, MAX_ROWS))

    def message_attachments(self, request: r.MessageAttachmentsRequest) -> list[Attachment]:
        """See ``MessageAttachmentsRequest``."""
        db = self._database.read()
        return attachments.of_message(db, messages.find(db, request.message_id).id)

    def attachment(self, request: r.AttachmentRequest) -> Attachment:
        """See ``AttachmentRequest``."""
        return attachments.find(self._database.read(), request.reference)

    def attachment_file(self, request: r.AttachmentFileRequest) -> str:
        """See ``AttachmentFileRequest``."""
        from appliance.ingest import attached_files  # loads the formats, which no search needs

        found = attachments.find(self._database.read(), request.reference)
        return os.fspath(attached_files.file_of(found, self._home.attachments))

    def statistics(self, request: r.StatisticsRequest) -> Statistics:
        """See ``StatisticsRequest``."""
        for unit in request.by:
            if unit not in statistics.UNITS:
                raise UsageError(
                    f"Messages can't be counted by {unit!r}.", hint=f"Use one of {', '.join(statistics.UNITS)}."
                )
        if not 1 <= len(set(request.by)) == len(request.by) <= 2:
            raise UsageError("Messages are counted by one or two different units.", hint="Such as month and author.")
        filters = self._filters(_search(request, has=request.has))
        if "author" in request.by:
            self._refresh_people()
        db, scope = self._database.read(), self._scope(request.user_id, request.namespace)
        named = resolve_authors(db, scope, request.authors or ())
        notes = [f"{words}; all were counted" for words in named.ambiguous]
        notes += (missing_author(db, scope, name) for name in named.missing)
        return replace(statistics.statistics(db, filters, request.by), notes=tuple(notes))

    def on_this_day(self, request: r.OnThisDayRequest) -> list[Anniversary]:
        """See ``OnThisDayRequest``."""
        check_limit(request.limit)
        day = _day(request.day)
        filters = self._filters(r.SearchRequest("", user_id=request.user_id, namespace=request.namespace))
        return statistics.on_this_day(self._database.read(), filters, day, request.limit)

    def day(self, request: r.DayRequest) -> list[SessionDay]:
        """See ``DayRequest``."""
        check_limit(request.limit)
        search = r.SearchRequest(
            "", user_id=request.user_id, namespace=request.namespace, sources=request.sources, authors=request.authors,
            tags=request.tags,
        )  # fmt: skip
        return statistics.session_days(self._database.read(), self._filters(search), _day(request.day), request.limit)

    def start_page(self, request: r.StartPageRequest) -> StartPage:
        """See ``StartPageRequest``."""
        check_limit(request.limit)
        filters = self._filters(r.SearchRequest("", user_id=request.user_id, namespace=request.namespace))
        return read_start_page(self._database.read(), filters, self._start_page_inputs, request.limit)

    def timeline(self, request: r.TimelineRequest) -> list[TimelineMonth]:
        """See ``TimelineRequest``."""
        check_limit(request.limit)
        search = r.SearchRequest(
            "", user_id=request.user_id, namespace=request.namespace, authors=request.authors, since=request.since,
            until=request.until, session_id=request.session_id, sources=request.sources,
            participants=request.participants, roles=request.roles, has=request.has, tags=request.tags,
            tools=request.tools, files=request.files, entities=request.entities, topics=request.topics,
        )  # fmt: skip
        filters = self._filters(search)
        return statistics.timeline(self._database.read(), filters, request.limit)

    def _filters(self, search: r.SearchRequest) -> Filters:
        db, scope = self._database.read(), self._scope(search.user_id, search.namespace)
        if search.authors or search.participants:
            self._refresh_people()
        found = resolve_authors(db, scope, search.authors or ())
        # Pages of documents are not what somebody said.
        return replace(search_query.resolve_all_filters(db, search, scope, None, found)[0], documents=False)


def _search(request: FilteredRequest[object], has: Sequence[Contained] | None = None) -> r.SearchRequest:
    """The search with the same filters."""
    return r.SearchRequest(
        "", user_id=request.user_id, namespace=request.namespace, session_id=request.session_id, roles=request.roles,
        sources=request.sources, authors=request.authors, has=has, tags=request.tags, since=request.since,
        until=request.until,
    )  # fmt: skip


def _day(day: str | date | None) -> date:
    """A day as a person names it; by default today. Without a year it is the next one to come.

    Raises:
        UsageError: It is no day.
    """
    if day is None:
        return timestamps.local_now().date()
    if isinstance(day, datetime):
        return day.date()
    if isinstance(day, date):
        return day
    found = read_day(day, datetime.combine(timestamps.local_now().date(), time()))
    if found is None:
        raise UsageError(f"{day!r} is not a day.", hint="Give it as in 2026-02-06, '6 February' or 02-06.")
    return found.date()

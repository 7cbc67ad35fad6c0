"""An overview of a memory for a screen: reads that need no query."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance import requests as r
from appliance.errors import UsageError
from appliance.paths import Home, is_there
from appliance.store import chunks, file_problems, generation_states, messages, overview, sessions
from appliance.store.database import Database
from appliance.store.session_listing import SessionFilter, count_sessions, count_stored
from appliance.store.sql import MAX_ROWS
from appliance.types import (
    Activity,
    FileProblem,
    FilterChoices,
    ImportedFile,
    ImportedSession,
    Message,
    Outline,
    Scope,
    WatchedFile,
)

MAX_MESSAGES_PER_CALL = 500  # some screens full
MAX_PAGE = 1_000


class OverviewService:
    """Overviews of an open memory. Thread-safe."""

    def __init__(
        self, home: Home, database: Database, owner: str, watched_folders: Callable[[], Sequence[Path]]
    ) -> None:
        """``watched_folders`` returns those of the settings."""
        self._home = home
        self._database = database
        self._owner = owner
        self._watched_folders = watched_folders

    def counts(self, request: r.CountsRequest) -> dict[str, int]:
        """See ``CountsRequest``."""
        db = self._database.read()
        generation = generation_states.active(db)
        scope = None if request.user_id is None else Scope(request.user_id, request.namespace)
        return {
            "messages": messages.count(db, scope),
            "sessions": count_stored(db) if scope is None else count_sessions(db, SessionFilter(scope)),
            "pending": chunks.count_pending(db, generation.id) if generation else 0,
        }

    def outline(self, request: r.OutlineRequest) -> Outline:
        """See ``OutlineRequest``."""
        db = self._database.read()
        info = sessions.find(db, request.session)
        return overview.outline(db, sessions.key(info), info.id)

    def messages(self, request: r.MessagesRequest) -> list[Message]:
        """See ``MessagesRequest``."""
        return self._read_messages(request.ids)

    def _read_messages(self, ids: Sequence[str]) -> list[Message]:
        if len(ids) > MAX_MESSAGES_PER_CALL:
            raise UsageError(f"At most {MAX_MESSAGES_PER_CALL} messages can be read at once, not {len(ids)}.")
        keys = [key for id in ids if (key := messages.message_key(id)) is not None]
        rows = messages.get(self._database.read(), keys)
        return [messages.to_message(rows[key]) for key in keys if key in rows]

    def filter_choices(self, request: r.ChoicesRequest) -> FilterChoices:
        """See ``ChoicesRequest``."""
        return overview.filter_choices(self._database.read(), self._scope(request.user_id, request.namespace))

    def activity(self, request: r.ActivityRequest) -> list[Activity]:
        """See ``ActivityRequest``."""
        return overview.activity(self._database.read(), self._scope(request.user_id, request.namespace))

    def files(self, request: r.WatchedFilesRequest) -> list[WatchedFile]:
        """See ``WatchedFilesRequest``."""
        return overview.files(self._database.read(), min(request.limit, MAX_ROWS))

    def file_problems(self, request: r.FileProblemsRequest) -> list[FileProblem]:
        """See ``FileProblemsRequest``."""
        check_limit(request.limit)
        db, watched = self._database.read(), [self._home.inbox, *self._watched_folders()]
        found = [(one, is_there(one.path)) for one in file_problems.stored(db, dismissed=request.dismissed)]
        found.sort(key=lambda pair: not pair[1])
        return [_file_problem(db, one, there, watched) for one, there in found[: request.limit]]

    def dismiss_problems(self, request: r.DismissProblemsRequest) -> list[FileProblem]:
        """See ``DismissProblemsRequest``."""
        places = [Path(os.path.abspath(path)) for path in request.paths]

        def is_meant(path: Path) -> bool:
            return file_problems.lies_in(path, places) or (request.gone and not is_there(path))

        with self._database.write() as tx:
            dismissed = file_problems.dismiss(tx, is_meant)
        db, watched = self._database.read(), [self._home.inbox, *self._watched_folders()]
        return [_file_problem(db, one, is_there(one.path), watched) for one in dismissed]

    def imported_files(self, request: r.ImportedFilesRequest) -> list[ImportedFile]:
        """See ``ImportedFilesRequest``."""
        check_limit(request.limit)
        return overview.imported_files(self._database.read(), request.path, request.limit, request.user_id)

    def imported_sessions(self, request: r.ImportedSessionsRequest) -> list[ImportedSession]:
        """See ``ImportedSessionsRequest``."""
        check_limit(request.limit)
        return overview.imported_sessions(self._database.read(), request.path, request.limit, request.user_id)

    def folders(self, request: r.FoldersRequest) -> list[str]:
        """See ``FoldersRequest``."""
        return [str(self._home.inbox), *map(str, self._watched_folders())]

    def _scope(self, user_id: str | None, namespace: str) -> Scope:
        return Scope(self._owner if user_id is None else user_id, namespace)


def _file_problem(
    db: sqlite3.Connection, stored: file_problems.StoredProblem, is_there: bool, watched: Sequence[Path]
) -> FileProblem:
    """A problem, with what the memory has from the file."""
    given = overview.imported_files(db, stored.shown_path, MAX_PAGE)
    return FileProblem(
        path=stored.shown_path,
        state="dismissed" if stored.is_dismissed else "partial" if stored.state == "partial" else "failed",
        reason=stored.reason.removeprefix(file_problems.DISMISSED),
        read_at=stored.read_at,
        is_there=is_there,
        is_watched=file_problems.lies_in(stored.path, watched),
        sessions=sum(one.sessions for one in given),
        messages=sum(one.messages for one in given),
    )


def check_limit(limit: int) -> None:
    """
    Raises:
        UsageError: A list can't have so many items.
    """
    if not 1 <= limit <= MAX_PAGE:
        raise UsageError(f"The limit must be 1 to {MAX_PAGE:,}, not {limit}.")

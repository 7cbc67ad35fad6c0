"""Joins the way in with the home and its settings: for an ingest, for a watched folder, and for a turn said now."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from appliance import __version__
from appliance.config import Settings
from appliance.ingest import pipeline
from appliance.ingest.watch import Habits, Watcher
from appliance.memory import importance
from appliance.memory.session import Before
from appliance.memory.working import WorkingMemory
from appliance.paths import Home
from appliance.serving import Serving
from appliance.store import sessions
from appliance.store.database import Database
from appliance.types import Event, FileReport, MessageRecord, OnFile, OnRead, Scope, SessionInfo
from appliance.upkeep import Gate


class Taking:
    """How an open home takes messages in. ``wake`` lets the background see to what has come."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        database: Database,
        serving: Serving,
        working: WorkingMemory,
        gate: Gate,
        tell: Callable[[Event], None],
        wake: Callable[[], None],
    ) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._serving = serving
        self._working = working
        self._gate = gate
        self._tell = tell
        self._wake = wake

    def intake(
        self,
        scope: Scope,
        *,
        keep_owners: bool = False,
        format: str | None = None,
        dry_run: bool = False,
        again: bool = False,
        progress: OnFile = lambda path, messages: None,
    ) -> pipeline.Intake:
        """What the pipeline needs to know of this home.

        Raises:
            ModelUnavailable: the embedding model can't be loaded.
        """
        self._serving.begin()
        return pipeline.Intake(
            database=self._database,
            target=self._serving.target,
            scope=scope,
            keep_owners=keep_owners,
            format=format,
            me=self._settings.name or None,
            ttl=self._settings.session.ttl,
            dry_run=dry_run,
            again=again,
            progress=progress,
            weigh=importance.weigh,
            make_way=self._gate.make_way,
            is_calm=self._gate.is_calm,
            tell=self._tell,
        )

    def read(self, paths: Sequence[Path], into: pipeline.Intake) -> list[pipeline.Tally]:
        """Take in files, folders and zips; what became of each."""
        return list(pipeline.ingest(paths, into))

    def take(self, record: MessageRecord, info: SessionInfo, before: Before) -> int:
        """Store a message that somebody says now; its key."""
        into = self.intake(Scope(info.user_id, info.namespace))
        with ExitStack() as hurry:
            hurry.enter_context(self._gate.awaiting())  # an ingest in the midst of a batch ends that first

            def begun(tx: sqlite3.Connection) -> None:
                hurry.close()
                before(tx)

            key = pipeline.add(record, sessions.key(info), into, begun)
        self._serving.said(key)
        self._tell(Event("ingested", info.id, {"messages": 1, "new": 1}))
        self._working.note(sessions.key(info))
        self._wake()
        return key

    def watcher(
        self,
        folders: Sequence[str | os.PathLike[str]],
        scope: Scope,
        *,
        keep_owners: bool,
        on_read: OnRead,
        on_trouble: Callable[[str], None],
    ) -> Watcher:
        """What reads the inbox, the configured folders and ``folders``; see Engine.watcher."""

        def read(root: Path, file: Path) -> list[FileReport]:
            into = self.intake(scope, keep_owners=keep_owners)
            tallies = list(pipeline.ingest([file], into, within=root))
            self._wake()
            return [tally.report() for tally in tallies]

        given = (Path(folder).expanduser() for folder in (*self._settings.watch.folders, *folders))
        return Watcher(
            [self._home.inbox, *given], self._database, read,
            reader=__version__,
            owner="" if keep_owners else f"{scope.user_id} {scope.namespace}",
            habits=Habits(self._settings.watch.settle, self._settings.watch.rescan),
            apart=[place for name, place in self._home.places().items() if name not in ("home", "inbox")],
            on_read=on_read,
            on_trouble=on_trouble,
        )  # fmt: skip

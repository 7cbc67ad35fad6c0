"""Watched folders of an open home: one watcher for each owner of messages, in which all who ask for it take part.

A daemon, ``appliance watch`` and the screen may all watch at once: they take part in the same watcher, so that no file
is read by two at a time. It watches the inbox, the folders of the settings as they are now, and those that its
subscribers name. A subscriber that names folders hears nothing of those that only others name; one that names none, as
a daemon does, hears everything.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

from appliance import __version__, config
from appliance import requests as r
from appliance.engine.discovery import this_machine
from appliance.engine.ingestion import Ingestion
from appliance.errors import ConfigError
from appliance.ingest.discovery.places import patterns_of
from appliance.ingest.following import FollowedLogs
from appliance.ingest.side_files import SideFiles
from appliance.ingest.watch_roots import check_not_a_memory, check_readable, outermost_folders
from appliance.ingest.watcher import FolderWatcher, WatchIntervals
from appliance.paths import Home, is_there
from appliance.runtime.streams import ProducerStream
from appliance.settings import Settings
from appliance.store import file_problems, watched_files
from appliance.store.database import Database
from appliance.timestamps import iso_from_microseconds
from appliance.types import FileReport, Scope, Stream, WatchChange, WatchedFolder, WatchEvent

MAX_UNREAD_REPORTS = 256
"""Reports that wait in the stream of a subscriber."""

MAX_QUEUED_REPORTS = 10_000
"""Reports that wait for a slow subscriber besides; it misses the rest, and the watcher waits for none."""


@dataclass(slots=True)
class _Subscriber:
    """A request that takes part in a watcher: the folders that it names, and the events for it. None ends it."""

    folders: Sequence[Path]
    once: bool
    events: queue.SimpleQueue[WatchEvent | BaseException | None] = field(default_factory=queue.SimpleQueue)
    missed: int = 0
    told: set[Path] = field(default_factory=set)
    """The folders of which it was said that another watcher reads them."""

    def names(self, file: FileReport) -> bool:
        """Whether a file lies in one of the folders that the request names, or it names none."""
        return not self.folders or _lies_in(file, self.folders)

    def offer(self, event: WatchEvent) -> None:
        if self.events.qsize() < MAX_QUEUED_REPORTS:
            self.events.put(event)
        else:
            self.missed += 1


@dataclass(slots=True)
class _RunningWatcher:
    """A watcher that runs on its thread, and its subscribers. ``is_ending`` is True once none can join any more."""

    watcher: FolderWatcher
    thread: threading.Thread
    subscribers: list[_Subscriber] = field(default_factory=list)
    is_ending: bool = False


def _lies_in(file: FileReport, folders: Iterable[Path]) -> bool:
    """Whether a file, or the zip that it is in, is one of these or lies in one of them."""
    return any(
        file.path == str(folder) or file.path.startswith((f"{folder}{os.sep}", f"{folder}!")) for folder in folders
    )


def _watched_folder(
    db: sqlite3.Connection,
    path: Path,
    why: Literal["inbox", "setting", "command"],
    followed: Sequence[Path],
    problems: Sequence[Path],
) -> WatchedFolder:
    states, read_at = watched_files.states_in(db, path)
    return WatchedFolder(
        path=os.fsencode(path).decode("utf-8", "replace"),
        why=why,
        is_there=is_there(path),
        is_followed=file_problems.lies_in(path, followed),
        files=states,
        read_at=None if read_at is None else iso_from_microseconds(read_at),
        problems=sum(file_problems.lies_in(problem, [path]) for problem in problems),
    )


class WatchService:
    """The watchers of an open home. Thread-safe."""

    def __init__(self, home: Home, settings: Settings, database: Database, ingestion: Ingestion) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._ingestion = ingestion
        self._lock = threading.RLock()
        self._running: dict[str, _RunningWatcher] = {}
        """By owner, in the order in which they began: each leaves out what those before it watch."""

    # --- requests -------------------------------------------------------------------------------------

    def watch(self, request: r.WatchRequest) -> Stream[WatchEvent]:
        """See ``WatchRequest``."""
        user = self._settings.user if request.user_id is None else request.user_id
        scope = Scope(user, request.namespace)
        named = outermost_folders([Path(folder).expanduser() for folder in request.folders])
        check_readable(named)
        subscriber = _Subscriber(named, request.once)
        keeps_owners = request.user_id is None and not request.namespace

        def follow() -> None:
            with self._joined(subscriber, scope, keeps_owners=keeps_owners):
                while (event := subscriber.events.get()) is not None:
                    if isinstance(event, BaseException):
                        raise event
                    stream.put(event)
                if subscriber.missed:
                    stream.put(WatchEvent(trouble=f"{subscriber.missed:,} reports were left out: they came too fast"))

        def stop() -> None:
            subscriber.events.put(None)

        stream = ProducerStream[WatchEvent](follow, stop, size=MAX_UNREAD_REPORTS)
        return stream

    def folders(self, request: r.ListWatchedFoldersRequest) -> list[str]:
        """See ``ListWatchedFoldersRequest``."""
        return [str(folder) for folder in self._watched_folders(request.folders)]

    def places(self, request: r.ListWatchedRequest) -> list[WatchedFolder]:
        """See ``ListWatchedRequest``."""
        with self._lock:
            followed = [root.path for running in self._running.values() for root in running.watcher.roots]
        configured = [Path(os.path.abspath(folder)) for folder in self.configured()]
        found: dict[Path, Literal["inbox", "setting", "command"]] = {self._home.inbox: "inbox"}
        for path in configured:
            found.setdefault(path, "setting")
        for path in followed:
            found.setdefault(path, "command")
        db = self._database.read()
        problems = [one.path for one in file_problems.stored(db) if is_there(one.path)]
        return [_watched_folder(db, path, why, followed, problems) for path, why in found.items()]

    def add(self, request: r.AddWatchedRequest) -> WatchChange:
        """See ``AddWatchedRequest``."""
        paths = [os.path.abspath(os.path.expanduser(path)) for path in request.paths]
        named = outermost_folders([Path(path) for path in paths])
        check_readable(named)
        check_not_a_memory(named)
        with self._lock:
            return self._changed(config.add_watched(self._home, paths))

    def remove(self, request: r.RemoveWatchedRequest) -> WatchChange:
        """See ``RemoveWatchedRequest``."""
        with self._lock:
            return self._changed(config.remove_watched(self._home, request.paths))

    def _watched_folders(self, folders: Sequence[str | os.PathLike[str]]) -> list[Path]:
        """The inbox, the configured folders and files that exist, and ``folders``, without those inside another one."""
        named = (Path(folder).expanduser() for folder in folders)
        configured = (folder for folder in self.configured() if folder.exists())
        return outermost_folders([self._home.inbox, *configured, *named])

    def configured(self) -> list[Path]:
        """The folders and files of the setting ``watch.folders``, as it is now."""
        try:
            folders = config.load(self._home).watch.folders
        except ConfigError:  # the settings with which the home was opened are valid
            folders = self._settings.watch.folders
        return [Path(folder).expanduser() for folder in folders]

    def _changed(self, paths: Sequence[str]) -> WatchChange:
        if paths:
            self._update_folders()
        return WatchChange(tuple(paths), is_followed=bool(paths and self._running))

    # --- watchers -------------------------------------------------------------------------------------

    @contextmanager
    def _joined(self, subscriber: _Subscriber, scope: Scope, *, keeps_owners: bool) -> Iterator[None]:
        """Within the context, a watcher runs for this owner, and reports to the subscriber."""
        owner = "" if keeps_owners else f"{scope.user_id} {scope.namespace}"
        running = self._join(subscriber, owner, scope, keeps_owners=keeps_owners)
        try:
            # A program may have been removed, or an export deleted, since it was accepted.
            for missing in (folder for folder in self.configured() if not folder.exists()):
                subscriber.offer(WatchEvent(trouble=f"{missing}, of the setting watch.folders, does not exist"))
            yield
        finally:
            self._leave(subscriber, owner, running)

    def _join(self, subscriber: _Subscriber, owner: str, scope: Scope, *, keeps_owners: bool) -> _RunningWatcher:
        while True:
            with self._lock:
                running = self._running.get(owner)
                if running is None:
                    running = self._running[owner] = self._new_watcher(owner, scope, keeps_owners=keeps_owners)
                if not running.is_ending:
                    running.subscribers.append(subscriber)
                    self._update_folders()
                    if subscriber.once:
                        running.watcher.read_present(lambda: subscriber.events.put(None))
                    if running.thread.ident is None:
                        running.thread.start()
                    return running
            running.thread.join()  # it finishes the file that it is reading
            with self._lock:
                self._drop(owner, running)

    def _leave(self, subscriber: _Subscriber, owner: str, running: _RunningWatcher) -> None:
        with self._lock:
            running.subscribers.remove(subscriber)
            if not running.subscribers:
                running.is_ending = True
                running.watcher.stop()
            else:
                self._update_folders()
        if running.is_ending:
            running.thread.join()
            with self._lock:
                self._drop(owner, running)
                self._update_folders()

    def _drop(self, owner: str, running: _RunningWatcher) -> None:
        if self._running.get(owner) is running:
            del self._running[owner]

    def _new_watcher(self, owner: str, scope: Scope, *, keeps_owners: bool) -> _RunningWatcher:
        side_files, logs = SideFiles(), FollowedLogs()

        def report(event: WatchEvent) -> None:
            with self._lock:
                subscribers = list(running.subscribers)
            for subscriber in subscribers:
                others = (folder for other in subscribers if other is not subscriber for folder in other.folders)
                if event.report is None or subscriber.names(event.report) or not _lies_in(event.report, others):
                    subscriber.offer(event)

        watcher = FolderWatcher(
            self._database,
            partial(self._ingestion.read_watched, scope, keeps_owners, side_files, logs),
            reader=__version__,
            owner=owner,
            intervals=WatchIntervals(self._settings.watch.settle, self._settings.watch.rescan),
            excluded=[place for name, place in self._home.locations().items() if name not in ("home", "inbox")],
            patterns_of=partial(patterns_of, machine=this_machine()),
            side_files=side_files,
            is_cheap=logs.are_cheap,
            on_read=lambda file: report(WatchEvent(file)),
            on_trouble=lambda trouble: report(WatchEvent(trouble=trouble)),
        )

        def run() -> None:
            try:
                watcher.run()
            except BaseException as error:
                ended: BaseException | None = error
            else:
                ended = None
            with self._lock:
                running.is_ending = True
                for subscriber in running.subscribers:
                    subscriber.events.put(ended)

        running = _RunningWatcher(watcher, threading.Thread(target=run, name="appliance-watch-folders", daemon=True))
        return running

    def _update_folders(self) -> None:
        """Let every watcher follow what its subscribers and the settings name now, without what another one watches."""
        taken: list[Path] = []
        for running in self._running.values():
            if running.is_ending:
                taken += [root.path for root in running.watcher.roots]
                continue
            named = [folder for subscriber in running.subscribers for folder in subscriber.folders if folder.exists()]
            lives = any(not subscriber.once for subscriber in running.subscribers)
            running.watcher.follow(self._watched_folders(named), excluded=taken, follows_events=lives)
            self._say_taken(running, named, taken)
            taken += [root.path for root in running.watcher.roots]

    def _say_taken(self, running: _RunningWatcher, named: Sequence[Path], taken: Sequence[Path]) -> None:
        for folder in named:
            if any(other == folder or other in folder.parents for other in taken):
                trouble = f"{folder} is watched already, for another user; it is not read a second time"
                for subscriber in running.subscribers:
                    if folder in subscriber.folders and folder not in subscriber.told:
                        subscriber.told.add(folder)
                        subscriber.offer(WatchEvent(trouble=trouble))

"""The imports of an open home that are not finished: those that run now, and those that were broken off."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from appliance import requests as r
from appliance.store import imports
from appliance.store.database import Database
from appliance.store.imports import ImportNote
from appliance.timestamps import iso_from_microseconds
from appliance.types import Scope, UnfinishedImport


def options_of(request: r.IngestRequest) -> dict[str, Any]:
    """The arguments of a request that decide what becomes of its files, where they are not the default."""
    options = {
        "format": request.format, "user_id": request.user_id, "namespace": request.namespace or None,
        "again": request.again or None, "secrets": request.secrets, "keep_attachments": request.keep_attachments,
        "day_first": request.day_first,
    }  # fmt: skip
    return {name: value for name, value in options.items() if value is not None}


class RunningImport:
    """The note of an import that runs: written with its first messages, and removed path by path."""

    def __init__(self, database: Database, notes: Sequence[ImportNote]) -> None:
        self._database = database
        self._notes = notes
        self._is_noted = False

    def note(self, tx: sqlite3.Connection) -> None:
        """Note all paths that are there and not finished, unless that was done. Called in the transactions that store
        messages; if one fails, the import ends."""
        if not self._is_noted:
            imports.note_begun(tx, [note for note in self._notes if os.path.lexists(note.path)])
            self._is_noted = True

    def finish(self, path: Path, scope: Scope) -> None:
        """Note that a path was read as far as it can be."""
        self._notes = [note for note in self._notes if note.path != path]
        finish_path(self._database, path, scope)


def finish_path(database: Database, path: Path, scope: Scope) -> None:
    """Note that a path was read as far as it can be for a scope, if an import of it was unfinished. One that is not
    there may be on a disk that comes back."""
    if imports.is_unfinished(database.read(), path, scope) and os.path.lexists(path):
        with database.write() as tx:
            imports.finish(tx, path, scope)


class UnfinishedImports:
    """The unfinished imports of an open home. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._running = Counter[tuple[Path, Scope]]()

    @contextmanager
    def running(self, paths: Sequence[Path], scope: Scope, options: Mapping[str, Any]) -> Iterator[RunningImport]:
        """A block that imports these paths for a scope; within it, they do not count as broken off."""
        keys = [(path, scope) for path in paths]
        with self._lock:
            self._running.update(keys)
        try:
            yield RunningImport(self._database, [ImportNote(path, scope, options) for path in paths])
        finally:
            with self._lock:
                self._running.subtract(keys)

    def list(self, scope: Scope | None = None, *, running: bool = False) -> list[UnfinishedImport]:
        """The imports that were broken off, the first one first; only those for a scope, if one is given. With
        ``running`` also those that run now and have stored something."""
        with self._lock:  # held while the notes are read, so that one that ends meanwhile is not listed as broken off
            notes = [
                (note, self._running[note.path, note.scope] > 0) for note in imports.unfinished(self._database.read())
            ]
        return [
            UnfinishedImport(
                note.shown_path, note.scope.user_id, note.scope.namespace, iso_from_microseconds(note.begun_at),
                note.options, is_running,
            )
            for note, is_running in notes
            if scope in (None, note.scope) and (running or not is_running)
        ]  # fmt: skip

    def give_up(self, path: str, scope: Scope) -> None:
        """Forget that the import of a path, as ``list`` names it, was broken off."""
        with self._database.write() as tx:
            for note in imports.unfinished(tx):
                if (note.shown_path, note.scope) == (path, scope):
                    imports.give_up(tx, note)

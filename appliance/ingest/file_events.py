"""Changes of files in folders, as the operating system reports them."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers.api import BaseObserver, ObservedWatch

_NO_CHANGES = ("opened", "closed_no_write", "deleted")


class ObservedFolder(NamedTuple):
    """A folder whose files are observed, with those of its subfolders if it is ``recursive``."""

    path: Path
    recursive: bool


class FileEvents:
    """Calls ``on_change`` with the path of each file or folder that is made, changed or moved in observed folders, on a
    thread of its own."""

    def __init__(self, on_change: Callable[[Path], None]) -> None:
        self._on_change = on_change
        self._observer: BaseObserver | None = None
        self._handler: FileSystemEventHandler | None = None
        self._watches: dict[ObservedFolder, ObservedWatch] = {}

    def observe(self, folders: Collection[ObservedFolder]) -> None:
        """Observe these folders from now on, and no others.

        Raises:
            OSError: The system does not report changes, most likely because its limit of watches is reached. Then
                nothing is observed any more.
        """
        if not folders and self._observer is None:
            return
        try:
            observer, handler = self._started()
            for gone in self._watches.keys() - set(folders):
                observer.unschedule(self._watches.pop(gone))
            for folder in folders:
                if folder not in self._watches:
                    watch = observer.schedule(handler, str(folder.path), recursive=folder.recursive)
                    self._watches[folder] = watch
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Observe nothing any more."""
        observer, self._observer = self._observer, None
        self._watches.clear()
        if observer is not None and observer.is_alive():
            observer.stop()
            observer.join()

    def _started(self) -> tuple[BaseObserver, FileSystemEventHandler]:
        from watchdog.events import FileSystemEvent, FileSystemEventHandler
        from watchdog.observers import Observer

        on_change = self._on_change

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: FileSystemEvent) -> None:
                if event.event_type in _NO_CHANGES:
                    return
                for path in (event.src_path, event.dest_path):
                    if path and not (event.is_directory and event.event_type == "modified"):
                        on_change(Path(os.fsdecode(path)))

        if self._observer is None or self._handler is None:
            self._observer, self._handler = Observer(), Handler()
            self._observer.start()
        return self._observer, self._handler

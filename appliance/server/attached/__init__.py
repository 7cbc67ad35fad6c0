"""A memory that another process owns: the rooms of an ``Engine``, each of the same kind, whose verbs are carried out by
the daemon. ``calls.ROOMS`` lists them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from appliance import paths
from appliance.config import Settings
from appliance.engine import Engine
from appliance.paths import as_paths
from appliance.rooms import Room
from appliance.server.attached.events import AttachedEvents
from appliance.server.attached.verbs import asking, carried_out, remote
from appliance.server.client import Appliance
from appliance.server.line import Line
from appliance.types import FileReport, IngestReport

if TYPE_CHECKING:
    from appliance.forgetting import Forgetting
    from appliance.ingest.watch import Watcher
    from appliance.memory.browsing import Browsing
    from appliance.memory.facts import Facts
    from appliance.memory.keeping import Keeping
    from appliance.memory.sessions import Sessions
    from appliance.memory.summaries import Summaries


class Hello(msgspec.Struct, frozen=True):
    """What a daemon says of itself."""

    version: str
    settings: Settings


@contextmanager
def _nobody() -> Iterator[None]:
    yield


def _room(name: str) -> Any:
    """A room whose verbs the daemon carries out."""
    return Room(lambda memory: remote(name)(memory._line))


@carried_out("memory")
class Attached(Appliance):
    """A memory that another process owns."""

    def __init__(self, home: paths.Home, line: Line, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self._line = line
        self.events = self._events = AttachedEvents(line)
        self.attending = _nobody  # what works does so in another process

    @Room
    def sessions(self) -> Sessions:
        """As Engine.sessions."""
        from appliance import windowing
        from appliance.memory.session import PrivateHost
        from appliance.server.attached.sessions import AttachedSessions

        private = PrivateHost(self.context, windowing.making(self.settings))
        return AttachedSessions(self._line, self.settings.user, private)

    summaries: Room[Summaries] = _room("summaries")
    facts: Room[Facts] = _room("facts")
    keeping: Room[Keeping] = _room("keeping")
    browsing: Room[Browsing] = _room("browsing")
    forgetting: Room[Forgetting] = _room("forgetting")

    def close(self) -> None:
        """Let go of the daemon, which goes on."""
        self._events.close()
        self._line.close()

    def get_ready(self) -> None:
        """As Engine.get_ready: the daemon is."""

    def ingest(self, source: Any, **given: Any) -> IngestReport:
        """As Engine.ingest. The daemon reads the files where they are; reports name them as they were given."""
        named = {str(path.absolute()): str(path) for path in as_paths(source)}
        on_file = given.get("on_file")
        if on_file is not None:
            given["on_file"] = lambda path, messages: on_file(_as_given(path, named), messages)
        report: IngestReport = _ingest(self, list(named), **given)
        files = tuple(replace(file, path=_as_given(file.path, named)) for file in report.files)
        return replace(report, files=files)

    def watcher(
        self,
        folders: Sequence[str | os.PathLike[str]] = (),
        *,
        user_id: str | None = None,
        namespace: str = "",
        on_read: Callable[[FileReport], None] = lambda report: None,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> Watcher:
        """As Engine.watcher."""
        from appliance.server.attached.watcher import AttachedWatcher

        given = [str(Path(folder).expanduser().absolute()) for folder in folders]
        asked = {"folders": given, "user_id": user_id, "namespace": namespace}
        return AttachedWatcher(self._line, asked, on_read, on_trouble)

    def tend(self, goes_on: Callable[[], bool] = lambda: True) -> int:
        """As Engine.tend; ``goes_on`` is asked every few seconds."""
        done = 0
        while goes_on() and (more := _tend(self, goes_on)):
            done += more
        return done


_ingest = asking("memory", "ingest", Engine.ingest)
_tend = asking("memory", "tend", Engine.tend)


def _as_given(path: str, named: Mapping[str, str]) -> str:
    for absolute, given in named.items():
        if path == absolute or path.startswith((absolute + os.sep, absolute + "!")):
            return given + path[len(absolute) :]
    return path

"""The memory as a program holds it: in its own process, or attached to the daemon that owns the home.

Callers can't tell the difference. ``Attached`` has the rooms of an ``Engine``, each a class of the same kind whose
verbs are carried out by the daemon; ``calls.ROOMS`` lists them.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import msgspec

from appliance import __version__, paths, windowing
from appliance.config import Settings
from appliance.engine import Engine
from appliance.errors import ApplianceError, DaemonGone, HomeLocked
from appliance.forgetting import Forgetting
from appliance.ingest.sources import as_paths
from appliance.ingest.watch import Watcher
from appliance.memory.browsing import Browsing
from appliance.memory.facts import Facts
from appliance.memory.keeping import Keeping
from appliance.memory.private import PrivateSession
from appliance.memory.session import PrivateHost, Session
from appliance.memory.sessions import Sessions
from appliance.memory.summaries import Summaries
from appliance.server import calls
from appliance.server.line import Line
from appliance.types import Event, FileReport, IngestReport
from appliance.upkeep import Events

if TYPE_CHECKING:
    from appliance_models import Embedder

BEGINS = 15.0
"""Seconds that a daemon may take from owning a home to answering: it opens a large one in two."""

SERVES = "appliance serve"
"""The purpose that a daemon names when it takes a home."""


class Appliance(Engine):
    """An open memory. Use it as a context manager, from any number of threads.

    ``Appliance.open`` makes one; all times are UTC where known, all ids are text ("m345", "s12").
    """

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        worker: bool = True,
        embedder: Embedder | None = None,
        purpose: str = "a Python program",
    ) -> Self:
        """Open the memory in ``home`` (else ``APPLIANCE_HOME``, else the platform's data folder).

        Where a daemon (``appliance serve``) owns it, this attaches to the daemon; else this process owns it from now
        on. ``worker`` lets a background thread embed what ``ingest(wait=False)`` and ``Session.add`` leave
        waiting, beginning with what an earlier process left; a daemon does so anyway. ``embedder`` is used in
        place of the configured model, and never attaches. ``purpose`` is what a second process is told when it
        finds the home in use.

        Raises:
            HomeError: the folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: another process has it open, and it is no daemon, or one of another version.
            StoreError, ConfigError: the store or the settings refuse.
        """
        found = paths.find_home(home)
        began = time.monotonic()
        while True:
            attached = attach(found) if embedder is None else None
            if attached is not None:
                return cast("Self", attached)
            try:
                return super().open(home, create=create, worker=worker, embedder=embedder, purpose=purpose)
            except HomeLocked as error:
                if embedder or SERVES not in str(error) or time.monotonic() - began > BEGINS:
                    raise
            time.sleep(0.05)  # it has the home, and will listen soon


def attach(home: paths.Home) -> Attached | None:
    """The memory of the daemon that owns a home; None if there is none.

    Raises:
        HomeLocked: it is a daemon of another version.
    """
    if not home.daemon.exists():
        return None
    line = Line(home)
    try:
        hello = line.get("/hello", _Hello)
    except DaemonGone:
        return None
    if hello.version != __version__:
        line.close()
        raise HomeLocked(
            f"in use by a daemon of version {hello.version}, and this is {__version__}",
            where=str(home.root),
            hint="restart the daemon, so that both are of one version",
        )
    return Attached(home, line, hello.settings)


class _Hello(msgspec.Struct, frozen=True):
    version: str
    settings: Settings


def _asking(room: str, verb: str, member: Any) -> Any:
    """A verb that another process carries out, with the signature and the words of the real one."""
    function: Any = member.fget if isinstance(member, property) else member
    shape = signature(function)

    @wraps(function)
    def ask(self: Any, *positional: Any, **named: Any) -> Any:
        given = dict(shape.bind(self, *positional, **named).arguments)
        del given["self"]
        call, session = calls.call(room, verb), getattr(self, "id", None)
        if call.yields:
            return self._line.items(room, verb, given)
        if any(not given[name]() for name in call.asks if name in given):
            return 0
        if (room, verb) in (("session", "add"), ("sessions", "create")) and given.get("external_id") is None:
            given["external_id"] = secrets.token_hex(8)  # so that asking again adds nothing twice
        answer = self._line.call(room, verb, given, session)
        return _Session(self._line, answer.id) if isinstance(answer, calls.Named) else answer

    return property(ask) if isinstance(member, property) else ask


def _remote(room: str) -> Callable[[type], type]:
    """Gives a class the verbs of its room, but for those that it has of its own."""
    owner, verbs = calls.ROOMS[room]

    def given(kind: type) -> type:
        for verb in verbs:
            if verb not in vars(kind):
                setattr(kind, verb, _asking(room, verb, vars(owner)[verb]))
        return kind

    return given


# --- the rooms ------------------------------------------------------------------------------------------


@_remote("session")
class _Session(Session):
    def __init__(self, line: Line, id: str) -> None:
        self._line = line
        self.id = id


@_remote("sessions")
class _Sessions(Sessions):
    def __init__(self, line: Line, owner: str, private: PrivateHost) -> None:
        self._line = line
        self._owner = owner
        self._private_host = private
        self._private = {}

    def get(self, id: str, *, user_id: str | None = None) -> Session | PrivateSession:
        """As Sessions.get; a private conversation is in this process, and nowhere else."""
        if id in self._private and user_id in (None, self._private[id].info.user_id):
            return self._private[id]
        return _Session(self._line, self.info(id, user_id=user_id).id)

    def create(self, **given: Any) -> Any:
        """As Sessions.create; a private conversation is in this process, and nowhere else."""
        return super().create(**given) if given.get("private") else _begin(self, **given)


_begin = _asking("sessions", "create", Sessions.create)


@_remote("summaries")
class _Summaries(Summaries):
    def __init__(self, line: Line) -> None:
        self._line = line


@_remote("facts")
class _Facts(Facts):
    def __init__(self, line: Line) -> None:
        self._line = line


@_remote("keeping")
class _Keeping(Keeping):
    def __init__(self, line: Line) -> None:
        self._line = line


@_remote("browsing")
class _Browsing(Browsing):
    def __init__(self, line: Line) -> None:
        self._line = line


@_remote("forgetting")
class _Forgetting(Forgetting):
    def __init__(self, line: Line) -> None:
        self._line = line


class _Events(Events):
    """The events of the daemon. While anybody listens, a thread reads them, and begins anew when the daemon does."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._reading = threading.Event()

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """As Events.listen; called on a thread of its own."""
        end = super().listen(listener)
        if self._thread is None:
            self._thread = threading.Thread(target=self._read, name="appliance-events", daemon=True)
            self._thread.start()
            self._reading.wait(BEGINS)
        return end

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        while not self._ended.is_set():
            with suppress(ApplianceError), self._line.listening("/events", {}) as lines:
                for said in lines:
                    self._reading.set()
                    if "event" in said:
                        self.tell(msgspec.json.decode(said["event"], type=Event))
                    if self._ended.is_set():
                        return
            self._ended.wait(1.0)


class _Watcher(Watcher):
    """A watcher that the daemon runs for as long as this one listens."""

    def __init__(
        self,
        line: Line,
        asked: Mapping[str, Any],
        on_read: Callable[[FileReport], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self._line = line
        self._asked = asked
        self._on_read = on_read
        self._on_trouble = on_trouble
        self._ended = threading.Event()
        self.folders: list[Path] = []
        with line.listening("/watch", {**asked, "run": False}) as lines:
            for said in lines:
                self._hear(said)

    def stop(self) -> None:
        self._ended.set()

    def run(self, *, once: bool = False) -> None:
        with self._line.listening("/watch", {**self._asked, "once": once}) as lines:
            for said in lines:
                self._hear(said)
                if "result" in said or self._ended.is_set():
                    return

    def _hear(self, said: Mapping[str, msgspec.Raw]) -> None:
        if "tell" not in said:
            return
        what, value = msgspec.json.decode(said["tell"], type=tuple[str, msgspec.Raw])
        if what == "on_read":
            self._on_read(msgspec.json.decode(value, type=FileReport))
        elif what == "on_trouble":
            self._on_trouble(msgspec.json.decode(value, type=str))
        else:
            self.folders = [Path(folder) for folder in msgspec.json.decode(value, type=list[str])]


@contextmanager
def _nobody() -> Iterator[None]:
    yield


@_remote("memory")
class Attached(Appliance):
    """A memory that another process owns."""

    def __init__(self, home: paths.Home, line: Line, settings: Settings) -> None:
        self.home = home
        self.settings = settings
        self._line = line
        private = PrivateHost(self.context, windowing.making(settings))
        self.sessions = _Sessions(line, settings.user, private)
        self.summaries = _Summaries(line)
        self.facts = _Facts(line)
        self.keeping = _Keeping(line)
        self.pin, self.unpin = self.keeping.pin, self.keeping.unpin
        self.browsing = _Browsing(line)
        self.forgetting = _Forgetting(line)
        self.events = self._events = _Events(line)
        self.attending = _nobody  # what works does so in another process

    def close(self) -> None:
        """Let go of the daemon, which goes on."""
        self._events.close()
        self._line.close()

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
        given = [str(Path(folder).expanduser().absolute()) for folder in folders]
        asked = {"folders": given, "user_id": user_id, "namespace": namespace}
        return _Watcher(self._line, asked, on_read, on_trouble)

    def tend(self, goes_on: Callable[[], bool] = lambda: True) -> int:
        """As Engine.tend; ``goes_on`` is asked every few seconds."""
        done = 0
        while goes_on() and (more := _tend(self, goes_on)):
            done += more
        return done


_ingest = _asking("memory", "ingest", Engine.ingest)
_tend = _asking("memory", "tend", Engine.tend)


def _as_given(path: str, named: Mapping[str, str]) -> str:
    for absolute, given in named.items():
        if path == absolute or path.startswith((absolute + os.sep, absolute + "!")):
            return given + path[len(absolute) :]
    return path

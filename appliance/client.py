"""The memory as a program holds it: every verb builds its request and hands it to a transport.

``Appliance.open`` shares the home: it attaches to the process that owns it, else this process owns it and answers the
others. Callers can't tell the difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Self

from appliance import paths
from appliance import requests as r
from appliance.backups import Backups, FilePath, OnStep, unheard
from appliance.errors import ApplianceError
from appliance.paths import Paths
from appliance.resources import (
    Archive,
    Attachments,
    Core,
    Erasure,
    Facts,
    Index,
    Overview,
    People,
    Pins,
    Secrets,
    Sessions,
    Summaries,
    Watching,
    step_progress,
)
from appliance.subscriptions import Events, Watcher
from appliance.types import (
    BackupReport,
    Discovery,
    IngestReport,
    Message,
    OnDiscovered,
    OnEmbedded,
    OnFile,
    OnRead,
    Owner,
    Progress,
    SecretPolicy,
)
from appliance.verbs import Verb

if TYPE_CHECKING:
    from appliance.engine.engine import Engine
    from appliance.settings import Settings
    from appliance.store.lock import OwnerLock
    from appliance.transports.base import Transport
    from appliance.transports.shared import SharedTransport
    from appliance_models import Embedder

PURPOSE = "a Python program"
"""What a program does, unless it says so."""

JOB_SLICE = 1.0
"""Seconds of background jobs between two questions whether to continue."""


class Appliance:
    """An open memory. Use it as a context manager, from any number of threads.

    ``Appliance.open`` makes one. Times are UTC where the zone is known, ids are text ("m345", "s12").

    Attributes:
        home: Where everything lies.
        settings: The settings in force.
        sessions, core, facts, people, summaries, pins, overview, archive, attachments, index, erasure, backups,
            secrets, watching, events: The verbs of each.
    """

    def __init__(
        self, transport: Transport, home: paths.Home, settings: Settings, *, shared: SharedTransport | None = None
    ) -> None:
        self._transport = transport
        self._shared = shared
        self.home = home
        self.settings = settings
        self.sessions = Sessions(transport)
        self.core = Core(transport)
        self.facts = Facts(transport)
        self.people = People(transport)
        self.summaries = Summaries(transport)
        self.pins = Pins(transport)
        self.overview = Overview(transport)
        self.watching = Watching(transport)
        self.archive = Archive(transport)
        self.attachments = Attachments(transport)
        self.index = Index(transport)
        self.erasure = Erasure(transport)
        self.backups = Backups(transport)
        self.secrets = Secrets(transport)
        self.events = Events(transport)

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        worker: bool = True,
        embedder: Embedder | None = None,
        purpose: str = PURPOSE,
    ) -> Self:
        """Open a memory.

        If another process has it open, this attaches to that process. Otherwise this process owns the home until
        ``close``, and answers others that open it. When the owner leaves, one of the others takes over.

        Args:
            home: The home's folder; by default ``APPLIANCE_HOME``, then the platform's data folder.
            create: Make the home if it does not exist.
            worker: Let background threads embed what waits and run the jobs that are due. A daemon always does.
            embedder: The embedding model, in place of the configured one. An owner that uses another one is not shared.
            purpose: What this process does; other processes show it.

        Raises:
            HomeError: The folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: The process that has it open does not answer, is of another version, or has another embedder.
            StoreError, ConfigError: The store or the settings are refused.
        """
        found = paths.find_home(home)
        transport = _shared_transport(found, create=create, worker=worker, embedder=embedder, purpose=purpose).open()
        return cls._of_shared(found, transport)

    @classmethod
    def attach(cls, home: paths.Home) -> Self | None:
        """Attach to the process that owns a home; None if no process does.

        Raises:
            HomeLocked: The owner is of another version.
        """
        transport = _shared_transport(home, create=False, worker=False, embedder=None, purpose=PURPOSE).attach()
        return cls._of_shared(home, transport) if transport is not None else None

    @classmethod
    def _of_shared(cls, home: paths.Home, transport: SharedTransport) -> Self:
        from appliance.transports.private import PrivateTransport

        private = PrivateTransport(transport, transport.settings)
        return cls(private, home, transport.settings, shared=transport)

    @classmethod
    def of(cls, engine: Engine) -> Self:
        """The memory of an engine in this process. Closing the memory closes the engine."""
        from appliance.transports import local, private

        transport = private.PrivateTransport(local.LocalTransport(engine), engine.settings)
        return cls(transport, engine.home, engine.settings)

    def masked(self) -> Self:
        """Return this memory as assistants see it, with secrets hidden. Closing either closes both."""
        from appliance.transports.masking import masking

        return type(self)(masking(self._transport, self.settings), self.home, self.settings, shared=self._shared)

    @property
    def is_attached(self) -> bool:
        """Whether another process owns the home now."""
        return self._shared is not None and self._shared.is_attached

    @property
    def is_attached_to_daemon(self) -> bool:
        """Whether a daemon owns the home now."""
        return self._shared is not None and self._shared.is_attached_to_daemon

    @property
    def owner(self) -> Owner | None:
        """The process that owns the home now; None while it changes."""
        from appliance.store.lock import read_owner

        return read_owner(self.home.lock)

    def close(self) -> None:
        """Let go of the memory. The owner of the home stops the background threads after what they are at, finishes
        what others have begun or leaves it to the next owner, and releases the home; what waits goes on next time."""
        self.events.close()
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        try:
            messages = f"messages={self.overview.counts()['messages']}"
        except ApplianceError as error:
            messages = type(error).__name__
        return f"Appliance(home={str(self.home.root)!r}, {messages})"

    search = Verb(lambda: r.SearchRequest)
    context = Verb(lambda: r.ContextRequest)
    statistics = Verb(lambda: r.StatisticsRequest)
    on_this_day = Verb(lambda: r.OnThisDayRequest)
    day = Verb(lambda: r.DayRequest)
    timeline = Verb(lambda: r.TimelineRequest)
    message = Verb(lambda: r.MessageRequest)
    feedback = Verb(lambda: r.FeedbackRequest)
    variants = Verb(lambda: r.VariantsRequest)
    versions = Verb(lambda: r.VersionsRequest)
    export = Verb(lambda: r.ExportRequest)
    export_markdown = Verb(lambda: r.ExportMarkdownRequest)
    export_html = Verb(lambda: r.ExportHtmlRequest)
    status = Verb(lambda: r.StatusRequest)
    verify = Verb(lambda: r.VerifyRequest)
    metrics = Verb(lambda: r.MetricsRequest)
    warm_up = Verb(lambda: r.WarmUpRequest)
    forecast_reindex = Verb(lambda: r.ForecastReindexRequest)
    restore = staticmethod(Backups.restore)

    def pin(self, reference: str) -> Message:
        """Pin a message; see ``requests.PinRequest``."""
        return self.pins.pin(reference)

    def unpin(self, reference: str) -> Message:
        """Unpin a message; see ``requests.UnpinRequest``."""
        return self.pins.unpin(reference)

    def ingest(
        self,
        source: Paths,
        *,
        format: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        dry_run: bool = False,
        again: bool = False,
        secrets: SecretPolicy | None = None,
        wait: bool = True,
        keep_attachments: bool | None = None,
        day_first: bool | None = None,
        on_file: OnFile = lambda path, messages: None,
        on_embedded: OnEmbedded = lambda done, pending: None,
    ) -> IngestReport:
        """Read files, folders and zips into the memory; see ``requests.IngestRequest``.

        Args:
            on_file: Called with the file that is being read and its messages so far.
            on_embedded: Called with the chunks that are embedded and those that still wait.
        """

        def follow(progress: Progress) -> None:
            if progress.stage == "reading":
                on_file(progress.file, progress.done)
            else:
                on_embedded(progress.done, progress.pending)

        request = r.IngestRequest(
            source, format=format, user_id=user_id, namespace=namespace, dry_run=dry_run, again=again,
            secrets=secrets, wait=wait, keep_attachments=keep_attachments, day_first=day_first,
        )  # fmt: skip
        return self._transport.send(request, follow)

    def discover(self, *, seconds: float = 20.0, on_place: OnDiscovered = lambda path, done, left: None) -> Discovery:
        """Look where histories lie on this machine; see ``requests.DiscoverRequest``.

        Args:
            seconds: How long conversations may be counted; what is not counted by then is estimated.
            on_place: Called with the path that is counted next, how many have been counted, and how many are left.
        """
        return self._transport.send(
            r.DiscoverRequest(seconds=seconds),
            lambda progress: on_place(progress.file, progress.done, progress.pending),
        )

    def watcher(
        self,
        folders: Sequence[str | os.PathLike[str]] = (),
        *,
        user_id: str | None = None,
        namespace: str = "",
        on_read: OnRead = lambda report: None,
        on_trouble: Callable[[str], None] = lambda words: None,
    ) -> Watcher:
        """Return a watcher of the inbox, the configured folders and ``folders``. Call its ``run``.

        Args:
            folders: Folders to watch besides the configured ones.
            user_id: Whose memory it goes into; by default the configured user's.
            namespace: The namespace within that memory.
            on_read: Called with each file's report.
            on_trouble: Called with what hinders the watching.

        Raises:
            HomeError: A folder does not exist.
        """
        request = r.WatchRequest(folders, user_id=user_id, namespace=namespace)
        return Watcher(self._transport, request, on_read, on_trouble)

    def embed_pending(self, progress: OnEmbedded = lambda done, pending: None, *, generation: int | None = None) -> int:
        """Embed and index every chunk that waits, see ``requests.EmbedRequest``. Returns how many there were.
        ``progress`` is called with the chunks that are embedded and those that still wait."""
        return self._transport.send(r.EmbedRequest(generation=generation), step_progress(progress))

    def reindex(
        self,
        *,
        model: str | None = None,
        vectors: bool = False,
        tokens: bool = False,
        rollback: bool = False,
        drop_old: bool = False,
        generation: int | None = None,
        progress: OnEmbedded = lambda done, pending: None,
    ) -> int:
        """Rebuild full text and index, or change the generation of vectors; see ``requests.ReindexRequest``."""
        request = r.ReindexRequest(
            model=model, vectors=vectors, tokens=tokens, rollback=rollback, drop_old=drop_old, generation=generation
        )
        return self._transport.send(request, step_progress(progress))

    def backup(
        self,
        target: FilePath,
        *,
        keep: str | None = None,
        passphrase: str | None = None,
        recipients: Sequence[str] = (),
        identity: FilePath | None = None,
        progress: OnStep = unheard,
    ) -> BackupReport:
        """Back up the memory; see ``requests.BackupRequest``. ``progress`` is called with the blocks that are done and
        those that are left."""
        return self.backups.make(
            target, keep=keep, passphrase=passphrase, recipients=recipients, identity=identity, progress=progress
        )

    def run_pending_jobs(self, should_continue: Callable[[], bool] = lambda: True) -> int:
        """Run the background jobs that are due now, until ``should_continue`` says no. Returns how many had something
        to do."""
        return _in_slices(lambda: self._transport.send(r.RunJobsRequest(max_seconds=JOB_SLICE)), should_continue)

    @contextmanager
    def interactive_use(self) -> Iterator[None]:
        """Within, somebody looks at a screen in this process: background work goes on in small steps only, so that no
        frame is late."""
        with closing(self._transport.send(r.InteractiveUseRequest())):
            yield


def discover_without_memory(home: paths.Home, *, seconds: float, on_place: OnDiscovered) -> Discovery:
    """Do what ``Appliance.discover`` does where there is no memory yet, which stays so. Of the home, only the settings
    are read, if there are any."""
    from appliance import config
    from appliance.engine.discovery import discover

    return discover(
        r.DiscoverRequest(seconds=seconds),
        home,
        config.load(home).name,
        lambda progress: on_place(progress.file, progress.done, progress.pending),
    )


def _shared_transport(
    home: paths.Home, *, create: bool, worker: bool, embedder: Embedder | None, purpose: str
) -> SharedTransport:
    from appliance.transports.shared import SharedTransport

    def open_engine(on_owned: Callable[[OwnerLock], None]) -> Engine:
        from appliance.engine.engine import Engine

        return Engine.open(
            home.root, create=create, worker=worker, embedder=embedder, purpose=purpose, on_owned=on_owned
        )

    return SharedTransport(home, open_engine, worker=worker, model=embedder.name if embedder is not None else None)


def _in_slices(run: Callable[[], int], should_continue: Callable[[], bool]) -> int:
    done = 0
    while should_continue() and (more := run()):
        done += more
    return done

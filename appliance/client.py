"""The memory as a program holds it: every verb builds its request and hands it to a transport.

``Appliance.open`` shares the home: it attaches to the process that owns it, else this process owns it and answers the
others. Callers can't tell the difference.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Self

from appliance import paths
from appliance import requests as r
from appliance.backups import Backups
from appliance.errors import ApplianceError
from appliance.paths import Paths
from appliance.requests import PRIVATE_PREFIX
from appliance.subscriptions import Events, Watcher
from appliance.types import (
    Context,
    ErasurePreview,
    IngestReport,
    Message,
    OnEmbedded,
    OnFile,
    OnProgress,
    OnRead,
    Owner,
    Progress,
    Receipt,
    SecretPolicy,
    SessionInfo,
)
from appliance.verbs import OpeningVerb, SessionVerb, Verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from appliance.config import Settings
    from appliance.engine.engine import Engine
    from appliance.store.lock import OwnerLock
    from appliance.transports.base import Transport
    from appliance.transports.shared import SharedTransport
    from appliance_models import Embedder

PURPOSE = "a Python program"
"""What a program does, unless it says so."""

JOB_SLICE = 1.0
"""Seconds of background jobs between two questions whether to continue."""


class Session:
    """A conversation by its id ("s12"). A handle, not a copy: what it shows is read when it is asked for."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    add = SessionVerb(r.AddMessageRequest)
    window = SessionVerb(r.WindowRequest)
    rename = SessionVerb(r.RenameSessionRequest)
    pin = SessionVerb(r.PinSessionRequest)
    unpin = SessionVerb(r.UnpinSessionRequest)
    set_ttl = SessionVerb(r.SetTtlRequest)
    set_storage_scope = SessionVerb(r.SetStorageScopeRequest)
    configure = SessionVerb(r.ConfigureSessionRequest)
    clear = SessionVerb(r.ClearSessionRequest)
    delete = SessionVerb(r.DeleteSessionRequest)
    messages = SessionVerb(r.SessionMessagesRequest)

    @property
    def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now.

        Raises:
            NotFound: The session was deleted, or has expired.
        """
        return self._transport.send(r.SessionRequest(self.id))

    @property
    def is_private(self) -> bool:
        """Whether the session is kept in this process's memory only."""
        return self.id.startswith(PRIVATE_PREFIX)

    @property
    def title(self) -> str | None:
        """The title, as it is now."""
        return self.info.title

    @property
    def auto_recall(self) -> bool:
        """Whether memories of other sessions come into its contexts by themselves."""
        return bool(self.info.options.get("auto_recall", True))

    def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        encoding: str | None = None,
        agent_id: str | None = None,
        profile: str | None = None,
        preset: str | None = None,
        shares: Mapping[str, float] | None = None,
        auto_recall: bool | None = None,
    ) -> Context:
        """Build what an assistant in this session is given for ``query``, as ``Appliance.context`` does."""
        return self._transport.send(
            r.ContextRequest(
                query, session_id=self.id, budget=budget, encoding=encoding, agent_id=agent_id, profile=profile,
                preset=preset, shares=shares, auto_recall=auto_recall,
            )
        )  # fmt: skip

    def branch(self, at: str | None = None, *, title: str | None = None) -> Session:
        """Begin a session with the same past, up to and including the message ``at`` (by default the last one).

        Raises:
            UsageError: There is no message yet, or ``at`` is of another session.
            NotFound: There is no such message.
        """
        return Session(self._transport, self._transport.send(r.BranchRequest(self.id, at, title=title)).id)

    def __repr__(self) -> str:
        try:
            info = self.info
        except ApplianceError as error:
            return f"Session({self.id!r}, {type(error).__name__})"
        return f"Session({self.id!r}, user_id={info.user_id!r}, format={info.format!r}, messages={info.messages})"


class _Resource:
    """Some verbs of a memory, under a name of their own."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def __repr__(self) -> str:
        verbs = (name for name in dir(type(self)) if not name.startswith("_"))
        return f"{type(self).__name__}({', '.join(verbs)})"


class Sessions(_Resource):
    """The sessions of a memory."""

    create = OpeningVerb(r.CreateSessionRequest, Session)
    resume = OpeningVerb(r.ResumeSessionRequest, Session)
    info = Verb(r.SessionRequest)
    list = Verb(r.ListSessionsRequest)
    messages = Verb(r.SessionMessagesRequest)

    def get(self, id: str, *, user_id: str | None = None) -> Session:
        """Return the handle of the session with this id or external id.

        Args:
            id: The session's id ("s12") or external id.
            user_id: Only if it is this user's.

        Raises:
            NotFound: There is none.
        """
        return Session(self._transport, self._transport.send(r.SessionRequest(id, user_id=user_id)).id)


class Facts(_Resource):
    """What is known of the person, as it changed. Ids are "f7"."""

    list = Verb(r.ListFactsRequest)
    profile = Verb(r.ProfileRequest)
    review = Verb(r.ReviewFactsRequest)
    get = Verb(r.FactRequest)
    history = Verb(r.FactHistoryRequest)
    confirm = Verb(r.ConfirmFactRequest)
    correct = Verb(r.CorrectFactRequest)
    reject = Verb(r.RejectFactRequest)
    add = Verb(r.AddFactRequest)
    pending = Verb(r.PendingFactsRequest)


class Summaries(_Resource):
    """What was said in short, at four levels: exchange, topic, session and procedure. Ids are "sum7"."""

    list = Verb(r.ListSummariesRequest)
    get = Verb(r.SummaryRequest)
    search = Verb(r.SearchSummariesRequest)
    pending = Verb(r.PendingSummariesRequest)
    state = Verb(r.SummaryStateRequest)
    make = Verb(r.MakeSummariesRequest)
    run_pending = Verb(r.RunSummariesRequest)


class Pins(_Resource):
    """What a person pins, and how important messages are."""

    pin = Verb(r.PinRequest)
    unpin = Verb(r.UnpinRequest)
    pinned = Verb(r.PinnedRequest)
    importance = Verb(r.ImportanceRequest)
    note_recalled = Verb(r.RecalledRequest)


class Overview(_Resource):
    """What is there, without searching for it."""

    counts = Verb(r.CountsRequest)
    outline = Verb(r.OutlineRequest)
    messages = Verb(r.MessagesRequest)
    filter_choices = Verb(r.ChoicesRequest)
    activity = Verb(r.ActivityRequest)
    files = Verb(r.WatchedFilesRequest)
    folders = Verb(r.FoldersRequest)


class Archive(_Resource):
    """The archive: what is old and unimportant, compressed, out of the way and still found."""

    run = Verb(r.RunArchiveRequest)
    status = Verb(r.ArchiveStatusRequest)
    list = Verb(r.ListArchivedRequest)
    restore = Verb(r.RestoreArchivedRequest)
    set_retention = Verb(r.SetRetentionRequest)


class Erasure(_Resource):
    """Forgetting for good: look first (``preview``), then ``forget``."""

    receipts = Verb(r.ReceiptsRequest)

    def preview(
        self,
        *references: str,
        source: str | None = None,
        query: str | None = None,
        title: str | None = None,
        author: str | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        everything: bool = False,
        with_echoes: bool = False,
        user_id: str | None = None,
        namespace: str = "",
    ) -> ErasurePreview:
        """Show what ``forget`` would erase of a user's memory; see ``requests.PreviewErasureRequest``."""
        return self._transport.send(
            r.PreviewErasureRequest(
                references, source=source, query=query, title=title, author=author, since=since, until=until,
                everything=everything, with_echoes=with_echoes, user_id=user_id, namespace=namespace,
            )
        )  # fmt: skip

    def forget(
        self, preview: ErasurePreview, progress: Callable[[int, int], None] = lambda done, pending: None
    ) -> Receipt:
        """Erase for good what a preview found; see ``requests.ForgetRequest``. ``progress`` is called with the chunks
        that are done and those that are left."""
        return self._transport.send(r.ForgetRequest(preview), _chunks(progress))


class Secrets(_Resource):
    """Keys, tokens, card numbers and passwords in messages: where they are, without their words."""

    list = Verb(r.ListSecretsRequest)
    scan = Verb(r.ScanSecretsRequest)


class Appliance:
    """An open memory. Use it as a context manager, from any number of threads.

    ``Appliance.open`` makes one. Times are UTC where the zone is known, ids are text ("m345", "s12").

    Attributes:
        home: Where everything lies.
        settings: The settings in force.
        sessions, facts, summaries, pins, overview, archive, erasure, backups, secrets, events: The verbs of each.
    """

    def __init__(
        self, transport: Transport, home: paths.Home, settings: Settings, *, shared: SharedTransport | None = None
    ) -> None:
        self._transport = transport
        self._shared = shared
        self.home = home
        self.settings = settings
        self.sessions = Sessions(transport)
        self.facts = Facts(transport)
        self.summaries = Summaries(transport)
        self.pins = Pins(transport)
        self.overview = Overview(transport)
        self.archive = Archive(transport)
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
        """Attach to the process that owns a home; None if nobody does.

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

    search = Verb(r.SearchRequest)
    context = Verb(r.ContextRequest)
    message = Verb(r.MessageRequest)
    variants = Verb(r.VariantsRequest)
    export = Verb(r.ExportRequest)
    export_markdown = Verb(r.ExportMarkdownRequest)
    status = Verb(r.StatusRequest)
    verify = Verb(r.VerifyRequest)
    metrics = Verb(r.MetricsRequest)
    warm_up = Verb(r.WarmUpRequest)
    backup = Verb(r.BackupRequest)
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
            secrets=secrets, wait=wait,
        )  # fmt: skip
        return self._transport.send(request, follow)

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

    def embed_pending(self, progress: OnEmbedded = lambda done, pending: None) -> int:
        """Embed and index every chunk that waits. Returns how many there were. ``progress`` is called with the chunks
        that are embedded and those that still wait."""
        return self._transport.send(r.EmbedRequest(), _chunks(progress))

    def reindex(
        self, *, model: str | None = None, vectors: bool = False, progress: OnEmbedded = lambda done, pending: None
    ) -> int:
        """Rebuild full text and index; see ``requests.ReindexRequest``."""
        return self._transport.send(r.ReindexRequest(model=model, vectors=vectors), _chunks(progress))

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


def _chunks(progress: OnEmbedded) -> OnProgress:
    return lambda step: progress(step.done, step.pending)


def _in_slices(run: Callable[[], int], should_continue: Callable[[], bool]) -> int:
    done = 0
    while should_continue() and (more := run()):
        done += more
    return done

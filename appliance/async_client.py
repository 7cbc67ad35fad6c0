"""The memory in asyncio: ``AsyncAppliance`` has the verbs of ``Appliance``, and each is awaited.

async with AsyncAppliance.open("~/memory") as memory:
    hits = await memory.search("deployment issue")
    session = await memory.sessions.create(title="Garden")
    await session.add("user", "My deadline is March 15th")

Each verb is declared in ``client`` and ``resources``, with its arguments and documentation; these classes name them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Self

from appliance import resources
from appliance.awaited import Asynchronous, Awaited, AwaitedHandle, AwaitedStatic, Streamed, Threads
from appliance.backups import Backups
from appliance.client import PURPOSE, Appliance
from appliance.subscriptions import Events, Watcher

if TYPE_CHECKING:
    from types import TracebackType

    from appliance.paths import Home
    from appliance.settings import Settings
    from appliance.types import Event, Owner, SessionInfo
    from appliance_models import Embedder


class AsyncSession(Asynchronous[resources.Session]):
    """A conversation by its id ("s12"). A handle, not a copy: what it shows is read when it is asked for."""

    add = Awaited(resources.Session.add)
    window = Awaited(resources.Session.window)
    rename = Awaited(resources.Session.rename)
    pin = Awaited(resources.Session.pin)
    unpin = Awaited(resources.Session.unpin)
    set_ttl = Awaited(resources.Session.set_ttl)
    set_storage_scope = Awaited(resources.Session.set_storage_scope)
    configure = Awaited(resources.Session.configure)
    clear = Awaited(resources.Session.clear)
    delete = Awaited(resources.Session.delete)
    messages = Awaited(resources.Session.messages)
    tag = Awaited(resources.Session.tag)
    untag = Awaited(resources.Session.untag)
    context = Awaited(resources.Session.context)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.blocking.id

    @property
    def is_private(self) -> bool:
        """Whether the session is kept in this process's memory only."""
        return self.blocking.is_private

    async def info(self) -> SessionInfo:
        """Title, scope, source, counts and times, as they are now.

        Raises:
            NotFound: The session was deleted, or has expired.
        """
        return await self._threads.run(lambda: self.blocking.info)

    async def title(self) -> str | None:
        """The title, as it is now."""
        return (await self.info()).title

    async def auto_recall(self) -> bool:
        """Whether memories of other sessions come into its contexts by themselves."""
        return await self._threads.run(lambda: self.blocking.auto_recall)

    async def branch(
        self, at: str | None = None, *, title: str | None = None, external_id: str | None = None
    ) -> AsyncSession:
        """Begin a session with the same past, as ``Session.branch`` does."""
        begin = partial(self.blocking.branch, at, title=title, external_id=external_id)
        return AsyncSession(await self._threads.run(begin), self._threads)


class AsyncSessions(Asynchronous[resources.Sessions]):
    """The sessions of a memory."""

    create = AwaitedHandle(resources.Sessions.create, AsyncSession)
    resume = AwaitedHandle(resources.Sessions.resume, AsyncSession)
    get = AwaitedHandle(resources.Sessions.get, AsyncSession)
    info = Awaited(resources.Sessions.info)
    list = Awaited(resources.Sessions.list)
    messages = Awaited(resources.Sessions.messages)
    tags = Awaited(resources.Sessions.tags)


class AsyncCore(Asynchronous[resources.Core]):
    """Core memory: short texts (blocks) that are in every context, and that the person and the assistant edit."""

    list = Awaited(resources.Core.list)
    get = Awaited(resources.Core.get)
    set = Awaited(resources.Core.set)
    append = Awaited(resources.Core.append)
    replace = Awaited(resources.Core.replace)
    history = Awaited(resources.Core.history)
    revert = Awaited(resources.Core.revert)
    delete = Awaited(resources.Core.delete)


class AsyncFacts(Asynchronous[resources.Facts]):
    """What is known of the person, as it changed. Ids are "f7"."""

    list = Awaited(resources.Facts.list)
    profile = Awaited(resources.Facts.profile)
    review = Awaited(resources.Facts.review)
    get = Awaited(resources.Facts.get)
    history = Awaited(resources.Facts.history)
    confirm = Awaited(resources.Facts.confirm)
    correct = Awaited(resources.Facts.correct)
    reject = Awaited(resources.Facts.reject)
    decide = Awaited(resources.Facts.decide)
    undo = Awaited(resources.Facts.undo)
    add = Awaited(resources.Facts.add)
    add_undoably = Awaited(resources.Facts.add_undoably)
    pending = Awaited(resources.Facts.pending)


class AsyncPeople(Asynchronous[resources.People]):
    """The people who wrote the messages, across sources. Ids are "p3"."""

    list = Awaited(resources.People.list)
    get = Awaited(resources.People.get)
    merge = Awaited(resources.People.merge)
    split = Awaited(resources.People.split)
    rename = Awaited(resources.People.rename)
    me = Awaited(resources.People.me)
    set_me = Awaited(resources.People.set_me)
    undo = Awaited(resources.People.undo)


class AsyncSummaries(Asynchronous[resources.Summaries]):
    """What was said in short, at four levels: exchange, topic, session and procedure. Ids are "sum7"."""

    list = Awaited(resources.Summaries.list)
    get = Awaited(resources.Summaries.get)
    search = Awaited(resources.Summaries.search)
    pending = Awaited(resources.Summaries.pending)
    state = Awaited(resources.Summaries.state)
    make = Awaited(resources.Summaries.make)
    run_pending = Awaited(resources.Summaries.run_pending)


class AsyncPins(Asynchronous[resources.Pins]):
    """What a person pins, how important messages are, and what they were worth."""

    pin = Awaited(resources.Pins.pin)
    unpin = Awaited(resources.Pins.unpin)
    pinned = Awaited(resources.Pins.pinned)
    importance = Awaited(resources.Pins.importance)
    note_recalled = Awaited(resources.Pins.note_recalled)
    feedback = Awaited(resources.Pins.feedback)
    withdraw_feedback = Awaited(resources.Pins.withdraw_feedback)


class AsyncOverview(Asynchronous[resources.Overview]):
    """What is there, without searching for it."""

    counts = Awaited(resources.Overview.counts)
    outline = Awaited(resources.Overview.outline)
    messages = Awaited(resources.Overview.messages)
    matches = Awaited(resources.Overview.matches)
    filter_choices = Awaited(resources.Overview.filter_choices)
    activity = Awaited(resources.Overview.activity)
    files = Awaited(resources.Overview.files)
    imported_files = Awaited(resources.Overview.imported_files)
    imported_sessions = Awaited(resources.Overview.imported_sessions)
    file_problems = Awaited(resources.Overview.file_problems)
    dismiss_problems = Awaited(resources.Overview.dismiss_problems)
    unfinished_imports = Awaited(resources.Overview.unfinished_imports)
    give_up_import = Awaited(resources.Overview.give_up_import)
    folders = Awaited(resources.Overview.folders)
    start_page = Awaited(resources.Overview.start_page)


class AsyncWatching(Asynchronous[resources.Watching]):
    """The folders and files of the setting ``watch.folders``."""

    list = Awaited(resources.Watching.list)
    add = Awaited(resources.Watching.add)
    remove = Awaited(resources.Watching.remove)


class AsyncAttachments(Asynchronous[resources.Attachments]):
    """The files that messages carry. Ids are "m345.1"."""

    list = Awaited(resources.Attachments.list)
    of_message = Awaited(resources.Attachments.of_message)
    get = Awaited(resources.Attachments.get)
    file = Awaited(resources.Attachments.file)


class AsyncArchive(Asynchronous[resources.Archive]):
    """The archive: what is old and unimportant, compressed, out of the way and still found."""

    status = Awaited(resources.Archive.status)
    list = Awaited(resources.Archive.list)
    restore = Awaited(resources.Archive.restore)
    set_retention = Awaited(resources.Archive.set_retention)
    run = Awaited(resources.Archive.run)


class AsyncIndex(Asynchronous[resources.Index]):
    """Where the index is: in the home, or on a Qdrant server."""

    status = Awaited(resources.Index.status)
    claim = Awaited(resources.Index.claim)
    move = Awaited(resources.Index.move)


class AsyncErasure(Asynchronous[resources.Erasure]):
    """Forgetting for good: look first (``preview``), then ``forget``."""

    receipts = Awaited(resources.Erasure.receipts)
    preview = Awaited(resources.Erasure.preview)
    forget = Awaited(resources.Erasure.forget)


class AsyncSecrets(Asynchronous[resources.Secrets]):
    """Keys, tokens, card numbers and passwords in messages: where they are, without their words."""

    list = Awaited(resources.Secrets.list)
    scan = Awaited(resources.Secrets.scan)


class AsyncBackups(Asynchronous[Backups]):
    """Backups: made by an open memory; listed, checked and restored without one."""

    make = Awaited(Backups.make)
    known = Awaited(Backups.known)
    list = AwaitedStatic(Backups.list)
    verify = AwaitedStatic(Backups.verify)
    restore = AwaitedStatic(Backups.restore)
    has_passphrase = AwaitedStatic(Backups.has_passphrase)


class AsyncEvents(Asynchronous[Events]):
    """What happens in a memory: ``async for event in memory.events``, or a listener."""

    async def listen(self, listener: Callable[[Event], None]) -> Callable[[], Awaitable[None]]:
        """Call ``listener`` in the event loop with each event from now on, as ``Events.listen`` does on a thread.

        Returns:
            A coroutine function that ends the listening.
        """
        loop = asyncio.get_running_loop()

        def hear(event: Event) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(listener, event)

        end = await self._threads.run(lambda: self.blocking.listen(hear))
        return lambda: self._threads.run(end)

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        heard: asyncio.Queue[Event] = asyncio.Queue()
        end = await self.listen(heard.put_nowait)
        try:
            while True:
                yield await heard.get()
        finally:
            await end()


class AsyncWatcher(Asynchronous[Watcher]):
    """Reads watched folders.

    Attributes:
        folders: The folders that are watched.
    """

    def __init__(self, blocking: Watcher, threads: Threads) -> None:
        super().__init__(blocking, threads)
        self.folders = blocking.folders

    async def run(self, *, once: bool = False) -> None:
        """Watch until stopped or cancelled; ``once`` reads what is there and ends. A file that is being read is read to
        its end."""
        running = asyncio.ensure_future(asyncio.to_thread(self.blocking.run, once=once))  # a thread of its own
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            self.stop()
            await running
            raise

    def stop(self) -> None:
        """Let ``run`` end after the file that it is reading."""
        self.blocking.stop()


class AsyncAppliance(Asynchronous[Appliance]):
    """An open memory whose verbs are awaited. Use it as an asynchronous context manager, in one event loop.

    ``AsyncAppliance.open`` makes one; ``AsyncAppliance(memory)`` wraps an open ``Appliance``. Up to eight calls run at
    once. Cancelling a call ends the waiting for it, and the call itself goes on. Functions that are given to a verb,
    such as ``progress``, are called in the event loop.

    Attributes:
        home: Where everything lies.
        settings: The settings in force.
        sessions, core, facts, people, summaries, pins, overview, archive, attachments, index, erasure, backups,
            secrets, watching, events: The verbs of each.
    """

    def __init__(self, blocking: Appliance, threads: Threads | None = None) -> None:
        super().__init__(blocking, threads or Threads())
        self.home: Home = blocking.home
        self.settings: Settings = blocking.settings
        self.sessions = AsyncSessions(blocking.sessions, self._threads)
        self.core = AsyncCore(blocking.core, self._threads)
        self.facts = AsyncFacts(blocking.facts, self._threads)
        self.people = AsyncPeople(blocking.people, self._threads)
        self.summaries = AsyncSummaries(blocking.summaries, self._threads)
        self.pins = AsyncPins(blocking.pins, self._threads)
        self.overview = AsyncOverview(blocking.overview, self._threads)
        self.watching = AsyncWatching(blocking.watching, self._threads)
        self.archive = AsyncArchive(blocking.archive, self._threads)
        self.attachments = AsyncAttachments(blocking.attachments, self._threads)
        self.index = AsyncIndex(blocking.index, self._threads)
        self.erasure = AsyncErasure(blocking.erasure, self._threads)
        self.backups = AsyncBackups(blocking.backups, self._threads)
        self.secrets = AsyncSecrets(blocking.secrets, self._threads)
        self.events = AsyncEvents(blocking.events, self._threads)

    @staticmethod
    def open(
        home: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        worker: bool = True,
        embedder: Embedder | None = None,
        purpose: str = PURPOSE,
    ) -> Opening:
        """Open a memory as ``Appliance.open`` does: ``async with AsyncAppliance.open() as memory``, or
        ``memory = await AsyncAppliance.open()``."""
        return Opening(lambda: Appliance.open(home, create=create, worker=worker, embedder=embedder, purpose=purpose))

    def masked(self) -> Self:
        """Return this memory as assistants see it, with secrets hidden. Closing either closes both."""
        return type(self)(self.blocking.masked(), self._threads)

    @property
    def is_attached(self) -> bool:
        """Whether another process owns the home now."""
        return self.blocking.is_attached

    @property
    def is_attached_to_daemon(self) -> bool:
        """Whether a daemon owns the home now."""
        return self.blocking.is_attached_to_daemon

    @property
    def owner(self) -> Owner | None:
        """The process that owns the home now; None while it changes."""
        return self.blocking.owner

    async def close(self) -> None:
        """Let go of the memory, as ``Appliance.close`` does."""
        await asyncio.to_thread(self.blocking.close)  # not behind calls that only closing ends
        self._threads.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    search = Awaited(Appliance.search)
    context = Awaited(Appliance.context)
    statistics = Awaited(Appliance.statistics)
    on_this_day = Awaited(Appliance.on_this_day)
    day = Awaited(Appliance.day)
    timeline = Awaited(Appliance.timeline)
    message = Awaited(Appliance.message)
    feedback = Awaited(Appliance.feedback)
    variants = Awaited(Appliance.variants)
    versions = Awaited(Appliance.versions)
    export = Streamed(Appliance.export)
    export_markdown = Streamed(Appliance.export_markdown)
    export_html = Streamed(Appliance.export_html)
    status = Awaited(Appliance.status)
    verify = Awaited(Appliance.verify)
    metrics = Awaited(Appliance.metrics)
    warm_up = Awaited(Appliance.warm_up)
    forecast_reindex = Awaited(Appliance.forecast_reindex)
    restore = AwaitedStatic(Appliance.restore)
    pin = Awaited(Appliance.pin)
    unpin = Awaited(Appliance.unpin)
    ingest = Awaited(Appliance.ingest)
    discover = Awaited(Appliance.discover)
    watcher = AwaitedHandle(Appliance.watcher, AsyncWatcher)
    embed_pending = Awaited(Appliance.embed_pending)
    reindex = Awaited(Appliance.reindex)
    backup = Awaited(Appliance.backup)
    run_pending_jobs = Awaited(Appliance.run_pending_jobs)

    @asynccontextmanager
    async def interactive_use(self) -> AsyncIterator[None]:
        """Within, somebody looks at a screen in this process: background work goes on in small steps only."""
        using = self.blocking.interactive_use()
        await self._threads.run(using.__enter__)
        try:
            yield
        finally:
            await self._threads.run(lambda: using.__exit__(None, None, None))


class Opening:
    """A memory that is being opened: awaited, or entered by ``async with``."""

    def __init__(self, open: Callable[[], Appliance]) -> None:
        self._open = open
        self._memory: AsyncAppliance | None = None

    def __await__(self) -> Generator[object, None, AsyncAppliance]:
        return self._opened().__await__()

    async def __aenter__(self) -> AsyncAppliance:
        self._memory = await self._opened()
        return self._memory

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._memory is not None:
            await self._memory.close()

    async def _opened(self) -> AsyncAppliance:
        opening = asyncio.ensure_future(asyncio.to_thread(self._open))
        try:
            return AsyncAppliance(await asyncio.shield(opening))
        except asyncio.CancelledError:
            await AsyncAppliance(await opening).close()
            raise

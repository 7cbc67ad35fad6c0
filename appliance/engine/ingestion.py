"""Connects the ingestion pipeline with the home and its settings: for files, watched folders and single messages."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from appliance import __version__
from appliance import requests as r
from appliance.engine import embedding_api
from appliance.engine.index_service import ALL_STORED, IndexService
from appliance.engine.unfinished_imports import RunningImport, UnfinishedImports, finish_path, options_of
from appliance.errors import DiskFull, UsageError
from appliance.ingest import documents, file_outcomes, pipeline
from appliance.ingest.batches import FileTally
from appliance.ingest.following import FollowedLogs
from appliance.ingest.page_reader import read_pages
from appliance.ingest.side_files import SideFiles
from appliance.memory import importance
from appliance.memory.sessions import BeforeStoreHook
from appliance.memory.working_memory import WorkingMemory
from appliance.paths import Home, absolute_paths, as_given
from appliance.runtime.admission import AdmissionControl
from appliance.runtime.workers import ShouldContinue
from appliance.settings import Settings
from appliance.store import documents as stored_documents
from appliance.store import kept_files, sessions
from appliance.store.database import Database
from appliance.types import (
    Event,
    FileReport,
    IngestReport,
    MessageRecord,
    OnFile,
    OnProgress,
    Progress,
    Scope,
    SecretPolicy,
    SessionInfo,
)
from appliance.types.progress import of_embedding


class Ingestion:
    """Ingests messages into an open home. ``wake_scheduler`` is called after new messages, ``refresh_people`` after an
    ingest."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        database: Database,
        index_service: IndexService,
        working_memory: WorkingMemory,
        admission: AdmissionControl,
        publish: Callable[[Event], None],
        wake_scheduler: Callable[[], None],
        refresh_people: Callable[[], object],
        unfinished_imports: UnfinishedImports,
    ) -> None:
        self._home = home
        self._settings = settings
        self._database = database
        self._index_service = index_service
        self._working_memory = working_memory
        self._admission = admission
        self._publish = publish
        self._wake_scheduler = wake_scheduler
        self._refresh_people = refresh_people
        self._unfinished_imports = unfinished_imports
        self._has_retried = False
        """Whether documents without a library were looked at again since this home was opened."""
        self._kept_at_purge: int | None = None
        """How many attachments were kept when unused copies were last looked for: fewer are now if some have gone."""

    def ingest_context(
        self,
        scope: Scope,
        *,
        keep_owners: bool = False,
        format: str | None = None,
        dry_run: bool = False,
        include_forgotten: bool = False,
        secrets: SecretPolicy | None = None,
        keep_attachments: bool | None = None,
        day_first: bool | None = None,
    ) -> pipeline.IngestContext:
        """The context of an ingestion into this home.

        Raises:
            ModelUnavailable: Nothing was ever stored, and the embedding model can't be loaded.
        """
        self._index_service.serving.begun()
        return pipeline.IngestContext(
            database=self._database,
            target=self._index_service.serving.storing_target,
            scope=scope,
            keep_owners=keep_owners,
            format=format,
            me=self._settings.name or None,
            day_first=day_first,
            ttl=self._settings.session.ttl,
            dry_run=dry_run,
            include_forgotten=include_forgotten,
            drop_secrets=(secrets or self._settings.secrets.policy) == "drop",
            score_importance=importance.score,
            yield_to_queries=self._admission.yield_to_queries,
            is_idle=self._admission.is_idle,
            batch_messages=self._settings.ingest.batch,
            publish=self._publish,
            read_pages=read_pages if self._settings.ingest.reader else pipeline.pages_here,
            take_in_files=partial(documents.take_in, options=self._attachment_options(keep_attachments)),
        )

    def _attachment_options(self, keep: bool | None = None) -> documents.AttachmentOptions:
        settings = self._settings.attachments
        return documents.AttachmentOptions(
            self._home.attachments, keep=settings.keep if keep is None else keep, read=settings.text
        )

    def read_documents(self, should_continue: ShouldContinue) -> int:
        """Read the texts of attached documents that are left, where their files are. Returns how many there were."""
        if not self._settings.attachments.text:
            return 0
        if not self._has_retried:
            self._has_retried = True
            with self._database.write() as tx:
                stored_documents.retry_unavailable(tx)
        owner = Scope(self._settings.user)
        done = documents.read_due(
            self._database, lambda: self.ingest_context(owner), self._attachment_options(), should_continue
        )
        if done:
            self._wake_scheduler()
        return done

    def remove_unused_copies(self, should_continue: ShouldContinue) -> int:
        """Remove the copies of attachments that no message has any more. Returns how many there were."""
        kept = stored_documents.counts(self._database.read())["kept_attachments"]
        if kept == self._kept_at_purge:
            return 0
        removed = kept_files.purge(self._database, self._home.attachments)
        self._kept_at_purge = kept
        return removed

    def ingest(self, request: r.IngestRequest, scope: Scope, on_progress: OnProgress) -> IngestReport:
        """See ``IngestRequest``; ``scope`` is whose memory it means."""
        began = time.perf_counter()
        given = absolute_paths(request.source)  # a source is named so, and the report as the caller did
        self._check_sources(given)
        context = self.ingest_context(
            scope,
            keep_owners=request.user_id is None and not request.namespace,
            format=request.format,
            dry_run=request.dry_run,
            include_forgotten=request.again,
            secrets=request.secrets,
            keep_attachments=request.keep_attachments,
            day_first=request.day_first,
        )
        caller = _ImportCaller(
            lambda file, messages: on_progress(Progress("reading", messages, file=as_given(file, given))),
            context.yield_to_queries,
        )
        # An upload goes with the server that received it.
        lasting = [path for path in given if not (request.dry_run or path.is_relative_to(self._home.uploads))]
        with self._unfinished_imports.running(lasting, scope, options_of(request)) as running:
            tallies, stopped = _read(list(given), context, running, caller)
        if lasting and not stopped:  # a full disk takes no notes
            self._note_outcomes(tallies, lasting, scope, keeps_owners=context.keep_owners)
        caller.raise_interruption()
        embedded = 0
        if not stopped:
            self._refresh_people()
            if request.wait and not request.dry_run:
                embedded, stopped = self._embed(on_progress)
        return IngestReport(
            files=tuple(
                replace(report, path=as_given(report.path, given), read_with=as_given(report.read_with, given))
                for report in context.side_files.explained(tally.report() for tally in tallies)
            ),
            chunks=sum(tally.chunks + self._index_service.serving.count_chunks(tally.unsplit) for tally in tallies),
            embedded=embedded,
            pending=self._index_service.pending(),
            seconds=time.perf_counter() - began,
            pending_reason=embedding_api.pending_reason(self._index_service),
            stopped=stopped,
            repeated_conversations=0 if request.dry_run else _repeated_sessions(tallies),
        )

    def _note_outcomes(
        self, tallies: Sequence[FileTally], places: Sequence[Path], scope: Scope, *, keeps_owners: bool
    ) -> None:
        """Note which files were not read completely; uploads go with the server that received them."""
        owner = "" if keeps_owners else f"{scope.user_id} {scope.namespace}"
        reports = (tally.report() for tally in tallies if not Path(tally.path).is_relative_to(self._home.uploads))
        file_outcomes.note_imported(self._database, reports, places, owner, __version__)

    def _check_sources(self, given: Mapping[Path, str]) -> None:
        """Refuse the files and folders of the home; its inbox is there to be read.

        Raises:
            UsageError: One of them is given.
        """
        own = {place.resolve() for place in self._home.locations().values()} - {self._home.inbox.resolve()}
        for path, named in given.items():
            if path.resolve() in own:
                hint = "Name exports or folders of exports. 'appliance recover' reads a damaged memory."
                raise UsageError("That is the memory itself; nothing was imported.", where=named, hint=hint)

    def _embed(self, on_progress: OnProgress) -> tuple[int, str]:
        """Embed what waits. Returns how many chunks were embedded, and why it ended early if the disk has no room."""
        before = self._index_service.pending()
        try:
            return self._index_service.drain_if_possible(of_embedding(on_progress)), ""
        except DiskFull as error:
            reason = str(error.args[0]).removesuffix(ALL_STORED).rstrip()
            left = self._index_service.pending()
            return max(0, before - left), f"{ALL_STORED} {error.where or self._home.root}: {reason}"

    def store_message(self, record: MessageRecord, info: SessionInfo, before: BeforeStoreHook) -> int:
        """Store a single message at once. Returns its key."""
        context = self.ingest_context(Scope(info.user_id, info.namespace))
        with ExitStack() as stack:
            stack.enter_context(self._admission.suspend_yielding())  # so that a running ingest ends its batch soon

            def on_transaction_begin(tx: sqlite3.Connection) -> None:
                stack.close()
                before(tx)

            key = pipeline.add(record, sessions.key(info), context, on_transaction_begin)
        self._index_service.add_recent_message(key)
        self._publish(Event("ingested", info.id, {"messages": 1, "new": 1}))
        self._working_memory.mark_changed(sessions.key(info))
        self._wake_scheduler()
        return key

    def read_watched(
        self, scope: Scope, keep_owners: bool, side_files: SideFiles, logs: FollowedLogs, root: Path, file: Path
    ) -> list[FileReport]:
        """Ingest a file of the watched folder ``root``, only the new lines of one of the followed ``logs``;
        ``side_files`` collects what is read with it."""
        context = replace(
            self.ingest_context(scope, keep_owners=keep_owners), side_files=side_files, read_pages=logs.read_pages
        )
        tallies = list(pipeline.ingest([file], context, within=root))
        if not logs.confirm(file, tallies):
            tallies = list(pipeline.ingest([file], context, within=root))
        finish_path(self._database, file, scope)
        self._wake_scheduler()
        return [tally.report() for tally in tallies]


def _repeated_sessions(tallies: Sequence[FileTally]) -> int:
    """How many sessions were counted again for a further file."""
    return sum(len(tally.sessions) for tally in tallies) - len(set().union(*(tally.sessions for tally in tallies)))


class _ImportCaller:
    """The caller of an import, who is told what is read and may interrupt it by raising. A file of which the last
    messages were just stored is finished first; the import ends before another one is read."""

    def __init__(self, progress: OnFile, yield_to_queries: Callable[[], None]) -> None:
        self._progress = progress
        self._yield_to_queries = yield_to_queries
        self._interruption: BaseException | None = None
        self.begun: list[str] = []
        """The files of which something was stored, in order."""

    def note_progress(self, file: str, messages: int) -> None:
        """Tell of stored messages; called after each transaction."""
        if self.begun[-1:] != [file]:
            self.begun.append(file)
        try:
            self._progress(file, messages)
        except BaseException as error:
            self._interruption = error

    def yield_to_queries(self) -> None:
        """Called between small steps; raises what the caller did."""
        self.raise_interruption()
        self._yield_to_queries()

    def raise_interruption(self) -> None:
        """Raise what the caller raised, if anything."""
        if self._interruption is not None:
            raise self._interruption

    def has_raised(self, error: BaseException) -> bool:
        """Whether an error is the caller's."""
        return error is self._interruption


def _read(
    paths: Sequence[Path], context: pipeline.IngestContext, running: RunningImport, caller: _ImportCaller
) -> tuple[list[FileTally], str]:
    """Read sources into the memory, as far as the caller does not interrupt it. Returns what was read of each document,
    and why it ended early if the disk has no room.

    Raises:
        DiskFull: Nothing was read.
    """
    tallies: list[FileTally] = []
    try:
        told = replace(
            context, progress=caller.note_progress, yield_to_queries=caller.yield_to_queries, note_begun=running.note
        )
        for path in paths:
            for tally in pipeline.ingest([path], told):
                tallies.append(tally)
            if not context.dry_run:
                running.finish(path, context.scope)
            caller.raise_interruption()
    except DiskFull as error:
        if not tallies and not caller.begun:
            raise
        finished = {tally.path for tally in tallies}
        half_read = "".join(f"{file} was read in part. " for file in caller.begun[-1:] if file not in finished)
        return tallies, f"{half_read}No further file was read: {error.where or ''}: {error.args[0]}"
    except BaseException as error:
        if not caller.has_raised(error):
            raise
    return tallies, ""

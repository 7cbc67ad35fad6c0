"""The composition root: opens a home, joins its services, and carries out requests.

In:  ``ingest`` and ``sessions.add`` → ``engine.ingestion`` → ``ingest.pipeline``; then ``ingest.indexer``.
Out: ``search`` → ``retrieval.pipeline``; ``context`` → ``context.builder``.

Each request is carried out by the method whose path is the request's name: "search" by ``search``, "facts.list" by
``facts.list``. Only this package reads the settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from appliance import config, paths
from appliance import requests as r
from appliance.engine import embedding_api, exports, rebuild_forecast, search_inputs
from appliance.engine.background_embedding import background_embedding
from appliance.engine.home_database import apply_default_ttl, open_database
from appliance.engine.index_location import unless_index_is_away
from appliance.engine.index_service import IndexService
from appliance.engine.model_cache import ModelCache
from appliance.engine.reader_pool import ReaderPool
from appliance.engine.unfinished_imports import UnfinishedImports
from appliance.engine.verification import verify
from appliance.errors import StoreCorrupt
from appliance.languages import temporal
from appliance.retrieval import question_targets, search_query
from appliance.retrieval.weights import profiles
from appliance.runtime.admission import AdmissionControl
from appliance.runtime.events import EventBus
from appliance.runtime.lazy import cached_property
from appliance.runtime.llm import configured_endpoint
from appliance.runtime.metrics import Metrics
from appliance.runtime.power import PowerGate
from appliance.runtime.streams import HeldContext
from appliance.runtime.workers import Job, Scheduler, run_jobs, within
from appliance.settings import Settings
from appliance.store import conversation_time, digests, generations, messages, sessions, variants, versions
from appliance.store.damage import damage_behind
from appliance.store.damage_scans import DamageScans
from appliance.store.lock import OwnerLock
from appliance.store.room import file_errors
from appliance.types import (
    Context,
    Discovery,
    Event,
    Hits,
    IngestReport,
    Message,
    MessageVersion,
    MetricsSnapshot,
    OnProgress,
    ReindexForecast,
    Scope,
    Stream,
    VerifyReport,
)
from appliance.types.progress import of_embedding

if TYPE_CHECKING:
    from appliance.engine.archive import ArchiveService
    from appliance.engine.backups import BackupService
    from appliance.engine.erasure import ErasureService
    from appliance.engine.fact_extraction import FactExtractionJob
    from appliance.engine.index_move import IndexMoveService
    from appliance.engine.ingestion import Ingestion
    from appliance.engine.overviews import Overviews
    from appliance.engine.watching import WatchService
    from appliance.memory.core_blocks import CoreMemory
    from appliance.memory.facts import FactService
    from appliance.memory.people import PeopleService
    from appliance.memory.pins import PinService
    from appliance.memory.secrets import SecretService
    from appliance.memory.sessions import SessionService
    from appliance.memory.summaries import SummaryService
    from appliance.memory.working_memory import WorkingMemory
    from appliance_models import Embedder


class Engine:
    """An open home, owned by this process. Safe to use from several threads."""

    def __init__(
        self, home: paths.Home, settings: Settings, lock: OwnerLock, *, worker: bool, models: ModelCache
    ) -> None:
        self.home = home
        self.settings = settings
        self._profiles = profiles({name: (one.like, one.weights) for name, one in settings.profiles.items()})
        self._llm = configured_endpoint(settings.llm)
        self._lock = lock
        self._database = open_database(home, settings.database, worker=worker)
        worker = worker and not self._database.is_read_only
        apply_default_ttl(self._database, settings.session.ttl)
        self.recorder, self.admission, self._damage_scans = models.metrics, AdmissionControl(), DamageScans()
        self.events = EventBus(self.recorder.count_event)
        self.readers = ReaderPool(home.database, self.admission, self.recorder)
        self._index_service = IndexService(
            home, settings, self._database, self.admission, self.recorder, self.events.publish, models
        )
        self._unfinished_imports = UnfinishedImports(self._database)
        self._power = PowerGate(settings.power.on_battery, settings.power.low)
        embed = background_embedding(self._database, self._index_service, self._power)
        self._scheduler = Scheduler(
            embed, self._index_service.has_pending, lambda: self._jobs(self._power.heavy), self.admission,
            threads=worker, is_paused=lambda: self._power.is_paused,
        )  # fmt: skip
        self._scheduler.begin()

    @classmethod
    def open(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        create: bool = True,
        worker: bool = True,
        embedder: Embedder | None = None,
        models: ModelCache | None = None,
        purpose: str = "a Python program",
        on_owned: Callable[[OwnerLock], None] = lambda lock: None,
    ) -> Self:
        """Open a home in this process; the arguments are those of ``Appliance.open``.

        Args:
            models: The models of this home, if they are being loaded already; then there is no ``embedder``.
            on_owned: Called when this process has become the owner, before the stores are opened.

        Raises:
            HomeError: The folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: Another process has it open.
            DiskFull: The disk has too little room to open it.
            StoreError, ConfigError: The store or the settings are refused.
        """
        found = paths.find_home(home)
        with file_errors(found.root, "opened"):
            if not found.database.exists():
                generations.require_database(found)
            found = paths.create_home(found) if create else paths.require_home(found)
            settings = config.load(found)
            lock = OwnerLock(found.lock)
            is_read_only = paths.is_read_only(found)
            if not is_read_only:
                lock.acquire(purpose)
            try:
                if not is_read_only:
                    on_owned(lock)
                # Before that, another process may have been about to begin the memory.
                generations.require_database(found)
                models = models or ModelCache(found, settings, Metrics(), embedder)
                return cls(found, settings, lock, worker=worker, models=models)
            except BaseException:
                lock.release()
                raise

    def close(self) -> None:
        """Answer running queries, stop the workers, and release the home. Later requests raise a StoreError."""
        self.admission.close()
        self.readers.close()
        self._scheduler.stop(partial(embedding_api.cancel_requests, self._llm, self._index_service.models))
        if (pins := Engine.pins.peek(self)) is not None:
            pins.close()
        self.events.close()
        self._index_service.close()
        self._database.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def model_name(self) -> str:
        """The name of the embedding model."""
        return self._index_service.model_name

    def load(self) -> None:
        """Load every service now, so that no request of a daemon waits for a module."""
        for name in "sessions core facts people summaries pins overview archive erasure backups watching".split():
            getattr(self, name)

    # --- services -------------------------------------------------------------------------------------

    @cached_property
    def sessions(self) -> SessionService:
        """Sessions and their messages."""
        from appliance.memory.sessions import SessionContext, SessionService

        return SessionService(
            SessionContext(
                database=self._database,
                owner=self.settings.user,
                ttl=self.settings.session.ttl,
                store_message=self._ingestion.store_message,
                wake_workers=self._scheduler.wake,
                working_memory=self._working_memory,
                publish=self.events.publish,
                note_answer=lambda text, scope: self.pins.note_answer(text, scope),
            )
        )

    @cached_property
    def summaries(self) -> SummaryService:
        """Summaries, at four levels."""
        from appliance.engine import summarization

        return summarization.summary_service(
            self._database, self._index_service, self.settings, self.events.publish, self._llm
        )

    @cached_property
    def core(self) -> CoreMemory:
        """The blocks that every context has."""
        from appliance.memory.core_blocks import CoreMemory

        return CoreMemory(self._database, self.settings.user)

    @cached_property
    def facts(self) -> FactService:
        """What is known of the person, as it changed."""
        from appliance.memory import facts

        settings = self.settings
        return facts.FactService(facts.FactsContext(self._database, settings.user, settings.name, self.people.refresh))

    @cached_property
    def people(self) -> PeopleService:
        """The people who wrote the messages."""
        from appliance.memory.people import PeopleContext, PeopleService

        settings = self.settings
        return PeopleService(PeopleContext(self._database, settings.user, settings.name, self._scheduler.wake))

    @cached_property
    def pins(self) -> PinService:
        """Pins, use counts, feedback and importance."""
        from appliance.memory.pins import PinService

        return PinService(self._database, self._scheduler.wake, self.events.publish, self.recorder.count)

    @cached_property
    def overview(self) -> Overviews:
        """What is there, without searching for it."""
        from appliance.engine.overviews import Overviews

        # Services whose modules a search does not need are loaded when they are used.
        return Overviews(
            self.home, self._database, self.settings.user, lambda: self.watching.configured(),
            lambda: self.people.refresh(), lambda scope: self.archive.sessions_due_soon(scope),
            lambda scope: self.people.count_proposals(scope), self._unfinished_imports,
        )  # fmt: skip

    @cached_property
    def watching(self) -> WatchService:
        """The watchers of folders, and the setting that names these."""
        from appliance.engine.watching import WatchService

        return WatchService(self.home, self.settings, self._database, self._ingestion)

    @cached_property
    def secrets(self) -> SecretService:
        """Marks of keys, tokens, card numbers and passwords."""
        from appliance.memory.secrets import SecretService

        return SecretService(self._database, self.settings.user)

    @cached_property
    def archive(self) -> ArchiveService:
        """The archive of old, unimportant messages."""
        from appliance.engine.archive import ArchiveService

        return ArchiveService(
            self.home, self._database, self._index_service, self.settings.archive, self.settings.user,
            self.pins.write_counts, self.events.publish,
        )  # fmt: skip

    @cached_property
    def erasure(self) -> ErasureService:
        """Forgetting for good, and its receipts."""
        from appliance.engine.erasure import ErasureService

        return ErasureService(
            self.home, self._database, self._index_service, self.settings.user, self.events.publish, self.people
        )

    @cached_property
    def index(self) -> IndexMoveService:
        """Where the index is, and moving it."""
        from appliance.engine.index_move import IndexMoveService

        return IndexMoveService(self.home, self._database, self._index_service, self.admission)

    @cached_property
    def backups(self) -> BackupService:
        """Backups, made while the home is in use."""
        from appliance.engine.backups import BackupService

        return BackupService(self.home, self._database, self._index_service)

    @cached_property
    def _working_memory(self) -> WorkingMemory:
        from appliance.engine import summarization, working_memory

        writer = summarization.running_summary_writer(self._database, self._llm)
        return working_memory.working_memory(self._database, self.settings, self.events.publish, writer)

    @cached_property
    def _ingestion(self) -> Ingestion:
        from appliance.engine.ingestion import Ingestion

        return Ingestion(
            self.home, self.settings, self._database, self._index_service, self._working_memory, self.admission,
            self.events.publish, self._scheduler.wake, self.people.refresh, self._unfinished_imports,
        )  # fmt: skip

    @cached_property
    def _fact_extraction(self) -> FactExtractionJob:
        from appliance.engine.fact_extraction import FactExtractionJob

        return FactExtractionJob(self.facts, self._llm)

    def _jobs(self, heavy: Callable[[Job], Job] = lambda job: job) -> Sequence[Job]:
        """The background jobs, in the order in which they run; ``heavy`` may let some wait."""
        index = self._index_service
        jobs = (
            self.erasure.finish_interrupted,
            partial(digests.fill, self._database), partial(conversation_time.fill, self._database),
            self.sessions.delete_expired, self._working_memory.run_pending_compactions,
            self.pins.score_pending, self.pins.write_counts,
            self.archive.restore_used,
            self._ingestion.read_documents, self._ingestion.remove_unused_copies,
            self.people.refresh_pending,
            self.facts.extract_pending,
            heavy(self.summaries.summarize_next_due),
            heavy(self._fact_extraction.extract_pending),
            heavy(self.archive.maintain), heavy(self.archive.archive_due),
            heavy(index.optimize_index), heavy(index.segment_merge.run), heavy(index.token_filling.run),
            index.purge_generations, index.serving.drop_unused_collections,
            index.models.unload_idle,
        )  # fmt: skip
        return [unless_index_is_away(job) for job in jobs]

    # --- in -------------------------------------------------------------------------------------------

    def ingest(self, request: r.IngestRequest, on_progress: OnProgress) -> IngestReport:
        """See ``IngestRequest``."""
        try:
            return self._ingestion.ingest(request, self._scope(request.user_id, request.namespace), on_progress)
        finally:
            self._scheduler.wake()  # what an interrupted ingest has committed is embedded too

    def discover(self, request: r.DiscoverRequest, on_progress: OnProgress) -> Discovery:
        """See ``DiscoverRequest``."""
        from appliance.engine.discovery import discover

        return discover(request, self.home, self.settings.name, on_progress, self.admission.yield_to_queries)

    def embed_pending(self, request: r.EmbedRequest, on_progress: OnProgress) -> int:
        """See ``EmbedRequest``."""
        self.erasure.finish_interrupted(lambda: True)
        self._index_service.models.retry_requests()
        if request.generation is not None:
            return self._index_service.complete_kept(request.generation, of_embedding(on_progress))
        return self._index_service.drain(of_embedding(on_progress), require_all=True)

    def run_pending_jobs(self, request: r.RunJobsRequest, on_progress: OnProgress) -> int:
        """See ``RunJobsRequest``."""
        done = run_jobs(self._jobs(), in_time := within(request.max_seconds))
        if not done and not in_time():
            # The summary of a long session may take longer than a caller gives: one job is done to its end.
            done = next(filter(None, (job(lambda: True) for job in self._jobs())), 0)
        self._index_service.drain_if_possible(of_embedding(on_progress))
        return done

    # --- out ------------------------------------------------------------------------------------------

    def search(self, request: r.SearchRequest) -> Hits:
        """See ``SearchRequest``."""
        page, current_session = search_query.resolve_page(request, self.settings.search.limit), None
        if request.asked_in:
            asking = r.SessionRequest(request.asked_in, user_id=request.user_id)
            current_session = sessions.key(self.sessions.info(asking))
        scope = self._scope(request.user_id, request.namespace, request.agent_id)
        search_inputs.refresh(request, self.people.refresh, lambda: self.facts.refresh())
        db = self._database.read()
        resolve = partial(search_inputs.resolve, db, request, self.settings, self._profiles, scope, current_session)
        query = resolve()
        with (
            self.admission.running_query(),
            self.recorder.time_search_stage("whole"),
            self._index_service.search_resources(dense="dense" in query.legs, number=request.generation) as resources,
        ):
            if resources is None:
                if request.why_not is not None:
                    self.message(r.MessageRequest(request.why_not))  # raises: there is none
                return Hits((), request.query, request.mode, ("nothing has been stored yet",), took_ms=0.0)
            search = partial(self.readers.search, resources, explained_message=request.why_not)
            for_all = partial(resolve, by_asked_author=False)
            hits = question_targets.search_as_asked(search, query, page, for_all)
            return replace(hits, query=request.query)

    def context(self, request: r.ContextRequest) -> Context:
        """See ``ContextRequest``."""
        from appliance.context import builder
        from appliance.engine import context_inputs
        from appliance.memory.pins import recalled_message_ids

        inputs = context_inputs.resolve(
            request, self.settings, self._scope(request.user_id, request.namespace, request.agent_id)
        )
        sources = context_inputs.sources(
            self._database, self.search, self.sessions, self.facts, self.summaries, lambda: self._working_memory
        )
        with self.admission.running_query(), self.recorder.time_context():
            built = builder.build_context(sources, inputs)
        self.recorder.context_tokens.add(built.tokens)
        if request.counted:
            self.pins.note_recalled(r.RecalledRequest(recalled_message_ids(built)))
        return built

    def message(self, request: r.MessageRequest) -> Message:
        """See ``MessageRequest``."""
        return messages.to_message(messages.find(self._database.read(), request.reference))

    def variants(self, request: r.VariantsRequest) -> list[Message]:
        """See ``VariantsRequest``."""
        return variants.list_variants(self._database.read(), request.reference)

    def versions(self, request: r.VersionsRequest) -> list[MessageVersion]:
        """See ``VersionsRequest``."""
        db = self._database.read()
        return versions.versions(db, messages.find(db, request.reference).id)

    def export(self, request: r.ExportRequest) -> Stream[dict[str, Any]]:
        """See ``ExportRequest``."""
        update_facts = self.facts.extract_pending if not self._database.is_read_only else lambda: None
        return exports.lines(self._database, request, self.settings.user, update_facts)

    def export_markdown(self, request: r.ExportMarkdownRequest) -> Stream[str]:
        """See ``ExportMarkdownRequest``."""
        return exports.markdown(self._database, request, self.settings.user)

    def export_html(self, request: r.ExportHtmlRequest) -> Stream[str]:
        """See ``ExportHtmlRequest``."""
        return exports.html(self._database, request)

    def subscribe(self, request: r.EventsRequest) -> Stream[Event]:
        """See ``EventsRequest``."""
        return self.events.subscribe()

    # --- maintenance ----------------------------------------------------------------------------------

    def status(self, request: r.StatusRequest) -> dict[str, Any]:
        """See ``StatusRequest``."""
        from appliance.engine.home_status import home_status

        return home_status(
            self.home, self._database, self.settings, self.model_name, self.summaries, self._fact_extraction,
            self._scheduler, self.recorder, self._damage_scans, self.index.overview(), self._index_service,
            self._unfinished_imports.list(), self._power, self.watching.configured(),
        )  # fmt: skip

    def verify(self, request: r.VerifyRequest) -> VerifyReport:
        """See ``VerifyRequest``."""
        unfinished, attachments = self.erasure.unfinished(), self.home.attachments
        return verify(self._database, self._index_service, attachments, unfinished, deep=request.deep)

    def reindex(self, request: r.ReindexRequest, on_progress: OnProgress) -> int:
        """See ``ReindexRequest``."""
        rebuild_forecast.prepare_rebuild(self.home, self._database, self._index_service, self.settings, request)
        return self._index_service.reindex(request, of_embedding(on_progress))

    def forecast_reindex(self, request: r.ForecastReindexRequest) -> ReindexForecast:
        """See ``ForecastReindexRequest``."""
        return rebuild_forecast.forecast_rebuild(self.home, self._database, self._index_service, self.settings, request)

    def damage_behind(self) -> StoreCorrupt | None:
        """The damage that explains an unexpected error, if there is any. Reads the whole database."""
        return damage_behind(self._database.read())

    def warm_up(self, request: r.WarmUpRequest) -> None:
        """See ``WarmUpRequest``."""
        with self._index_service.search_resources(dense=True):
            temporal.prepare()

    def metrics(self, request: r.MetricsRequest) -> MetricsSnapshot:
        """See ``MetricsRequest``."""
        return self.recorder.snapshot()

    def interactive_use(self, request: r.InteractiveUseRequest) -> Stream[None]:
        """See ``InteractiveUseRequest``."""
        return HeldContext(self.admission.interactive_use())

    def _scope(self, user_id: str | None, namespace: str, agent_id: str | None = None) -> Scope:
        return Scope(self.settings.user if user_id is None else user_id, namespace, agent_id)

"""The composition root: opens a home with its rooms (``house``), and gives the verbs, each a few lines.

In:  ``ingest`` and ``add_message`` → ingest.pipeline → ingest.embed.
Out: ``search`` → recall.pipeline; ``context`` → remembering.
Everything that reads the settings reads them here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import appliance_models
from appliance import config, paths
from appliance.errors import UsageError
from appliance.house import House
from appliance.llm import endpoint
from appliance.measures import Measures
from appliance.paths import Paths, as_paths
from appliance.recall import pipeline as recall
from appliance.recall import wish
from appliance.recall.weights import profiles
from appliance.rooms import Room
from appliance.serving import Serving
from appliance.store import check, messages, sessions, variants
from appliance.store.database import Database
from appliance.store.lock import OwnerLock
from appliance.types import (
    Context,
    Hits,
    IngestReport,
    Message,
    Mode,
    OnFile,
    OnProgress,
    OnRead,
    Role,
    Scope,
    Window,
)
from appliance.upkeep import Background, Events, Gate, GoesOn, Task, work_off

if TYPE_CHECKING:
    from appliance.ingest.watch import Watcher
    from appliance.memory.sessions import Sessions
    from appliance_models import Embedder


class Engine(House):
    """An open memory in this process, which owns its home. Use it as a context manager, from any number of threads.

    ``Engine.open`` makes one; all times are UTC where known, all ids are text ("m345", "s12").
    """

    def __init__(
        self,
        home: paths.Home,
        settings: config.Settings,
        lock: OwnerLock,
        *,
        worker: bool,
        embedder: Embedder | None,
    ) -> None:
        self.home = home
        self.settings = settings
        self._profiles = profiles({name: (one.like, one.weights) for name, one in settings.profiles.items()})
        self._model = endpoint(settings.llm)
        self._lock = lock
        self._database = Database(home.database)
        if not sessions.keeps_to(self._database.read(), settings.session.ttl):
            with self._database.write() as tx:
                sessions.keep_to(tx, settings.session.ttl)
        self.measures, self._gate = Measures(), Gate()
        self.expecting, self.attending = self._gate.expecting, self._gate.attending
        self.events = Events(self.measures.happened)
        self._serving = Serving(
            home, settings, self._database, self._gate, self.measures, self.events.tell, embedder
        )
        self._background = Background(
            self._serving.drain_idly, self._serving.is_due, self._due, self._gate, threads=worker
        )
        self._background.begin()

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

        ``worker`` lets a background thread embed what ``ingest(wait=False)`` and ``Session.add`` leave
        waiting, beginning with what an earlier process left. ``embedder`` is used in place of the
        configured model. ``purpose`` is what a second process is told when it finds the home in use.

        Raises:
            HomeError: the folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: another process has it open.
            StoreError, ConfigError: the store or the settings refuse.
        """
        found = paths.find_home(home)
        found = paths.create_home(found) if create else paths.require_home(found)
        settings = config.load(found)
        lock = OwnerLock(found.lock)
        lock.acquire(purpose)
        try:
            return cls(found, settings, lock, worker=worker, embedder=embedder)
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Stop the workers after what they are at, and let go of the home, once the questions under way are answered:
        whoever asks from now on gets a StoreError. What waits goes on next time."""
        self._gate.close()
        self._background.stop(self._model.give_up if self._model else lambda: None)
        if (keeping := Engine.keeping.made(self)) is not None:
            keeping.close()
        self.events.close()
        self._serving.close()
        self._database.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- the rooms, and what goes on in them -----------------------------------------------------------

    @Room
    def sessions(self) -> Sessions:
        """Conversations: begun, found, listed."""
        from appliance.memory.session import Host
        from appliance.memory.sessions import Sessions

        return Sessions(
            Host(
                self._database, self.settings.user, self.settings.session.ttl, self._taking.take, self.context,
                self._background.wake, self._working, self.events.tell,
            )
        )  # fmt: skip

    def _due(self) -> Sequence[Task]:
        """What is done in the background, in this order."""
        return (
            self.forgetting.finish,
            self.sessions.clear_away,
            self._working.tend,
            self.keeping.weigh,
            self.keeping.write,
            self.facts.read_due,
            self.summaries.tend,
            self._asking.tend,
            self._serving.settle,
        )

    # --- in -------------------------------------------------------------------------------------------

    def ingest(
        self,
        source: Paths,
        *,
        format: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        dry_run: bool = False,
        again: bool = False,
        wait: bool = True,
        on_file: OnFile = lambda path, messages: None,
        on_embedded: OnProgress = lambda done, pending: None,
    ) -> IngestReport:
        """Read files, folders and zips into the memory.

        Returns when everything is durable and embedded, or with ``wait=False`` when it is durable and can
        be found by its words. Reading an export again adds only what is new. What an export of ours says
        of its owners stays theirs, unless a ``user_id`` or ``namespace`` takes it all. ``format`` overrides
        detection. ``dry_run`` reports what would happen and changes nothing. ``again`` takes in, too, what was
        forgotten before. ``on_file`` is told the
        file and its messages so far, ``on_embedded`` the chunks done and pending.

        Raises:
            ModelUnavailable: the embedding model can't be loaded; nothing was read.
            UsageError: no such format.
        """
        began = time.perf_counter()
        into = self._taking.intake(
            Scope(self._user(user_id), namespace),
            keep_owners=user_id is None and not namespace,
            format=format,
            dry_run=dry_run,
            again=again,
            progress=on_file,
        )
        try:
            tallies = self._taking.read(as_paths(source), into)
            embedded = self.embed_pending(on_embedded) if wait and not dry_run else 0
        finally:
            self._background.wake()  # of an ingest that was broken off, what was committed is embedded too
        return IngestReport(
            files=tuple(tally.report() for tally in tallies),
            chunks=sum(tally.chunks for tally in tallies),
            embedded=embedded,
            pending=self._serving.pending(),
            seconds=time.perf_counter() - began,
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
        """What reads the inbox, the configured folders and ``folders`` whenever an export lands there.

        Call its ``run`` (it ends at ``stop``, or with ``once=True`` when all that is there has been read);
        what it reads is durable and found by its words, and the worker embeds it. ``on_read`` is told what
        became of each file, ``on_trouble`` what hinders the watching.

        Raises:
            HomeError: a folder does not exist.
        """
        return self._taking.watcher(
            folders,
            Scope(self._user(user_id), namespace),
            keep_owners=user_id is None and not namespace,
            on_read=on_read,
            on_trouble=on_trouble,
        )

    def embed_pending(self, progress: OnProgress = lambda done, pending: None) -> int:
        """Embed and index everything that waits; how many chunks it was.

        ``progress`` is told the chunks done so far and those that still wait.
        """
        return self._serving.drain(progress)

    def tend(self, goes_on: GoesOn = lambda: True) -> int:
        """Do now what the background would do in its own time: read for facts, summarise, clear away what has
        outlived its time, and embed what that makes. How many things it did; ``goes_on`` is asked in between."""
        done = work_off(self._due(), goes_on)
        self.embed_pending()
        return done

    # --- out ------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        limit: int | None = None,
        mode: Mode = "hybrid",
        profile: str | None = None,
        without: Collection[str] | None = None,
        per_session: int | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        session_id: str | None = None,
        roles: Sequence[Role] | None = None,
        sources: Sequence[str] | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        as_of: str | date | None = None,
        asked_in: str | None = None,
        why_not: str | None = None,
    ) -> Hits:
        """The messages that answer ``query`` best, one hit a message, best first.

        Scope: the configured user's memory unless ``user_id`` names another's; a ``session_id`` (or the
        session's external id) narrows to it, and finds nothing when it is not the named user's. ``roles``
        are user and assistant unless named. ``since`` and ``until`` take ISO 8601 days (whole, the last
        one included) or moments; ``as_of`` asks as if it were then. ``sources`` are format names. ``profile``
        names the weights of the ranking, ``without`` legs that are not to run (``recall.weights.LEGS``);
        ``per_session`` bounds the hits of one session (0: no bound); ``asked_in`` is the session that asks.
        ``hits.notes`` says which leg could not run, ``hits.why_not`` at which stage the message that
        ``why_not`` names fell out.

        Raises:
            UsageError: a role, mode, profile, leg, date or limit that can't be.
            NotFound: no such session, or no such message to say why not.
        """
        limit = self.settings.search.limit if limit is None else limit
        if limit < 1:
            raise UsageError(f"a limit of {limit} finds nothing")
        here = self.settings.search
        weighed = wish.profile(profile or here.profile, self._profiles)
        asking = sessions.key(self.sessions.info(asked_in, user_id=user_id)) if asked_in else None
        wished = wish.Wish(
            text=query,
            filters=wish.filters(
                self._database.read(),
                Scope(self._user(user_id), namespace, agent_id),
                session_id=session_id,
                asked_in=asking,
                anyones=user_id is None,
                roles=roles,
                sources=sources,
                since=since,
                until=until,
                as_of=as_of,
            ),
            profile=weighed,
            legs=wish.legs(mode, here.without if without is None else without, weighed),
            mode=mode,
            now=wish.moment(as_of),
            here=asking,
            per_session=wish.per_session(here.per_session if per_session is None else per_session),
        )
        with (
            self._gate.asking(),
            self.measures.searching("whole"),
            self._serving.shelf(dense="dense" in wished.legs) as shelf,
        ):
            if shelf is None:
                if why_not is not None:
                    self.message(why_not)  # there is none
                return Hits([], query=query, mode=mode, notes=["nothing has been stored yet"], took_ms=0.0)
            return recall.search(shelf, wished, limit=limit, about=why_not)

    def get_ready(self) -> None:
        """Load what the first search needs, index and model, before there is one: it then takes no longer than the
        others."""
        with self._serving.shelf(dense=True):
            pass

    def context(
        self,
        query: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        namespace: str = "",
        agent_id: str | None = None,
        budget: int | None = None,
        encoding: str | None = None,
        profile: str | None = None,
        counted: bool = True,
        window: Window | None = None,
        preset: str | None = None,
        shares: Mapping[str, float] | None = None,
        auto_recall: bool | None = None,
        leave_out: Collection[str] = (),
    ) -> Context:
        """What an assistant would be given for ``query``: what is known of the person, memories and, with a
        ``session_id``, that session's summary and latest turns (else the ``window`` of one that is stored nowhere),
        in at most ``budget`` tokens of ``encoding`` (or of the model it names); ``profile`` as in a search. A short
        question that lives on what came before ("and when was that?") is understood by the latest turns.

        ``preset`` (assistant, support, tutor, code) shares the budget out among the layers, ``shares`` gives
        numbers of one's own by layer; context.shares says where unused tokens go. ``auto_recall`` of False looks
        nothing up, and gives the session's own window alone. A memory that says one of the texts ``leave_out``, which
        the assistant has before it anyway, is left out. The memories in it count as recalled, but for
        ``counted=False``: a call that is to leave no trace.

        Raises:
            UsageError: the budget is smaller than 1 or than what the standing instructions need, or there is
                no such profile, preset or share.
            NotFound: no such session.
        """
        from appliance import remembering
        from appliance.context.shares import shares as shared
        from appliance.memory.keeping import handed_out

        here = self.settings.context
        budget = here.budget if budget is None else budget
        if budget < 1:
            raise UsageError(f"a budget of {budget} tokens holds nothing")
        own = {} if preset else {str(layer): share for layer, share in here.shares.items()}
        sources = remembering.Sources(
            database=self._database,
            search=self.search,
            session=lambda id, user: self.sessions.info(id, user_id=user),
            window=lambda info: self._working.window(sessions.key(info)),
            profile=lambda scope: self.facts.profile(scope.user_id, scope.namespace, agent_id=scope.agent_id),
            summaries=self.summaries.search,
        )
        request = remembering.Request(
            query=query,
            session_id=session_id,
            user_id=user_id,
            scope=Scope(self._user(user_id), namespace, agent_id),
            budget=budget,
            counter=appliance_models.encoding_for(encoding or here.encoding),
            shares=shared(preset or here.preset, own if shares is None else shares),
            ranking=profile or here.profile,
            per_session=here.per_session,
            auto_recall=auto_recall,
            recalls=here.auto_recall,
            window=window,
            leave_out=frozenset(map(remembering.as_said, leave_out)),
        )
        with self._gate.asking(), self.measures.remembering():
            built = remembering.remember(sources, request)
        self.measures.context_tokens.add(built.tokens)
        if counted:
            self.keeping.recalled(handed_out(built))
        return built

    def pin(self, reference: str) -> Message:
        """Let a message count as important, whatever it says; see Keeping.pin."""
        return self.keeping.pin(reference)

    def unpin(self, reference: str) -> Message:
        """Let a message count again for what it says; see Keeping.unpin."""
        return self.keeping.unpin(reference)

    def message(self, reference: str) -> Message:
        """The message of an id ("m345"), or of its external id.

        Raises:
            NotFound: there is none.
        """
        return messages.public(messages.message(self._database.read(), reference))

    def variants(self, reference: str) -> list[Message]:
        """Every message that says what this one says, itself among them, in order of time: how often and
        when it was said or asked.

        Raises:
            NotFound: there is no such message.
        """
        return variants.said(self._database.read(), reference)

    def export(self, *, user_id: str | None = None) -> Iterator[dict[str, Any]]:
        """Every stored message as a native JSONL object, session by session; of one user if named."""
        from appliance.memory import export

        return export.lines(self._database.read(), user_id, self.settings.user)

    def export_markdown(self, *, user_id: str | None = None) -> Iterator[str]:
        """The same as Markdown, piece by piece."""
        from appliance.memory import export

        return export.markdown(self._database.read(), user_id)

    # --- care -----------------------------------------------------------------------------------------

    def status(self) -> dict[str, Any]:
        """Counts, model, disk use and health, in the shape that ``appliance status --json`` prints."""
        from appliance.memory.status import status

        trouble = self._background.trouble
        found = status(self.home, self._database.read(), self._serving.model_name, trouble, self.measures)
        made, known = self.summaries.state(), self._asking.state()
        queues = {**found["queues"], "sessions": made["due"], "facts": known["due"]}
        queues["summaries_lag_seconds"] = round(self.summaries.lag(), 3)
        return {**found, "queues": queues, "summaries": made, "facts": known}

    def verify(self, *, deep: bool = False) -> check.Findings:
        """Check that every character is in a chunk and that all stores agree; writes nothing. ``deep`` also
        counts each chunk's tokens, to see that the model reads it to its end.

        Raises:
            ModelUnavailable: ``deep``, and the model can't be loaded.
        """
        window = self._serving.window() if deep else None
        with self._serving.reading() as stores:
            return check.verify(self._database, stores, window)

    def reindex(
        self,
        *,
        model: str | None = None,
        vectors: bool = False,
        progress: OnProgress = lambda done, pending: None,
    ) -> int:
        """Make full text and index again from the truth and the vectors; how many chunks were put.

        ``model`` moves to another embedding model, ``vectors`` computes all vectors again with the same
        one; until the new set is complete the old one serves.

        Raises:
            ModelUnavailable: the model can't be loaded; nothing was changed.
        """
        if model is None and not vectors:
            return self._serving.rebuild_index(progress)
        return self._serving.rebuild_vectors(model, progress)

    def _user(self, user_id: str | None) -> str:
        return self.settings.user if user_id is None else user_id

"""What serves now: one generation with its model, its ledger and its index, each opened when first needed.

A search of full text needs no model, a status neither, so nothing here is loaded before it is asked for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import appliance_models
from appliance.config import Settings
from appliance.errors import ModelUnavailable, StoreCorrupt
from appliance.ingest import embed, rechunk
from appliance.ingest.chunk import Chunker
from appliance.ingest.embed import Bench, Pace
from appliance.measures import Measures
from appliance.modelling import Models, identity
from appliance.paths import Home
from appliance.recall.at_hand import JustSaid
from appliance.recall.shelf import Shelf
from appliance.store import chunks, derived, lexical, variants
from appliance.store.check import Window
from appliance.store.chunks import Generation
from appliance.store.database import Database
from appliance.store.derived import Derived
from appliance.types import Event, OnProgress
from appliance.upkeep import Gate, meanwhile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models import Embedder

SOON = 64
"""A search first embeds what waits, if it is no more than this many chunks."""

SOON_SECONDS = 0.05
"""How long it waits for others' rounds to end, and how long it embeds itself. What then still waits is found by its
words; what was said just now by its meaning too, however much waits before it."""

TURN_SECONDS = 1.0
"""How long a drain leaves its next round to those who must not wait, however many of them come."""

SETTLE_AFTER = 10_000
"""Points between two housekeepings of the index: unsettled points sit in memory, settling them takes one to
three seconds for so many, in which nothing else goes on in this process."""

SETTLE_ANYHOW = 40_000
"""So many are settled even while somebody asks: 80 MB of memory, and a second at the next opening."""

CAUGHT_UP = 8
"""Chunks that a search embeds before it looks at the clock."""

TOLD_EVERY = 0.5
"""Seconds between two events that tell how far embedding has got."""


class Serving:
    """The derived side of an open home. Safe to use from several threads."""

    def __init__(
        self,
        home: Home,
        settings: Settings,
        database: Database,
        gate: Gate,
        measures: Measures,
        tell: Callable[[Event], None],
        embedder: Embedder | None = None,
    ) -> None:
        """``embedder`` is used in place of the configured model, and known by its own name."""
        self._home = home
        self._settings = settings
        self._database = database
        self._gate = gate
        self._measures = measures
        self._tell = tell
        self._guard = threading.RLock()
        self._draining = threading.Lock()
        self._rebuilding = threading.Lock()
        self._wanted: set[object] = set()
        self._none_wanted = threading.Condition()
        self._said = JustSaid()
        self._unsettled = 0
        self._untold = 0
        self._told_at = 0.0
        self._left = threading.Condition()
        self._readers = 0
        self._models = Models(home, settings, measures, embedder)
        self._derived: Derived | None = None

    def close(self) -> None:
        with self._undisturbed(), self._guard:
            self._let_go()

    @property
    def model_name(self) -> str:
        """The model that a new home would begin with."""
        return self._models.name

    # --- the generation, its model and its stores -------------------------------------------------------

    def generation(self) -> Generation | None:
        """The generation that serves; None in a home that nothing was ever stored in."""
        return chunks.generation(self._database.read())

    def begin(self) -> Generation:
        """The generation that serves, begun with the configured model if there is none yet.

        Raises:
            ModelUnavailable: its model can't be loaded, or is no longer the one that made its vectors.
        """
        with self._guard:
            found = self.generation()
            if found is None:
                model = self._models.load(self._models.name)
                with self._database.write() as tx:
                    return chunks.begin_generation(
                        tx, self._models.name, identity(model), model.dimension, active=True
                    )
            self._models.of(found)
            return found

    def stores(self) -> Derived | None:
        """The open ledger and index of the generation that serves."""
        with self._guard:
            found = self.generation()
            if self._derived is None and found is not None:
                derived.remove_strays(self._home, self._database)
                self._derived = self._open(found)
            return self._derived

    @contextmanager
    def reading(self) -> Iterator[Derived | None]:
        """The open stores, which nobody closes within. Whoever closes them holds the guard and waits, so
        nothing that takes the guard may be called within."""
        with self._guard:
            stores = self.stores()
            with self._left:
                self._readers += 1
        try:
            yield stores
        finally:
            with self._left:
                self._readers -= 1
                self._left.notify_all()

    def _let_go(self) -> None:
        """Close the stores once nobody reads them; with the guard, so that nobody new comes."""
        with self._left:
            self._left.wait_for(lambda: not self._readers)
        if self._derived is not None:
            self._derived.close()
            self._derived = None

    def target(self) -> tuple[int, Chunker]:
        """The generation that serves and how to chunk for it, asked within the transaction that stores."""
        found = self.generation() or self.begin()
        return found.id, self.chunker(self._models.of(found))

    def window(self) -> Window | None:
        """What the serving model reads of a passage; None in a home that nothing was ever stored in."""
        found = self.generation()
        if found is None:
            return None
        model = self._models.of(found)
        return Window(model.max_tokens, model.count_tokens)

    def chunker(self, model: Embedder) -> Chunker:
        return Chunker(model.count_tokens, model.max_tokens, self._settings.chunk.overlap)

    def _open(self, generation: Generation) -> Derived:
        index = self._settings.index
        return derived.open_derived(
            self._home, self._database, generation, url=index.url, collection=index.collection
        )

    # --- embedding ------------------------------------------------------------------------------------

    def pending(self) -> int:
        """How many chunks wait for their vector or their point."""
        found = self.generation()
        return chunks.pending(self._database.read(), found.id) if found else 0

    def is_due(self) -> bool:
        """Whether anything waits for the derived stores, be it to go."""
        return chunks.is_due(self._database.read())

    def drain(self, progress: OnProgress = lambda done, pending: None) -> int:
        """Embed and index all that waits; how many chunks it was. Questions go first, see ``Gate``."""
        return self._drain(lambda: True, progress)

    def drain_idly(self, goes_on: Callable[[], bool]) -> int:  # the same, until told not to go on
        return self._drain(goes_on, lambda done, pending: None)

    def said(self, message: int) -> None:
        """A message was said now: the next search sees that it is found, by what it means too."""
        self._said.add(message)

    def settle(self, goes_on: Callable[[], bool]) -> int:
        """Give the index's new points their final form, if there are many and nobody asks; 1 if that was done."""
        if self._unsettled < SETTLE_AFTER or not self._gate.is_calm() or not goes_on():
            return 0
        with self._undisturbed():
            if (stores := self.stores()) is not None:
                stores.index.settle()
            self._unsettled = 0
        return 1

    @contextmanager
    def _undisturbed(self, seconds: float = -1) -> Iterator[bool]:
        """Nobody else drains within; others' rounds make way. Whether that came about in so many seconds. It is
        always taken before the guard, which a drain takes too."""
        wish = object()
        self._wanted.add(wish)
        had = False
        try:
            had = self._draining.acquire(timeout=seconds)
            yield had
        finally:
            if had:
                self._draining.release()
            with self._none_wanted:
                self._wanted.discard(wish)
                self._none_wanted.notify_all()

    def _drain(self, goes_on: Callable[[], bool], progress: OnProgress) -> int:
        done = rounds = 0
        pace = Pace(self._gate.is_calm, self._gate.make_way, lambda: bool(self._wanted))
        while goes_on():
            with self._none_wanted:
                self._none_wanted.wait_for(lambda: not self._wanted, TURN_SECONDS)
            with self._draining:
                stores = self.stores()
                if stores is None:
                    return done
                bench = self._bench(stores, self._models.of(stores.generation), pace)
                put = embed.one_round(bench)
                self._unsettled += put.chunks + put.gists
                due = not put or self._unsettled >= SETTLE_AFTER
                if (due and self._gate.is_calm()) or self._unsettled >= SETTLE_ANYHOW:
                    stores.index.settle()
                    self._unsettled = 0
                if not put and rounds:
                    stores.make_private()
            if not put:
                if (
                    not rounds
                ):  # another thread has done it meanwhile, or there was nothing: that is told, too
                    progress(done, self.pending())
                break
            done, rounds, pending = done + put.chunks, rounds + 1, self.pending()
            self._told(put.chunks, pending)
            progress(done, pending)
        return done

    def _bench(self, stores: Derived, model: Embedder, pace: Pace) -> Bench:
        return Bench(
            self._database, stores.generation.id, stores.ledger, stores.index, model.embed_passages, pace,
            self._measures,
        )  # fmt: skip

    def _told(self, chunks: int, pending: int) -> None:
        """Tell how far embedding has got, now and then and at its end."""
        self._untold += chunks
        if self._untold and (not pending or time.monotonic() - self._told_at > TOLD_EVERY):
            self._told_at = time.monotonic()
            done, self._untold = self._untold, 0
            self._tell(Event("embedded", "", {"chunks": done, "pending": pending}))

    def _catch_up(self, found: Generation, model: Embedder) -> dict[int, NDArray[np.float32]]:
        """Embed the little that waits, as far as that can be had soon; of the messages said just now that still wait,
        their chunks' vectors, which stay at hand meanwhile."""
        if chunks.waits(self._database.read(), found.id, SOON + 1) <= SOON:
            self._put_soon(found, model)
        return self._said.vectors(self._database.read(), found.id, model.identity, model.embed_passages)

    def _put_soon(self, found: Generation, model: Embedder) -> None:
        with ExitStack() as turn:
            with self._gate.awaiting():
                if not turn.enter_context(self._undisturbed(SOON_SECONDS)):
                    return
            stores, until = self.stores(), time.monotonic() + SOON_SECONDS
            if stores is None or stores.generation.id != found.id:
                return
            bench = self._bench(stores, model, Pace(is_calm=lambda: False))
            while put := embed.put_chunks(bench, CAUGHT_UP):
                self._unsettled += put
                self._told(put, 0)
                if time.monotonic() > until:
                    return

    # --- search ---------------------------------------------------------------------------------------

    @contextmanager
    def shelf(self, *, dense: bool) -> Iterator[Shelf | None]:
        """What a search looks through, open as long as the search is within; None when nothing was ever
        stored. The model is loaded only for ``dense`` or when a little waits for it; one that can't be
        loaded leaves the shelf without, and the shelf says why."""
        with ExitStack() as leases:
            yield self._shelf(leases, dense)

    def _shelf(self, leases: ExitStack, dense: bool) -> Shelf | None:
        reranking = self._models.reranking() if dense else None
        while (found := self.generation()) is not None:
            if dense and self._derived is None:
                with suppress(StoreCorrupt), meanwhile(partial(self._models.warm, found.model)):
                    self.stores()
            model, lacks, fresh = None, "", {}
            behind = bool(self._said) or 0 < chunks.waits(self._database.read(), found.id, SOON + 1) <= SOON
            if dense or behind:
                try:
                    model = self._models.of(found)
                except ModelUnavailable as error:
                    lacks = str(error)
            try:
                if model is not None and behind:
                    with self._measures.searching("wait"):
                        fresh = self._catch_up(found, model)
                stores = leases.enter_context(self.reading())
            except StoreCorrupt as error:
                lexicon = appliance_models.load_lexicon
                return Shelf(self._database.read(), None, found.id, None, lexicon, str(error), reranking)
            if stores is not None and stores.generation.id == found.id:
                return Shelf(
                    db=self._database.read(),
                    index=stores.index,
                    generation=found.id,
                    embed=partial(self._models.embed_query, model) if model else None,
                    lexicon=appliance_models.load_lexicon,
                    lacks=lacks,
                    reranking=reranking,
                    timed=self._measures.searching,
                    fresh=fresh,
                )
            leases.close()  # a rebuild ended just now: once more, with its model
        return None

    # --- rebuilding -----------------------------------------------------------------------------------

    def rebuild_index(self, progress: OnProgress) -> int:
        """Make full text, index and the links between copies again, from the truth and the ledger; how many
        chunks were put."""
        with self._rebuilding, self._undisturbed(), self._guard:
            found = self.begin()
            self._let_go()
            derived.remove_index(self._home, found.id)
            with self._database.write() as tx:
                lexical.rebuild(tx)
                variants.forget(tx)
                chunks.requeue_all(tx, found.id)
        return self.drain(progress)

    def expunge(self, progress: OnProgress) -> int:
        """Erase from ledger, index and full text whatever the truth no longer has, and write the database anew; how
        many vectors that were. Interrupted, it leaves a memory that works, and can be done again."""
        with self._rebuilding, self._undisturbed(), self._guard:
            found = self.generation()
            self._let_go()
            with self._database.write() as tx:
                chunks.forget_strays(tx)
                lexical.optimize(tx)
            erased = 0
            if found is not None:
                erased = derived.expunge(self._home, self._database, found)
                derived.remove_index(self._home, found.id)
                with self._database.write() as tx:
                    chunks.requeue_all(tx, found.id)
        self.drain(progress)
        with self._undisturbed():
            self._database.compact()
        return erased

    def rebuild_vectors(self, name: str | None, progress: OnProgress) -> int:
        """Make a new generation with the named model (the present one without a name), and move to it when
        it is complete; how many chunks were put. Interrupted, it leaves the old one serving."""
        with self._rebuilding:
            done = self._rebuild_vectors(name, progress)
        return done + self.drain()

    def _rebuild_vectors(self, name: str | None, progress: OnProgress) -> int:
        found = self.generation()
        name = name or (found.model if found else self._models.name)
        model = self._models.load(name)
        self._forget_unfinished()
        with self._database.write() as tx:
            new = chunks.begin_generation(tx, name, identity(model), model.dimension, active=False)
        stores = self._open(new)
        try:
            rechunk.messages(self._database, new.id, self.chunker(model))
            rechunk.summaries(self._database, new.id, self.chunker(model))
            done = self._put_all(stores, model, progress)
        except BaseException:
            stores.close()
            raise
        with self._undisturbed(), self._guard:
            # A search that is under way looks up the old generation's chunks, which go with the move.
            self._let_go()
            # What was stored meanwhile is chunked now, while nobody else can write, and embedded with the
            # rest later.
            with self._database.write() as tx:
                rechunk.messages(self._database, new.id, self.chunker(model))
                rechunk.summaries(self._database, new.id, self.chunker(model))
                gone = chunks.activate(tx, new.id)
            self._derived = stores
            for generation in gone:
                derived.remove(self._home, generation)
        return done

    def _put_all(self, stores: Derived, model: Embedder, progress: OnProgress) -> int:
        """Embed and index all that waits for a generation that does not serve yet; how many chunks it was."""
        done = unsettled = 0
        bench = self._bench(stores, model, Pace(self._gate.is_calm, self._gate.make_way))
        while put := embed.one_round(bench):
            done, unsettled = done + put.chunks, unsettled + put.chunks + put.gists
            if unsettled >= SETTLE_AFTER:
                stores.index.settle()
                unsettled = 0
            progress(done, chunks.pending(self._database.read(), stores.generation.id))
        stores.index.settle()
        stores.make_private()
        return done

    def _forget_unfinished(self) -> None:
        """Discard what an interrupted rebuild left."""
        while (left := chunks.generation(self._database.read(), "building")) is not None:
            with self._database.write() as tx:
                chunks.discard(tx, left.id)
            derived.remove(self._home, left.id)

"""Erasure: out of the database first, then out of every file, then the search for traces.

After the first step of ``ErasureService.forget`` no request finds the messages any more. The steps after it remove
their traces from the files and search for what is left; ``finish_interrupted`` does so if ``forget`` was interrupted.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from appliance import requests as r
from appliance.engine import generation_changes, server_erasure
from appliance.engine.index_service import IndexService
from appliance.errors import IndexUnavailable, StoreError, with_sentence
from appliance.memory import erased_texts, traces
from appliance.memory import erasure as forgetting
from appliance.memory.erased_texts import ErasedTexts
from appliance.memory.erasure_selection import Selection, select
from appliance.memory.people import PeopleService
from appliance.paths import Home, discard_samples
from appliance.runtime.workers import ShouldContinue
from appliance.store import kept_files
from appliance.store.backup import catalogue
from appliance.store.database import Database
from appliance.timestamps import parse_bound
from appliance.types import ErasurePreview, ErasureReport, Event, OnProgress, Progress, Receipt, Scope
from appliance.types.progress import of_embedding


class ErasureService:
    """Erases messages in two steps: ``preview``, then ``forget``."""

    def __init__(
        self,
        home: Home,
        database: Database,
        index_service: IndexService,
        owner: str,
        publish: Callable[[Event], None],
        people: PeopleService,
    ) -> None:
        """``owner`` is the user of requests that name none; ``publish`` gets an event for each erasure."""
        self._home = home
        self._database = database
        self._index_service = index_service
        self._owner = owner
        self._publish = publish
        self._people = people
        self._running = threading.Lock()
        """Held by a running erasure, so that ``finish_interrupted`` does not close its receipt."""

    def preview(self, request: r.PreviewErasureRequest) -> ErasurePreview:
        """See ``PreviewErasureRequest``."""
        if request.author:
            self._people.refresh()
        return select(
            self._database.read(),
            Scope(self._owner if request.user_id is None else request.user_id, request.namespace),
            Selection(
                references=request.references,
                source=request.source or "",
                query=request.query or "",
                title=request.title or "",
                author=request.author or "",
                author_name=request.author_name or "",
                since=parse_bound(request.since, end=False),
                until=parse_bound(request.until, end=True),
                everything=request.everything,
                with_echoes=request.with_echoes,
                echo_ids=request.echo_ids,
                by=request.by,
            ),
        )

    def forget(self, request: r.ForgetRequest, on_progress: OnProgress) -> Receipt:
        """See ``ForgetRequest``."""
        with self._one_at_a_time(on_progress):
            self._people.refresh()
            key, texts = forgetting.erase(self._database, request.preview, self._home.erasing, self._people.own_name)
            counts = {"messages": len(request.preview.messages), "sessions": len(request.preview.sessions)}
            self._publish(Event("forgotten", "", {**counts, "receipt": key}))
            interrupted = self._interrupted(but=key)
            try:
                reports = self._remove_traces({**interrupted, key: texts}, on_progress)
            except StoreError as error:
                raise with_sentence(
                    error,
                    "The messages are forgotten and not found any more; files may hold traces of them until this has"
                    " been finished, by itself or by the next 'appliance forget'.",
                ) from error
        # This time with the names of the exports that still hold it; the stored receipt has none.
        return self._with_backups(replace(forgetting.receipt(self._database.read(), key), proof=reports[key]))

    @contextmanager
    def _one_at_a_time(self, on_progress: OnProgress) -> Iterator[None]:
        """Within the context no other erasure runs, nor what finishes an interrupted one."""
        if not self._running.acquire(timeout=generation_changes.WAIT_NOTICE_SECONDS):
            _note_waiting(on_progress, "another erasure")
            self._running.acquire()
        try:
            yield
        finally:
            self._running.release()

    def receipts(self, request: r.ReceiptsRequest) -> list[Receipt]:
        """See ``ReceiptsRequest``."""
        return [self._with_backups(receipt) for receipt in forgetting.receipts(self._database.read())]

    def _with_backups(self, receipt: Receipt) -> Receipt:
        return replace(receipt, backups=tuple(catalogue.holding(self._home, receipt.at)))

    def finish_interrupted(self, should_continue: ShouldContinue) -> int:
        """Finish erasures that were interrupted, unless one is running. Returns how many there were."""
        if not forgetting.open_receipts(self._database.read()) and not self._home.erasing.is_dir():
            return 0
        if not self._running.acquire(blocking=False):
            return 0
        try:
            interrupted = self._interrupted()
            if interrupted and not self._home.erasing.is_dir() and self._await_servers(interrupted):
                self._erase_points(interrupted)
                return len(interrupted) - len(forgetting.open_receipts(self._database.read()))
            if interrupted:
                self._remove_traces(interrupted, lambda progress: None)
            else:
                erased_texts.discard_all(self._home.erasing)
        finally:
            self._running.release()
        return len(interrupted)

    def unfinished(self) -> str:
        """What is left of interrupted erasures, and what finishes them; empty if nothing is, or one is running."""
        return "" if self._running.locked() else forgetting.unfinished(self._database.read(), self._home.erasing)

    def _await_servers(self, keys: Collection[int]) -> bool:
        """Whether only points on servers are left to erase."""
        return all(forgetting.receipt(self._database.read(), key).proof.awaits_server for key in keys)

    def _interrupted(self, but: int | None = None) -> dict[int, ErasedTexts | None]:
        """The open receipts and their texts, as far as they are known; without the receipt ``but``."""
        keys = forgetting.open_receipts(self._database.read())
        return {key: erased_texts.kept(self._home.erasing, key) for key in keys if key != but}

    def _remove_traces(
        self, erasures: Mapping[int, ErasedTexts | None], on_progress: OnProgress
    ) -> dict[int, ErasureReport]:
        """Rewrite the files, search them for the texts of each receipt, and close the receipts. Returns the reports."""
        reports: dict[int, ErasureReport] = {}
        catalogue.remove_own(self._home)
        discard_samples(self._home)
        kept_files.purge(self._database, self._home.attachments)
        vectors = self._index_service.expunge(of_embedding(on_progress), partial(_note_waiting, on_progress))
        for key, texts in erasures.items():
            if texts is not None:
                reports[key] = traces.find_traces(self._database.read(), self._home, texts)
                forgetting.record_report(self._database, key, vectors, reports[key])
        # Before a receipt says that it is done, no file has the texts any more.
        erased_texts.discard_all(self._home.erasing)
        self._erase_points(erasures)
        return {key: replace(report, **self._server_part(key)) for key, report in reports.items()}

    def _erase_points(self, keys: Collection[int]) -> None:
        """Erase the points on servers, if there are any, and close the receipts; they stay open if a server is away.
        The texts are not needed for that, and are gone by now."""
        if server_erasure.has_points(self._database):
            try:
                found = server_erasure.erase_points(self._database, self._index_service)
            except IndexUnavailable:
                for key in keys:
                    forgetting.record_points(self._database, key, awaits_server=True)
                return
            for key in keys:
                forgetting.record_points(
                    self._database, key, collections=found.collections, points=found.points,
                    dropped_collections=found.dropped, awaits_server=False,
                )  # fmt: skip
        for key in keys:
            forgetting.close_receipt(self._database, key)

    def _server_part(self, key: int) -> dict[str, Any]:
        """What the stored report says about servers."""
        report = forgetting.receipt(self._database.read(), key).proof
        names = ("collections", "points", "dropped_collections", "awaits_server")
        return {name: getattr(report, name) for name in names}


def _note_waiting(on_progress: OnProgress, waits_for: str) -> None:
    on_progress(Progress("waiting", 0, waits_for=waits_for))

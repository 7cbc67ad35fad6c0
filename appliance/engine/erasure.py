"""Erasure: out of the database first, then out of every file, then the search for traces.

After the first step of ``ErasureService.forget`` no request finds the messages any more. The steps after it remove
their traces from the files; ``finish_interrupted`` does so if ``forget`` was interrupted.
"""

from __future__ import annotations

from collections.abc import Callable

from appliance import requests as r
from appliance.engine.index_service import IndexService
from appliance.memory import erasure as forgetting
from appliance.paths import Home, file_stats
from appliance.runtime.workers import ShouldContinue
from appliance.store.database import Database
from appliance.types import ErasurePreview, ErasureReport, Event, OnProgress, Progress, Receipt, Scope


class ErasureService:
    """Erases messages in two steps: ``preview``, then ``forget``."""

    def __init__(
        self, home: Home, database: Database, index_service: IndexService, owner: str, publish: Callable[[Event], None]
    ) -> None:
        """``owner`` is the user of requests that name none; ``publish`` gets an event for each erasure."""
        self._home = home
        self._database = database
        self._index_service = index_service
        self._owner = owner
        self._publish = publish

    def preview(self, request: r.PreviewErasureRequest) -> ErasurePreview:
        """See ``PreviewErasureRequest``."""
        return forgetting.select(
            self._database.read(),
            Scope(self._owner if request.user_id is None else request.user_id, request.namespace),
            references=request.references,
            source=request.source,
            query=request.query,
            everything=request.everything,
        )

    def forget(self, request: r.ForgetRequest, on_progress: OnProgress) -> Receipt:
        """See ``ForgetRequest``."""
        texts = forgetting.text_probes(self._database.read(), request.preview.messages, self._disk_bytes())
        key = forgetting.erase(self._database, request.preview)
        counts = {"messages": len(request.preview.messages), "sessions": len(request.preview.sessions)}
        self._publish(Event("forgotten", "", {**counts, "receipt": key}))
        vectors = self._index_service.expunge(lambda done, pending: on_progress(Progress("embedding", done, pending)))
        report = forgetting.find_traces(self._database.read(), self._home.root, self._home.inbox, texts)
        forgetting.close_receipts(self._database, vectors, {key: report})
        return forgetting.receipt(self._database.read(), key)

    def receipts(self, request: r.ReceiptsRequest) -> list[Receipt]:
        """See ``ReceiptsRequest``."""
        return forgetting.receipts(self._database.read())

    def finish_interrupted(self, should_continue: ShouldContinue) -> int:
        """Remove the traces that an interrupted ``forget`` left in the files. Returns 1 if there was one."""
        if not forgetting.has_open_receipts(self._database.read()):
            return 0
        vectors = self._index_service.expunge(lambda done, pending: None)
        no_reports: dict[int, ErasureReport] = {}
        forgetting.close_receipts(self._database, vectors, no_reports)
        return 1

    def _disk_bytes(self) -> int:
        return sum(one.st_size for one in file_stats(self._home.root))

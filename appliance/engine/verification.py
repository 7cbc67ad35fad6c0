"""``verify`` of an open home, with what can be opened of it."""

from __future__ import annotations

from pathlib import Path

from appliance.engine.index_service import IndexService
from appliance.errors import DiskFull, IndexUnavailable, OutOfMemory
from appliance.store import check
from appliance.store.database import Database
from appliance.types import VerifyReport


def verify(
    database: Database, index_service: IndexService, attachments: Path, unfinished: str, *, deep: bool
) -> VerifyReport:
    """Check all stores; see ``VerifyRequest``. An index whose server is away is reported, and the rest is checked.
    ``unfinished`` says what is left of interrupted erasures, which is a problem."""
    report = _verify_stores(database, index_service, attachments, deep=deep)
    if unfinished:
        report.add("erasing", unfinished)
    if not report.problems and (found := index_service.chunk_changes.count()) is not None:
        report.count("chunked_otherwise", found.messages)
    return report


def _verify_stores(database: Database, index_service: IndexService, attachments: Path, *, deep: bool) -> VerifyReport:
    serving = index_service.serving
    window = serving.model_window() if deep else None
    try:
        with serving.lease() as stores:
            return check.verify(database, stores, window, index_service.serving.other_ledgers(), attachments)
    except IndexUnavailable as error:
        with index_service.preserve_vectors(), serving.without_index(error) as stores:
            return check.verify(database, stores, window, attachments=attachments)
    except (DiskFull, OutOfMemory) as error:
        report = check.verify(database, None, window, attachments=attachments)
        report.add("index", f"not checked, nor the vectors: {error.args[0]}")
        return report

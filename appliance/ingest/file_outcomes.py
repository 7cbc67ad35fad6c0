"""What becomes of a file: its entry, from the results of its documents."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from appliance.formats.unrecognised import UNKNOWN_BEGINNING
from appliance.ingest.sources import NOT_RECOGNISED, UNREADABLE
from appliance.ingest.watch_roots import stamp_of
from appliance.paths import is_there
from appliance.store import file_problems, watched_files
from appliance.store.database import Database
from appliance.store.watched_files import WatchedEntry
from appliance.types import FileReport

_UNKNOWN = (
    "not recognised as a chat export; if it is one of a format that 'appliance ingest --help' lists, name the format"
)


def outcome_of(file: WatchedEntry, digest: bytes, reports: Sequence[FileReport]) -> WatchedEntry:
    """The entry of a file, from the results of its documents (a zip has several). Keeps the digest only of a file that
    was read completely: others are tried again when their modification time changes."""
    errors = [problem for report in reports for problem in report.errors]
    is_read = any(report.status == "ok" for report in reports)
    if errors:
        prefix = f"{errors[0].where}: " if errors[0].where else ""
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        is_partial = is_read or any(report.messages for report in reports)
        reason = f"{prefix}{errors[0].message}{more}"
        return replace(file, state="partial" if is_partial else "failed", reason=reason)
    if is_read:
        return replace(file, state="read", digest=digest)
    notes = [problem.message for report in reports for problem in report.notes]
    return replace(file, state="skipped", reason=notes[0] if notes else "no chat export found")


def note_imported(
    database: Database, reports: Iterable[FileReport], places: Sequence[Path], owner: str, reader: str
) -> None:
    """Note which of the files and folders that a person imported were not read completely, and which are so no more.

    Args:
        database: Where it is noted.
        reports: What was read of each document, by its absolute path.
        places: The paths that the person named.
        owner: For whom, as ``WatchedEntry`` has it.
        reader: The version of the program.
    """
    known = {problem.path for problem in file_problems.stored(database.read(), dismissed=True)}
    listed = list(reports)
    if not known and not any(report.errors for report in listed):
        return
    by_file: dict[Path, list[FileReport]] = {}
    for report, file in _with_files(listed):
        by_file.setdefault(file, []).append(report)
    changed: dict[Path, list[FileReport]] = {
        file: documents for file, documents in by_file.items()
        if file in known or any(report.errors for report in documents)
    }  # fmt: skip
    # A folder that can be read is not reported, what is in it is.
    changed |= {
        path: []
        for path in known
        if path not in by_file and os.path.isdir(path) and file_problems.lies_in(path, places)
    }
    if changed:
        with database.write() as tx:
            _note(tx, changed, owner, reader)


def _note(tx: sqlite3.Connection, by_file: Mapping[Path, Sequence[FileReport]], owner: str, reader: str) -> None:
    forgotten = watched_files.forgotten_entries(tx)
    for file, documents in by_file.items():
        if (stamp := stamp_of(file)) is None or _is_no_export(documents):
            continue
        if not documents:
            file_problems.settle(tx, file, owner)
            continue
        entry = WatchedEntry(file, file_problems.BY_HAND, stamp, "queued", reader=reader, owner=owner)
        entry = outcome_of(entry, b"", documents)
        if entry.reason.startswith(UNKNOWN_BEGINNING):
            entry = replace(entry, reason=_UNKNOWN)  # without the beginning of a file that may be anything
        if entry.state not in ("failed", "partial"):
            file_problems.settle(tx, file, owner)
        elif any(report.new or report.updated for report in documents) or forgotten(file) is None:
            file_problems.note_by_hand(tx, entry)  # of a forgotten file, the name is kept only with new messages


def _is_no_export(documents: Sequence[FileReport]) -> bool:
    """Whether a file can be no chat export, as a picture: a person who names one has been told so. A text of an unknown
    kind may be one."""
    errors = [problem.message for report in documents for problem in report.errors]
    return bool(errors) and all(
        message.startswith(NOT_RECOGNISED) and not message.startswith(UNKNOWN_BEGINNING) for message in errors
    )


def _with_files(reports: Iterable[FileReport]) -> Iterable[tuple[FileReport, Path]]:
    """Each report with the file of its document: itself, or the zip that it is in; or with the folder that may not be
    read or entered. Without those that are not there."""
    zips: dict[Path, Path | None] = {}
    for report in reports:
        path = Path(os.path.abspath(report.path))
        if os.path.isfile(path):  # false, and no error, in a folder that may not be entered
            yield report, path
        elif (found := _file_around(path.parent, zips)) is not None:
            yield report, found
        elif is_there(path) and any(problem.message.startswith(UNREADABLE) for problem in report.errors):
            yield report, next(place for place in (path, *path.parents) if os.path.isdir(place))


def _file_around(folder: Path, known: dict[Path, Path | None]) -> Path | None:
    if folder not in known:
        is_end = folder == folder.parent or os.path.isdir(folder)
        known[folder] = folder if os.path.isfile(folder) else None if is_end else _file_around(folder.parent, known)
    return known[folder]

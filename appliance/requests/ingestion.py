"""Requests that take messages in and write them out again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from appliance.paths import Paths
from appliance.requests.base import Request
from appliance.types import Discovery, IngestReport, SecretPolicy, Stream, WatchChange, WatchedFolder, WatchEvent


@dataclass(frozen=True, slots=True)
class IngestRequest(Request[IngestReport]):
    """Read files, folders and zips into the memory.

    Reading the same export again adds only what is new. What can't be read, also a path that does not exist, raises
    nothing: its ``FileReport`` has the status "failed" or "partial", and the reasons. A native export names the owners
    of its conversations and they keep them, unless ``user_id`` or ``namespace`` is given.

    Args:
        source: A path, or several.
        format: The format, in place of detection.
        user_id: Whose memory it goes into; by default the configured user's.
        namespace: The namespace within that memory.
        dry_run: Report what would happen, and change nothing.
        again: Take in again what was forgotten before.
        secrets: "drop" stores no keys, tokens, card numbers and passwords; by default as the settings say.
        wait: Return when everything is durable and embedded. False returns when it is durable and found by its words.
        keep_attachments: Copy the attached files that the export has into the home; by default as the settings say.
        day_first: Whether the day stands before the month in dates of WhatsApp and the like that leave it open; by
            default, the usual order of the style.

    Raises:
        ModelUnavailable: The embedding model can't be loaded. Nothing was read.
        UsageError: There is no such format, or a path is the memory itself.
    """

    name: ClassVar[str] = "ingest"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    long_running: ClassVar[bool] = True

    source: Paths
    _: KW_ONLY
    format: str | None = None
    user_id: str | None = None
    namespace: str = ""
    dry_run: bool = False
    again: bool = False
    secrets: SecretPolicy | None = None
    wait: bool = True
    keep_attachments: bool | None = None
    day_first: bool | None = None


@dataclass(frozen=True, slots=True)
class EmbedRequest(Request[int]):
    """Finish interrupted erasures; embed and index every chunk that waits now. Returns how many chunks there were.

    Args:
        generation: A generation that is kept after a change of the model: it gets what was stored since it served.

    Raises:
        ModelUnavailable: The embedding model can't be loaded.
        NotFound: There is no such generation.
    """

    name: ClassVar[str] = "embed_pending"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    long_running: ClassVar[bool] = True

    _: KW_ONLY
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class RunJobsRequest(Request[int]):
    """Run the background jobs that are due now: extract facts, summarise, delete expired sessions, embed the result.

    Args:
        max_seconds: Begin no further job after so many seconds. At least one that is due is run to its end. None to run
            all that are due.

    Returns:
        How many jobs had something to do.
    """

    name: ClassVar[str] = "run_pending_jobs"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True
    long_running: ClassVar[bool] = True

    max_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class WatchRequest(Request[Stream[WatchEvent]]):
    """Read the inbox, the configured folders and ``folders`` whenever an export lands there.

    Yields each file's report as it is read. Closing the stream ends the watching.

    Args:
        folders: Folders to watch besides the configured ones.
        user_id: Whose memory it goes into; by default the configured user's.
        namespace: The namespace within that memory.
        once: End when everything that is there has been read.

    Raises:
        HomeError: One of ``folders`` does not exist.
    """

    name: ClassVar[str] = "watching.watch"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True

    folders: Sequence[str | os.PathLike[str]] = ()
    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""
    once: bool = False


@dataclass(frozen=True, slots=True)
class ListWatchedFoldersRequest(Request[list[str]]):
    """List the folders that a watcher would watch: the inbox, the configured ones and ``folders``, without those that
    lie in another one.

    Args:
        folders: Folders to watch besides the configured ones.

    Raises:
        HomeError: One of ``folders`` does not exist.
    """

    name: ClassVar[str] = "watching.folders"

    folders: Sequence[str | os.PathLike[str]] = ()


@dataclass(frozen=True, slots=True)
class DiscoverRequest(Request[Discovery]):
    """Look where the histories of other programs and exports lie on this machine. Only reads, and stores nothing.

    Args:
        seconds: How long conversations may be counted. What is not counted by then is estimated, and marked so; 0
            counts nothing.
    """

    name: ClassVar[str] = "discover"
    long_running: ClassVar[bool] = True

    _: KW_ONLY
    seconds: float = 20.0


@dataclass(frozen=True, slots=True)
class ExportRequest(Request[Stream[dict[str, Any]]]):
    """Yield every stored message as a native JSONL object, session by session.

    Args:
        user_id: Only this user's messages; by default everybody's.
        state: Then also yield what else the memory holds, as objects with the key ``record``: how sessions are set,
            branches, earlier forms of messages, facts with their evidence, what was decided about them, and the digests
            of what was forgotten. Ingesting all of it gives the same memory.
        ids: Only these messages ("m345") and whole sessions ("s12"), instead of all.

    Raises:
        NotFound: An id names no message and no session.
        UsageError: Both ``ids`` and ``state`` are given.
        IncompleteExport: After everything else was yielded, if some messages are damaged.
    """

    name: ClassVar[str] = "export"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True

    _: KW_ONLY
    user_id: str | None = None
    state: bool = False
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ExportMarkdownRequest(Request[Stream[str]]):
    """Yield the same as Markdown, piece by piece.

    Args:
        user_id: Only this user's messages; by default everybody's.
        ids: Only these messages ("m345") and whole sessions ("s12"), instead of all.

    Raises:
        NotFound: An id names no message and no session.
        IncompleteExport: After everything else was yielded, if some messages are damaged.
    """

    name: ClassVar[str] = "export_markdown"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True

    _: KW_ONLY
    user_id: str | None = None
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ExportHtmlRequest(Request[Stream[str]]):
    """Yield the same as one HTML page, piece by piece. The page has no scripts and loads nothing.

    Args:
        user_id: Only this user's messages; by default everybody's.
        ids: Only these messages ("m345") and whole sessions ("s12"), instead of all.

    Raises:
        NotFound: An id names no message and no session.
        IncompleteExport: After everything else was yielded, if some messages are damaged.
    """

    name: ClassVar[str] = "export_html"
    repeatable: ClassVar[bool] = False
    resumable: ClassVar[bool] = True

    _: KW_ONLY
    user_id: str | None = None
    ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ListWatchedRequest(Request[list[WatchedFolder]]):
    """List the folders and files that are watched, and what became of the files in each: the inbox, those of the
    setting ``watch.folders``, and those that a running watcher was asked for."""

    name: ClassVar[str] = "watching.places"


@dataclass(frozen=True, slots=True)
class AddWatchedRequest(Request[WatchChange]):
    """Add folders and files to the setting ``watch.folders``; a watcher that runs follows at once.

    Args:
        paths: The folders and files; absolute, because the home's owner may work in another folder.

    Returns:
        Those that were not there.

    Raises:
        HomeError: One of them does not exist.
        ConfigError: The file of the settings is invalid. Nothing was changed.
    """

    name: ClassVar[str] = "watching.add"

    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class RemoveWatchedRequest(Request[WatchChange]):
    """Remove folders and files from the setting ``watch.folders``; a watcher that runs follows at once. Messages that
    were read from them stay.

    Args:
        paths: The folders and files, as they stand there or as absolute paths.

    Returns:
        Those that were there.

    Raises:
        ConfigError: The file of the settings is invalid. Nothing was changed.
    """

    name: ClassVar[str] = "watching.remove"

    paths: Sequence[str]

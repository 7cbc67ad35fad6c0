"""Discovery: finds the histories on this machine, counts what they hold, and says which are watched."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from appliance import config
from appliance.ingest.discovery.counting import HistoryTally, count
from appliance.ingest.discovery.places import Machine, Platform
from appliance.ingest.discovery.search import FoundPlace, Search
from appliance.paths import Home, display_path
from appliance.requests import DiscoverRequest
from appliance.types import Discovery, FoundHistory, OnProgress, Progress

_PLATFORMS: dict[str, Platform] = {"darwin": "mac", "win32": "windows"}


def this_machine() -> Machine:
    """The machine of this process and its user."""
    return Machine(Path.home(), _PLATFORMS.get(sys.platform, "linux"), os.environ)


def discover(
    request: DiscoverRequest,
    home: Home,
    me: str,
    on_progress: OnProgress = lambda progress: None,
    yield_to_queries: Callable[[], None] = lambda: None,
) -> Discovery:
    """See ``DiscoverRequest``. ``me`` is the person's name where a format only says "me"; empty if it is unknown."""
    search = Search(this_machine(), me or None, yield_to_queries)
    places = list(search.run())
    deadline = time.monotonic() + request.seconds
    tallies: dict[int, HistoryTally] = {}
    # The small ones first: most are then counted exactly, whatever the others take.
    for done, index in enumerate(sorted(range(len(places)), key=lambda index: places[index].bytes)):
        on_progress(Progress("discovering", done, len(places) - done, display_path(places[index].path)))
        if not places[index].problem:
            tallies[index] = count(places[index], me or None, deadline, yield_to_queries)
    watched = _watched_folders(home)
    downloads = search.machine.downloads()
    found = (_found(place, tallies.get(index), watched, downloads) for index, place in enumerate(places))
    return Discovery(tuple(one for one in found if one is not None), tuple(search.notes))


def _found(
    place: FoundPlace, tally: HistoryTally | None, watched: Sequence[Path], downloads: Sequence[Path]
) -> FoundHistory | None:
    """What is said of a place; None if there are no conversations in it."""
    shown, problem, hint = display_path(place.path), place.problem, place.hint
    if tally is not None and tally.is_complete and not tally.conversations:
        if not tally.problem:
            return None
        problem, hint = tally.problem, place.hint or "'appliance ingest PATH' names every error"
    if not problem and "\ufffd" in shown:
        problem, hint = "its name is not UTF-8", "'appliance ingest' reads it; rename it to have it watched"
    first, last = tally.span() if tally else (None, None)
    return FoundHistory(
        tool=place.tool,
        format=tally.format if tally else None,
        path=shown,
        conversations=tally.projected(place.bytes) if tally else None,
        first=first,
        last=last,
        bytes=place.bytes,
        watched=any(place.path == folder or folder in place.path.parents for folder in watched),
        estimated=tally is not None and not tally.is_complete,
        problem=problem,
        hint=hint,
        watch_path=display_path(next((folder for folder in downloads if folder in place.path.parents), place.path)),
    )


def _watched_folders(home: Home) -> list[Path]:
    """The watched folders and files, as the settings name them now."""
    named = (Path(folder).expanduser() for folder in config.load(home).watch.folders)
    return [Path(os.path.abspath(folder)) for folder in (home.inbox, *named)]

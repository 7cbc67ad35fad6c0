"""The memory as a program holds it: in its own process, or attached to the daemon that owns the home.

Callers can't tell the difference: ``attached.Attached`` has the rooms of an ``Engine``.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Self, cast

from appliance import __version__, paths
from appliance.engine import Engine
from appliance.errors import DaemonGone, HomeLocked

if TYPE_CHECKING:
    from appliance.server.attached import Attached
    from appliance_models import Embedder

BEGINS = 15.0
"""Seconds that a daemon may take from owning a home to answering: it opens a large one in two."""

SERVES = "appliance serve"
"""The purpose that a daemon names when it takes a home."""


class Appliance(Engine):
    """An open memory. Use it as a context manager, from any number of threads.

    ``Appliance.open`` makes one; all times are UTC where known, all ids are text ("m345", "s12").
    """

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

        Where a daemon (``appliance serve``) owns it, this attaches to the daemon; else this process owns it from now
        on. ``worker`` lets a background thread embed what ``ingest(wait=False)`` and ``Session.add`` leave
        waiting, beginning with what an earlier process left; a daemon does so anyway. ``embedder`` is used in
        place of the configured model, and never attaches. ``purpose`` is what a second process is told when it
        finds the home in use.

        Raises:
            HomeError: the folder can't be used, or holds no memory and ``create`` is False.
            HomeLocked: another process has it open, and it is no daemon, or one of another version.
            StoreError, ConfigError: the store or the settings refuse.
        """
        found = paths.find_home(home)
        began = time.monotonic()
        while True:
            attached = attach(found) if embedder is None else None
            if attached is not None:
                return cast("Self", attached)
            try:
                return super().open(home, create=create, worker=worker, embedder=embedder, purpose=purpose)
            except HomeLocked as error:
                if embedder or SERVES not in str(error) or time.monotonic() - began > BEGINS:
                    raise
            time.sleep(0.05)  # it has the home, and will listen soon


def attach(home: paths.Home) -> Attached | None:
    """The memory of the daemon that owns a home; None if there is none.

    Raises:
        HomeLocked: it is a daemon of another version.
    """
    if not home.daemon.exists():
        return None
    from appliance.server.attached import Attached, Hello
    from appliance.server.line import Line

    line = Line(home)
    try:
        hello = line.get("/hello", Hello)
    except DaemonGone:
        return None
    if hello.version != __version__:
        line.close()
        raise HomeLocked(
            f"in use by a daemon of version {hello.version}, and this is {__version__}",
            where=str(home.root),
            hint="restart the daemon, so that both are of one version",
        )
    return Attached(home, line, hello.settings)

"""Starts the screen on a home."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.server.client import Appliance


def run(
    home: str | None,
    user: str | None = None,
    theme: str | None = None,
    begun: Callable[[], None] = lambda: None,
) -> int:
    """Show the memory in ``home`` until the person leaves; the exit code. ``user`` is whose it is at first, ``theme``
    goes before that of the settings; ``begun`` is called when the first frame stands and the memory is to be opened.

    Raises:
        ApplianceError: the settings of the screen name what is not there, or the memory can't be opened.
    """
    # See ``opener``; what is loaded on the way there is no garbage either.
    gc.disable()
    try:
        return _run(home, user, theme, begun)
    finally:
        gc.enable()


def _run(home: str | None, user: str | None, theme: str | None, begun: Callable[[], None]) -> int:
    from appliance import config, paths
    from appliance_tui.app import ApplianceApp
    from appliance_tui.keys import remapped

    found = paths.find_home(home)
    settings = config.load(found)

    app = ApplianceApp(
        opener(found.root, begun),
        theme=settings.tui.theme if theme is None else theme,
        keys=remapped(settings.tui.keys, str(found.config)),
        motion=settings.tui.motion,
        owner=settings.user,
    )
    app.user = user
    app.run()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


def opener(root: Path, begun: Callable[[], None] = lambda: None) -> Callable[[], Appliance]:
    """What opens the memory for the screen, on a thread. What is loaded by then stays loaded: to look through it for
    garbage now and then would hold up a frame."""

    def open_it() -> Appliance:
        begun()
        from appliance.server.client import Appliance

        try:
            return Appliance.open(root, purpose="appliance tui")
        finally:
            gc.freeze()
            gc.enable()

    return open_it

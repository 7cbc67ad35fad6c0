"""Starts the screen on a home."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import DiskFull

if TYPE_CHECKING:
    from appliance.client import Appliance

PURPOSE = "appliance tui"

DISK_FULL_MESSAGE = (
    "The disk is full: you can read and search, and nothing new is stored. Make room, then start the screen again."
)


def run(
    home: str | None,
    user: str | None = None,
    theme: str | None = None,
    on_open: Callable[[], None] = lambda: None,
    reveal: bool = False,
) -> int:
    """Show the memory in ``home`` until the person quits.

    Args:
        user: whose memory is shown first; the settings' user by default.
        theme: overrides the settings' theme.
        on_open: called on a thread when the first frame is drawn and the memory is about to be opened.
        reveal: shows keys, tokens, card numbers and passwords.

    Returns:
        The exit code.

    Raises:
        ApplianceError: the screen's settings are invalid, or the memory can't be opened.
    """
    # The modules loaded during start-up are not garbage; see ``memory_opener``.
    gc.disable()
    try:
        return _run(home, user, theme, on_open, reveal)
    finally:
        gc.enable()


def _run(home: str | None, user: str | None, theme: str | None, on_open: Callable[[], None], reveal: bool) -> int:
    from appliance import config, paths
    from appliance_tui.app import ApplianceApp
    from appliance_tui.keys import resolve_keymap
    from appliance_tui.terminal_restore import restored_when_killed

    location = paths.find_home(home)
    settings = config.load(location)
    app = ApplianceApp(
        memory_opener(location.root, on_open, reveal, lambda: app.show_banner(DISK_FULL_MESSAGE)),
        theme=settings.tui.theme if theme is None else theme,
        keys=resolve_keymap(settings.tui.keys, str(location.config)),
        motion=settings.tui.motion,
        owner=settings.user,
    )
    app.user = user
    with restored_when_killed():
        app.run()
    if app.failure is not None:
        raise app.failure
    return app.return_code or 0


def memory_opener(
    root: Path,
    on_open: Callable[[], None] = lambda: None,
    reveal: bool = False,
    on_full_disk: Callable[[], None] = lambda: None,
) -> Callable[[], Appliance]:
    """A function that opens the memory for the screen, on a thread. It exempts what is loaded by then from garbage
    collection: looking through it now and then would hold up a frame. A memory on a full disk is opened to be read, and
    ``on_full_disk`` is called, on the same thread."""

    def open_memory() -> Appliance:
        from appliance.client import Appliance

        try:
            on_open()  # may wait for another process: the modules are loaded meanwhile
            try:
                memory = Appliance.open(root, purpose=PURPOSE)
            except DiskFull:
                memory = Appliance.open(root, purpose=PURPOSE, worker=False)
                on_full_disk()
            return memory if reveal else memory.masked()
        finally:
            gc.freeze()
            gc.enable()

    return open_memory

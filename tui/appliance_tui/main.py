"""Starts the screen on a home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.server.client import Appliance


def run(home: str | None) -> int:
    """Show the memory in ``home`` until the person leaves; the exit code.

    Raises:
        ConfigError: the settings of the screen name what is not there.
    """
    from appliance_tui.app import ApplianceApp

    def open_it() -> Appliance:
        from appliance.server.client import Appliance

        return Appliance.open(Path(home) if home else None, purpose="appliance tui")

    app = ApplianceApp(open_it)
    app.run()
    return app.return_code or 0

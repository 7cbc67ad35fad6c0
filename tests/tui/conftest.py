"""What all tests of the screen have."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _asked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody types while a test waits for what nobody asked for."""
    monkeypatch.setattr("appliance_tui.app.STARTUP_DELAY_SECONDS", 0.0)

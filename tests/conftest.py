"""Every test has a home of its own, no settings from outside, and no network."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from appliance import Appliance
from appliance_models import HashEmbedder

# How fast examples are made and tried says something of the machine, on which another test runs beside, and not of us.
settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("here")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that does not exist yet."""
    for name in [name for name in os.environ if name.startswith("APPLIANCE_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "home"
    monkeypatch.setenv("APPLIANCE_HOME", str(folder))
    return folder


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    """An open memory with a tiny deterministic model and no background work."""
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened

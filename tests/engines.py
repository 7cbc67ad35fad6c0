"""The engine behind a memory that this process owns, for tests that look beneath the public verbs."""

from __future__ import annotations

from typing import Any

from appliance import Appliance
from appliance.engine.engine import Engine


def engine_of(memory: Appliance) -> Engine:
    """The engine of a memory; one that another process owns has none here."""
    transport: Any = memory._transport
    engine: Engine = transport._transport.engine
    return engine

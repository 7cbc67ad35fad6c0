"""An offline-first memory for a person's own machine.

    from appliance import Appliance

    with Appliance.open("~/memory") as memory:
        memory.ingest("export.zip")
        for hit in memory.search("deployment issue", limit=3):
            print(hit.timestamp, hit.author, hit.snippet)

Importing this package loads nothing heavy; the names below are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance.errors import ApplianceError
    from appliance.memory.session import Session
    from appliance.server.client import Appliance
    from appliance.types import Context, Hit, Hits, IngestReport, Message, SessionInfo, WhyNot

__version__ = "0.1.0"

_ROOMS = {
    "Appliance": "server.client",
    "ApplianceError": "errors",
    "Context": "types",
    "Hit": "types",
    "Hits": "types",
    "IngestReport": "types",
    "Message": "types",
    "Session": "memory.session",
    "SessionInfo": "types",
    "WhyNot": "types",
}

__all__ = [
    "Appliance",
    "ApplianceError",
    "Context",
    "Hit",
    "Hits",
    "IngestReport",
    "Message",
    "Session",
    "SessionInfo",
    "WhyNot",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)

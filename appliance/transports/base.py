"""The seam between a client and an engine: one method."""

from __future__ import annotations

from typing import Protocol, TypeVar

from appliance.requests import Request
from appliance.types import OnProgress

R = TypeVar("R")


class Transport(Protocol):
    """Carries requests to an engine and brings their results back. Safe to use from several threads."""

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Run a request and return its result.

        A result that is a stream is read while it is made; closing it ends the work behind it.

        Raises:
            ApplianceError: The verb's own errors.
            DaemonGone: The process that owns the home has ended. Whether the request was carried out is unknown.
        """
        ...

    def close(self) -> None:
        """Let go of the engine. No other request may follow."""
        ...

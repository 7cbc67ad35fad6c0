"""Hides secrets in what assistants, HTTP clients and the screen are shown."""

from __future__ import annotations

from typing import Any, Generic, Self, TypeVar

from appliance.requests import EventsRequest, ListSecretsRequest, OutlineRequest, Request, ScanSecretsRequest
from appliance.secrets.masking import mask_secrets
from appliance.settings import Settings
from appliance.transports.base import Transport
from appliance.types import OnProgress, Stream

R = TypeVar("R")
T = TypeVar("T")

_WITHOUT_TEXT = (EventsRequest, ListSecretsRequest, OutlineRequest, ScanSecretsRequest)
"""Requests whose results have no text of a message; an outline of a long session has half a million values."""


def masking(transport: Transport, settings: Settings) -> Transport:
    """Return a transport that hides secrets, unless the settings show them to all callers."""
    return transport if settings.secrets.policy == "keep" else MaskingTransport(transport)


class MaskingTransport:
    """Passes requests on, and hides the secrets in their results. What it is asked to store is stored as it is."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Carry out a request, as ``Transport.send``."""
        result: Any = self._transport.send(request, on_progress)
        if isinstance(request, _WITHOUT_TEXT):
            return result  # type: ignore[no-any-return]
        if hasattr(result, "__next__"):
            return _MaskedStream(result)  # type: ignore[return-value]
        return mask_secrets(result)  # type: ignore[no-any-return]

    def close(self) -> None:
        """Let go of the engine."""
        self._transport.close()


class _MaskedStream(Generic[T]):
    """A stream whose items have their secrets hidden."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return mask_secrets(next(self._stream))

    def close(self) -> None:
        self._stream.close()

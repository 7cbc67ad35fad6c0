"""Requests run on an engine in this process."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from appliance.requests import Request
from appliance.store.damage import EFFECTS
from appliance.types import OnProgress, Progress

if TYPE_CHECKING:
    from appliance.engine.engine import Engine

R = TypeVar("R")


class LocalTransport:
    """Runs requests on the engine that this process owns. Each request's name is the path of its method there."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def send(self, request: Request[R], on_progress: OnProgress | None = None) -> R:
        """Run a request, as ``Transport.send``."""
        method: Any = attrgetter(request.name)(self.engine)
        try:
            result: R = method(request, on_progress or _unheard) if request.long_running else method(request)
        except EFFECTS as error:
            if (damage := self.engine.damage_behind()) is not None:
                raise damage from error
            raise
        return result

    def close(self) -> None:
        """Close the engine, and let go of the home."""
        self.engine.close()


def _unheard(progress: Progress) -> None:
    """Ignore the progress."""

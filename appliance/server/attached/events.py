"""The events of a memory that another process owns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import msgspec

from appliance.errors import ApplianceError
from appliance.server.client import BEGINS
from appliance.server.line import Line
from appliance.types import Event
from appliance.upkeep import Events


class AttachedEvents(Events):
    """The events of the daemon. While anybody listens, a thread reads them, and begins anew when the daemon does."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._reading = threading.Event()

    def listen(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """As Events.listen; called on a thread of its own."""
        end = super().listen(listener)
        if self._thread is None:
            self._thread = threading.Thread(target=self._read, name="appliance-events", daemon=True)
            self._thread.start()
            self._reading.wait(BEGINS)
        return end

    def close(self) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self) -> None:
        while not self._ended.is_set():
            with suppress(ApplianceError), self._line.listening("/events", {}) as lines:
                for said in lines:
                    self._reading.set()
                    if "event" in said:
                        self.tell(msgspec.json.decode(said["event"], type=Event))
                    if self._ended.is_set():
                        return
            self._ended.wait(1.0)

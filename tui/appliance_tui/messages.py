"""What the screen is told by other threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from textual.message import Message


class Happened(Message, bubble=False):
    """Something changed in the memory; ``kind`` and ``detail`` are the event's. Of several in a row one comes."""

    def __init__(self, kind: str, detail: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.kind = kind
        self.detail = detail or {}

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Happened) and message.kind == self.kind


class Read(Message, bubble=False):
    """Reading files has got on, or has ended: ``ApplianceApp.intake`` says how far."""

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Read)

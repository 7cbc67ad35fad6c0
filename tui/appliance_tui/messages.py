"""What the screen is told by other threads."""

from __future__ import annotations

from textual.message import Message


class Happened(Message, bubble=False):
    """Something changed in the memory; ``kind`` is the event's. Several in a row come as one."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, Happened) and message.kind == self.kind

"""Marks of secrets in messages."""

from __future__ import annotations

from typing import Literal

from appliance.lazy_dataclasses import dataclass

SecretPolicy = Literal["keep", "mask", "drop"]
"""What becomes of secrets: they are shown to everybody, hidden from assistants, or never stored."""


@dataclass(frozen=True, slots=True)
class SecretMark:
    """A secret in a message, without its words. ``kind`` says what it is ("github-pat", "card-number", "password");
    ``start`` and ``end`` are its place in the text, in characters."""

    message_id: str
    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SecretScan:
    """The marks of all messages after a scan, and how many messages were scanned."""

    found: tuple[SecretMark, ...]
    scanned: int

"""Codes that confirm an erasure: each is for one selection and what it has selected, so that what is erased is what a
preview has shown."""

from __future__ import annotations

import functools
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from appliance.types import ErasurePreview

CODE_BYTES = 6
"""Bytes of a code: too many to guess, few enough for a small model to copy."""


@functools.cache
def _key() -> bytes:
    """The key of this process's codes: a preview is confirmed in the process that gave it."""
    return secrets.token_bytes(32)


def code_of(selection: object, preview: ErasurePreview) -> str:
    """The code of a selection, as JSON has it, and of all that it has selected."""
    selected = (
        preview.echoes, preview.messages, preview.sessions, preview.characters, preview.facts, preview.blocks,
        len(preview.contacts),
    )  # fmt: skip
    encoded = msgspec.json.encode((selection, selected))
    return hmac.new(_key(), encoded, hashlib.sha256).digest()[:CODE_BYTES].hex()


def is_code_of(code: str, selection: object, preview: ErasurePreview) -> bool:
    """Whether a code is that of this selection, and of what it selects now."""
    return hmac.compare_digest(code.strip().lower().encode(), code_of(selection, preview).encode())

"""Requests about secrets: keys, tokens, card numbers and passwords in messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import ClassVar

from appliance.lazy_dataclasses import dataclass
from appliance.requests.base import Request
from appliance.types import SecretMark, SecretScan


@dataclass(frozen=True, slots=True)
class ScanSecretsRequest(Request[SecretScan]):
    """Look for secrets in all stored messages of all users, and mark them anew.

    What is stored is marked when it is stored; this finds what an earlier version has stored, or did not know.
    """

    name: ClassVar[str] = "secrets.scan"
    long_running: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class ListSecretsRequest(Request[Sequence[SecretMark]]):
    """Return which parts of a user's messages are marked as secrets, without their words.

    Args:
        user_id: Whose; by default the configured user's.
        namespace: The namespace within that memory.
    """

    name: ClassVar[str] = "secrets.list"

    _: KW_ONLY
    user_id: str | None = None
    namespace: str = ""

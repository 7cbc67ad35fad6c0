"""Finds the key of the Jina API: in the environment, or in the keyring of the system, if ``keyring`` is installed."""

from __future__ import annotations

import importlib
import os

from appliance_models.errors import ApiError
from appliance_models.jina_answers import KEY_HINT

VARIABLE = "JINA_API_KEY"
KEYRING_SERVICE = "memory-appliance"
"""The key lies in the keyring under this service, by the name of the variable."""


def find_key() -> str:
    """The key. It is never written to the disk, and stands in no error.

    Raises:
        ApiError: There is none, or what is there can't be a key.
    """
    key = (os.environ.get(VARIABLE) or _from_keyring()).strip()
    if not key:
        raise ApiError("There is no key for the Jina API.", KEY_HINT)
    # A header with such a character would be refused by an error that repeats the header.
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ApiError(f"{VARIABLE} has characters that no key has.", KEY_HINT)
    return key


def _from_keyring() -> str:
    """The key in the keyring; empty if there is none, or no keyring."""
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        return ""
    try:
        return keyring.get_password(KEYRING_SERVICE, VARIABLE) or ""
    except Exception:  # a locked keyring, a missing service of the desktop: each backend has errors of its own
        return ""

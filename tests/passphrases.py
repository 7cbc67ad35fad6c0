"""Passphrases without their price: age takes two seconds to derive a key from one, on purpose."""

from __future__ import annotations

import pyrage
import pytest


class QuickPassphrase:
    """In the place of ``pyrage.passphrase``: what is encrypted begins with the passphrase, backwards."""

    @staticmethod
    def encrypt(data: bytes, passphrase: str) -> bytes:
        return passphrase.encode()[::-1] + b"|" + data

    @staticmethod
    def decrypt(data: bytes, passphrase: str) -> bytes:
        found, _, rest = data.partition(b"|")
        if found != passphrase.encode()[::-1]:
            raise pyrage.DecryptError("Decryption failed")
        return rest


def make_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Derive no key from a passphrase in this test."""
    monkeypatch.setattr(pyrage, "passphrase", QuickPassphrase)

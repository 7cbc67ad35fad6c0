"""Packs and manifests encrypted with age (https://age-encryption.org), one age file each.

A repository is encrypted to *recipients*, which stand in ``repository.json``: to write, nothing secret is needed. Of
one with a passphrase, the recipient belongs to a key of its own, which the entry ``key`` holds, encrypted with the
passphrase; so the slow derivation from a passphrase is done once, not for every pack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from appliance.errors import StoreCorrupt, StoreError, UsageError
from appliance.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from appliance.store.backup.storage import Storage

KEY = "key"
SECRET_PREFIX = "AGE-SECRET-KEY-"
NO_MATCH = "No matching keys found"
"""What pyrage says when no identity fits."""


@dataclass(frozen=True, slots=True)
class Keys:
    """What a caller has to encrypt and decrypt backups: a passphrase, recipients (age or SSH public keys) to encrypt
    to, the file of an identity (an age or SSH private key) to decrypt with."""

    passphrase: str | None = field(default=None, repr=False)
    recipients: Sequence[str] = ()
    identity: Path | None = None

    def __bool__(self) -> bool:
        """Whether a new repository is to be encrypted."""
        return self.passphrase is not None or bool(self.recipients)


class Cipher(Protocol):
    """Encrypts and decrypts the entries of a repository."""

    @property
    def can_decrypt(self) -> bool:
        """Whether the caller has given what is needed to decrypt."""
        ...

    def encrypt(self, data: bytes) -> bytes: ...

    def decrypt(self, data: bytes, where: str) -> bytes:
        """Return what was encrypted.

        Raises:
            StoreError: Nothing was given to decrypt with.
            UsageError: The passphrase or the identity is not the right one.
            StoreCorrupt: The data is damaged; the error names ``where``.
        """
        ...


class NoCipher:
    """Leaves the entries of a repository as they are."""

    can_decrypt = True

    def encrypt(self, data: bytes) -> bytes:
        return data

    def decrypt(self, data: bytes, where: str) -> bytes:
        return data


class AgeCipher:
    """Encrypts to recipients, and decrypts with what ``keys`` give."""

    def __init__(self, entries: Storage, recipients: Sequence[str], keys: Keys) -> None:
        self._entries = entries
        self._recipients = [_recipient(text) for text in recipients]
        self._keys = keys
        self._identities: list[Any] | None = None

    @property
    def can_decrypt(self) -> bool:
        return self._keys.identity is not None or (
            self._keys.passphrase is not None and self._entries.size(KEY) is not None
        )

    def encrypt(self, data: bytes) -> bytes:
        import pyrage  # type: ignore[import-untyped]

        encrypted: bytes = pyrage.encrypt(data, self._recipients)
        return encrypted

    def decrypt(self, data: bytes, where: str) -> bytes:
        import pyrage

        if self._identities is None:
            self._identities = self._load_identities()
        try:
            decrypted: bytes = pyrage.decrypt(data, self._identities)
        except pyrage.DecryptError as error:
            if str(error) == NO_MATCH:
                raise UsageError("This identity does not fit these backups.", where=str(self._keys.identity)) from error
            raise StoreCorrupt("This part of the backup is damaged.", where=where) from error
        return decrypted

    def _load_identities(self) -> list[Any]:
        import pyrage

        if self._keys.identity is not None:
            return read_identities(self._keys.identity)
        if not self.can_decrypt:
            hint = (
                "Give the passphrase in APPLIANCE_BACKUP_PASSPHRASE or with --passphrase-file."
                if self._entries.size(KEY) is not None
                else "Name the file of the private key with --identity."
            )
            raise StoreError("These backups are encrypted.", where=str(self._entries.path), hint=hint)
        try:
            secret: bytes = pyrage.passphrase.decrypt(self._entries.read(KEY), self._keys.passphrase)
        except pyrage.DecryptError as error:
            raise UsageError("The passphrase does not fit these backups.", where=str(self._entries.path)) from error
        return [pyrage.x25519.Identity.from_str(secret.decode())]


def begin(entries: Storage, keys: Keys) -> list[str]:
    """Return the recipients of a new repository; none if it is not encrypted. With a passphrase, write its key.

    Raises:
        UsageError: A recipient is invalid, or the passphrase is empty.
    """
    import pyrage

    recipients = list(keys.recipients)
    for text in recipients:
        _recipient(text)
    if keys.passphrase is not None:
        if not keys.passphrase:
            raise UsageError("The passphrase is empty.", hint="Choose a longer one.")
        identity = pyrage.x25519.Identity.generate()
        entries.write(KEY, pyrage.passphrase.encrypt(str(identity).encode(), keys.passphrase))
        recipients.append(str(identity.to_public()))
    return recipients


def _recipient(text: str) -> Any:
    import pyrage

    try:
        if text.startswith("ssh-"):
            return pyrage.ssh.Recipient.from_str(text)
        return pyrage.x25519.Recipient.from_str(text)
    except pyrage.RecipientError as error:
        hint = "Use a public key of age (age1…) or of SSH (ssh-ed25519 …, ssh-rsa …)."
        raise UsageError(f"Invalid recipient {text!r}.", hint=hint) from error


def read_identities(path: Path) -> list[Any]:
    """Return the private keys in a file, as age-keygen or ssh-keygen write it.

    Raises:
        UsageError: There are none, or the file can't be read.
    """
    import pyrage

    try:
        data = path.read_bytes()
        lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
        if secrets := [line for line in lines if line.startswith(SECRET_PREFIX)]:
            return [pyrage.x25519.Identity.from_str(secret) for secret in secrets]
        return [pyrage.ssh.Identity.from_buffer(data)]
    except OSError as error:
        raise UsageError(f"The identity can't be read: {error.strerror}.", where=str(path)) from error
    except pyrage.IdentityError as error:
        hint = "Name a file as age-keygen or ssh-keygen writes it; an SSH key must have no passphrase of its own."
        raise UsageError("This file holds no private key.", where=str(path), hint=hint) from error

"""Access tokens: the owner's, and those issued to others with a fixed scope.

The owner's token is stored in the home as plain text (``token``, 0600), because the owner's programs read it. Of the
others only a digest is stored (``tokens.json``): a token is shown once, when it is issued. The server reads the file
again when it has changed, so a revoked token is refused from the next request on.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from appliance.errors import ConfigError, NotFound, UsageError
from appliance.paths import FILE_MODE, Home, write_file_atomically
from appliance.runtime import file_locks
from appliance.runtime.decoding import decode
from appliance.server.access.grants import OWNER, Grant

TOKEN_BYTES = 32
"""Bytes of randomness in a token."""

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

OWNER_NAME = "owner"
"""The name of the owner's token; no other token may have it."""


class IssuedToken(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An issued token as it is stored. ``digest`` is the token's SHA-256, ``created`` ISO 8601. With ``any_user``
    requests to the chat proxy name the user themselves."""

    name: str
    digest: str
    user_id: str
    namespace: str
    read_only: bool
    created: str
    any_user: bool = False

    @property
    def grant(self) -> Grant:
        return Grant(self.name, self.user_id, self.namespace, self.read_only, self.any_user)


class _TokenFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: tuple[IssuedToken, ...] = ()


def owner_token(home: Home) -> str:
    """The owner's token, created if there is none.

    Raises:
        ConfigError: The file holds no token.
    """
    if not home.token.exists():
        with _exclusive_lock(home):
            if not home.token.exists():
                write_file_atomically(home.token, secrets.token_urlsafe(TOKEN_BYTES).encode() + b"\n")
    try:
        token = home.token.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise _unreadable(home.token, error) from error
    if len(token) < TOKEN_BYTES:
        raise ConfigError(
            "The file does not contain a token.", where=str(home.token), hint="Remove it; a new token is created."
        )
    return token


def _unreadable(path: Path, error: OSError) -> ConfigError:
    hint = "Remove what is there. New tokens are created then, and other programs need them."
    return ConfigError(f"The file can't be read: {error.strerror}.", where=str(path), hint=hint)


def issued_tokens(home: Home) -> Sequence[IssuedToken]:
    """The issued tokens, oldest first.

    Raises:
        ConfigError: Their file can't be read.
    """
    try:
        data = home.tokens.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(home.tokens, error) from error
    try:
        return decode(data, _TokenFile).tokens
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            "The file is not a list of tokens.",
            where=str(home.tokens),
            hint="Remove it and create new tokens with 'appliance tokens new'.",
        ) from error


def issue(
    home: Home, name: str, *, user_id: str, namespace: str = "", read_only: bool = False, any_user: bool = False
) -> tuple[str, IssuedToken]:
    """Issue a token for a user's memory in a namespace.

    Returns:
        The token, which is stored nowhere, and its record.

    Raises:
        UsageError: The name is invalid or taken, or the user is empty.
    """
    if not NAME_PATTERN.fullmatch(name) or name == OWNER_NAME:
        raise UsageError(f"Invalid token name {name!r}.", hint="Use at most 64 letters, digits, '.', '_' and '-'.")
    if not user_id:
        raise UsageError("The user is empty.", hint="A token is for the memory of one user.")
    token = secrets.token_urlsafe(TOKEN_BYTES)
    record = IssuedToken(name, digest(token), user_id, namespace, read_only, datetime.now(UTC).isoformat(), any_user)
    with _exclusive_lock(home):
        issued = issued_tokens(home)
        if any(existing.name == name for existing in issued):
            raise UsageError(
                f"The token {name!r} already exists.", hint=f"Revoke it with 'appliance tokens revoke {name}'."
            )
        _write(home, (*issued, record))
    return token, record


def revoke(home: Home, name: str) -> IssuedToken:
    """Revoke a token, from the next request on.

    Raises:
        NotFound: There is no token of this name.
    """
    with _exclusive_lock(home):
        issued = issued_tokens(home)
        revoked = [one for one in issued if one.name == name]
        if not revoked:
            raise NotFound(f"There is no token {name!r}.", hint="'appliance tokens list' lists the tokens.")
        _write(home, tuple(one for one in issued if one.name != name))
    return revoked[0]


def digest(token: str) -> str:
    """The SHA-256 of a token, in hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


class Authenticator:
    """Resolves tokens to grants for a running server."""

    def __init__(self, home: Home) -> None:
        """
        Raises:
            ConfigError: The owner's token can't be read.
        """
        self._home = home
        self._cached_owner_digest = digest(owner_token(home))
        self._owner_stamp = _file_stamp(home.token)
        self._issued_stamp: tuple[int, ...] | None = ()
        self._cached_issued: Sequence[IssuedToken] = ()

    def grant(self, token: str) -> Grant | None:
        """The grant of a token; None if it is unknown. Comparisons take constant time.

        Raises:
            ConfigError: The list of tokens can't be read.
        """
        token_digest = digest(token)
        if hmac.compare_digest(token_digest, self._owner_digest()):
            return OWNER
        grants = [issued.grant for issued in self._issued() if hmac.compare_digest(token_digest, issued.digest)]
        return grants[0] if grants else None

    def _owner_digest(self) -> str:
        stamp = _file_stamp(self._home.token)
        if stamp != self._owner_stamp:
            self._cached_owner_digest = digest(owner_token(self._home))
            self._owner_stamp = _file_stamp(self._home.token)
        return self._cached_owner_digest

    def _issued(self) -> Sequence[IssuedToken]:
        stamp = _file_stamp(self._home.tokens)
        if stamp != self._issued_stamp:
            self._cached_issued = issued_tokens(self._home)
            self._issued_stamp = stamp
        return self._cached_issued


def _file_stamp(path: Path) -> tuple[int, ...] | None:
    """Changes when the file is replaced; None if there is no file."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)


def _write(home: Home, tokens: tuple[IssuedToken, ...]) -> None:
    write_file_atomically(home.tokens, msgspec.json.format(msgspec.json.encode(_TokenFile(tokens)), indent=2) + b"\n")


@contextmanager
def _exclusive_lock(home: Home) -> Iterator[None]:
    """Exclude other writers: two at once would each overwrite the other's change."""
    descriptor = os.open(home.tokens.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file_locks.lock(file.fileno(), wait=True)
        yield

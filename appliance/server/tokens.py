"""Who may ask: the owner's token, and those that were given to others with a fixed scope.

The owner's lies in the home as it is (``token``, 0600), because the owner's own programs read it there. Of the others
only a digest is kept (``tokens.json``): a token is shown once, when it is made. A server reads the file again when
it has changed, so that what is revoked is refused from the next request on.
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
import portalocker

from appliance.errors import ConfigError, NotFound, UsageError
from appliance.paths import FILE_MODE, Home, write_small_file
from appliance.server.service import OWNER, Grant

BYTES = 32
"""Of randomness in a token."""

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

MINE = "owner"
"""The name of the owner's token, which no other may have."""


class Given(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token that was given to somebody, as it is kept. ``digest`` is the token's SHA-256, ``created`` ISO 8601."""

    name: str
    digest: str
    user_id: str
    namespace: str
    read_only: bool
    created: str

    @property
    def grant(self) -> Grant:
        """What its bearer may do."""
        return Grant(self.name, self.user_id, self.namespace, self.read_only)


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tokens: tuple[Given, ...] = ()


def owners(home: Home) -> str:
    """The owner's token, made if there is none.

    Raises:
        ConfigError: its file holds none.
    """
    if not home.token.exists():
        with _alone(home):
            if not home.token.exists():
                write_small_file(home.token, secrets.token_urlsafe(BYTES).encode() + b"\n")
    token = home.token.read_text(encoding="ascii", errors="replace").strip()
    if len(token) < BYTES:
        raise ConfigError(
            "this is no token", where=str(home.token), hint="remove the file: another one is made"
        )
    return token


def given(home: Home) -> Sequence[Given]:
    """The tokens that were given to others, the first one first.

    Raises:
        ConfigError: their file can't be read.
    """
    try:
        data = home.tokens.read_bytes()
    except FileNotFoundError:
        return ()
    try:
        return msgspec.json.decode(data, type=_File).tokens
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ConfigError(
            "this is no list of tokens",
            where=str(home.tokens),
            hint="remove the file, and give out new ones with 'appliance tokens new'",
        ) from error


def new(
    home: Home, name: str, *, user_id: str, namespace: str = "", read_only: bool = False
) -> tuple[str, Given]:
    """Give out a token for a user's memory in a namespace: the token, which is kept nowhere, and what is kept of it.

    Raises:
        UsageError: the name is taken or can't be, or the user is none.
    """
    if not NAME.fullmatch(name) or name == MINE:
        raise UsageError(
            f"no token can be called {name!r}", hint="letters, digits, '.', '_' and '-', 64 at most"
        )
    if not user_id:
        raise UsageError("the user has no name", hint="a token is for the memory of one user")
    token = secrets.token_urlsafe(BYTES)
    made = Given(name, digest(token), user_id, namespace, read_only, datetime.now(UTC).isoformat())
    with _alone(home):
        known = given(home)
        if any(one.name == name for one in known):
            raise UsageError(
                f"there is a token {name!r} already", hint=f"'appliance tokens revoke {name}' takes it back"
            )
        _write(home, (*known, made))
    return token, made


def revoke(home: Home, name: str) -> Given:
    """Take a token back: from now on it opens nothing.

    Raises:
        NotFound: there is none of this name.
    """
    with _alone(home):
        known = given(home)
        found = [one for one in known if one.name == name]
        if not found:
            raise NotFound(f"there is no token {name!r}", hint="'appliance tokens list' names them")
        _write(home, tuple(one for one in known if one.name != name))
    return found[0]


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


class Doorkeeper:
    """Says whose a token is, for a running server."""

    def __init__(self, home: Home) -> None:
        """
        Raises:
            ConfigError: the owner's token can't be read.
        """
        self._home = home
        self._owner = digest(owners(home))
        self._owner_seen = _stamp(home.token)
        self._seen: tuple[int, ...] | None = ()
        self._given: Sequence[Given] = ()

    def grant(self, token: str) -> Grant | None:
        """What the bearer of a token may do; None where it is nobody's. Each is compared with in constant time, so that
        the time tells nothing of it.

        Raises:
            ConfigError: the list of tokens can't be read.
        """
        shown = digest(token)
        if hmac.compare_digest(shown, self._owners()):
            return OWNER
        found = [one.grant for one in self._others() if hmac.compare_digest(shown, one.digest)]
        return found[0] if found else None

    def _owners(self) -> str:
        seen = _stamp(self._home.token)
        if seen != self._owner_seen:
            self._owner = digest(owners(self._home))
            self._owner_seen = _stamp(self._home.token)
        return self._owner

    def _others(self) -> Sequence[Given]:
        seen = _stamp(self._home.tokens)
        if seen != self._seen:
            self._given = given(self._home)
            self._seen = seen
        return self._given


def _stamp(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is replaced; None where there is none."""
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)


def _write(home: Home, tokens: tuple[Given, ...]) -> None:
    write_small_file(home.tokens, msgspec.json.format(msgspec.json.encode(_File(tokens)), indent=2) + b"\n")


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Alone among those who change tokens: two at once would each write what the other has not seen."""
    descriptor = os.open(home.tokens.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        portalocker.lock(file, portalocker.LockFlags.EXCLUSIVE)
        yield

"""How many tokens the memory has sent to an embedding API, in a small file of the home: numbers, and no words of texts.

The tokens of a request are written before it is sent, so that none is forgotten if the process ends. One process at a
time owns a home, and only that one writes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec

from appliance.errors import EmbeddingApiError
from appliance.paths import write_file_atomically
from appliance.runtime.decoding import decode
from appliance.timestamps import iso_from_microseconds, now

MIN_COMPARED_TOKENS = 10_000
"""Tokens that the API must have counted before forecasts are corrected by how the estimate compares with them."""

_Count = Annotated[int, msgspec.Meta(ge=0)]


class TokenUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What was sent so far.

    Attributes:
        tokens: All tokens, with the estimated ones of requests that are under way or whose fate is not known.
        counted: The tokens that the API itself has counted.
        estimated: The estimate of the same ones.
        trouble: Why the last request failed; empty if it did not.
        trouble_at: When that was, as ISO 8601.
    """

    tokens: _Count = 0
    counted: _Count = 0
    estimated: _Count = 0
    trouble: str = ""
    trouble_at: str = ""

    @property
    def correction(self) -> float:
        """What an estimate is multiplied by to get what the API counts; 1 while too little is known."""
        if self.counted < MIN_COMPARED_TOKENS or not self.estimated:
            return 1.0
        return self.counted / self.estimated


def read_usage(path: Path) -> TokenUsage:
    """What was sent so far, by the file at ``path``.

    Raises:
        EmbeddingApiError: The file can't be read.
    """
    try:
        return decode(path.read_bytes(), TokenUsage)
    except FileNotFoundError:
        return TokenUsage()
    except (OSError, msgspec.DecodeError) as error:
        hint = "Put it back from a backup, or delete it to count from 0 again."
        raise EmbeddingApiError(
            "The count of the tokens sent so far can't be read.", where=str(path), hint=hint
        ) from error


class FileTokenAccount:
    """Counts tokens in a file, up to a cap of 0 for none. ``appliance_models.jina`` asks it. Safe to use from several
    threads."""

    def __init__(self, path: Path, cap: int) -> None:
        self._path = path
        self._cap = cap
        self._lock = threading.Lock()
        self._usage: TokenUsage | None = None

    def usage(self) -> TokenUsage:
        """What was sent so far.

        Raises:
            EmbeddingApiError: The file can't be read.
        """
        with self._lock:
            return self._read()

    def require(self, tokens: int) -> None:
        """Check that so many more tokens may be sent.

        Raises:
            EmbeddingApiError: They may not, or the file can't be read.
        """
        with self._lock:
            self._require(tokens)

    def reserve(self, tokens: int) -> None:
        """Count tokens that are about to be sent. Errors as in ``require``."""
        with self._lock:
            self._require(tokens)
            self._write(lambda usage: {"tokens": usage.tokens + tokens}, must=bool(self._cap))

    def settle(self, reserved: int, counted: int | None) -> None:
        """Replace reserved tokens by those that the API has counted; 0 if it took none, None if that is not known."""
        if counted is None:
            return
        compared = {"counted": counted, "estimated": reserved} if counted else {}
        with self._lock:
            self._write(
                lambda usage: {
                    "tokens": max(0, usage.tokens - reserved + counted),
                    **{name: getattr(usage, name) + more for name, more in compared.items()},
                }
            )

    def note_trouble(self, trouble: str) -> None:
        """Keep why the last request failed, for a status in another process; empty if it did not."""
        with self._lock, suppress(EmbeddingApiError):
            if self._read().trouble != trouble:
                at = iso_from_microseconds(now()) if trouble else ""
                self._write(lambda usage: {"trouble": trouble, "trouble_at": at})

    def _read(self) -> TokenUsage:
        if self._usage is None:
            self._usage = read_usage(self._path)
        return self._usage

    def _require(self, tokens: int) -> None:
        left = self._cap - self._read().tokens
        if self._cap and tokens > left:
            raise EmbeddingApiError(
                f"The cap of {self._cap:,} tokens for the Jina API leaves {max(0, left):,}, and {tokens:,} are needed.",
                hint="Raise jina.token_cap in the settings.",
            )

    def _write(self, change: Callable[[TokenUsage], dict[str, object]], *, must: bool = False) -> None:
        """Change the count. Where nothing can be written, it is kept in memory, unless it ``must`` reach the disk."""
        usage = self._usage = msgspec.structs.replace(self._read(), **change(self._read()))
        try:
            write_file_atomically(self._path, msgspec.json.encode(usage) + b"\n")
        except OSError as error:
            if must:
                raise EmbeddingApiError(
                    f"The tokens sent can't be counted ({error.strerror}), so none are sent.",
                    where=str(self._path),
                    hint="Make the file writable, or set jina.token_cap to 0.",
                ) from error

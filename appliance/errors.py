"""The one error tree.

    ApplianceError                what happened, where, what to do next        exit code
    ├── UsageError                wrong arguments or an impossible request          2
    │   └── ConfigError           a setting is unknown, unreadable or out of range  2
    ├── StoreError                the store can't do it, or refuses                 3
    │   ├── HomeError             the home is missing, unreadable or unwritable     3
    │   │   └── HomeReadOnly      the home lies where nothing can be written        3
    │   ├── HomeLocked            another process owns the home                     3
    │   │   └── HomeBusy          and does something long first                     3
    │   ├── DaemonGone            the process that owned the home has ended         3
    │   ├── StoreVersion          written by a version that this one can't read     3
    │   ├── StoreCorrupt          a file of the home is damaged                     3
    │   │   └── IncompleteExport  some messages are damaged; all others are there   1
    │   ├── IndexUnavailable      the Qdrant server that has the index is away        3
    │   ├── DiskFull              the disk has too little room                      3
    │   └── OutOfMemory           this process may not use as much memory           3
    ├── NotFound                  no such session, message or file                  4
    ├── ModelUnavailable          an embedding model is missing or damaged          5
    │   └── EmbeddingApiError     an embedding API refuses, or does not answer      5
    ├── EndpointError             the local language model does not answer          5
    └── InputError                an input can't be read at all                     1

An error says what happened (``str(error)``), and may say where (``where``: a file and a place in it) and what to do
next (``hint``). The command line prints all three and exits with ``exit_code``; nothing else decides an exit code.
"""

from __future__ import annotations

from typing import TypeVar


class ApplianceError(Exception):
    """Base of every error that this package raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{self.where}: {message}" if self.where else message

    @property
    def with_hint(self) -> str:
        """What happened and what to do next, in one line."""
        return f"{self} {self.hint}" if self.hint else str(self)


class UsageError(ApplianceError):
    """The arguments are wrong, or the request is impossible."""

    exit_code = 2


class ConfigError(UsageError):
    """A setting is unknown, unreadable or out of range."""


class StoreError(ApplianceError):
    """The store can't carry out the request, or refuses it."""

    exit_code = 3


class HomeError(StoreError):
    """The home folder is missing, not a folder, or can't be read and written."""


class HomeReadOnly(HomeError):
    """The home lies where nothing can be written, and the request would change it."""


class HomeLocked(StoreError):
    """Another process owns the home."""


class HomeBusy(HomeLocked):
    """Another process owns the home, and leaves it to a daemon only when it has finished something long."""


class DaemonGone(StoreError):
    """The daemon or other process that owned the home has ended; everything that it acknowledged is kept."""

    begun = True
    """Whether it may have begun to carry out the request."""


class StoreVersion(StoreError):
    """The store was written by a newer version of this program, or by one that was never released."""


class StoreCorrupt(StoreError):
    """A file of the home is damaged."""


class IncompleteExport(StoreCorrupt):
    """Ends an export that could not read some messages, or parts of them. All others were exported."""

    exit_code = 1


class IndexUnavailable(StoreError):
    """The index is on a Qdrant server that does not answer, or refuses this memory. Messages are stored, and are found
    by their words; what waits for the index is added to it later."""


class DiskFull(StoreError):
    """The disk has too little room; the message says how much is needed and how much is free. Nothing is damaged."""


class OutOfMemory(StoreError):
    """The process can't get as much memory as it needs. Nothing is damaged."""


class NotFound(ApplianceError):
    """No such session, message or file."""

    exit_code = 4


class ModelUnavailable(ApplianceError):
    """An embedding model is missing, incomplete or damaged."""

    exit_code = 5


class EmbeddingApiError(ModelUnavailable):
    """An embedding API does not answer, refuses, or may not be asked. What was to be embedded waits in the outbox."""


class EndpointError(ApplianceError):
    """The endpoint of the local language model does not answer, or its answer makes no sense."""

    exit_code = 5


class InputError(ApplianceError):
    """An input can't be read at all; inputs that can be read in part are reported instead."""


_Error = TypeVar("_Error", bound=ApplianceError)


def with_sentence(error: _Error, sentence: str) -> _Error:
    """The same error, whose message also says this."""
    return type(error)(f"{error.args[0]} {sentence}", where=error.where, hint=error.hint)


def check_unicode(text: str, what: str) -> None:
    """Check that a text can be stored and searched: a Python string may hold half of a surrogate pair.

    Args:
        what: The text, as the subject of the sentence.

    Raises:
        UsageError: It is not valid Unicode.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{what} is not valid Unicode at character {error.start}.") from error

"""How much a zip may hold for its size, over all of its files: bytes, and messages.

A zip bomb is small and unpacks to very much, or to millions of tiny messages, each of which takes a kilobyte in the
memory. No chat is like that: chats compress to a twentieth of their size, very monotonous ones to a hundredth, and a
message takes some ten bytes in a zip.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing

from appliance.errors import InputError
from appliance.formats.base import Document
from appliance.ingest.pages import MessagePage

MAX_COMPRESSION_RATIO = 250
ALWAYS_UNPACKED_BYTES = 64 << 20
"""What any zip may unpack to."""

BYTES_A_MESSAGE = 2
"""Compressed bytes that a message takes at least; in the most monotonous chat that could be made, two and a half."""

ALWAYS_READ_MESSAGES = 20_000
"""How many messages any zip may have."""


class ZipLimits:
    """What may still be read of one zip. The files of a zip may be read on several threads, and more than once."""

    def __init__(self, size: int, members: Iterable[zipfile.ZipInfo]) -> None:
        """``size`` is that of the zip's file: its list of files may claim more, and name the same bytes repeatedly."""
        packed = min(size, sum(member.compress_size for member in members))
        self._max_bytes = max(ALWAYS_UNPACKED_BYTES, packed * MAX_COMPRESSION_RATIO)
        self._messages_left = max(ALWAYS_READ_MESSAGES, packed // BYTES_A_MESSAGE)
        self._unpacked: dict[int, int] = {}
        self._total = 0
        self._lock = threading.Lock()

    def note_unpacked(self, member: zipfile.ZipInfo, count: int) -> None:
        """Note that the first ``count`` bytes of a file were unpacked.

        Raises:
            zipfile.BadZipFile: The file, or all files together, unpack to more than a chat does.
        """
        if count > max(ALWAYS_UNPACKED_BYTES, member.compress_size * MAX_COMPRESSION_RATIO):
            raise zipfile.BadZipFile(f"unpacks to over {MAX_COMPRESSION_RATIO} times its size, as no chat does")
        with self._lock:
            known = self._unpacked.get(member.header_offset, 0)
            if count > known:
                self._unpacked[member.header_offset] = count
                self._total += count - known
        if self._total > self._max_bytes:
            ratio = MAX_COMPRESSION_RATIO
            raise zipfile.BadZipFile(f"the files of this zip unpack to over {ratio} times its size, as no chats do")

    def take_messages(self, count: int) -> None:
        """Count messages that were read.

        Raises:
            InputError: They are more than a zip of this size has.
        """
        with self._lock:
            self._messages_left -= count
        if self._messages_left < 0:
            raise InputError(
                "This zip has more messages than its size allows; the rest was not read.",
                hint="Unpack it and ingest the files if you know what they hold.",
            )


def counted(pages: Generator[MessagePage], document: Document) -> Iterator[MessagePage]:
    """Yield the pages of a document, as far as the zip that it is in may have messages.

    Raises:
        InputError: There are more messages than a zip of this size has.
    """
    with closing(pages):
        for page in pages:
            yield page
            document.count_messages(page.message_count)

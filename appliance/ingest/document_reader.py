"""Reads documents in a process of their own (``formats.document_worker``), which may fail without harm.

One process reads documents one after another. It is ended when a document takes too long, and a new one reads the next.
"""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import TracebackType
from typing import BinaryIO, cast

from appliance.formats.document_worker import PROCESSOR_SECONDS
from appliance.formats.documents import DocumentKind
from appliance.formats.text import READ_ERRORS
from appliance.lazy_dataclasses import dataclass
from appliance.runtime import child_process
from appliance.types.documents import PageText

SECONDS = 600.0
"""How long a document may take: ten times its processor time, because the machine may be busy."""

MAX_BYTES = 64 << 20
"""The size of a document that is read; the process holds it in memory."""

MAX_DOCUMENTS = 200
"""Documents after which a new process reads on: libraries keep some memory of each."""

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """The pages of a document that have text, and why it could not be read to its end ("" if it was). ``is_lasting`` is
    False for a problem that is not the document's own, so that it may be read later."""

    pages: tuple[PageText, ...]
    problem: str = ""
    is_lasting: bool = True


class DocumentReader:
    """Reads documents, in a process that starts with the first of them. To be used in a ``with`` statement."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._count = 0

    def __enter__(self) -> DocumentReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def read(
        self, kind: DocumentKind, size: int, open_file: Callable[[], AbstractContextManager[BinaryIO]]
    ) -> ReadDocument:
        """Return what a file of ``size`` bytes says."""
        if size > MAX_BYTES:
            return ReadDocument((), f"it has {size >> 20:,} MB; documents of more than {MAX_BYTES >> 20} are not read")
        process = self._started()
        if process is None:
            return ReadDocument((), "the process that reads documents can't be started", is_lasting=False)
        try:
            with open_file() as file:
                data = b"".join(iter(lambda: file.read(_BLOCK_BYTES), b""))
        except READ_ERRORS as error:
            return ReadDocument((), f"its file can't be read ({error})", is_lasting=False)
        if len(data) != size:
            return ReadDocument((), "its file has changed; ingest it again", is_lasting=False)
        ended = threading.Event()

        def end() -> None:
            ended.set()
            process.kill()

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        pages: list[PageText] = []
        try:
            problem = self._exchange(process, kind, data, pages)
        finally:
            timer.cancel()
        if problem is not None:
            return ReadDocument(tuple(pages), problem)
        self._stop()
        if ended.is_set():
            return ReadDocument(tuple(pages), f"reading it took more than {self._seconds:g} seconds")
        if hasattr(signal, "SIGXCPU") and process.returncode == -signal.SIGXCPU:
            return ReadDocument(tuple(pages), f"reading it took more than {PROCESSOR_SECONDS} s of processor time")
        return ReadDocument(tuple(pages), f"it ended the process that read it (code {process.returncode})")

    def _exchange(
        self, process: subprocess.Popen[bytes], kind: DocumentKind, data: bytes, pages: list[PageText]
    ) -> str | None:
        """Send a file, and take its pages. Returns how reading it ended, None if the process ended instead."""
        stdin, stdout = cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout)
        try:
            stdin.write(json.dumps({"kind": kind, "bytes": len(data)}).encode() + b"\n")
            stdin.write(data)
            stdin.flush()
            while line := stdout.readline():
                answer = json.loads(line)
                if "end" in answer:
                    return str(answer["end"])
                pages.append(PageText(answer["place"], answer["text"]))
        except (OSError, ValueError):  # the process has ended, perhaps within a line
            return None
        return None

    def _started(self) -> subprocess.Popen[bytes] | None:
        self._count += 1
        if self._process is not None and self._count % MAX_DOCUMENTS == 0:
            self._stop()
        if self._process is None:
            with suppress(OSError):
                self._process = subprocess.Popen(
                    child_process.command_for("appliance.formats.document_worker"),
                    env=child_process.environment(),
                    stdin=subprocess.PIPE,  # its end tells the process that this one is gone
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
        return self._process

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):  # what a process that was gone did not read
                    cast(BinaryIO, stream).close()

"""Reads large documents in a process of their own, so that one processor parses while another one stores.

The pages come in the same order and with the same content as from ``pipeline.pages_here``, with the scores and secrets
of their messages computed. The process is a bounded number of bytes ahead; it stops there while queries run, because
the pipeline does. Where it can't be started, the document is read here.
"""

from __future__ import annotations

import subprocess
import threading
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import BinaryIO, cast

import msgspec

from appliance.errors import InputError
from appliance.ingest import page_frames, pipeline, zip_limits
from appliance.ingest.page_frames import EndFrame, FailureFrame, FormatFrame, Frame, Page, ReadingPlan
from appliance.ingest.pages import MessagePage
from appliance.ingest.pipeline import IngestContext
from appliance.ingest.sources import DetectedDocument
from appliance.runtime import child_process
from appliance.runtime.address_space import available_bytes
from appliance.runtime.processors import processors
from appliance.store import attachments
from appliance.types import InputProblem

MIN_BYTES = 8 << 20
"""The size of a document from which a process is worth its start, which takes as long as reading some 5 MB."""

READ_AHEAD_BYTES = 16 << 20
"""How far the process may be ahead: two transactions, so that it works while one of them is stored."""


def read_pages(detected: DetectedDocument, context: IngestContext) -> Iterator[MessagePage]:
    """Yield the pages of a document, read in a process of its own if it is large.

    Raises:
        InputError: The document can't be read any further.
    """
    return zip_limits.counted(_read_pages(detected, context), detected.document)


def _read_pages(detected: DetectedDocument, context: IngestContext) -> Generator[MessagePage]:
    plan = _plan(detected, context) if _is_worthwhile(detected) else None
    if plan is None:
        yield from pipeline.pages_here(detected, context)
        return
    with _Reader(plan) as reader:
        ready = reader.next()
        if not isinstance(ready, FormatFrame) or ready.format != detected.format:
            yield from pipeline.pages_here(detected, context)
            return
        count = 0
        while not isinstance(frame := reader.next(), EndFrame):
            if isinstance(frame, Page):
                count += frame.page.message_count
                context.yield_to_queries()
                yield frame.page
            elif isinstance(frame, FailureFrame):
                if frame.detail:
                    raise RuntimeError(f"{detected.document.name} can't be read.\n{frame.detail}")
                raise InputError(frame.message, where=frame.where, hint=frame.hint)
            else:
                code, hint = reader.exit_code(), "ingest it again: what is stored already is recognised"
                message = f"reading stopped: its process has ended with code {code}; {hint}"
                yield MessagePage(problems=[InputProblem(f"after message {count}", message)])
                return
        for name, side in frame.side_files.items():
            context.side_files.found.setdefault(name, side)


def _is_worthwhile(detected: DetectedDocument) -> bool:
    return detected.document.size >= MIN_BYTES and available_bytes() is None and processors() > 1


def _plan(detected: DetectedDocument, context: IngestContext) -> ReadingPlan | None:
    """What the process needs to know; None if names of files are not UTF-8."""
    document = detected.document
    source = document.path or detected.source
    known = attachments.known_digests(context.database.read(), document.name)
    plan = ReadingPlan(
        str(source), str(detected.within or detected.source), document.name, document.explicit, context.format,
        context.me, context.drop_secrets, tuple((path, size, digest) for (path, size), digest in known.items()),
        context.day_first,
    )  # fmt: skip
    try:
        msgspec.json.encode(plan)
    except UnicodeEncodeError:
        return None
    return plan


class _Reader:
    """A process that reads, and a thread that takes its frames from it as far as ``READ_AHEAD_BYTES`` allow."""

    def __init__(self, plan: ReadingPlan) -> None:
        self._plan = plan
        self._process: subprocess.Popen[bytes] | None = None
        self._frames: deque[bytes | None] = deque()
        self._bytes = 0
        self._is_closed = False
        self._changed = threading.Condition()

    def __enter__(self) -> _Reader:
        with suppress(OSError):
            self._process = subprocess.Popen(
                child_process.command_for("appliance.engine.page_worker"),
                env=child_process.environment(),
                stdin=subprocess.PIPE,  # its end tells the process that this one is gone
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            plan_stream = cast(BinaryIO, self._process.stdin)
            plan_stream.write(msgspec.json.encode(self._plan) + b"\n")
            plan_stream.flush()
        self._thread = threading.Thread(target=self._take, name="appliance-page-reader", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._process is not None:
            self._process.kill()
            self._thread.join()
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(OSError):  # what a process that was gone at once did not read
                    cast(BinaryIO, stream).close()
            self._process.wait()

    def next(self) -> Frame | None:
        """The next frame; None if the process has ended without one."""
        with self._changed:
            self._changed.wait_for(lambda: self._frames)
            data = self._frames.popleft()
            if data is None:
                self._frames.append(None)
                return None
            self._bytes -= len(data)
            self._changed.notify_all()
        return page_frames.decode(data)

    def exit_code(self) -> int | None:
        """How the process has ended; negative if a signal ended it."""
        return None if self._process is None else self._process.wait()

    def _take(self) -> None:
        stream = None if self._process is None else cast(BinaryIO, self._process.stdout)
        data: bytes | None = None
        while not self._is_closed:
            data = None if stream is None else page_frames.read(stream)
            with self._changed:
                self._frames.append(data)
                self._bytes += len(data or b"")
                self._changed.notify_all()
                if data is None:
                    return
                self._changed.wait_for(lambda: self._bytes < READ_AHEAD_BYTES or self._is_closed)

"""Reads one document for another process: ``python -m appliance.engine.page_worker``.

The first line of standard input is a ``ReadingPlan`` as JSON: other users could read it on a command line. The frames
go to standard output: one that says that the document was found, its pages, and one that says how it ended. The process
ends when its standard input does.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import BinaryIO

import msgspec

from appliance.errors import InputError
from appliance.formats import detect
from appliance.ingest import attached_files, page_frames
from appliance.ingest.page_frames import EndFrame, FailureFrame, FormatFrame, Page, ReadingPlan
from appliance.ingest.pages import Prepare, pages, without_secrets
from appliance.ingest.side_files import SideFiles
from appliance.memory import importance
from appliance.secrets.detector import find_in_texts
from appliance.store.messages import MessageInsert
from appliance.store.passages import passage, text_digest

GC_THRESHOLD = 50_000
"""Objects without cycles, of which a parser makes millions, are looked at less often."""


def run(plan: ReadingPlan, out: BinaryIO) -> None:
    """Read the document of a plan, and write its frames."""
    side_files = SideFiles()
    document = page_frames.find_document(plan, side_files)
    if document is None:
        page_frames.write(out, FailureFrame("can't be read: it is gone", plan.name))
        return
    try:
        format, parser = detect(document, plan.format)
        page_frames.write(out, FormatFrame(format))
        known = {(path, size): digest for path, size, digest in plan.digests}
        records = attached_files.with_files(parser.parse(document), document, lambda: known)
        for page in pages(records, prepare=preparation(plan.drop_secrets)):
            page_frames.write(out, Page(page))
    except InputError as error:
        page_frames.write(out, FailureFrame(str(error.args[0]), error.where, error.hint))
    except Exception as error:
        page_frames.write(out, FailureFrame(f"{type(error).__name__}: {error}", detail=traceback.format_exc()))
    else:
        page_frames.write(out, EndFrame(side_files.found))


def preparation(drop_secrets: bool) -> Prepare:
    """Returns what completes messages for the store."""

    def prepare(messages: Sequence[MessageInsert]) -> list[MessageInsert]:
        kept = without_secrets(messages) if drop_secrets else messages
        found = find_in_texts([message.text for message in kept])
        return [
            message.with_findings(
                importance.score(message),
                tuple(found.get(number, ())),
                text_digest(passage(message.author, message.text)),
            )
            for number, message in enumerate(kept)
        ]

    return prepare


def _end_with_the_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, which every process gets: the other one ends this one
    plan = msgspec.json.decode(sys.stdin.buffer.readline(), type=ReadingPlan)
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    gc.set_threshold(GC_THRESHOLD)
    run(plan, sys.stdout.buffer)


if __name__ == "__main__":
    main()

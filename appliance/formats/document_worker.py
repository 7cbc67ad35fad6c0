"""Reads documents for another process: ``python -m appliance.formats.document_worker``.

Each request on standard input is a line of JSON, ``{"kind": …, "bytes": …}``, followed by so many bytes: the file. The
answers go to standard output, a line of JSON each: the pages (``{"place": …, "text": …}``), then how it ended
(``{"end": …}``, which says why if it could not be read to its end). The process may write no file, and has limits of
memory and of processor time; the other process ends it after a limit of time, and when it has no more documents.
"""

from __future__ import annotations

import json
import math
import signal
import sys
import time
from contextlib import suppress
from typing import BinaryIO

from appliance.formats import documents

MEMORY_BYTES = 1 << 30
"""Address space that a document may take beside what the process has to begin with."""

PROCESSOR_SECONDS = 60
"""Processor time that a document may take; the system ends the process then."""

MAX_PAGES = 20_000
MAX_CHARACTERS = 10_000_000
"""Pages and characters of a document that are read; of more, the first are."""


def answer(kind: documents.DocumentKind, data: bytes, out: BinaryIO) -> None:
    """Read a document, and write its pages and how it ended."""
    pages = characters = 0
    end = ""
    try:
        for page in documents.read(kind, data):
            pages += 1
            characters += len(page.text)
            if pages > MAX_PAGES or characters > MAX_CHARACTERS:
                limit = f"{MAX_PAGES:,} pages" if pages > MAX_PAGES else f"{MAX_CHARACTERS:,} characters"
                end = f"it is longer than the {limit} that are read of a document; the text ends before {page.place}"
                break
            _write(out, {"place": page.place, "text": page.text})
    except documents.DocumentUnreadable as error:
        end = str(error)
    except MemoryError:
        end = f"it takes more than {MEMORY_BYTES >> 20} MB of memory"
    except RecursionError:
        end = "it is nested too deeply"
    except Exception as error:  # what a library says of a damaged file
        end = f"it is damaged ({type(error).__name__})"
    _write(out, {"end": end})
    out.flush()


def _write(out: BinaryIO, value: dict[str, str]) -> None:
    out.write(json.dumps(value).encode() + b"\n")


def limit_resources() -> None:
    """Limit what this process may take, as far as the system can."""
    if sys.platform == "win32":
        return
    import resource

    used = 0
    with suppress(OSError), open("/proc/self/statm", "rb") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    limits = {resource.RLIMIT_AS: used + MEMORY_BYTES, resource.RLIMIT_FSIZE: 0, resource.RLIMIT_CORE: 0}
    for kind, wanted in limits.items():
        _, most = resource.getrlimit(kind)
        with suppress(OSError, ValueError):  # a system may not know the limit, or have a lower one
            resource.setrlimit(kind, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def limit_time() -> None:
    """Limit the processor time of the next document."""
    if sys.platform == "win32":
        return
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = math.ceil(time.process_time()) + PROCESSOR_SECONDS
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (wanted if most == resource.RLIM_INFINITY else min(wanted, most), most))


def main() -> None:
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the other process ends this one
    limit_resources()
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        limit_time()
        answer(request["kind"], sys.stdin.buffer.read(request["bytes"]), sys.stdout.buffer)


if __name__ == "__main__":
    main()

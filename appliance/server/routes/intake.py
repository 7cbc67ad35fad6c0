"""/v1/import: an export as it is, streamed to the disk and read from there."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import Query, Request
from pydantic import AfterValidator, WithJsonSchema
from starlette.responses import Response

from appliance.errors import StoreError, UsageError
from appliance.ingest.parse import formats
from appliance.paths import FILE_MODE, FOLDER_MODE, Home
from appliance.server import idempotency, shapes
from appliance.server.problems import Conflict, as_things_stand
from appliance.server.reach import Caller, Writer
from appliance.server.routes.base import answer, group, may
from appliance.types import IngestReport

router = group("intake")

NAMELESS = "upload"
"""What an export is called that comes without a name."""

WRITTEN_AT_ONCE = 1024 * 1024
"""Bytes that are gathered before they are written: a thread's turn for each packet would cost more than writing."""

NAME = r"^[^/\\\x00-\x1f\x7f]*[^/\\\x00-\x20\x7f.][^/\\\x00-\x1f\x7f]*$"
"""A file's name that names nothing but a file: no folders, no signs that steer, and not dots alone."""

LONGEST_NAME = 250
"""Bytes of a file's name; most file systems have room for 255."""


def _a_format(name: str) -> str:
    if name not in formats():
        raise ValueError("no such format: docs/formats.md lists them")
    return name


Format = Annotated[str, AfterValidator(_a_format), WithJsonSchema({"type": "string", "enum": [*formats()]})]


@router.post(
    "/v1/import",
    response_model=shapes.IngestAnswer,
    responses=may(409, 503),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}
            },
        }
    },
)
async def import_export(
    request: Request,
    caller: Writer,
    filename: Annotated[
        str | None,
        Query(
            description="What it is called; some formats say something by it.", pattern=NAME, max_length=200
        ),
    ] = None,
    format: Annotated[
        Format | None, Query(description="A format by its name; recognised by its content unless given.")
    ] = None,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    dry_run: Annotated[bool, Query(description="Report what would happen; change nothing.")] = False,
    again: Annotated[bool, Query(description="Take in, too, what was forgotten before.")] = False,
    wait: Annotated[
        bool, Query(description="Embed before answering, or leave it to the background.")
    ] = False,
) -> Response:
    """Read an export: the body is the file itself, a zip or any file that 'appliance ingest' reads."""
    read = functools.partial(
        _ingest,
        caller,
        format=format,
        user=caller.user(user_id),
        namespace=caller.namespace(namespace),
        dry_run=dry_run,
        again=again,
        wait=wait,
    )
    folder = await anyio.to_thread.run_sync(_fresh_folder, caller.service.home)
    try:
        path = folder / _fitting(filename or NAMELESS)
        digest = await _receive(request, path)
        if not path.stat().st_size:
            raise UsageError(
                "there is no body", hint="send the export itself: curl --data-binary @export.zip"
            )

        async def ingest() -> Response:
            report = await anyio.to_thread.run_sync(read, path, limiter=request.app.state.imports)
            told = shapes.ingest_shape(_without_folder(report, folder))
            if not caller.grant.is_owner:
                told["totals"] |= {"embedded": None, "pending": None}
            return answer(told)

        if caller.key is None:
            return await ingest()
        asked = idempotency.fingerprint(request.method, request.url.path, request.url.query.encode(), digest)
        answers: idempotency.Answers = request.app.state.answers
        return await answers.once((caller.grant, caller.key), asked, ingest)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(functools.partial(shutil.rmtree, folder, ignore_errors=True))


def at_once() -> CapacityLimiter:
    """Exports that are read at the same time: one writes, and another is unpacked meanwhile."""
    return CapacityLimiter(2)


def clear_leftovers(home: Home) -> None:
    """Remove what uploads have left that a crash cut short."""
    shutil.rmtree(home.uploads, ignore_errors=True)


def _fitting(name: str) -> str:
    """
    Raises:
        Conflict: the name is longer than what a folder here holds.
    """
    if len(os.fsencode(name)) > LONGEST_NAME:
        raise Conflict(
            f"the file's name is longer than {LONGEST_NAME} bytes", hint="send it under a shorter one"
        )
    return name


def _fresh_folder(home: Home) -> Path:
    try:
        home.uploads.mkdir(mode=FOLDER_MODE, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=home.uploads))
    except OSError as error:
        raise _refused(error, home.uploads) from error


async def _receive(request: Request, path: Path) -> bytes:
    """Write the body to ``path`` as it comes; its SHA-256."""
    digest = hashlib.sha256()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with os.fdopen(descriptor, "wb", buffering=0) as file:

        def write(data: bytes) -> None:
            digest.update(data)
            try:
                view = memoryview(data)
                while view:
                    view = view[file.write(view) :]
            except OSError as error:
                raise _refused(error, path) from error

        waiting: list[bytes] = []
        async for piece in request.stream():
            waiting.append(piece)
            if sum(map(len, waiting)) >= WRITTEN_AT_ONCE:
                await anyio.to_thread.run_sync(write, b"".join(waiting))
                waiting = []
        await anyio.to_thread.run_sync(write, b"".join(waiting))
    return digest.digest()


def _refused(error: OSError, path: Path) -> StoreError:
    return StoreError(
        error.strerror or "the disk refuses", where=str(path), hint="see to the disk and its rights"
    )


def _ingest(
    caller: Caller,
    path: Path,
    *,
    format: str | None,
    user: str | None,
    namespace: str,
    dry_run: bool,
    again: bool,
    wait: bool,
) -> IngestReport:
    with as_things_stand():
        return caller.memory.ingest(
            path, format=format, user_id=user, namespace=namespace, dry_run=dry_run, again=again, wait=wait
        )


def _without_folder(report: IngestReport, folder: Path) -> IngestReport:
    """A report whose paths begin with what was uploaded: where it lay meanwhile is no longer."""
    prefix = f"{folder}{os.sep}"
    return replace(
        report, files=tuple(replace(file, path=file.path.removeprefix(prefix)) for file in report.files)
    )

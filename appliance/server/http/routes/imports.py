"""/v1/import: an export is streamed to the disk and ingested from there."""

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

from appliance.errors import DiskFull, StoreError, UsageError
from appliance.formats import formats
from appliance.paths import FILE_MODE, FOLDER_MODE, Home
from appliance.server.http import idempotency, responses
from appliance.server.http.caller import HttpCaller, Writer
from appliance.server.http.problems import Conflict, unreadable_response, usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import IngestReport

router = make_router("intake")

DEFAULT_FILE_NAME = "upload"
"""The name of an export that has none."""

WRITE_BUFFER_BYTES = 1024 * 1024
"""Bytes gathered before each write: a switch to a thread for every packet would cost more than writing."""

FILE_NAME_PATTERN = r"^[^/\\\x00-\x1f\x7f]*[^/\\\x00-\x20\x7f.][^/\\\x00-\x1f\x7f]*$"
"""A plain file name: no folders, no control characters, not only dots."""

MAX_FILE_NAME_BYTES = 250
"""Bytes of a file name; most file systems allow 255."""


def _check_format(name: str) -> str:
    if name not in formats():
        raise ValueError("is no format that is known; 'appliance docs formats' lists them")
    return name


Format = Annotated[str, AfterValidator(_check_format), WithJsonSchema({"type": "string", "enum": [*formats()]})]


@router.post(
    "/v1/import",
    response_model=responses.IngestAnswer,
    responses=problem_responses(409, 503),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}},
        }
    },
)
async def import_export(
    request: Request,
    caller: Writer,
    filename: Annotated[
        str | None,
        Query(
            description="The name of the file; some formats are recognised by it.",
            pattern=FILE_NAME_PATTERN,
            max_length=200,
        ),
    ] = None,
    format: Annotated[
        Format | None, Query(description="A format by its name; recognised by the content by default.")
    ] = None,
    user_id: Annotated[str | None, Query(min_length=1)] = None,
    namespace: str | None = None,
    dry_run: Annotated[bool, Query(description="Report what would be done, without changing anything.")] = False,
    again: Annotated[bool, Query(description="Also ingest messages that were forgotten before.")] = False,
    wait: Annotated[bool, Query(description="Embed before answering, instead of in the background.")] = False,
    keep_attachments: Annotated[
        bool | None, Query(description="Copy attached files into the memory; by default as the settings say.")
    ] = None,
) -> Response:
    """Ingest an export. The body is the file itself: a zip or any file that 'appliance ingest' reads. If nothing of it
    can be read, the answer is a problem with the status 422; if a part can, it is the report, with the status 200."""
    run_ingest = functools.partial(
        _ingest,
        caller,
        format=format,
        user=caller.resolve_user(user_id),
        namespace=caller.resolve_namespace(namespace),
        dry_run=dry_run,
        again=again,
        wait=wait,
        keep=keep_attachments,
    )
    folder = await anyio.to_thread.run_sync(_make_upload_folder, caller.service.home)
    try:
        path = folder / _check_file_name(filename or DEFAULT_FILE_NAME)
        digest = await _receive(request, path)
        if not path.stat().st_size:
            raise UsageError("The body is empty.", hint="Send the export itself: curl --data-binary @export.zip.")

        async def ingest() -> Response:
            report = await anyio.to_thread.run_sync(run_ingest, path, limiter=request.app.state.imports)
            report = _strip_upload_folder(report, folder)
            document = responses.ingest_shape(report)
            if not caller.grant.is_owner:
                document["totals"] |= {"embedded": None, "pending": None}
                document["pending_reason"] = None
            if is_failure(report):
                return unreadable_response(request, report, document)
            return json_response(document)

        if caller.key is None:
            return await ingest()
        fingerprint = idempotency.fingerprint(request.method, request.url.path, request.url.query.encode(), digest)
        answers: idempotency.ResponseCache = request.app.state.answers
        return await answers.run_once((caller.grant, caller.key), fingerprint, ingest)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(functools.partial(shutil.rmtree, folder, ignore_errors=True))


def is_failure(report: IngestReport) -> bool:
    """Whether nothing of an export could be read, and at least one file should have been."""
    return {file.status for file in report.files} - {"skipped"} == {"failed"}


def import_limiter() -> CapacityLimiter:
    """Limits concurrent imports to two: one writes while another is unpacked."""
    return CapacityLimiter(2)


def clear_leftovers(home: Home) -> None:
    """Remove uploads that a crash has left."""
    shutil.rmtree(home.uploads, ignore_errors=True)


def _check_file_name(name: str) -> str:
    """
    Raises:
        Conflict: The name is too long for a file system.
    """
    if len(os.fsencode(name)) > MAX_FILE_NAME_BYTES:
        raise Conflict(f"The file name is longer than {MAX_FILE_NAME_BYTES} bytes.", hint="Send a shorter one.")
    return name


def _make_upload_folder(home: Home) -> Path:
    try:
        home.uploads.mkdir(mode=FOLDER_MODE, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=home.uploads))
    except OSError as error:
        raise _disk_error(error, home.uploads) from error


async def _receive(request: Request, path: Path) -> bytes:
    """Write the body to ``path`` as it arrives. Returns its SHA-256."""
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
                raise _disk_error(error, path) from error

        buffered: list[bytes] = []
        async for chunk in request.stream():
            buffered.append(chunk)
            if sum(map(len, buffered)) >= WRITE_BUFFER_BYTES:
                await anyio.to_thread.run_sync(write, b"".join(buffered))
                buffered = []
        await anyio.to_thread.run_sync(write, b"".join(buffered))
    return digest.digest()


def _disk_error(error: OSError, path: Path) -> StoreError:
    return StoreError(
        f"The file can't be written ({error.strerror or error}).",
        where=str(path),
        hint="Check free space and permissions.",
    )


def _ingest(
    caller: HttpCaller,
    path: Path,
    *,
    format: str | None,
    user: str | None,
    namespace: str,
    dry_run: bool,
    again: bool,
    wait: bool,
    keep: bool | None,
) -> IngestReport:
    with usage_error_as_conflict():
        report = caller.memory.ingest(
            path, format=format, user_id=user, namespace=namespace, dry_run=dry_run, again=again, wait=wait,
            keep_attachments=keep,
        )  # fmt: skip
    if report.stopped:  # names folders of this machine, which are the owner's business
        raise DiskFull(
            "The disk of the memory has no room: the import ended early, and what was stored is kept.",
            hint="Make room on the disk, then import it again: only new messages are added.",
        )
    return report


def _strip_upload_folder(report: IngestReport, folder: Path) -> IngestReport:
    """A report with paths relative to the upload folder, which is temporary."""
    prefix = f"{folder}{os.sep}"
    return replace(report, files=tuple(replace(file, path=file.path.removeprefix(prefix)) for file in report.files))

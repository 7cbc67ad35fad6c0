"""/v1/export: conversations and messages as a file: JSONL, Markdown or an HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Literal

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from appliance.errors import NotFound
from appliance.export_files import FORMATS, export_chunks
from appliance.server.http.caller import HttpCaller, Reader
from appliance.server.http.problems import usage_error_as_conflict
from appliance.server.http.routes.base import make_router, problem_responses

router = make_router("exports")


@router.get(
    "/v1/export",
    response_class=Response,
    responses={
        **problem_responses(404, 409),
        200: {
            "description": "The file",
            "content": {format.media_type: {"schema": {"type": "string"}} for format in FORMATS.values()},
        },
    },
)
def export(
    caller: Reader,
    id: Annotated[
        list[Annotated[str, Query(min_length=1)]],
        Query(description="Sessions (s12) and messages (m345), also by external ids; none means all, for the owner."),
    ] = [],  # noqa: B006
    format: Annotated[
        Literal["jsonl", "markdown", "html"], Query(description="jsonl can be imported again; the others are to read.")
    ] = "jsonl",
    user_id: Annotated[str | None, Query(min_length=1)] = None,
) -> Response:
    """Some sessions and messages as one file, or all of a user. Secrets in them are hidden, as in every answer. The
    transfer breaks off where a message is damaged; all others have been sent then."""
    ids = [_readable_id(caller, reference) for reference in id]
    if not ids:
        caller.require_owner("a whole export")
    chunks = export_chunks(caller.memory, format, caller.resolve_user(user_id), ids=ids)
    with usage_error_as_conflict():
        return StreamingResponse(_begun(chunks), media_type=FORMATS[format].media_type)


def _readable_id(caller: HttpCaller, reference: str) -> str:
    """The id of a session or a message that the caller may read.

    Raises:
        NotFound: There is none.
    """
    if caller.grant.is_owner:
        return caller.resolve_id(reference)
    try:
        return caller.readable_session(reference).id
    except NotFound:
        try:
            return caller.message(reference).id
        except NotFound:
            raise caller.not_found("session or message", reference) from None


def _begun(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same chunks, of which the first two are read now: what is wrong with the request shows in them."""
    return chain(list(islice(chunks, 2)), chunks)

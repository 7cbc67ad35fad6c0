"""/v1/forget: messages erased for good, with a receipt."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from appliance.errors import NotFound
from appliance.server.confirmation import code_of, is_code_of
from appliance.server.http import erasure_answers
from appliance.server.http.bodies import MAX_UNCONFIRMED, ForgetBody
from appliance.server.http.caller import HttpCaller, Reader, Writer
from appliance.server.http.problems import Conflict, usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import ErasurePreview, Receipt

router = make_router("forgetting")

REDACTED_FILE = "a file of the memory"
"""Replaces paths on this machine for anyone but the owner."""


@dataclass(frozen=True, slots=True)
class ForgetAnswer:
    """``would_forget`` with ``dry_run``, and ``confirm``, the code that erases exactly that; ``forgotten`` if nothing
    matched; else the ``receipt``. ``files`` are exports outside of the memory that still contain the messages; they are
    not changed. ``echoes`` still say it, or were erased too (``with_echoes``)."""

    would_forget: erasure_answers.ErasurePreviewAnswer | None = None
    forgotten: erasure_answers.ErasurePreviewAnswer | None = None
    receipt: erasure_answers.ReceiptAnswer | None = None
    files: tuple[str, ...] = ()
    echoes: tuple[erasure_answers.EchoAnswer, ...] = ()
    confirm: str | None = None


@router.post("/v1/forget", response_model=ForgetAnswer, responses=problem_responses(404, 409))
def forget(caller: Writer, body: ForgetBody) -> Response:
    """Erase messages for good, with a receipt; with dry_run, only preview it. What is not named by ids is erased only
    with confirm, the code of a preview; the owner's token may erase a few messages without."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    with usage_error_as_conflict():
        preview = caller.memory.erasure.preview(
            *_resolve_ids(caller, body),
            source=body.source or None,
            query=body.query or None,
            title=body.title or None,
            author=body.author or None,
            author_name=body.author_name or None,
            since=body.since,
            until=body.until,
            everything=body.everything,
            with_echoes=body.with_echoes,
            by="person" if caller.grant.is_owner else "assistant",
            user_id=user,
            namespace=namespace,
        )
    if not caller.grant.is_owner:
        titles = {key: title for key, title in preview.titles.items() if _may_read(caller, f"s{key}")}
        preview = replace(preview, files=(), source_files=(), titles=titles)
    texts = _readable_texts(caller, erasure_answers.message_echoes(preview.echoes))
    echoes = erasure_answers.echo_shapes(preview, texts)
    selection = (user, namespace, body.model_dump(mode="json", exclude={"dry_run", "confirm"}))
    if body.dry_run:
        shape = erasure_answers.erasure_preview_shape(preview, echoes)
        return json_response({"would_forget": shape, "confirm": code_of(selection, preview)})
    if preview.is_empty:
        return json_response({"forgotten": erasure_answers.erasure_preview_shape(preview, echoes)})
    _require_confirmation(caller, body, selection, preview)
    receipt = erasure_answers.receipt_shape(_redact(caller, caller.memory.erasure.forget(preview)))
    return json_response({"receipt": receipt, "files": preview.files, "echoes": echoes})


@router.get("/v1/forget/receipts", response_model=Sequence[erasure_answers.ReceiptAnswer])
def receipts(caller: Reader) -> Response:
    """The receipts, latest first: counts and proofs, no text. Owner only."""
    caller.require_owner("receipts")
    return json_response([erasure_answers.receipt_shape(receipt) for receipt in caller.memory.erasure.receipts()])


@router.get("/v1/forget/receipts/{id}", response_model=erasure_answers.ReceiptAnswer, responses=problem_responses(404))
def receipt(caller: Reader, id: Annotated[str, Path(examples=["e3"])]) -> Response:
    """One receipt. Owner only."""
    caller.require_owner("receipts")
    matching = [item for item in caller.memory.erasure.receipts() if item.id == id]
    if not matching:
        raise NotFound(f"There is no receipt {id!r}.", hint="'appliance forget --receipts' lists the receipts.")
    return json_response(erasure_answers.receipt_shape(matching[0]))


def _resolve_ids(caller: HttpCaller, body: ForgetBody) -> list[str]:
    """The named ids as they are for the owner, resolved for others."""
    return body.ids if caller.grant.is_owner else [caller.resolve_id(reference) for reference in body.ids]


def _require_confirmation(caller: HttpCaller, body: ForgetBody, selection: object, preview: ErasurePreview) -> None:
    """Check what confirms an erasure.

    Raises:
        Conflict: It is of another one, or lacks where it is needed.
    """
    messages = len(preview.messages)
    named = "1 message" if messages == 1 else f"{messages:,} messages"
    hint = 'Preview it with "dry_run": true, then repeat it with the "confirm" that the preview gives.'
    if isinstance(body.confirm, str) and not is_code_of(body.confirm, selection, preview):
        raise Conflict(
            "Nothing was erased: the code is of another selection, or what it selects has changed since.", hint=hint
        )
    if isinstance(body.confirm, int) and body.confirm != messages:
        raise Conflict(f"Nothing was erased: it is {named}, and {body.confirm:,} were confirmed.", hint=hint)
    may_erase = body.ids or (caller.grant.is_owner and messages <= MAX_UNCONFIRMED)
    if body.confirm is None and not may_erase:
        raise Conflict(f"Nothing was erased: this would erase {named}.", hint=hint)


def _may_read(caller: HttpCaller, session: str) -> bool:
    with suppress(NotFound):
        caller.readable_session(session)
        return True
    return False


def _readable_texts(caller: HttpCaller, ids: Sequence[str]) -> dict[str, str]:
    """The texts of those messages that the caller may read."""
    texts = {}
    for id in ids:
        with suppress(NotFound):
            texts[id] = caller.message(id).text
    return texts


def _redact(caller: HttpCaller, receipt: Receipt) -> Receipt:
    if caller.grant.is_owner:
        return receipt
    report = replace(
        receipt.proof,
        files=0,
        bytes=0,
        repeated=0,  # who else says it is nothing that this caller may know
        repeated_by=(),
        traces=(REDACTED_FILE,) * len(receipt.proof.traces),
        yours=(REDACTED_FILE,) * len(receipt.proof.yours),
    )
    return replace(receipt, proof=report)

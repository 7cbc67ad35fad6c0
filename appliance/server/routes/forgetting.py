"""/v1/forget: what is to be gone is gone, with a receipt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Path
from starlette.responses import Response

from appliance.errors import NotFound
from appliance.server import shapes
from appliance.server.models import ForgetAsked
from appliance.server.problems import as_things_stand
from appliance.server.reach import Caller, Reader, Writer
from appliance.server.routes.base import answer, group, may
from appliance.types import Receipt

router = group("forgetting")

UNNAMED = "a file of the memory"
"""What a place on this machine is called for whoever is not its owner."""


@dataclass(frozen=True, slots=True)
class Forgot:
    """What was forgotten, or what would be: with ``dry_run`` there is ``would_forget``, where there was nothing to
    forget ``forgotten`` says so, else there is the ``receipt``. ``files`` outside hold it still and are left alone."""

    would_forget: shapes.Erasable | None = None
    forgotten: shapes.Erasable | None = None
    receipt: Receipt | None = None
    files: tuple[str, ...] = ()


@router.post("/v1/forget", response_model=Forgot, responses=may(404, 409))
def forget(caller: Writer, asked: ForgetAsked) -> Response:
    """Erase messages for good, and prove it; or, with dry_run, say what would go."""
    user, namespace = caller.user(asked.user_id), caller.namespace(asked.namespace)
    with as_things_stand():
        doomed = caller.memory.forgetting.preview(
            *_ids(caller, asked),
            source=asked.source or None,
            query=asked.query or None,
            everything=asked.everything,
            user_id=user,
            namespace=namespace,
        )
    if not caller.grant.is_owner:
        doomed = replace(doomed, files=())
    if asked.dry_run:
        return answer({"would_forget": shapes.doomed_shape(doomed)})
    if not (doomed.messages or doomed.sessions or doomed.facts):
        return answer({"forgotten": shapes.doomed_shape(doomed)})
    receipt = caller.memory.forgetting.forget(doomed)
    return answer({"receipt": _shown(caller, receipt), "files": doomed.files})


@router.get("/v1/forget/receipts", response_model=Sequence[Receipt])
def receipts(caller: Reader) -> Response:
    """What was forgotten so far, the latest first: counts and proofs, no words. For the owner."""
    caller.require_owner("receipts are")
    return answer(caller.memory.forgetting.receipts())


@router.get("/v1/forget/receipts/{id}", response_model=Receipt, responses=may(404))
def receipt(caller: Reader, id: Annotated[str, Path(examples=["e3"])]) -> Response:
    """One receipt. For the owner."""
    caller.require_owner("receipts are")
    found = [one for one in caller.memory.forgetting.receipts() if one.id == id]
    if not found:
        raise NotFound(f"there is no receipt {id!r}", hint="'appliance forget --receipts' lists them")
    return answer(found[0])


def _ids(caller: Caller, asked: ForgetAsked) -> list[str]:
    """What is named, as it is; for a grant with a scope, as the ids of what is in reach."""
    return asked.ids if caller.grant.is_owner else [caller.named(one) for one in asked.ids]


def _shown(caller: Caller, receipt: Receipt) -> Receipt:
    if caller.grant.is_owner:
        return receipt
    proof = replace(
        receipt.proof,
        files=0,
        bytes=0,
        traces=(UNNAMED,) * len(receipt.proof.traces),
        yours=(UNNAMED,) * len(receipt.proof.yours),
    )
    return replace(receipt, proof=proof)

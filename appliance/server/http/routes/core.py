"""/v1/core: core memory, the blocks that every context has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from appliance.server.http.caller import HttpCaller, Reader, Writer
from appliance.server.http.core_bodies import AppendToBlockBody, BlockBody, ReplaceInBlockBody, RevertBlockBody
from appliance.server.http.problems import Forbidden, usage_error_as_conflict
from appliance.server.http.routes.base import json_response, make_router, problem_responses
from appliance.types import BlockEditor, BlockRevision, CoreBlock
from appliance.types.core import MAX_LABEL_CHARACTERS

router = make_router("core memory")

Label = Annotated[
    str,
    Path(
        description="The label of a block: a word of letters, digits, '-', '_' and '.'.",
        pattern=r"^[^\W_][\w.-]*$",
        max_length=MAX_LABEL_CHARACTERS,
        examples=["persona"],
    ),
]
UserId = Annotated[str | None, Query(min_length=1)]


@router.get("/v1/core", response_model=Sequence[CoreBlock])
def list_blocks(caller: Reader, user_id: UserId = None, namespace: str | None = None) -> Response:
    """The blocks of core memory, in the order in which contexts have them."""
    return json_response(caller.memory.core.list(caller.resolve_user(user_id), caller.resolve_namespace(namespace)))


@router.get("/v1/core/{label}", response_model=CoreBlock, responses=problem_responses(404))
def block(caller: Reader, label: Label, user_id: UserId = None, namespace: str | None = None) -> Response:
    """A block of core memory."""
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    return json_response(caller.memory.core.get(label, user_id=user, namespace=namespace))


@router.put("/v1/core/{label}", response_model=CoreBlock, responses=problem_responses(409))
def set_block(caller: Writer, label: Label, body: BlockBody) -> Response:
    """Write a block, or begin one; what is left out stays as it is. The text before stays in its history."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    by, assistant = _editor(caller, body.by)
    with usage_error_as_conflict():
        changed = caller.memory.core.set(
            label,
            body.value,
            description=body.description,
            limit=body.limit,
            read_only=body.read_only,
            revision=body.revision,
            by=by,
            assistant=assistant,
            user_id=user,
            namespace=namespace,
        )
    return json_response(changed)


@router.post("/v1/core/{label}/append", response_model=CoreBlock, responses=problem_responses(409))
def append_to_block(caller: Writer, label: Label, body: AppendToBlockBody) -> Response:
    """Add a line to a block, or begin a block with it."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    by, assistant = _editor(caller, body.by)
    with usage_error_as_conflict():
        changed = caller.memory.core.append(
            label, body.text, by=by, assistant=assistant, user_id=user, namespace=namespace
        )
    return json_response(changed)


@router.post("/v1/core/{label}/replace", response_model=CoreBlock, responses=problem_responses(404, 409))
def replace_in_block(caller: Writer, label: Label, body: ReplaceInBlockBody) -> Response:
    """Replace a part of a block, which it has once."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    by, assistant = _editor(caller, body.by)
    with usage_error_as_conflict():
        changed = caller.memory.core.replace(
            label, body.old, body.new, by=by, assistant=assistant, user_id=user, namespace=namespace
        )
    return json_response(changed)


@router.get("/v1/core/{label}/history", response_model=Sequence[BlockRevision], responses=problem_responses(404))
def block_history(caller: Reader, label: Label, user_id: UserId = None, namespace: str | None = None) -> Response:
    """The texts that a block had, the present one last."""
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    return json_response(caller.memory.core.history(label, user_id=user, namespace=namespace))


@router.post("/v1/core/{label}/revert", response_model=CoreBlock, responses=problem_responses(404, 409))
def revert_block(caller: Writer, label: Label, body: RevertBlockBody) -> Response:
    """Give a block a text again that it had."""
    user, namespace = caller.resolve_user(body.user_id), caller.resolve_namespace(body.namespace)
    by, assistant = _editor(caller, body.by)
    with usage_error_as_conflict():
        changed = caller.memory.core.revert(
            label, body.revision, by=by, assistant=assistant, user_id=user, namespace=namespace
        )
    return json_response(changed)


@router.delete("/v1/core/{label}", response_model=CoreBlock, responses=problem_responses(404))
def delete_block(caller: Writer, label: Label, user_id: UserId = None, namespace: str | None = None) -> Response:
    """Delete a block with its history; only the owner's token may. Answers with what it was."""
    if not caller.grant.is_owner:
        raise Forbidden("Only the owner of the memory may delete a block.", hint="An empty value empties it.")
    user, namespace = caller.resolve_user(user_id), caller.resolve_namespace(namespace)
    return json_response(caller.memory.core.delete(label, user_id=user, namespace=namespace))


def _editor(caller: HttpCaller, by: BlockEditor) -> tuple[BlockEditor, str]:
    """Who writes: a token that is not the owner's is an assistant's, and has its name."""
    return (by, "") if caller.grant.is_owner else ("assistant", caller.grant.name)

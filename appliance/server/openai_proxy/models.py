"""``/v1/models``: those of the endpoint that chats are forwarded to. ``/v1/embeddings``: vectors by the memory's own
model, which runs on this machine."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from appliance.engine import text_vectors
from appliance.errors import ApplianceError, EndpointError, NotFound, UsageError
from appliance.server.openai_proxy import errors, openapi
from appliance.server.openai_proxy.route import configured_upstream, read_body

if TYPE_CHECKING:
    from appliance.engine.engine import Engine
    from appliance.server.access.grants import Service

MAX_INPUTS = 2_048
"""Texts of one request, as many as OpenAI takes."""

router = APIRouter(tags=["chat"])


class EmbeddingsRequest(msgspec.Struct):
    """OpenAI's request for vectors. ``input`` is a text, a list of texts, the tokens of a text, or a list of these;
    ``input_type`` is an addition of ours: what the texts are."""

    input: Any
    model: str = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: Literal["passage", "query"] = "passage"


@router.get(
    "/v1/models", summary="The models of the endpoint that chats are forwarded to", responses=openapi.MODELS_RESPONSES
)
async def models(request: Request) -> Response:
    """As the endpoint lists them."""
    service: Service = request.app.state.service
    try:
        answer = await configured_upstream(service).get("/models")
    except ApplianceError as error:
        return errors.response(error)
    return Response(answer.body, answer.status, answer.headers)


@router.get("/v1/models/{id:path}", summary="One of these models", responses=openapi.MODEL_RESPONSES)
async def model(request: Request, id: str) -> Response:
    """As the endpoint lists it, or the model of ``/v1/embeddings``."""
    service: Service = request.app.state.service
    if id == text_vectors.text_model(service.engine):
        return JSONResponse({"id": id, "object": "model", "created": 0, "owned_by": "memory-appliance"})
    try:
        answer = await configured_upstream(service).get("/models")
        if answer.status != 200:
            return Response(answer.body, answer.status, answer.headers)
        found = next((one for one in _listed(answer.body) if one.get("id") == id), None)
        if found is None:
            raise NotFound(f"There is no model {id!r}.", hint="/v1/models lists the models.")
    except ApplianceError as error:
        return errors.response(error)
    return JSONResponse(found)


def _listed(body: bytes) -> list[dict[str, Any]]:
    """
    Raises:
        EndpointError: It is no list of models.
    """
    try:
        return msgspec.json.decode(body, type=_ModelList).data
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EndpointError("The model's endpoint sent no list of models.") from error


class _ModelList(msgspec.Struct):
    data: list[dict[str, Any]]


_TEXT = {"type": "string", "minLength": 1}
_TOKENS = {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 100_255}, "minItems": 1}
"""The tokens of a text in cl100k_base, the encoding of models that are not known."""


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_INPUTS}


@router.post(
    "/v1/embeddings",
    summary="Vectors of texts, by the model of the memory",
    responses=openapi.EMBEDDINGS_RESPONSES,
    openapi_extra=openapi.plain_extra(
        {
            "input": {"anyOf": [_TEXT, _TOKENS, *(_list_of(one) for one in (_TEXT, _TOKENS))]},
            "model": {"type": "string"},
            "encoding_format": {"type": "string", "enum": ["float", "base64"]},
            "input_type": {"type": "string", "enum": ["passage", "query"]},
        },
        "input",
    ),
)
async def embeddings(request: Request) -> Response:
    """As OpenAI's, computed on this machine; nothing is stored. ``model`` is the memory's model, or left out;
    ``dimensions`` can only be the length of its vectors. Tokens are taken in place of texts, too.
    ``input_type`` says "query" for questions, which some models read differently."""
    service: Service = request.app.state.service
    try:
        asked = _read(await read_body(request, service.settings.body))
        answer = await run_in_threadpool(_embed, service.engine, asked)
    except ApplianceError as error:
        return errors.response(error)
    return Response(msgspec.json.encode(answer), media_type="application/json")


def _read(body: bytes) -> EmbeddingsRequest:
    """
    Raises:
        UsageError: The body is not a request for vectors, or has too many texts.
    """
    try:
        asked = msgspec.json.decode(body, type=EmbeddingsRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        reason = f": {error}" if isinstance(error, msgspec.ValidationError) else ""
        raise UsageError(f"The request is not one for embeddings{reason}.", hint=_EXAMPLE) from None
    if asked.input in ("", []):
        raise UsageError("The input is empty.", hint=_EXAMPLE)
    if isinstance(asked.input, list) and "" in asked.input:
        raise UsageError(f"Text {asked.input.index('') + 1:,} of the input is empty.", hint=_EXAMPLE)
    if not (isinstance(asked.input, str) or _is_tokens(asked.input) or _is_list_of_texts(asked.input)):
        raise UsageError("The input must be a text, or a list of texts.", hint=_EXAMPLE)
    if not _is_tokens(asked.input) and not isinstance(asked.input, str) and len(asked.input) > MAX_INPUTS:
        raise UsageError(f"The input has {len(asked.input):,} texts; at most {MAX_INPUTS:,} are embedded at once.")
    return asked


_EXAMPLE = 'Send {"input": ["…"]}.'


def _is_tokens(given: object) -> bool:
    """Whether it is a list of numbers of tokens; JSON may write 7 as 7.0."""
    return isinstance(given, list) and bool(given) and all(_is_token(one) for one in given)


def _is_token(given: object) -> bool:
    return type(given) in (int, float) and given >= 0 and given == given // 1  # type: ignore[operator]


def _is_list_of_texts(given: object) -> bool:
    if not isinstance(given, list):
        return False
    return all(isinstance(one, str) for one in given) or all(_is_tokens(one) for one in given)


def _embed(engine: Engine, asked: EmbeddingsRequest) -> dict[str, Any]:
    """
    Raises:
        NotFound: There is no such model.
        UsageError: A text is too long, or the model has no vectors of the requested length.
        ModelUnavailable: The model can't be run.
    """
    name = text_vectors.text_model(engine)
    if asked.model not in ("", name):
        raise NotFound(f"There is no embedding model {asked.model!r}.", hint=f"The memory has {name!r}.")
    found = text_vectors.embed_texts(engine, _texts(asked), as_queries=asked.input_type == "query")
    dimension = found.vectors.shape[1]
    if asked.dimensions not in (None, dimension):
        raise UsageError(f"The vectors of {name} have {dimension} numbers, not {asked.dimensions}.")
    vectors: Sequence[object] = (
        [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in found.vectors]
        if asked.encoding_format == "base64"
        else found.vectors.tolist()
    )
    return {
        "object": "list",
        "data": [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)],
        "model": found.model,
        "usage": {"prompt_tokens": found.tokens, "total_tokens": found.tokens},
    }


def _texts(asked: EmbeddingsRequest) -> list[str]:
    """The texts of an input; tokens are decoded as those of the model that the request names."""
    given = [asked.input] if isinstance(asked.input, str) or _is_tokens(asked.input) else asked.input
    return [one if isinstance(one, str) else text_vectors.decode_tokens(asked.model, [*map(int, one)]) for one in given]

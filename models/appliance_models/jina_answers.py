"""Reads the answers of the Jina embeddings API: vectors and the tokens counted, or an error that says what to do.

No error repeats what the API has said: an error message of the API may quote a text, or a part of the key.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from appliance_models.errors import ApiError, ApiUnavailable
from appliance_models.jina_limits import parse_retry_after

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEY_HINT = "Set JINA_API_KEY in the environment, or store the key with 'keyring set memory-appliance JINA_API_KEY'."
BALANCE_HINT = "Top up the account at jina.ai. What waits is embedded afterwards."

BALANCE_STATUS = 402
BALANCE_CODE = "AUTHZ_INSUFFICIENT_BALANCE"
"""What the API calls an empty account, with status 403."""

REFUSED_STATUSES = frozenset((400, 413, 422))
"""The API can't read a request, or finds it too long. (Of a text that is too long it says "Single text cannot exceed
8192 tokens", in ``detail``.)"""

BUSY_STATUSES = frozenset((408, 425, 429))

_TOO_LONG = re.compile(rb"exceed|too long|too large|token limit|at most|maximum", re.IGNORECASE)
_CODE = re.compile(r"[A-Z][A-Z_]{2,60}")


class RequestRefused(ApiError):
    """The API refuses the inputs of a request. ``is_too_long``: because there is too much of them."""

    def __init__(self, message: str, *, is_too_long: bool) -> None:
        super().__init__(message, hint="This may be a change of the API: look for a newer version of this program.")
        self.is_too_long = is_too_long


def error_of(status: int, headers: Mapping[str, str], body: bytes, where: str) -> ApiError:
    """The error of an answer that has no vectors. ``where`` names the API."""
    if status == 401 or (status == 403 and _code(body) != BALANCE_CODE):
        return ApiError(f"{where} does not accept the key (HTTP {status}).", KEY_HINT)
    if status in (BALANCE_STATUS, 403):
        return ApiError(f"{where} says that the balance of the account is used up (HTTP {status}).", BALANCE_HINT)
    if status in REFUSED_STATUSES:
        too_long = status == 413 or bool(_TOO_LONG.search(body))
        return RequestRefused(f"{where} refuses a request (HTTP {status}{_named(body)}).", is_too_long=too_long)
    if status in BUSY_STATUSES or status >= 500:
        retry_after = parse_retry_after(headers.get("retry-after"))
        reason = "limits the requests" if status == 429 else "is overloaded or down"
        return ApiUnavailable(f"{where} {reason} (HTTP {status}).", retry_after=retry_after)
    if 300 <= status < 400:
        return ApiError(f"{where} redirects (HTTP {status}), and redirects are not followed.", "Correct jina.url.")
    return ApiError(f"{where} answers with HTTP {status}{_named(body)}.", "Check jina.url and the model's name.")


def _code(body: bytes) -> str:
    """The code of an error, such as "AUTH_INVALID_API_KEY"; empty if there is none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    code = answer.get("code") if isinstance(answer, dict) else None
    return code if isinstance(code, str) and _CODE.fullmatch(code) else ""


def _named(body: bytes) -> str:
    code = _code(body)
    return f", {code}" if code else ""


def read_vectors(body: bytes, count: int, dimension: int, where: str) -> tuple[NDArray[np.float32], int | None]:
    """The vectors of an answer, (count, dimension), of unit length, in the order of the inputs; and the tokens that the
    API has counted, None if it does not say.

    Raises:
        ApiError: The answer is not one of vectors, one for each input, of so many finite numbers.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise _malformed(where, "is not JSON") from None
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise _malformed(where, "has no list of vectors")
    if len(rows) != count:
        raise _malformed(where, f"has {len(rows)} vectors for {count} texts")
    vectors = np.empty((count, dimension), np.float32)
    missing = set(range(count))
    for row in rows:
        index, numbers = (row.get("index"), row.get("embedding")) if isinstance(row, dict) else (None, None)
        if type(index) is not int or index not in missing:
            raise _malformed(where, "does not number its vectors as the texts")
        missing.discard(index)
        vectors[index] = _vector(numbers, dimension, where)
    return vectors, _total_tokens(answer)


def _vector(numbers: Any, dimension: int, where: str) -> NDArray[np.float32]:
    if not isinstance(numbers, list) or any(type(number) not in (float, int) for number in numbers):
        raise _malformed(where, "has something else than numbers for a vector")
    if len(numbers) != dimension:
        raise _malformed(where, f"has vectors of {len(numbers)} numbers, not {dimension}")
    try:
        vector = np.array(numbers, np.float64)
    except OverflowError:
        raise _malformed(where, "has a number without bounds") from None
    with np.errstate(over="ignore", invalid="ignore"):
        length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length < 1e-6:
        raise _malformed(where, "has a vector with NaN, infinity or only zeros")
    return (vector / length).astype(np.float32)


def _total_tokens(answer: Mapping[str, Any]) -> int | None:
    usage = answer.get("usage")
    total = usage.get("total_tokens") if isinstance(usage, dict) else None
    return total if type(total) is int and total >= 0 else None


def _malformed(where: str, what: str) -> ApiError:
    return ApiError(f"The answer of {where} {what}. Nothing of it is stored.", "Check jina.url and model.dimensions.")

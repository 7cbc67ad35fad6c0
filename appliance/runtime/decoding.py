"""Decodes JSON into types, in several threads at once.

msgspec prepares a type when it is first used, and ends the process if another thread uses the same type meanwhile. Here
types are prepared one at a time, before any thread uses them.
"""

from __future__ import annotations

import threading
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_preparing = threading.Lock()
_decoders: dict[object, msgspec.json.Decoder[Any]] = {}


def decode(data: bytes | str | msgspec.Raw, kind: type[T]) -> T:
    """Return the value of a type that JSON text describes.

    Raises:
        msgspec.DecodeError: The text is not JSON, or (``msgspec.ValidationError``) has another form.
    """
    try:
        return _decoder(kind).decode(data)
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"The text is not UTF-8 at byte {error.start}.") from error


def convert(values: object, kind: type[T], *, strict: bool = True) -> T:
    """Return the value of a type that dictionaries, lists and plain values describe.

    Raises:
        msgspec.ValidationError: They have another form.
    """
    _decoder(kind)  # which prepares the type
    return msgspec.convert(values, kind, strict=strict)


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    if kind not in _decoders:
        with _preparing:
            _decoders[kind] = msgspec.json.Decoder(kind)
    return _decoders[kind]

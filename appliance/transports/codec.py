"""How requests, results and errors travel between two processes: as JSON, with the types that the requests name."""

from __future__ import annotations

import os
import types
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from appliance import errors
from appliance.build_commit import build_version
from appliance.errors import ApplianceError, UsageError
from appliance.requests import Request, request_named, result_type
from appliance.runtime.decoding import convert, decode
from appliance.types import Stream
from appliance.types.vocabulary import MAX_FILTER_VALUES

VERSION = build_version()
"""Of this process. Another version takes and gives other values."""

MAX_INTEGER = 2**63 - 1
"""The largest number that the database takes."""

_FILTERS = frozenset({"roles", "sources", "authors", "participants", "has", "tools", "files", "entities", "topics"})
"""The fields of requests that are filters of messages, of which any number of values would be given."""

_PLACES = frozenset({"limit", "offset"})
"""The fields of requests that may be any number: a limit beyond all rows gives all, an offset beyond them none."""

VERSION_HEADER = "Appliance-Version"
"""Names the client's version: a client may meet another owner than the one that it attached to."""


@dataclass(frozen=True, slots=True)
class EncodedError:
    """An error on the wire. ``error`` is the name of its class. Of a bug, only that is sent."""

    error: str
    message: str
    where: str | None = None
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class WireTypes:
    """The types of a request's fields and of its result on the wire. Of an iterator, ``result`` is an item's type."""

    fields: Mapping[str, Any]
    result: Any
    streams: bool


def wire_types(kind: type[Request[Any]]) -> WireTypes:
    """The wire types of a request."""
    hashable: Any = kind  # mypy takes the hash of the request for that of its class
    return _wire_types(hashable)


@cache
def _wire_types(kind: type[Request[Any]]) -> WireTypes:
    hints = get_type_hints(kind)
    result = result_type(kind)
    streams = get_origin(result) is Stream
    return WireTypes(
        {field.name: _wire_type(hints[field.name]) for field in fields(kind)},
        get_args(result)[0] if streams else result,
        streams,
    )


def _wire_type(hint: Any) -> Any:
    """Times and paths travel as text where text is accepted too. Of a word out of a few, the verb itself says whether
    it is valid."""
    kind, kinds = get_origin(hint), get_args(hint)
    if kind is Literal:
        return str
    if kind in (Union, types.UnionType):
        if str in kinds:
            kinds = tuple(one for one in kinds if one not in (date, datetime) and get_origin(one) is not os.PathLike)
        return Union[tuple(map(_wire_type, kinds))]  # noqa: UP007
    return Sequence[str] if kind in (Sequence, Collection, Iterable) else hint


def check_types(request: Request[Any]) -> None:
    """Check the types of a request's fields, as a daemon does that decodes them. Iterators are not looked into.

    Raises:
        UsageError: A field is not of its type.
    """
    kind: Any = type(request)
    given = {field: getattr(request, field) for field in wire_types(kind).fields}
    checked = {field: plain(value) for field, value in given.items() if not isinstance(value, Iterator)}
    try:
        convert(checked, _arguments(kind))
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$.")
        raise UsageError(f"Invalid argument {place.rstrip('`')}: {reason}.") from error
    for field, value in checked.items():
        _check_bounds(field, value)


def _check_bounds(field: str, value: object) -> None:
    """
    Raises:
        UsageError: A number is larger than the database takes, or a filter has too many values.
    """
    if isinstance(value, int) and field not in _PLACES and abs(value) > MAX_INTEGER:
        raise UsageError(f"Invalid argument {field}: the number must be between -{MAX_INTEGER} and {MAX_INTEGER}.")
    if field in _FILTERS and isinstance(value, list | tuple) and len(value) > MAX_FILTER_VALUES:
        raise UsageError(
            f"Invalid argument {field}: it has {len(value):,} values, and at most {MAX_FILTER_VALUES} are possible.",
            hint="Ask several times, with a part of the values each.",
        )


@cache
def _arguments(kind: Any) -> type[msgspec.Struct]:
    """A request's fields as one value that msgspec checks at once."""
    return msgspec.defstruct(kind.name, [(field, hint, None) for field, hint in wire_types(kind).fields.items()])


def encode_request(request: Request[Any]) -> bytes:
    """A request's fields as JSON.

    Raises:
        UsageError: A field holds what JSON can't express.
    """
    given = {field.name: plain(getattr(request, field.name)) for field in fields(request)}
    try:
        return msgspec.json.encode(given)
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not valid Unicode at character {error.start}.") from error
    except TypeError as error:
        raise UsageError(f"An argument can't be sent to the daemon: {error}.") from error


def decode_request(name: str, body: bytes) -> Request[Any]:
    """The request of a name and its fields.

    Raises:
        UsageError: There is no such request, or a field is not of its type.
    """
    try:
        kind = request_named(name)
        raw = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    except (KeyError, msgspec.DecodeError) as error:
        raise UsageError(f"There is no request {name!r} of this form.") from error
    types = wire_types(kind).fields
    if unknown := raw.keys() - types.keys():
        raise UsageError(f"{name} has no argument {', '.join(sorted(unknown))}.")
    given = {}
    for field, value in raw.items():
        try:
            given[field] = decode(value, types[field])
        except msgspec.DecodeError as error:
            raise UsageError(f"Invalid argument {field}: {error}.") from error
    try:
        return kind(**given)
    except TypeError as error:
        raise UsageError(f"Invalid request {name}: {error}.") from error


def plain(value: Any) -> Any:
    """A value as JSON can express it: paths and times as text, any collection as a list."""
    if value is None or isinstance(value, str | bytes | int | float | Mapping):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return [plain(one) for one in value]
    return value


def encode_error(error: Exception) -> EncodedError:
    """An error as it travels."""
    if isinstance(error, ApplianceError):
        return EncodedError(type(error).__name__, str(error.args[0]), error.where, error.hint)
    return EncodedError(type(error).__name__, "This is a bug; the daemon's log says more.")


def decode_error(encoded: EncodedError) -> ApplianceError:
    """The error that travelled."""
    kind = getattr(errors, encoded.error, None)
    if isinstance(kind, type) and issubclass(kind, ApplianceError):
        return kind(encoded.message, where=encoded.where, hint=encoded.hint)
    message = f"The process that owns the memory failed ({encoded.error}). {encoded.message}"
    return ApplianceError(message, where=encoded.where)

"""The methods of a client that are made from their requests: the verbs, each with its request's arguments and words."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature, formatannotation, signature
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from appliance.requests import Request, result_type
from appliance.types import SessionInfo

if TYPE_CHECKING:
    from appliance.transports.base import Transport

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Verb(Generic[P, R]):
    """A method of a client, made from its request: the request's fields are its arguments, and the request's docstring
    is its documentation."""

    def __init__(self, kind: Callable[P, Request[R]]) -> None:
        self._method = _method(kind, lambda client, request: client._transport.send(request))

    def __set_name__(self, owner: type, name: str) -> None:
        self._method.__module__ = owner.__module__
        self._method.__name__ = name
        self._method.__qualname__ = f"{owner.__name__}.{name}"

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: object, owner: type) -> Callable[P, R]: ...
    def __get__(self, client: object | None, owner: type) -> Any:
        return self._method if client is None else MethodType(self._method, client)


class SessionVerb(Verb[P, R]):
    """The same for a verb of one session, whose request names the session first."""

    def __init__(self, kind: Callable[Concatenate[str, P], Request[R]]) -> None:
        self._method = _method(kind, lambda session, request: session._transport.send(request), of_session=True)


class OpeningVerb(Verb[P, T]):
    """The same for a verb that finds or begins a session: it returns the session's handle."""

    def __init__(self, kind: Callable[P, Request[SessionInfo]], handle: Callable[[Transport, str], T]) -> None:
        self._method = _method(
            kind, lambda client, request: handle(client._transport, client._transport.send(request).id), returns=handle
        )


def _method(
    kind: Callable[..., Request[Any]], send: Callable[[Any, Any], Any], *, of_session: bool = False, returns: Any = None
) -> FunctionType:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        return send(self, kind(self.id, *args, **named) if of_session else kind(*args, **named))

    own = list(signature(kind).parameters.values())[int(of_session) :]
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own]
    method.__doc__ = kind.__doc__
    result = _type_text(returns or result_type(kind))  # type: ignore[arg-type]
    method.__signature__ = Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
    assert isinstance(method, FunctionType)
    return method


def _type_text(hint: Any) -> str:
    """A type as a signature shows it: "list[Message]"."""
    text = formatannotation(hint)
    return "None" if text == "NoneType" else re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)

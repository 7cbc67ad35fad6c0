"""The methods of a client that are made from their requests: the verbs, each with its request's arguments and words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature, formatannotation, signature
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from appliance.near_names import did_you_mean
from appliance.requests import Request, result_type
from appliance.runtime.lazy import cached_property
from appliance.types import SessionInfo

if TYPE_CHECKING:
    from appliance.transports.base import Transport

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Verb(Generic[P, R]):
    """A method of a client, made from its request: the request's fields are its arguments, and the request's docstring
    is its documentation.

    The request is given by a function, and its module loaded when the verb is first used: the classes of all requests
    take longer to make than a short verb takes.
    """

    def __init__(self, kind: Callable[[], Callable[P, Request[R]]]) -> None:
        self._kind = kind

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: object, owner: type) -> Callable[P, R]: ...
    def __get__(self, client: object | None, owner: type) -> Any:
        return self._method if client is None else MethodType(self._method, client)

    @cached_property
    def _method(self) -> FunctionType:
        method = self._make()
        method.__module__ = self._owner.__module__
        method.__name__ = self._name
        method.__qualname__ = f"{self._owner.__name__}.{self._name}"
        return method

    def _make(self) -> FunctionType:
        return _method(self._kind(), lambda client, request: client._transport.send(request))


class SessionVerb(Verb[P, R]):
    """The same for a verb of one session, whose request names the session first."""

    def __init__(self, kind: Callable[[], Callable[Concatenate[str, P], Request[R]]]) -> None:
        self._session_kind = kind

    def _make(self) -> FunctionType:
        send = lambda session, request: session._transport.send(request)  # noqa: E731
        return _method(self._session_kind(), send, of_session=True)


class OpeningVerb(Verb[P, T]):
    """The same for a verb that finds or begins a session: it returns the session's handle."""

    def __init__(
        self, kind: Callable[[], Callable[P, Request[SessionInfo]]], handle: Callable[[Transport, str], T]
    ) -> None:
        self._opening_kind, self._handle = kind, handle

    def _make(self) -> FunctionType:
        handle = self._handle
        return _method(
            self._opening_kind(),
            lambda client, request: handle(client._transport, client._transport.send(request).id),
            returns=handle,
        )


def _method(
    kind: Callable[..., Request[Any]], send: Callable[[Any, Any], Any], *, of_session: bool = False, returns: Any = None
) -> FunctionType:
    def method(self: Any, *args: Any, **named: Any) -> Any:
        try:
            request = kind(self.id, *args, **named) if of_session else kind(*args, **named)
        except TypeError as error:
            own_error = wrong_arguments(method.__qualname__, signature(method), (self, *args), named)
            raise error if own_error is None else own_error from None
        return send(self, request)

    own = list(signature(kind).parameters.values())[int(of_session) :]
    parameters = [Parameter("self", Parameter.POSITIONAL_OR_KEYWORD), *own]
    method.__doc__ = kind.__doc__
    result = _type_text(returns or result_type(kind))  # type: ignore[arg-type]
    method.__signature__ = Signature(parameters, return_annotation=result)  # type: ignore[attr-defined]
    assert isinstance(method, FunctionType)
    return method


def wrong_arguments(
    method: str, takes: Signature, args: Sequence[object], named: Mapping[str, object]
) -> TypeError | None:
    """The error for arguments that a method does not take, in the method's name; None if it takes them."""
    names = [name for name in takes.parameters if name != "self"]
    unknown = next((name for name in named if name not in names), None)
    if unknown is not None:
        hint = did_you_mean(unknown, names) or f"It takes {', '.join(names) or 'no arguments'}."
        return TypeError(f"{method}() takes no {unknown!r}. {hint}".rstrip())
    try:
        takes.bind(*args, **named)
    except TypeError as error:
        return TypeError(f"{method}(): {error}.")
    return None


def _type_text(hint: Any) -> str:
    """A type as a signature shows it: "list[Message]"."""
    text = formatannotation(hint)
    return "None" if text == "NoneType" else re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)

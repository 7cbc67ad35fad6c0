"""Classes whose verbs another process carries out, made from the real ones: signatures and words stay theirs."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any, TypeVar

from appliance.server import calls
from appliance.server.line import Line

T = TypeVar("T")


def asking(room: str, verb: str, member: Any) -> Any:
    """A verb that another process carries out, with the signature and the words of the real one."""
    function: Any = member.fget if isinstance(member, property) else member
    shape = signature(function)

    @wraps(function)
    def ask(self: Any, *positional: Any, **named: Any) -> Any:
        given = dict(shape.bind(self, *positional, **named).arguments)
        del given["self"]
        call, session = calls.call(room, verb), getattr(self, "id", None)
        if call.yields:
            return self._line.items(room, verb, given)
        if any(not given[name]() for name in call.asks if name in given):
            return 0
        if (room, verb) in (("session", "add"), ("sessions", "create")) and given.get("external_id") is None:
            given["external_id"] = secrets.token_hex(8)  # so that asking again adds nothing twice
        answer = self._line.call(room, verb, given, session)
        return remote("session")(self._line, answer.id) if isinstance(answer, calls.Named) else answer

    return property(ask) if isinstance(member, property) else ask


def carried_out(room: str) -> Callable[[type[T]], type[T]]:
    """Gives a class the verbs of its room, but for those that it has of its own."""
    owner, verbs = calls.owner(room), calls.ROOMS[room].verbs

    def given(kind: type[T]) -> type[T]:
        for verb in verbs:
            if verb not in vars(kind):
                setattr(kind, verb, asking(room, verb, vars(owner)[verb]))
        return kind

    return given


@cache
def remote(room: str) -> Any:
    """The class of a room whose verbs the daemon carries out. It holds the line, and of a conversation its id."""
    owner = calls.owner(room)

    def begin(self: Any, line: Line, *id: str) -> None:
        self._line = line
        if id:
            (self.id,) = id

    return carried_out(room)(type(f"Attached{owner.__name__}", (owner,), {"__init__": begin}))

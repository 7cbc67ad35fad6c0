"""The verbs that a process may call in the one which owns the home, and how their values travel.

Client and daemon read the same table. It is made from the engine's own signatures: what a verb takes and gives is
written down once, there. Values go as JSON, with the types of the signatures on both sides; what a verb tells while
it works, and what it yields, goes as JSON lines.
"""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from appliance import errors
from appliance.errors import ApplianceError, UsageError
from appliance.types import Hit, Hits, Mode, SessionInfo, SessionPage, SummaryHit, WhyNot


class Verbs(NamedTuple):
    """The verbs of a room, and the module and name of its class: it is loaded when it is first called."""

    module: str
    name: str
    verbs: tuple[str, ...]


ROOMS: Mapping[str, Verbs] = {
    "memory": Verbs(
        "engine", "Engine",
        (
            "ingest", "embed_pending", "tend", "search", "context", "message", "variants", "export",
            "export_markdown", "status", "verify", "reindex",
        ),
    ),
    "sessions": Verbs("memory.sessions", "Sessions", ("create", "info", "resume", "list", "messages")),
    "session": Verbs(
        "memory.session", "Session",
        (
            "info", "add", "messages", "context", "window", "branch", "rename", "pin", "unpin", "set_ttl",
            "set_storage_scope", "configure", "clear", "delete",
        ),
    ),
    "summaries": Verbs("memory.summaries", "Summaries", ("list", "get", "search", "pending", "state", "make", "tend")),
    "facts": Verbs(
        "memory.facts", "Facts",
        ("list", "profile", "review", "get", "history", "confirm", "correct", "reject", "add", "pending"),
    ),
    "keeping": Verbs("memory.keeping", "Keeping", ("pin", "unpin", "pinned", "importance", "recalled")),
    "browsing": Verbs(
        "memory.browsing", "Browsing",
        ("counts", "outline", "messages", "choices", "activity", "files", "folders"),
    ),
    "forgetting": Verbs("forgetting", "Forgetting", ("preview", "forget", "receipts")),
}  # fmt: skip
"""The verbs of each room of a memory; "session" is any one conversation, by its id."""


def owner(room: str) -> Any:
    """The class of a room."""
    at = ROOMS[room]
    return getattr(import_module(f"appliance.{at.module}"), at.name)


def load() -> None:
    """Load every room, for those who serve: nobody who asks waits for a module."""
    for room in ROOMS:
        owner(room)


ONCE = {
    "ingest", "embed_pending", "tend", "reindex", "branch", "clear", "delete", "make", "confirm", "correct", "reject",
    "forget",
}  # fmt: skip
"""Verbs that are not asked for a second time where the first is left without an answer. The others read, or come to the
same when they are done twice: what is added and begun has an id by which it is known."""


@dataclass(frozen=True, slots=True)
class Call:
    """A verb: the types of what it ``takes`` by name (``spread`` is what takes any number), the names of the callbacks
    that it ``tells``, those that it ``asks`` whether to go on, and the type of what it ``gives``; of each item, where
    it ``yields`` them."""

    takes: Mapping[str, Any]
    spread: str | None
    tells: tuple[str, ...]
    asks: tuple[str, ...]
    gives: Any
    yields: bool

    @property
    def streams(self) -> bool:
        """Whether anything is said before its end."""
        return self.yields or bool(self.tells or self.asks)


@dataclass(frozen=True, slots=True)
class Found:
    """``Hits`` as they travel."""

    hits: list[Hit]
    query: str
    mode: Mode
    notes: tuple[str, ...]
    took_ms: float
    why_not: WhyNot | None
    times: tuple[str, ...]
    summaries: tuple[SummaryHit, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """``SessionPage`` as it travels."""

    infos: list[SessionInfo]
    next: str | None


@dataclass(frozen=True, slots=True)
class Named:
    """A ``Session`` as it travels: it is a handle, and its id is all that it has."""

    id: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error as it travels. ``error`` is the name of its class; of one that is none of ours, a bug, nothing else is
    said than where to read of it."""

    error: str
    message: str
    where: str | None = None
    hint: str | None = None


@cache
def call(room: str, verb: str) -> Call:
    """The verb of a room.

    Raises:
        KeyError: there is none.
    """
    if verb not in ROOMS[room].verbs:
        raise KeyError(verb)
    member = getattr(owner(room), verb)
    function: Any = member.fget if isinstance(member, property) else member
    hints = get_type_hints(function)
    gives = hints.pop("return")
    tells = tuple(name for name, hint in hints.items() if _is_callback(hint) and get_args(hint)[0])
    asks = tuple(name for name, hint in hints.items() if _is_callback(hint) and not get_args(hint)[0])
    takes = {name: _travelling(hint) for name, hint in hints.items() if name not in (*tells, *asks)}
    several = [one.name for one in signature(function).parameters.values() if one.kind is one.VAR_POSITIONAL]
    takes |= {name: types.GenericAlias(tuple, (takes[name], ...)) for name in several}
    yields = get_origin(gives) is Iterator
    return Call(
        takes,
        next(iter(several), None),
        tells,
        asks,
        get_args(gives)[0] if yields else _stands_for(gives),
        yields,
    )


def _stands_for(gives: Any) -> Any:
    """The type by which a result travels."""
    from appliance.memory.private import PrivateSession
    from appliance.memory.session import Session

    stands: Mapping[Any, Any] = {
        Hits: Found,
        SessionPage: Page,
        Session: Named,
        Session | PrivateSession: Named,
    }
    return stands.get(gives, gives)


def _is_callback(hint: Any) -> bool:
    return get_origin(hint) is Callable


def _travelling(hint: Any) -> Any:
    """The type by which an argument travels. Times and paths go as texts where texts are taken too, and of a word out
    of a few the verb itself says whether there is such a one."""
    kind, kinds = get_origin(hint), get_args(hint)
    if kind is Literal:
        return str
    if kind in (Union, types.UnionType):
        if str in kinds:
            kinds = tuple(
                one for one in kinds if one not in (date, datetime) and get_origin(one) is not os.PathLike
            )
        return Union[tuple(map(_travelling, kinds))]  # noqa: UP007
    return Sequence[str] if kind in (Sequence, Collection, Iterable) else hint


# --- to JSON and back ------------------------------------------------------------------------------------


def argument(value: Any) -> Any:
    """An argument as it travels."""
    if isinstance(value, str | bytes | Mapping):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable):
        return [argument(one) for one in value]
    return value


def encode(value: Any) -> bytes:
    """A value as JSON.

    Raises:
        UsageError: there is something in it that JSON can't say.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        raise UsageError(f"{error.object!r} is not valid Unicode at character {error.start}") from error
    except TypeError as error:
        raise UsageError(f"what was given can't be sent to the daemon: {error}") from error


def pack(value: Any) -> Any:
    """What a verb gave, as it travels."""
    from appliance.memory.session import Session

    if isinstance(value, Hits):
        return Found(
            list(value), value.query, value.mode, value.notes, value.took_ms, value.why_not, value.times,
            value.summaries,
        )  # fmt: skip
    if isinstance(value, SessionPage):
        return Page(list(value), value.next)
    if isinstance(value, Session):
        return Named(value.id)
    return value


def unpack(value: Any) -> Any:
    """What a verb gave, as it was; a ``Named`` stays one."""
    if isinstance(value, Found):
        hits = Hits(value.hits, query=value.query, mode=value.mode, notes=value.notes, took_ms=value.took_ms)
        hits.why_not, hits.times, hits.summaries = value.why_not, value.times, value.summaries
        return hits
    if isinstance(value, Page):
        return SessionPage(value.infos, value.next)
    return value


def trouble(error: Exception) -> Trouble:
    """An error as it travels."""
    if isinstance(error, ApplianceError):
        return Trouble(type(error).__name__, str(error.args[0]), error.where, error.hint)
    return Trouble(type(error).__name__, "a bug: the log of the daemon has more of it")


def raised(trouble: Trouble) -> ApplianceError:
    """The error that travelled."""
    kind = getattr(errors, trouble.error, None)
    if isinstance(kind, type) and issubclass(kind, ApplianceError):
        return kind(trouble.message, where=trouble.where, hint=trouble.hint)
    return ApplianceError(f"the daemon failed ({trouble.error}): {trouble.message}")

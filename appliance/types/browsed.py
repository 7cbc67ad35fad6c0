"""What is looked over without being searched: a conversation's outline, what there is to choose from, what was said
when, and the files of watched folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Outline:
    """A conversation's messages in order, in columns of the same length and without their texts: years of it are some
    megabytes. ``authors`` and ``times`` (ISO 8601) are "" where the source gave none, ``characters`` and ``lines`` the
    length of each text, the lines as an estimate."""

    session_id: str
    ids: Sequence[str] = ()
    roles: Sequence[str] = ()
    authors: Sequence[str] = ()
    times: Sequence[str] = ()
    characters: Sequence[int] = ()
    lines: Sequence[int] = ()
    pinned: Sequence[bool] = ()


@dataclass(frozen=True, slots=True)
class Choices:
    """What a search can be narrowed to, most frequent first: users and namespaces with their sessions, sources and
    roles with their messages."""

    users: Mapping[str, int]
    namespaces: Mapping[str, int]
    sources: Mapping[str, int]
    roles: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Activity:
    """How many ``messages`` of a ``source`` were said in a ``month`` ("2024-03", UTC; "" without a time)."""

    month: str
    source: str
    messages: int


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A file of a watched ``folder``, its ``size`` in bytes, what became of it and, where that is not all of it, the
    ``reason``. ``read_at`` is ISO 8601, None for one that was not read yet."""

    path: str
    folder: str
    size: int
    state: Literal["queued", "read", "partial", "skipped", "failed"]
    reason: str
    read_at: str | None

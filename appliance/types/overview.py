"""Overviews: the outline of a session, the values that filters can take, activity by month, watched files, and what a
rebuild would send."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many sessions have it."""

    tag: str
    sessions: int


@dataclass(frozen=True, slots=True)
class Outline:
    """A session's messages in order, as columns of equal length and without their texts, which can be megabytes.
    ``authors`` and ``times`` (ISO 8601) are "" where the source gave none. ``characters`` and ``lines`` are the length
    of each text; ``lines`` is an estimate. ``attachments`` counts the files of each message."""

    session_id: str
    ids: Sequence[str] = ()
    roles: Sequence[str] = ()
    authors: Sequence[str] = ()
    times: Sequence[str] = ()
    characters: Sequence[int] = ()
    lines: Sequence[int] = ()
    pinned: Sequence[bool] = ()
    attachments: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class MessageMatches:
    """What of a query stands in a message: the ``words`` that match, as they are written and each
    once whatever the case, and the ``sentence`` with the
    most of them. Secrets are hidden in both."""

    message_id: str
    words: tuple[str, ...]
    sentence: str


MAX_MENTION_CHOICES = 200
"""The most tools, and the most files, that choices list."""


@dataclass(frozen=True, slots=True)
class FilterChoices:
    """The values that a search can filter by, most frequent first: users and namespaces with their numbers of
    conversations, roles with their numbers of messages, and sources with those that people and assistants said. Of
    the tools and files that messages mention, the first ``MAX_MENTION_CHOICES`` with their numbers of messages."""

    users: Mapping[str, int]
    namespaces: Mapping[str, int]
    sources: Mapping[str, int]
    roles: Mapping[str, int]
    tools: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Activity:
    """The number of ``messages`` from a ``source`` in a ``month`` ("2024-03", UTC; "" for messages without a time)."""

    month: str
    source: str
    messages: int


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A file of a watched ``folder``, which is "" for one that was imported by hand. ``size`` is in bytes; ``reason``
    says why the file was not read completely; ``read_at`` is ISO 8601, None for a file that has not been read yet. One
    that was read and is not there any more is "gone"."""

    path: str
    folder: str
    size: int
    state: Literal["queued", "read", "partial", "skipped", "failed", "gone"]
    reason: str
    read_at: str | None


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder that is watched, or a single file.

    Attributes:
        path: The folder.
        why: "inbox" for that of the home, "setting" for one of ``watch.folders``, "command" for one that a running
            'appliance watch' names.
        is_there: Whether it exists.
        is_followed: Whether a watcher runs that reads what lands there.
        files: The number of its files in each state, as ``WatchedFile`` has them.
        read_at: When a file of it was last read, ISO 8601; None if none was.
        problems: How many of its files are there and were not read completely.
    """

    path: str
    why: Literal["inbox", "setting", "command"]
    is_there: bool
    is_followed: bool
    files: Mapping[str, int]
    read_at: str | None
    problems: int


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A file that could not be read completely, and what the memory has from it.

    Attributes:
        path: The file.
        state: "partial" if something was read, else "failed"; "dismissed" if a person knows of it.
        reason: Why it was not read completely.
        read_at: When it was read, ISO 8601.
        is_there: Whether the file still exists.
        is_watched: Whether it lies in a folder that is watched, and is read again when it changes.
        sessions: The conversations of which the memory has messages from it.
        messages: The messages that were stored from it.
    """

    path: str
    state: Literal["partial", "failed", "dismissed"]
    reason: str
    read_at: str | None
    is_there: bool
    is_watched: bool
    sessions: int
    messages: int


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """A file that was imported, or a document in a zip, and what the memory has from it. ``size`` is in bytes,
    ``first_read_at`` and ``read_at`` (the latest time) are ISO 8601. ``sessions`` counts those of which the file has
    messages, ``messages`` those that were stored from it: what was known from another file counts there. Without
    ``complete``, the latest reading of it runs now, was broken off, or found what can't be read."""

    path: str
    format: str
    size: int
    first_read_at: str
    read_at: str
    sessions: int
    messages: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class UnfinishedImport:
    """An import that was begun and broken off. ``path`` is the file, folder or zip that was named, ``user_id`` and
    ``namespace`` whose memory it is for, ``begun_at`` is ISO 8601. ``options`` are the arguments that it was asked for
    with: ``memory.ingest(path, **options)`` goes on. With ``is_running`` it was not broken off: it goes on now."""

    path: str
    user_id: str
    namespace: str
    begun_at: str
    options: Mapping[str, Any]
    is_running: bool = False


@dataclass(frozen=True, slots=True)
class ImportedSession:
    """A session of which an imported file has messages. ``messages`` counts those that were stored from the file,
    ``first_at`` and ``last_at`` are the times of the first and last of them, ISO 8601 or None."""

    session_id: str
    title: str | None
    user_id: str
    messages: int
    first_at: str | None
    last_at: str | None


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that owns a home, and what it does ("appliance watch"). ``socket`` is the Unix socket at which it
    answers other programs; None for a daemon, which names it in ``daemon.json``, and for an owner that can't listen.
    Until ``reserved_until`` (seconds since 1970) it is not the owner yet: the one before has left the home to it."""

    pid: int
    purpose: str
    socket: str | None = None
    reserved_until: float = 0.0


@dataclass(frozen=True, slots=True)
class ReindexForecast:
    """What a change of the vectors sends to an embedding API.

    Attributes:
        texts: The texts to embed, equal ones once.
        tokens: About how many tokens they have.
        tokens_sent: The tokens that this memory has sent before.
        token_cap: The most that it may send in its life; 0 sets no limit.
        price: What the tokens cost in US dollars; 0 if the settings name no price.
        minutes: The least that it takes by the limit of tokens a minute; 0 without a limit.
        address: The API's address; empty if the model is on this machine and nothing is sent.
        all_messages: Whether these are the texts of all messages, because there is no vector of the model yet.
    """

    texts: int
    tokens: int
    tokens_sent: int
    token_cap: int
    price: float
    minutes: float
    address: str
    all_messages: bool = True

    @property
    def exceeds_cap(self) -> bool:
        """Whether it would send more than may be sent."""
        return bool(self.token_cap) and self.tokens_sent + self.tokens > self.token_cap

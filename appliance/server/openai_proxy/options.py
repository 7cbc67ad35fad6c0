"""A request's use of the memory, by its headers: whose memory, which session, what is read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass
from appliance.server.openai_proxy import tasks
from appliance.server.openai_proxy.tasks import TaskKind, TaskShape
from appliance.server.openai_proxy.threads import ConversationOwner

if TYPE_CHECKING:
    from appliance.server.access.grants import Grant
    from appliance.settings import ProxySettings

MAX_BUDGET_DIGITS = 9
"""Digits of a budget: no model reads a billion tokens."""

MAX_USER_CHARACTERS = 200
"""Characters of a user's id."""

TEMPORARY_PREFIX = "local:"
"""How the ids of Open WebUI's temporary chats begin, which it does not keep itself."""

_PLACEHOLDER = re.compile(r"\{\{.*\}\}|\$\{.*\}")
"""What a front end was to replace ("{{LIBRECHAT_USER_ID}}"), and sends as it stands if it doesn't know the value. All
who send it would share one memory, or one conversation."""

_SESSION_ID = re.compile(r"s\d+")


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """A request's use of the memory.

    Attributes:
        owner: Whose memory it is.
        reads: Whether memories are added to the request.
        writes: Whether its turns are stored.
        name: The session's name.
        budget: The most tokens that are added.
        task: What it asks for as a task of the front end, which uses no memory.
        notes: What its sender should know.
    """

    owner: ConversationOwner
    reads: bool
    writes: bool
    name: str | None
    budget: int
    task: TaskKind | None = None
    notes: tuple[str, ...] = ()

    def headers(self) -> dict[str, str]:
        return {"X-Memory-Task": self.task} if self.task is not None else {}


def read(headers: Mapping[str, str], grant: Grant, settings: ProxySettings, shape: TaskShape) -> MemoryOptions:
    """The options of a request with these headers, which looks like ``shape``.

    Raises:
        UsageError: A header is invalid, or the token needs one that names the user.
    """
    mode = headers.get("X-Memory", "on").strip()
    if mode not in ("on", "off", "read", "write"):
        raise UsageError(f"X-Memory must be on, off, read or write, not {mode!r}.")
    budget_text = headers.get("X-Memory-Budget", str(settings.budget)).strip()
    if not (budget_text.isascii() and budget_text.isdigit() and len(budget_text) <= MAX_BUDGET_DIGITS):
        raise UsageError(f"X-Memory-Budget must be a number of tokens, not {budget_text!r}.")
    tokens = int(budget_text)
    task = tasks.recognise(shape, tasks.task_header([_value(headers, name) for name in settings.task_headers]))
    if task is not None or mode == "off":
        owner = ConversationOwner(grant.user_id, grant.namespace or "")
        return MemoryOptions(owner, reads=False, writes=False, name=None, budget=0, task=task)
    owner, notes = _owner(headers, grant, settings)
    options = MemoryOptions(
        owner=owner,
        reads=mode in ("on", "read") and tokens > 0,
        writes=mode in ("on", "write") and not grant.read_only,
        name=_value(headers, "X-Memory-Session") or None,
        budget=tokens,
        notes=(*notes, *_placeholder_notes(headers, ("X-Memory-Session", *settings.session_headers))),
    )
    return options if options.name is not None else _with_session_of_front_end(options, headers, settings)


def _owner(
    headers: Mapping[str, str], grant: Grant, settings: ProxySettings
) -> tuple[ConversationOwner, tuple[str, ...]]:
    """Whose memory a request uses: the token's, or with a token for any user that of the one that it names.

    Raises:
        UsageError: The token is for any user, and the request names none, or its name is invalid.
    """
    named = _first(headers, settings.user_headers)
    if not grant.any_user:
        is_other = named and grant.user_id is not None and named != grant.user_id
        ignored = f"The user that the request names was ignored: the token is for {grant.user_id}."
        unused = "The user that the request names was ignored: the token is the owner's, not one for any user."
        notes = (ignored,) if is_other else (unused,) if named and grant.is_owner else ()
        return ConversationOwner(grant.user_id, grant.namespace or ""), notes
    if not named:
        unfilled = " ".join(_placeholder_notes(headers, settings.user_headers))
        raise UsageError(
            f"The request names no user, which the token '{grant.name}' needs. {unfilled}".rstrip(),
            hint=f"Send it in {' or '.join(settings.user_headers) or 'a header of proxy.user_headers'}; Open WebUI does"
            " so with ENABLE_FORWARD_USER_INFO_HEADERS=true.",
        )
    if len(named) > MAX_USER_CHARACTERS or not named.isprintable():
        raise UsageError(f"The user's id must have at most {MAX_USER_CHARACTERS} printable characters.")
    return ConversationOwner(named, grant.namespace or ""), ()


def _with_session_of_front_end(
    options: MemoryOptions, headers: Mapping[str, str], settings: ProxySettings
) -> MemoryOptions:
    """The options with the session that the front end names, if it does."""
    name = _first(headers, settings.session_headers)
    if name.startswith(TEMPORARY_PREFIX):
        return replace(options, writes=False, notes=(*options.notes, "A temporary chat is not stored."))
    # An id of a front end that looks like one of ours names a session of its own all the same.
    return replace(options, name=(f"chat {name}" if _SESSION_ID.fullmatch(name) else name) or None)


def _first(headers: Mapping[str, str], names: Sequence[str]) -> str:
    return next((value for name in names if (value := _value(headers, name))), "")


def _value(headers: Mapping[str, str], name: str) -> str:
    """The value of a header; "" if it lacks, or is a placeholder that the front end did not fill in."""
    value = headers.get(name, "").strip()
    return "" if _PLACEHOLDER.search(value) else value


def _placeholder_notes(headers: Mapping[str, str], names: Sequence[str]) -> list[str]:
    unfilled = [name for name in names if _PLACEHOLDER.search(headers.get(name, ""))]
    return [f"{name} has a placeholder that the front end did not fill in, and was ignored." for name in unfilled]

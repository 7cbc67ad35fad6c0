"""Checks of a session's settings and of a message, before anything is stored."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args

from appliance.errors import UsageError
from appliance.memory.working_memory import WindowBuilder
from appliance.requests import is_private_id, recall_options
from appliance.store.session_options import INDEPENDENT
from appliance.store.sql import to_json
from appliance.types import ROLES, StorageScope

BRANCH_TITLE_SUFFIX = " (branch)"
"""Ends the title of a branch whose caller gives none."""


def check_turn(
    role: str, text: str, timestamp: datetime | None = None, metadata: Mapping[str, Any] | None = None
) -> None:
    """
    Raises:
        UsageError: The role is unknown, the text is empty, or the timestamp or the metadata is invalid.
    """
    if role not in ROLES:
        raise UsageError(f"There is no role {role!r}.", hint=f"Use one of {', '.join(ROLES)}.")
    if not text.strip():
        raise UsageError("The message is empty.", hint="Leave it out, or give it a text.")
    if timestamp is not None and not isinstance(timestamp, datetime):
        raise UsageError(f"The timestamp must be a datetime, not {timestamp!r}.")
    check_metadata(metadata or {})


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """
    Raises:
        UsageError: The metadata cannot be written as JSON.
    """
    try:
        to_json(metadata)
    except (TypeError, ValueError) as error:
        raise UsageError(f"The metadata can't be stored: {error}.", hint="Use values that JSON can express.") from error


def check_external_id(external_id: str | None) -> None:
    """
    Raises:
        UsageError: It has the form of a private session's id, by which the session could not be reached.
    """
    if external_id is not None and is_private_id(external_id):
        raise UsageError(
            f"{external_id!r} is the id of a private session, which no stored session can have.",
            hint="Choose another external id; a shorter one may begin with 'private-'.",
        )


def check_ttl(seconds: int | None) -> None:
    """
    Raises:
        UsageError: It is not a whole number of seconds, 0 or more.
    """
    if seconds is not None and (not isinstance(seconds, int) or isinstance(seconds, bool) or seconds < 0):
        raise UsageError(
            f"The time to live must be a whole number of seconds, not {seconds!r}.", hint="0 keeps the session forever."
        )


def check_storage_scope(scope: str) -> None:
    """
    Raises:
        UsageError: There is no such scope.
    """
    if scope not in get_args(StorageScope):
        raise UsageError(
            f"There is no storage scope {scope!r}.", hint=f"Use one of {', '.join(get_args(StorageScope))}."
        )


def branch_title(title: str | None) -> str | None:
    """Return the title of a branch whose caller gives none."""
    return f"{title.removesuffix(BRANCH_TITLE_SUFFIX)}{BRANCH_TITLE_SUFFIX}" if title else None


def encode_options(window_builder: WindowBuilder, options: Mapping[str, Any]) -> str:
    """Return options as they are stored.

    Raises:
        UsageError: An option has an invalid value.
    """
    if not isinstance(options.get(INDEPENDENT, True), bool):
        raise UsageError(f"The option {INDEPENDENT} must be true or false, not {options[INDEPENDENT]!r}.")
    for name in recall_options.NAMES:
        recall_options.check(name, options.get(name))
    window_builder.policy_for(options, "the options")
    try:
        return to_json(options)
    except (TypeError, UnicodeEncodeError) as error:
        raise UsageError(f"The options can't be stored: {error}.", hint="Use values that JSON can express.") from error


def normalize_title(title: str) -> str:
    """Return a title as it is stored, in one line.

    Raises:
        UsageError: The title is empty.
    """
    line = " ".join(title.split())
    if not line:
        raise UsageError("The title is empty.", hint="Describe the conversation in a few words.")
    return line


class unicode_errors_as_usage:
    """Turns a ``UnicodeEncodeError`` into a ``UsageError`` that names the character."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnicodeEncodeError):
            raise UsageError(f"{error.object!r} is not valid Unicode at character {error.start}.") from error

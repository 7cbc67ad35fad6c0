"""What the adapters share: conversations by their names, and turns that keep another library's value as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.memory.session import Session
    from appliance.server.client import Appliance
    from appliance.types import Message, Role

WITHDRAWN: Mapping[str, bool] = {"deleted": True, "hidden": True}
"""The marks of a turn that was taken back: no search finds it and it stands in no context. Its words stay until they
are forgotten, as those of any message do."""

WORDLESS = "(no text)"
"""Stands for the text of a value that has none (an image): every message of the memory has one."""


def conversation(memory: Appliance, name: str, user_id: str | None, namespace: str) -> Session:
    """The conversation that a program calls ``name``, begun if there is none yet."""
    if not name.strip():
        raise UsageError("a conversation without a name is not found again", hint="give a session id")
    return memory.sessions.create(external_id=name, user_id=user_id, namespace=namespace)


def as_kept(value: Any, what: str) -> Any:
    """A value in the form in which metadata can keep it.

    Raises:
        UsageError: it would not come back as it is (bytes, a tuple, not a number), or is nothing that JSON can say.
    """
    try:
        same = msgspec.json.decode(msgspec.json.encode(value)) == value
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(f"{what} can't be stored: {error}", hint="give what JSON can say") from error
    if not same:
        raise UsageError(
            f"{what} would not come back as it is", hint="give what JSON can say: lists, not tuples"
        )
    return value


def add(session: Session, role: Role, text: str, kept: Mapping[str, Any], author: str | None = None) -> None:
    """Store a turn with its metadata. One without words is hidden: there is nothing in it to find."""
    if text.strip():
        session.add(role, text, author=author, metadata=kept)
    else:
        session.add(role, WORDLESS, author=author, metadata={**kept, "hidden": True})


def of(session: Session) -> list[Message]:
    """The turns of a conversation, without those that were taken back."""
    return [turn for turn in session.messages() if not turn.metadata.get("deleted")]


def withdraw(session: Session, turn: Message) -> None:
    """Take a turn back."""
    marked = {**turn.metadata, **WITHDRAWN}
    session.add(
        turn.role,
        turn.text,
        author=turn.author,
        external_id=turn.external_id,
        reply_to=turn.reply_to,
        metadata=marked,
    )

"""Shared by the adapters: sessions by name, and turns that store another library's value unchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.resources import Session
    from appliance.types import Message, Role

WITHDRAWN: Mapping[str, bool] = {"deleted": True, "hidden": True}
"""The metadata of a withdrawn turn: no search finds it, and no context contains it. Its text stays until it is
erased."""

PLACEHOLDER_TEXT = "(no text)"
"""The text of a value without text, such as an image, because every message needs one."""


def open_conversation(memory: Appliance, name: str, user_id: str | None, namespace: str) -> Session:
    """The session with the external id ``name``, created if there is none yet."""
    if not name.strip():
        raise UsageError("The session id is empty.", hint="Give one; it names the conversation.")
    return memory.sessions.create(external_id=name, user_id=user_id, namespace=namespace)


def check_json_value(value: Any, description: str) -> Any:
    """Check that metadata can store a value unchanged, and return it.

    Raises:
        UsageError: JSON can't represent it, or it would come back changed (bytes, a tuple, NaN).
    """
    try:
        is_same = msgspec.json.decode(msgspec.json.encode(value)) == value
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise UsageError(
            f"{description} can't be stored: {error}.", hint="Use values that JSON can express."
        ) from error
    if not is_same:
        raise UsageError(
            f"{description} would change when it is read back.",
            hint="Use values that JSON can express: lists, not tuples.",
        )
    return value


def add_turn(session: Session, role: Role, text: str, metadata: Mapping[str, Any], author: str | None = None) -> None:
    """Store a turn with its metadata. A turn without text is hidden, because there is nothing to find in it."""
    if text.strip():
        session.add(role, text, author=author, metadata=metadata)
    else:
        session.add(role, PLACEHOLDER_TEXT, author=author, metadata={**metadata, "hidden": True})


def visible_turns(session: Session) -> list[Message]:
    """The turns of a session without the withdrawn ones."""
    return [turn for turn in session.messages() if not turn.metadata.get("deleted")]


def withdraw(session: Session, turn: Message) -> None:
    """Mark a turn as withdrawn."""
    metadata = {**turn.metadata, **WITHDRAWN}
    session.add(
        turn.role,
        turn.text,
        author=turn.author,
        external_id=turn.external_id,
        reply_to=turn.reply_to,
        metadata=metadata,
    )

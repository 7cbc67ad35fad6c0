"""Fields of decoded JSON, taken for what they should be and nothing else."""

from __future__ import annotations

from typing import Any


def as_dict(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """``value`` if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def as_id(value: Any) -> str | None:
    """An id as text: a string that isn't empty, or a whole number."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def with_attachments(text: str, attachments: list[dict[str, str]]) -> str:
    """A message's words, then what its attachments say, so that both are found by a search.

    Attachments without text are only named where the message has no words of its own: elsewhere the
    metadata names them."""
    parts = [text] if text else []
    for attachment in attachments:
        if attachment.get("text"):
            parts.append(f"[attachment: {attachment['name']}]\n{attachment['text']}")
        elif not text:
            parts.append(f"[attachment: {attachment['name']}]")
    return "\n\n".join(parts)

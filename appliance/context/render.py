"""How memories and turns look in a prompt. What is counted is what is rendered here, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from appliance.types import Hit, Message

MEMORIES = "# Memories from earlier conversations\n\n"
RECENT = "# This conversation so far\n\n"


def memory(hit: Hit, text: str) -> str:
    """A retrieved memory: when, who, where it was said and its id, then its words."""
    about = [part for part in (when(hit.timestamp), speaker(hit.role, hit.author), hit.session_title) if part]
    return f"[{' · '.join(about)} · {hit.message_id}]\n{text}\n\n"


def continued(hit: Hit, text: str) -> str:
    """A memory that was said directly after the one before it."""
    return f"[{speaker(hit.role, hit.author)} · {hit.message_id}]\n{text}\n\n"


def placeholder(hit: Hit, tokens: int) -> str:
    """What stands for a memory that is too large: where to read it."""
    return f"({tokens} tokens, left out here: read message {hit.message_id})"


def turn(message: Message) -> str:
    """A turn of the present conversation."""
    return f"{speaker(message.role, message.author)}: {message.text}\n\n"


def speaker(role: str, author: str | None) -> str:
    return author or role


def when(timestamp: str | None) -> str:
    """Day and minute, as far as an assistant needs them."""
    return timestamp[:16].replace("T", " ") if timestamp else ""


def prompt(memories: Sequence[str], turns: Sequence[str]) -> str:
    """The whole context as one text."""
    text = ""
    if memories:
        text += MEMORIES + "".join(memories)
    if turns:
        text += RECENT + "".join(turns)
    return text.rstrip("\n")


def chat(memories: Sequence[str], turns: Sequence[Message]) -> tuple[Mapping[str, str], ...]:
    """The same as chat messages: one system message with the memories, then the turns."""
    messages: list[Mapping[str, str]] = []
    if memories:
        messages.append({"role": "system", "content": (MEMORIES + "".join(memories)).rstrip("\n")})
    messages += [{"role": message.role, "content": message.text} for message in turns]
    return tuple(messages)

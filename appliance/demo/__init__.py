"""Sample exports in four formats, written for this project: no real person and no real chat is in them.

``FILES`` are their paths below this folder. The same few people appear in all of them, from October 2025 to March 2026.
"""

from __future__ import annotations

from pathlib import Path

FILES = (
    "chatgpt/conversations.json",
    "claude/conversations.json",
    "native/household_and_team.jsonl",
    "whatsapp/WhatsApp Chat with Pirineos 2026.txt",
)


def samples() -> tuple[Path, ...]:
    """The paths of the sample exports."""
    return tuple(Path(__file__).parent / name for name in FILES)

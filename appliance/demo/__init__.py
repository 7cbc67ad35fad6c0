"""Sample exports in four formats, written for this project; no real person and no real chat is in them.

``FILES`` are their paths below this folder. The same few people turn up in all of them, from October
2025 to March 2026.
"""

from __future__ import annotations

FILES = (
    "chatgpt/conversations.json",
    "claude/conversations.json",
    "native/household_and_team.jsonl",
    "whatsapp/WhatsApp Chat with Pirineos 2026.txt",
)

"""What the formats are called in messages to people."""

from __future__ import annotations

_TITLES = {
    "native": "Memory appliance", "chatgpt": "ChatGPT", "claude": "Claude", "whatsapp": "WhatsApp",
    "open_webui": "Open WebUI", "librechat": "LibreChat", "sharegpt": "ShareGPT", "openai_jsonl": "OpenAI messages",
    "google_chat": "Google Chat", "teams": "Teams", "claude_code": "Claude Code", "codex": "Codex",
    "gemini_cli": "Gemini CLI", "agents": "Coding agent", "gemini": "Gemini", "aistudio": "AI Studio", "grok": "Grok",
    "deepseek": "DeepSeek", "lmstudio": "LM Studio", "slack": "Slack", "telegram": "Telegram", "discord": "Discord",
    "chat_apps": "Front end or character app",
    "meta": "Facebook or Instagram", "markdown": "Markdown", "imessage": "iMessage", "signal": "Signal", "irc": "IRC",
    "mail": "Mail", "sms": "Text messages", "kakaotalk": "KakaoTalk", "line": "LINE", "skype": "Skype",
    "hangouts": "Hangouts", "google_voice": "Google Voice", "mattermost": "Mattermost", "matrix": "Matrix",
    "rocketchat": "Rocket.Chat", "snapchat": "Snapchat", "chat_table": "Table of messages", "contacts": "Contacts",
}  # fmt: skip


def format_title(format: str) -> str:
    """What a format is called: "Slack"; of another package's format, its name."""
    return _TITLES.get(format, format)


def export_title(format: str | None) -> str:
    """What an export of a format is called: "Slack export"; of another package's format, its name."""
    return f"{format_title(format or 'chat')} export"

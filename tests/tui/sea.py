"""A conversation of forty messages that tests read, and how they get to it."""

from __future__ import annotations

import json
from pathlib import Path

from screens import until
from textual.widgets import Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen

DAYS = ("2023-11-05", "2024-03-09", "2024-03-10", "2025-01-02")
MEGABYTE = "\n".join(f"row {number} of a very large table of numbers" for number in range(24_000))


def entry(number: int, role: str, at: str, text: str, author: str | None = None) -> dict[str, object]:
    return {
        "session_id": "sea", "session_title": "The sea", "message_id": f"e{number}", "role": role,
        "author": author, "timestamp": at, "content": text,
    }  # fmt: skip


def sea(deep: str | None = None) -> list[dict[str, object]]:
    """Forty messages of four days, with code, HTML, a long list, wide and right-to-left letters."""
    out = []
    for number in range(40):
        text = f"Number {number} about ferries."
        if number == 3:
            text = "Look:\n```python\ndef early():\n    return '06:40'\n```\nand <b>this</b>"
        if number == 5:
            text = "A list:\n" + "\n".join(f"- thing {thing}" for thing in range(60)) + "\n\nthe needle is here"
        if number == 35 and deep is not None:
            text = deep
        at = f"{DAYS[number // 10]}T08:{number % 10 * 3:02}:00Z"
        author = "דניאל 麺" if number == 7 else None
        out.append(entry(number, "assistant" if number % 2 else "user", at, text, author))
    return out


def written(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in entries), encoding="utf-8")
    return path


def text(page: ConversationScreen) -> str:
    """What of the conversation is on the screen."""
    transcript = page.transcript
    return "\n".join(transcript.render_line(row).text for row in range(transcript.size.height))


def note(page: ConversationScreen) -> str:
    return str(page.query_one("#reading-note", Static).render())


async def reading(app, pilot, at: str | None = None) -> ConversationScreen:  # type: ignore[no-untyped-def]
    """The conversation, open and drawn."""
    message = None
    if at is not None:
        listed = await app.memory_worker.run_query(lambda memory: memory.sessions.messages("sea"))
        message = next(one.id for one in listed if one.external_id == at)
    app.read("sea", message)
    await until(
        pilot,
        lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.conversation_layout is not None,
    )
    page = app.screen
    await until(pilot, lambda: "ferries" in text(page) or "row " in text(page) or "thing" in text(page))
    await until(pilot, lambda: not page.transcript._is_drawing)
    return page  # type: ignore[no-any-return]


def number(page: ConversationScreen) -> int:
    """The marked message."""
    return page.transcript.mark


def summarised(folder: Path) -> Path:
    """A home with the conversation and its summaries."""
    with Appliance.open(folder / "home", embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(written(folder / "sea.jsonl", sea()))
        memory.summaries.make("sea")
    return folder / "home"

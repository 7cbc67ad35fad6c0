"""Files of messages on the screen: counted in the header of a message, and opened from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import run, shown, until

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.picker import PickerScreen
from tests.attachments import exports

LINES = (
    {"session_id": "s", "message_id": "a", "role": "user", "author": "Ana", "timestamp": "2025-03-01T09:00:00Z",
     "content": "No file here."},
    {"session_id": "s", "message_id": "b", "role": "user", "author": "Ana", "timestamp": "2025-03-01T09:00:10Z",
     "content": "Two of them.", "metadata": {"attachments": ["garden.jpg", "gone.pdf"]}},
)  # fmt: skip


@pytest.fixture
def filled(home: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "export"
    folder.mkdir()
    (folder / "garden.jpg").write_bytes(b"green")
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(exports.native(folder / "chat.jsonl", LINES))
    return home


def test_a_file_of_the_selected_message_is_opened(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("appliance_tui.screens.conversation.open_file", lambda path: not opened.append(path))

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            app.read("s", "m2")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            page = app.screen
            assert isinstance(page, ConversationScreen)
            rows = range(page.transcript.size.height)
            lines = [page.transcript.render_line(row).text for row in rows]
            assert sum("2 files" in line for line in lines) == 1
            await pilot.press("o")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen))
            shown_text = str(app.screen.query_one("OptionList").get_option_at_index(1).prompt)  # type: ignore[attr-defined]
            assert "gone.pdf" in shown_text and "not on this machine" in shown_text
            await pilot.press("enter")
            await until(pilot, lambda: opened)
            assert opened[0].read_bytes() == b"green"

            await pilot.press("k", "o")
            await until(pilot, lambda: app._notifications)
            await until(pilot, lambda: any("No file" in one.message for one in app._notifications))
            assert len(opened) == 1

    run(body)

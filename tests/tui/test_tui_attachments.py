"""Files of messages on the screen: counted in the header of a message, and opened from there."""

from __future__ import annotations

from pathlib import Path

import pytest
from screens import run, shown, until
from test_tui_footer import footer
from textual.widgets import Static

from appliance import Appliance
from appliance_models import HashEmbedder
from appliance_tui.screens.attachments import AttachmentsScreen
from appliance_tui.screens.conversation import ConversationScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.rows import RowList
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
        memory.sessions.create(title="Empty-handed").add("user", "Nothing attached.")
    return home


@pytest.mark.slow
def test_a_file_of_the_selected_message_is_opened(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("appliance_tui.attached_files.open_file", lambda path: not opened.append(path))

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


@pytest.mark.slow
def test_the_files_of_a_conversation_and_of_all_are_listed(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Path] = []
    monkeypatch.setattr("appliance_tui.screens.attachments.open_file", lambda path: not opened.append(path))

    async def body() -> None:
        async with shown(filled) as (app, pilot):
            await pilot.press("f2")
            await until(pilot, lambda: app.screen.sessions.rows)  # type: ignore[attr-defined]
            await pilot.press("A")
            await until(pilot, lambda: isinstance(app.screen, AttachmentsScreen))
            page, note = app.screen, app.screen.query_one("#attachments-note", Static)
            assert isinstance(page, AttachmentsScreen)
            await until(pilot, lambda: "No files in this conversation; a lists those of all" in str(note.visual))
            await until(pilot, lambda: "a All" in footer(app) and not {"Open", "Kind"} & set(footer(app).split()))
            await pilot.press("a")
            rows = page.query_one(RowList)
            await until(pilot, lambda: {file.name for file in rows.items} == {"garden.jpg", "gone.pdf"})
            assert str(note.visual) == "2 files" and "all conversations" in str(page.children[0].border_title)
            await until(pilot, lambda: {"Open", "Message", "Kind"} <= set(footer(app).split()))
            await pilot.press("f")
            await until(pilot, lambda: [file.name for file in rows.items] == ["garden.jpg"])
            await pilot.press("enter")
            await until(pilot, lambda: opened)
            assert opened[0].read_bytes() == b"green"
            await pilot.press("f", "f", "f")
            await until(pilot, lambda: [file.name for file in rows.items] == ["gone.pdf"])
            await pilot.press("enter")
            await until(pilot, lambda: any(one.severity == "error" for one in app._notifications))
            await pilot.press("r")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            assert isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id == "m2"

    run(body)


@pytest.mark.slow
def test_the_files_of_the_conversation_that_is_read_lead_to_its_messages(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled) as (app, pilot):
            app.read("s")
            await until(pilot, lambda: isinstance(app.screen, ConversationScreen) and app.screen.transcript.marked_id)
            page = app.screen
            assert isinstance(page, ConversationScreen)
            await pilot.press("g", "A")
            await until(pilot, lambda: app.screen.query("RowList") and app.screen.query_one(RowList).items)
            assert "Files of" in str(app.screen.children[0].border_title)
            assert page.transcript.marked_id == "m1"
            await pilot.press("r")
            await until(pilot, lambda: app.screen is page and page.transcript.marked_id == "m2")

    run(body)


@pytest.mark.slow
def test_more_files_are_loaded_as_one_moves_on(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("appliance_tui.screens.attachments.PAGE_SIZE", 8)
    names = [f"{number:02}.jpg" for number in range(20)]
    line = {
        "session_id": "s", "message_id": "a", "role": "user", "content": "Many.", "metadata": {"attachments": names},
    }  # fmt: skip
    with Appliance.open(home, embedder=HashEmbedder(), worker=False) as memory:
        memory.ingest(exports.native(tmp_path / "chat.jsonl", (line,)))

    async def body() -> None:
        async with shown(home) as (app, pilot):
            app.push_screen(AttachmentsScreen(None))
            await until(pilot, lambda: app.screen.query("RowList") and app.screen.query_one(RowList).items)
            rows = app.screen.query_one(RowList)
            assert len(rows.items) == 8
            for count in (16, 20):
                await pilot.press("end")
                await until(pilot, lambda count=count: len(rows.items) == count)
            assert sorted(file.name for file in rows.items) == names

    run(body)

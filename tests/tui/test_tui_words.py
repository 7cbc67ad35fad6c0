"""What footers, titles and lines say: which layer and budget a key changes, whose messages are counted, and what leads
where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scenes import words
from screens import fill, opened, run, shown, type_in, until
from test_tui_footer import footer, settled

from appliance.types import FileReport
from appliance_tui.ingestion import ImportOutcome
from appliance_tui.screens.export import default_folder
from appliance_tui.screens.import_preview import ImportPreviewScreen, preview_content
from appliance_tui.screens.people import PeopleScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.files import FileList
from appliance_tui.widgets.hits import HitList
from appliance_tui.widgets.prompt_view import PromptRow, PromptView
from appliance_tui.widgets.start_page import StartPagePanel


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words")
    home = fill(folder / "home", folder)
    with opened(home)() as memory:
        memory.sessions.create(title="Demo", user_id="demo").add("user", "A sample", author="Sam")
        memory.pins.pin("m1")
    return home


def test_the_title_of_the_prompt_is_of_the_selected_layer() -> None:
    view = PromptView(id="prompt")
    view._lines = [PromptRow("retrieved", "m1", True, "[m1] Hello")]
    view._marked = ("profile", "")
    view._show_position()
    assert str(view.border_title) == "Prompt · profile"


@pytest.mark.slow
def test_vitals_say_whose_messages_are_counted(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 50)) as (app, pilot):
            await pilot.press("f6", "t")
            await until(pilot, lambda: "Messages by source · user me" in words(app))
            assert "Stored, of all users" in words(app)
            counts = {line.split()[0]: line.split()[-1] for line in words(app).splitlines() if len(line.split()) > 1}
            assert counts["messages"] == "10" and "user me" in words(app)
            assert " F1 Recall " in words(app) and "f1 Recall" in footer(app)

    run(body)


@pytest.mark.slow
def test_escape_leads_back_to_people_and_delete_unpins(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 40)) as (app, pilot):
            page = app.query_one(StartPagePanel)
            await until(pilot, lambda: page.display)
            await until(pilot, lambda: "author:Ana" in words(app))  # an example that there is
            await settled(app, pilot)
            assert "↓ Select" in footer(app) and "Unpin" not in footer(app)
            await pilot.press("escape")
            for _ in page.entries:
                if not page.pinned_id:
                    await pilot.press("down")
            assert page.pinned_id == "m1"
            await settled(app, pilot)
            assert "del Unpin" in footer(app)
            await pilot.press("delete")
            await until(pilot, lambda: page.page is not None and not page.page.pinned)
            await pilot.press("f7")
            await until(pilot, lambda: isinstance(app.screen, PeopleScreen) and app.screen._rows.chosen)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, SearchScreen) and app.query_one(HitList).hits)
            await until(pilot, lambda: "esc leads back to People" in words(app))
            assert "█" not in words(app)  # no hit is better than another without words
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, PeopleScreen))

    run(body)


@pytest.mark.slow
def test_the_bar_has_a_key_for_each_screen_at_every_width(filled: Path) -> None:
    async def body() -> None:
        async with shown(filled, (140, 30)) as (app, pilot):
            for width in (140, 80, 60):
                await pilot.resize_terminal(width, 30)
                await until(pilot, lambda width=width: app.screen.size.width == width)  # type: ignore[misc]
                await until(pilot, lambda: all(f"F{number}" in words(app).splitlines()[0] for number in range(1, 8)))

    run(body)


@pytest.mark.slow
def test_enter_lists_what_a_read_file_gave_and_tab_changes_lists(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "good.jsonl"
    file.write_text(json.dumps({"session_id": "s", "message_id": "1", "role": "user", "content": "the otter"}) + "\n")
    with opened(home)() as memory:
        memory.ingest(file)

    async def body() -> None:
        async with shown(home, (100, 30)) as (app, pilot):
            await pilot.press("f5")
            imports = app.screen.query_one("#inbox-imports", FileList)
            await until(pilot, lambda: imports.chosen)
            await settled(app, pilot)
            assert "tab Other list" in footer(app)
            await pilot.press("tab")
            assert imports.has_focus
            await settled(app, pilot)
            assert "⏎ Contents" in footer(app) and "▌" in words(app)
            await pilot.press("enter")
            await until(pilot, lambda: "1 from good.jsonl" in words(app))
            assert not app.import_queue.outcomes  # nothing was imported again
            await pilot.press("escape")
            app.offer_import()
            await until(pilot, lambda: isinstance(app.screen, ImportPreviewScreen))
            await settled(app, pilot)
            assert "⏎ Continue" in footer(app)
            await pilot.press("escape", "ctrl+g")
            await type_in(pilot, "robin")
            await until(pilot, lambda: "new user: robin" in words(app))
            await pilot.press("enter")
            await until(pilot, lambda: "There is no user robin yet. Enter again begins an empty memory" in words(app))
            assert app.user is None
            await pilot.press("backspace", "n", "enter", "enter")
            await until(pilot, lambda: app.user == "robin")

    run(body)


def test_a_zip_is_one_file_of_a_preview(tmp_path: Path) -> None:
    path = tmp_path / "slack.zip"
    path.write_bytes(b"PK")
    files = [
        FileReport(f"{path}/general/2024-01-{day:02}.json", "slack", "ok", messages=2, new=2, conversations=1)
        for day in range(1, 4)
    ]
    text = preview_content(ImportOutcome(0.0, files)).plain
    assert "Would add 6 messages" in text and "slack · 3 files in it · 6 messages: 6 new" in text
    assert text.count("slack.zip") == 1 and "2024-01-01" not in text


def test_an_export_goes_home_and_never_to_where_the_program_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path
    (tmp_path / "Downloads").mkdir()
    assert default_folder() == tmp_path / "Downloads"

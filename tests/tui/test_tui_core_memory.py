"""The blocks of core memory are read, written, taken back and restored on the memory screen."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scenes import words
from screens import type_in, until
from test_tui_footer import footer
from textual.command import CommandList
from textual.pilot import Pilot

from appliance import Appliance, UsageError
from appliance_tui.app import ApplianceApp
from appliance_tui.core_blocks import block_parts, limit_block, protect_block
from appliance_tui.details import DetailList
from appliance_tui.screens.context import ContextScreen
from appliance_tui.screens.forget import ForgetScreen
from appliance_tui.screens.memory import MemoryScreen
from appliance_tui.screens.palette import PaletteScreen
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.entries import BlockEntry, block_entries
from appliance_tui.widgets.layers import row_key
from appliance_tui.widgets.prompt_line import PromptLine
from appliance_tui.widgets.rows import RowList

Body = Callable[[ApplianceApp, Pilot[None], MemoryScreen], Awaitable[None]]


def show(memory: Appliance, body: Body) -> None:
    """The blocks of a memory, on the screen."""

    async def go() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=(140, 40)) as pilot:
            await until(pilot, lambda: bool(app.status_text))
            app.action_go("memory")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen.query(PromptLine))
            screen = app.screen
            assert isinstance(screen, MemoryScreen)
            await pilot.press("5")
            await until(pilot, lambda: screen._view == "core")
            await body(app, pilot, screen)

    asyncio.run(go())


def blocks(screen: MemoryScreen) -> dict[str, str]:
    """The texts that are listed, by label."""
    return {entry.block.label: entry.block.value for entry in screen._rows.items if isinstance(entry, BlockEntry)}


def about(screen: MemoryScreen) -> str:
    return "\n".join(part.content.plain for part in screen.query_one("#detail", DetailList).parts)


@pytest.mark.slow
def test_a_block_is_begun_selected_and_taken_back(memory: Appliance) -> None:
    memory.core.set("persona", "Answer briefly.")

    async def body(app: ApplianceApp, pilot: Pilot[None], screen: MemoryScreen) -> None:
        await pilot.press("n")
        await type_in(pilot, "garden=Beans")
        await pilot.press("enter")
        await until(pilot, lambda: blocks(screen).get("garden") == "Beans" and app.focused is screen._rows)
        await until(pilot, lambda: screen._rows.marked == 1)  # the next key is for the new block
        await pilot.press("u")
        await until(pilot, lambda: list(blocks(screen)) == ["persona"])

    show(memory, body)


def test_the_characters_of_all_blocks_are_told_from_their_limits(memory: Appliance) -> None:
    memory.core.set("persona", "Answer briefly.")
    memory.core.set("garden", "Beans")
    for entry in block_entries(memory.core.list()):
        assert isinstance(entry, BlockEntry)
        room = list(block_parts(entry.block, entry.used, entry.together, ()))[1].content.plain
        assert "all blocks 20, with limits of 4,000 together (at most 8,000)" in room


def test_limits_and_who_may_change_a_block_are_changed_and_taken_back(memory: Appliance) -> None:
    block = memory.core.set("persona", "Answer briefly.")
    longer = limit_block(memory, "persona", "3,000", None, block.revision)
    revision = memory.core.get("persona").revision
    alone = protect_block(memory, "persona", None, revision)
    assert (longer.done, alone.done) == ("persona may have 3,000 characters", "Only you can change persona")
    block = memory.core.get("persona")
    assert (block.limit, block.read_only, block.value) == (3000, True, "Answer briefly.")
    with pytest.raises(UsageError, match="is no number of characters"):
        limit_block(memory, "persona", "lots", None, block.revision)
    memory.core.set("persona", limit=4000)
    alone.undo(memory)
    assert not memory.core.get("persona").read_only
    with pytest.raises(UsageError, match="limit of persona was changed meanwhile"):
        longer.undo(memory)
    memory.core.set("persona", limit=3000)
    longer.undo(memory)
    assert memory.core.get("persona").limit == 2000


@pytest.mark.slow
def test_keys_limit_protect_and_forget_a_block(memory: Appliance) -> None:
    memory.core.set("persona", "Answer briefly.")

    async def body(app: ApplianceApp, pilot: Pilot[None], screen: MemoryScreen) -> None:
        await until(pilot, lambda: {"Limit", "Forget"} <= set(footer(app).split()) and "o Only you" in footer(app))
        await pilot.press("l", "3", "0", "0", "0", "enter")
        await until(pilot, lambda: memory.core.get("persona").limit == 3000)
        await until(pilot, lambda: app.focused is screen._rows and "of 3,000 characters" in about(screen))
        await pilot.press("o")
        await until(pilot, lambda: memory.core.get("persona").read_only and "Assistants too" in footer(app))
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, ForgetScreen))
        await until(pilot, lambda: app.screen.query_one("#forget-count").has_focus)
        await pilot.press("1", "enter")
        await until(pilot, lambda: memory.core.list() == [])

    show(memory, body)


@pytest.mark.slow
def test_a_block_is_begun_corrected_restored_and_all_of_it_taken_back(memory: Appliance) -> None:
    async def body(app: ApplianceApp, pilot: Pilot[None], screen: MemoryScreen) -> None:
        await until(pilot, lambda: "No blocks" in words(app))
        assert "Correct" not in footer(app) and "Export" not in footer(app)
        await pilot.press("n")
        await type_in(pilot, "Persona = Answer briefly.")
        await pilot.press("enter")
        await until(pilot, lambda: blocks(screen) == {"persona": "Answer briefly."})
        memory.core.append("persona", "No emoji.", by="assistant", assistant="claude")
        app.action_go("recall")
        await pilot.pause()
        app.action_go("memory")
        await until(pilot, lambda: blocks(screen) == {"persona": "Answer briefly.\nNo emoji."})
        await until(pilot, lambda: "Earlier texts" in about(screen) and "by you" in about(screen))
        assert "written by claude" in about(screen) and "25 of 2,000 characters" in about(screen)
        await until(pilot, lambda: {"Edit", "Versions", "Undo"} <= set(footer(app).split()))
        await pilot.press("c")  # it has two lines
        assert not screen.query_one(PromptLine).display
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PickerScreen))
        await pilot.press("enter")
        await until(pilot, lambda: blocks(screen) == {"persona": "Answer briefly."})
        await pilot.press("c")
        await type_in(pilot, " Please")
        await pilot.press("enter")
        await until(pilot, lambda: blocks(screen) == {"persona": "Answer briefly. Please"})
        await until(pilot, lambda: app.focused is screen._rows)
        for before in ("Answer briefly.", "Answer briefly.\nNo emoji."):
            await pilot.press("u")
            await until(pilot, lambda before=before: blocks(screen) == {"persona": before})  # type: ignore[misc]
        assert [form.changed_by for form in memory.core.history("persona")][:2] == ["person", "assistant"]
        await pilot.press("u")  # the block was begun here, and an assistant has written since
        await until(pilot, lambda: any("changed meanwhile" in note.message for note in app._notifications))
        assert memory.core.get("persona").value.endswith("No emoji.")

    show(memory, body)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor that appends to a text what stands in the file that is returned."""
    program, addition = tmp_path / "vi", tmp_path / "addition"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nopen(sys.argv[-1], 'a').write(open({str(addition)!r}).read())\n"
    )
    program.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(program))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return addition


@pytest.mark.slow
def test_what_the_editor_saves_is_stored_and_kept_where_it_is_too_long(
    memory: Appliance, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.core.set("person", "Lives in Munich.", limit=60)

    @contextmanager
    def suspend() -> Iterator[None]:
        yield

    async def body(app: ApplianceApp, pilot: Pilot[None], screen: MemoryScreen) -> None:
        monkeypatch.setattr(app, "suspend", suspend)
        await until(pilot, lambda: blocks(screen))
        await pilot.press("e")  # this terminal can't be given to another program
        await until(pilot, lambda: any("can't be opened here; c" in note.message for note in app._notifications))
        monkeypatch.setattr(type(app._driver), "can_suspend", True)
        editor.write_text("Has a cat.\n", "utf-8")
        await pilot.press("e")  # the first press says what the next one does
        await until(pilot, lambda: any("What you save there is stored" in one.message for one in app._notifications))
        await pilot.press("e")
        await until(pilot, lambda: blocks(screen) == {"person": "Lives in Munich.\nHas a cat."})
        editor.write_text("It sleeps on the window sill all day long.\n", "utf-8")
        await pilot.press("e")
        await until(pilot, lambda: any("its limit is 60" in note.message for note in app._notifications))
        (kept,) = tmp_path.glob("appliance-*.txt")
        assert kept.read_text("utf-8").endswith("all day long.\n") and kept.stat().st_mode & 0o077 == 0
        assert any(str(kept) in note.message for note in app._notifications)
        memory.core.set("person", limit=200)
        editor.write_text("", "utf-8")
        await pilot.press("e")  # it goes on from what was kept
        await until(pilot, lambda: blocks(screen)["person"].endswith("all day long."))
        await until(pilot, lambda: not kept.exists())
        await pilot.press("u", "u")
        await until(pilot, lambda: blocks(screen) == {"person": "Lives in Munich."})

    show(memory, body)


@pytest.mark.slow
def test_the_palette_and_a_context_lead_to_the_blocks(memory: Appliance) -> None:
    memory.core.set("persona", "Answer briefly.")
    memory.core.set("person", "Lives in Munich.")

    async def body() -> None:
        app = ApplianceApp(lambda: memory, motion=False)
        async with app.run_test(size=(140, 40)) as pilot:
            await until(pilot, lambda: bool(app.status_text))
            await pilot.press("ctrl+p")
            await until(pilot, lambda: isinstance(app.screen, PaletteScreen))
            await type_in(pilot, "core")
            await until(pilot, lambda: app.screen.query_one(CommandList).option_count)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and blocks(app.screen))
            app.action_go("context")
            await until(pilot, lambda: isinstance(app.screen, ContextScreen) and app.screen.query(RowList))
            rows = app.screen.query_one(RowList)
            await until(pilot, lambda: any(row_key(row) == ("core", "core:person") for row in rows.items))
            rows.mark(("core", "core:person"))
            rows.focus()
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, MemoryScreen) and app.screen._rows.marked == 1)

    asyncio.run(body())
